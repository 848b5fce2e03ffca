// Creases without what is left of the pattern in which they were found: means of nine pixels, as far as they are as far away.
precision highp float;
uniform highp sampler2D creases;
uniform float reach;
out vec2 crease;

void main() {
  ivec2 p = ivec2(gl_FragCoord.xy), last = textureSize(creases, 0) - 1;
  vec2 own = texelFetch(creases, p, 0).rg;
  float sum = 0.0, total = 0.0;
  for (int y = -1; y < 2; y++) for (int x = -1; x < 2; x++) {
    vec2 c = texelFetch(creases, clamp(p + ivec2(x, y), ivec2(0), last), 0).rg;
    float w = (x == 0 ? 2.0 : 1.0) * (y == 0 ? 2.0 : 1.0) / (0.1 * reach + abs(c.g - own.g));
    sum += w * c.r;
    total += w;
  }
  crease = vec2(sum / total, own.g);
}
