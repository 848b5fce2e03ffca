uniform vec4 square;             // its middle (x, y), its height, and half its side, m
uniform mat4 matrix;
out vec3 world;

void main() {
  vec2 corner = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1)) * 2.0 - 1.0;
  world = vec3(square.xy + corner * square.w, square.z);
  gl_Position = matrix * vec4(world, 1.0);
}
