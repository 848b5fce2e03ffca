// Smooths the stairs along edges: where luminance steps, the pixel is mixed from along the edge.
precision highp float;
uniform sampler2D image;
uniform vec2 texel;              // 1 / size
out vec4 pixel;

float luma(vec3 c) { return dot(c, vec3(0.299, 0.587, 0.114)); }

void main() {
  vec2 p = gl_FragCoord.xy * texel;
  vec3 middle = texture(image, p).rgb;
  float m = luma(middle);
  float nw = luma(texture(image, p + vec2(-0.5, 0.5) * texel).rgb), ne = luma(texture(image, p + vec2(0.5, 0.5) * texel).rgb);
  float sw = luma(texture(image, p + vec2(-0.5, -0.5) * texel).rgb), se = luma(texture(image, p + vec2(0.5, -0.5) * texel).rgb);
  vec2 along = vec2((sw + se) - (nw + ne), (nw + sw) - (ne + se));
  float low = min(min(nw, ne), min(sw, se)), high = max(max(nw, ne), max(sw, se));
  float steep = min(abs(along.x), abs(along.y)) + 0.02 + 0.03 * (nw + ne + sw + se);
  along = clamp(along / steep, -6.0, 6.0) * texel;
  vec3 near = 0.5 * (texture(image, p - along * 0.16667).rgb + texture(image, p + along * 0.16667).rgb);
  vec3 wide = 0.5 * near + 0.25 * (texture(image, p - along * 0.5).rgb + texture(image, p + along * 0.5).rgb);
  float w = luma(wide);
  pixel = vec4(w < min(low, m) || w > max(high, m) ? near : wide, 1.0);
}
