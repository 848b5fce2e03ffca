in vec2 at;
uniform mat4 rays;               // clip to directions in the world
uniform vec3 horizon;
uniform vec3 zenith;
out vec4 pixel;

void main() {
  vec4 d = rays * vec4(2.0 * at - 1.0, 1.0, 1.0);
  float up = d.z * inversesqrt(dot(d.xyz, d.xyz));
  vec3 color = mix(horizon, zenith, sqrt(max(up, 0.0)));
  pixel = vec4(sqrt(color), 1.0);
}
