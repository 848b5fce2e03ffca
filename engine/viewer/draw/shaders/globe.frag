// A planet as a ball of radius 1 with the light that its air scatters, the Sun, and the dark around them.
precision highp float;
in vec2 at;
uniform mat4 rays;               // clip to directions in the world
uniform vec3 below;              // unit vector to the planet's middle
uniform float height;            // of the eye above it
uniform mat4 axes;               // the world's to the planet's
uniform vec3 key;                // unit vector to the Sun
uniform float disc;              // 1 where the Sun itself is seen
uniform vec3 dark;               // of the sky, linear, as the others
uniform vec3 air;
uniform vec3 soil;
uniform vec3 desert;
uniform vec2 wet;                // shares of water and of clouds
uniform sampler2D chart;         // land, dryness, ice and lights, from 180° west and the pole
uniform sampler2D grain;         // clouds, fine noise, coasts, dryness
out vec4 pixel;

// Grain around a ball: as seen along its axes, mixed where it faces several.
vec4 around(float k, vec3 p, vec3 w) {
  vec4 sum = vec4(0.0);
  if (w.x > 0.0) sum += w.x * (texture(grain, k * p.yz + vec2(0.71, 0.23)) - 0.5);
  if (w.y > 0.0) sum += w.y * (texture(grain, k * p.zx + vec2(0.31, 0.47)) - 0.5);
  if (w.z > 0.0) sum += w.z * (texture(grain, k * p.xy + vec2(0.17, 0.89)) - 0.5);
  return sum * inversesqrt(dot(w, w));
}

vec3 surface(vec3 d, vec3 n, float inside) {
  vec3 p = mat3(axes) * n, w = max(abs(p) - 0.4, 0.0);
  w /= w.x + w.y + w.z;
  vec4 broad = around(0.9, p, w), middle = around(6.7, p, w), fine = height < 2.0 ? around(41.0, p, w) : vec4(0.0);
  vec4 map = textureLod(chart, vec2(atan(p.y, p.x) * 0.159154943 + 0.5, acos(clamp(p.z, -1.0, 1.0)) * 0.318309886), 0.0);
  float land = wet.x > 0.0 ? smoothstep(0.40, 0.60, map.r + 0.5 * middle.b + 0.2 * fine.b) : 1.0;
  float dry = smoothstep(0.2, 0.8, (wet.x > 0.0 ? map.g + 0.1 : 0.5) + 0.5 * broad.a + 0.35 * middle.a);
  float ice = wet.x * smoothstep(0.40, 0.60, map.b + 0.5 * middle.g);
  float cloud = wet.y * smoothstep(0.06, 0.62, broad.r + 0.55 * middle.r + 0.18 * fine.g);
  vec3 ground = mix(soil, desert, dry) * (1.0 + 0.5 * middle.g + 0.6 * fine.g);
  vec3 sea = mix(vec3(0.008, 0.030, 0.075), vec3(0.02, 0.10, 0.13), 0.8 * smoothstep(0.05, 0.45, map.r));
  vec3 albedo = mix(mix(mix(sea, ground, land), vec3(0.75, 0.79, 0.83), ice), vec3(0.80, 0.82, 0.84), cloud);
  float sun = dot(n, key), water = (1.0 - land) * (1.0 - ice) * (1.0 - cloud);
  float glint = max(dot(reflect(d, n), key), 0.0);
  glint *= glint; glint *= glint; glint *= glint; glint *= glint; glint *= glint;
  vec3 color = (albedo + water * glint * vec3(0.30, 0.28, 0.23)) * max(sun, 0.0) * 1.25;
  color += wet.x * map.a * smoothstep(0.05, -0.12, sun) * max(0.25 + 1.6 * middle.g + 1.2 * fine.g, 0.0) * (1.0 - 0.9 * cloud) * vec3(0.55, 0.36, 0.14);
  float day = smoothstep(-0.12, 0.35, sun), haze = (1.0 - inside) * (1.0 - inside);
  vec3 blue = air * day;
  return mix(color + 0.04 * blue, blue, 0.75 * haze * haze);
}

void main() {
  vec3 d = normalize((rays * vec4(2.0 * at - 1.0, 1.0, 1.0)).xyz);
  float ahead = dot(d, below), passes = height * length(cross(d, below)), inside = sqrt(max(1.0 - passes * passes, 0.0));
  float off = length(cross(d, key));
  vec3 sky = dark;
  if (disc > 0.0 && dot(d, key) > 0.0)
    sky += vec3(1.0, 0.95, 0.85) * (4.0 * smoothstep(0.0056, 0.0042, off) + 0.35 * exp(-90.0 * off) + 0.06 * exp(-12.0 * off));
  if (ahead > 0.0 && passes < 1.08) {
    vec3 n = (height * ahead - inside) * d - height * below;
    float beyond = max(passes - 1.0, 0.0), edge = clamp((passes - 1.0) / (fwidth(passes) + 1e-9) + 0.5, 0.0, 1.0);
    float thin = exp(-140.0 * beyond) * (1.0 - smoothstep(0.05, 0.08, beyond)), lit = dot(normalize(n), key);
    vec3 blue = air * smoothstep(-0.16, 0.3, lit) * mix(vec3(1.5, 0.7, 0.35), vec3(1.0), smoothstep(-0.08, 0.22, lit));
    sky += 0.75 * thin * blue * vec3(thin, sqrt(thin), 1.0);
    if (edge < 1.0) sky = mix(surface(d, n, inside), sky, edge);
  }
  pixel = vec4(sqrt(sky), 1.0);
}
