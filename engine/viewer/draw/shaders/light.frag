// Light: a key with a soft shadow, a fill from the other side, and the sky, which surfaces above hide.
// Colours are linear; sRGB's curve is taken as a square.
precision highp float;
uniform vec3 eye;                // where the camera stands, m
uniform vec3 key;                // unit vector to the key light
uniform vec3 key_color;
uniform vec3 fill;               // unit vector to the fill light
uniform vec3 fill_color;
uniform vec3 sky_color;          // from above
uniform vec3 ground_color;       // from below
uniform mat4 shadow_matrix;      // world to the key light's map, in [0, 1]
uniform mat4 sky_matrix;         // world to the map from above, in [0, 1]
uniform highp sampler2DShadow shadow_map;
uniform highp sampler2D sky_map; // mean and mean square of the depth from above
uniform float shadow_texel;      // m
#ifdef AROUND
uniform mat4 matt_red;           // what a matt surface gives back of the light around: n M n with n = (x, y, z, 1)
uniform mat4 matt_green;
uniform mat4 matt_blue;
#endif
const float CLEAR = 20.0;        // texels of the key light's map, as far as the map from above is blurred
#ifdef AROUND
const float DOWN = 1.0;          // of the light from below: the picture has it
#else
const float DOWN = 0.6;          // of the light from below, which ground under robots has less of
#endif

// How much of the key light arrives: four comparisons, each bilinear.
float key_light(vec3 world, vec3 N) {
  vec3 p = (shadow_matrix * vec4(world + N * (1.5 * shadow_texel), 1.0)).xyz;
  p.z = min(p.z, 1.0);
  const float w = 1.0 / SHADOW_SIZE;
  return 0.25 * (texture(shadow_map, p + vec3(0.9 * w, 0.4 * w, 0.0)) + texture(shadow_map, p + vec3(-0.4 * w, 0.9 * w, 0.0))
    + texture(shadow_map, p + vec3(-0.9 * w, -0.4 * w, 0.0)) + texture(shadow_map, p + vec3(0.4 * w, -0.9 * w, 0.0)));
}

// How much of the sky is seen: Chebyshev's bound on what lies above, in a blurred map; what is high above hides little of it.
float sky_light(vec3 world) {
  vec3 p = (sky_matrix * vec4(world, 1.0)).xyz;
  vec2 m = texture(sky_map, p.xy).rg;
  float d = max(min(p.z, 1.0) - m.x - 0.004, 0.0), above = p.z - m.x;      // beyond the map nothing is above
  float variance = max(m.y - m.x * m.x, 2e-5);
  return 1.0 - d * d / (variance + d * d) / (1.0 + 3.0 * above * above);
}

// How much of what is around arrives at a surface: looked up beside it, clear of its own upper side, which hides nothing from it. What faces
// down sees little of the sky, and its normal says so.
float sky_light(vec3 world, vec3 N) {
  return mix(DOWN, 0.25 + 0.75 * sky_light(world + N * (CLEAR * shadow_texel)), smoothstep(-0.25, 0.35, N.z));
}

// The light that leaves a surface towards the eye.
vec3 lit(vec3 albedo, float metallic, float roughness, vec3 N, vec3 world, float shadow, float sky) {
  vec3 V = normalize(eye - world);
  float nv = dot(N, V);
  N -= min(2.0 * nv, 0.0) * V;                         // seen from behind: the normal's mirror image
  nv = abs(nv) + 1e-4;
  vec3 H = normalize(key + V);
  float nl = max(dot(N, key), 0.0), nh = max(dot(N, H), 0.0), lh = max(dot(key, H), 0.0);
  float a = roughness * roughness, a2 = a * a;
  float q = (nh * a2 - nh) * nh + 1.0;
  float gloss = min(a2 / (q * q * max(lh * lh, 0.1) * (4.0 * roughness + 2.0)), 8.0);     // GGX with a cheap visibility
  vec3 f0 = mix(vec3(0.04), albedo, metallic);
  vec3 diffuse = albedo * (1.0 - metallic);
#ifdef AROUND
  vec4 n = vec4(N, 1.0);
  vec3 around = max(vec3(dot(n, matt_red * n), dot(n, matt_green * n), dot(n, matt_blue * n)), 0.0);
  vec3 reflected = textureLod(around_map, on_map(N * nv * 2.0 - V), roughness * ROUGHEST).rgb;
#else
  vec3 around = mix(ground_color, sky_color, 0.5 + 0.5 * N.z);
  float mirror = N.z * nv * 2.0 - V.z;                 // how far up the mirrored view goes
  vec3 reflected = mix(ground_color, sky_color * 1.5, smoothstep(-0.35, 0.5, mirror));
#endif
  float edge = 1.0 - nv;
  edge = edge * edge * edge * edge;
  vec3 fresnel = f0 + (max(vec3(1.0 - roughness), f0) - f0) * edge;
  return (diffuse + f0 * gloss) * key_color * (nl * shadow) + diffuse * fill_color * max(dot(N, fill), 0.0)
    + (diffuse * around + fresnel * reflected) * sky;
}

// To the screen: a shoulder for what is bright, and sRGB's curve.
vec3 shown(vec3 light) {
  light = light * (1.0 + light * 0.12) / (1.0 + light * 0.62);
  return sqrt(clamp(light, 0.0, 1.0));
}
