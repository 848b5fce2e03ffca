// What creases leave of the light: a mean of the nearest pixels of half the resolution, as far as they are as far away. Of rows and columns
// every second one has as much weight as the others, as what they looked at is different.
precision highp float;
uniform highp sampler2D depth;
uniform highp sampler2D creases;
uniform vec4 lens;
uniform float reach;
out vec4 pixel;

void main() {
  ivec2 p = ivec2(gl_FragCoord.xy), q = p >> 1, last = textureSize(creases, 0) - 1;
  float d = texelFetch(depth, p, 0).r;
  if (d == 1.0) discard;
  float z = lens.w / (2.0 * d - 1.0 + lens.z), sum = 0.0, total = 0.0;
  vec2 odd = vec2(p & 1);
  for (int y = -1; y < 2; y++) for (int x = -1; x < 2; x++) {
    vec2 c = texelFetch(creases, clamp(q + ivec2(x, y), ivec2(0), last), 0).rg;
    vec2 part = mix(vec2(x == 0 ? 0.5 : 0.25, y == 0 ? 0.5 : 0.25), vec2(x < 0 ? 0.0 : 0.5, y < 0 ? 0.0 : 0.5), odd);
    float w = part.x * part.y / (0.1 * reach + abs(c.g - z));
    sum += w * c.r;
    total += w;
  }
  pixel = vec4(vec3(1.0 - STRENGTH * sum / total), 1.0);
}
