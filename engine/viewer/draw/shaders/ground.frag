in vec3 world;
uniform vec4 grid;               // the robots' middle (x, y), how far the grid is seen, and the side of a square, m
uniform vec3 horizon;             // as it is shown, and so the others
uniform vec3 open_color;          // of the ground under the open sky
uniform vec2 shares;              // how much darker it is without the key light, and without the sky's
#ifndef SHADOWED
uniform vec3 hole;                // the middle of what is drawn already (x, y), m, and how much of it is left out, from 0 to 1
uniform vec4 spans;               // from that middle, what is 1 at its sides
#endif
out vec4 pixel;

// How much of a pixel the lines of a grid cover, whose lines are w of a square wide.
float lines(vec2 p, float w) {
  vec2 wide = fwidth(p);
  vec2 d = abs(fract(p - 0.5) - 0.5);
  vec2 cover = clamp((w - d) / wide + 0.5, 0.0, 1.0) * min(vec2(1.0), 2.0 * w / wide + 0.15);
  return max(cover.x, cover.y);
}

void main() {
#ifndef SHADOWED                  // two surfaces in one plane would show through each other
  vec2 aside = world.xy - hole.xy;
  if (max(abs(dot(aside, spans.xy)), abs(dot(aside, spans.zw))) < hole.z) discard;
#endif
  vec2 p = world.xy / grid.w;
  float line = max(0.5 * lines(p, 0.008), lines(0.2 * p, 0.003));
  vec3 color = open_color * (1.0 - 0.25 * line);
#ifdef SHADOWED
  float key_part = 1.0 - key_light(world, vec3(0.0, 0.0, 1.0)), sky_part = 1.0 - sky_light(world);
  color *= 1.0 - shares.x * key_part - shares.y * sky_part;
#endif
  vec2 far = (world.xy - grid.xy) / grid.z;
#ifdef AROUND
  vec3 behind = shown(textureLod(around_map, on_map(normalize(world - eye)), 0.0).rgb);
#else
  vec3 behind = horizon;
#endif
  pixel = vec4(mix(color, behind, min(dot(far, far), 1.0)), 1.0);
}
