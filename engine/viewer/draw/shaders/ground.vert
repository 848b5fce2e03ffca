uniform vec3 middle;             // of a rectangle, m
uniform vec4 halves;             // from there to the middles of two of its sides: (x, y) and (x, y), m
uniform mat4 matrix;
out vec3 world;

void main() {
  vec2 at = corner();
  world = middle + vec3(at.x * halves.xy + at.y * halves.zw, 0.0);
  gl_Position = matrix * vec4(world, 1.0);
}
