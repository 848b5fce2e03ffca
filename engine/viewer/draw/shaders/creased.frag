// What creases leave of the light: the mean of the four nearest pixels of half the resolution, as far as they are as far away.
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
  for (int k = 0; k < 4; k++) {
    vec2 c = texelFetch(creases, min(q + ivec2(k & 1, k >> 1), last), 0).rg;
    float w = 1.0 / (0.1 * reach + abs(c.g - z));
    sum += w * c.r;
    total += w;
  }
  pixel = vec4(vec3(1.0 - STRENGTH * sum / total), 1.0);
}
