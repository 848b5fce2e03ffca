in vec3 middle;
in vec4 tint;
uniform mat4 rays;               // its columns are the axes of the picture, as long as its halves
out vec4 pixel;

void main() {
  vec2 p = 2.0 * gl_PointCoord - 1.0;
  float q = dot(p, p);
  if (q > 1.0) discard;
  vec3 N = normalize(rays[0].xyz) * p.x - normalize(rays[1].xyz) * p.y - normalize(rays[2].xyz) * sqrt(1.0 - q);
  pixel = vec4(shown(lit(tint.rgb, 0.0, 0.5, N, middle, 1.0, 1.0)), tint.a);
}
