uniform sampler2D atlas;
in vec2 pixel;
in vec2 at;
flat in vec4 form;                        // half width, half height, radius of the corners, width of the outline; -1 there: text
flat in vec4 paint;
flat in vec4 within;
out vec4 result;

void main() {
  if (any(lessThan(pixel, within.xy)) || any(greaterThan(pixel, within.zw))) discard;
  float coverage;
  if (form.w < 0.0) {
    coverage = texelFetch(atlas, ivec2(at), 0).r;
  } else {
    vec2 q = abs(at) - form.xy + form.z;                              // the distance from a rounded box's edge
    float edge = length(max(q, 0.0)) + min(max(q.x, q.y), 0.0) - form.z;
    coverage = clamp(0.5 - edge, 0.0, 1.0);
    if (form.w > 0.0) coverage *= clamp(0.5 + edge + form.w, 0.0, 1.0);
  }
  result = vec4(paint.rgb, paint.a * coverage);
}
