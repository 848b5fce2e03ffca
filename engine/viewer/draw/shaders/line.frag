precision highp float;
in vec4 tint;
in float across;
flat in float half_width;
uniform float opacity;
out vec4 pixel;

void main() {
  float cover = clamp(half_width + 0.5 - abs(across * gl_FragCoord.w), 0.0, 1.0) * min(2.0 * half_width, 1.0);
  pixel = vec4(tint.rgb, tint.a * opacity * cover);
}
