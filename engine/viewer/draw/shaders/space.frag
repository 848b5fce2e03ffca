// The Earth from an orbit: a sphere of radius 1 below the origin, and the light that its air scatters.
precision highp float;
in vec3 toward;
uniform sampler2D ground;        // the root of its albedo, and how much of it is water
uniform vec3 key;                // unit vector to the Sun
uniform float height;            // of the eye above the Earth's middle
uniform vec3 dark;               // of the sky, linear
out vec4 pixel;

void main() {
  vec3 d = normalize(toward);
  float down = -d.z;
  float passes = height * sqrt(max(1.0 - down * down, 0.0));      // how near to the middle the line of sight comes
  float inside = sqrt(max(1.0 - passes * passes, 0.0));
  vec3 n = vec3(0.0, 0.0, height) + (height * down - inside) * d;
  float sun = dot(n, key);
  float day = smoothstep(-0.10, 0.35, sun);
  // the pattern's own finer shape moves its edges, and lies in it as ripples: from straight above its texels are larger than pixels
  vec2 p = n.xy * 0.9 + 0.5;
  vec3 fine = texture(ground, 7.3 * p + vec2(0.31, 0.17)).rgb, other = texture(ground, 6.1 * p.yx + vec2(0.73, 0.59)).rgb;
  vec4 map = texture(ground, p + 0.006 * (vec2(fine.g, other.g) - 0.4));
  map.rgb *= 0.85 + 0.3 * mix(fine.g, other.g, 0.5);
  float glint = max(dot(reflect(d, n), key), 0.0);
  glint *= glint; glint *= glint; glint *= glint; glint *= glint;
  vec3 color = (map.rgb * map.rgb + map.a * glint * vec3(0.16, 0.15, 0.13)) * max(sun, 0.0);
  // the air before it
  vec3 air = vec3(0.16, 0.36, 0.80) * day;
  float haze = 1.0 - inside;
  haze *= haze;
  color = mix(color + 0.03 * air, air, 0.75 * haze * haze);
  // beyond the limb
  float thin = exp(-140.0 * max(passes - 1.0, 0.0));
  vec3 glow = dark + 0.75 * thin * air * vec3(thin, sqrt(thin), 1.0);
  float edge = clamp((passes - 1.0) / fwidth(passes) + 0.5, 0.0, 1.0);
  pixel = vec4(sqrt(mix(color, glow, edge)), 1.0);
}
