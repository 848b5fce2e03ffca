layout(location = 0) in vec3 position;
uniform mat4 matrix;
flat out int number;

void main() {
  vec4 p = vec4(position, 1.0);
  gl_Position = matrix * vec4(dot(row(0), p), dot(row(1), p), dot(row(2), p), 1.0);
  number = floatBitsToInt(row(4).w);
}
