precision highp float;
in vec3 color;
flat in float sharp;
uniform float side;
out vec4 pixel;

void main() {
  vec2 d = (gl_PointCoord - 0.5) * (ceil(6.0 * sqrt(0.5 / sharp)) + 1.0);
  pixel = vec4(sqrt(color * exp(-sharp * dot(d, d))), 0.0);
}
