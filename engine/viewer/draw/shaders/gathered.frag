// What is seen of a surface: its colour with how it shines, and its normal, as long as it is far away.
precision highp float;
in vec3 world;
in vec3 facing;
in vec4 tint;
in vec2 at;
flat in vec3 look;
uniform sampler2D image;
layout(location = 0) out vec4 paint;
layout(location = 1) out vec4 place;

void main() {
  vec3 color = tint.rgb;
#ifdef TEXTURED
  vec3 texel = texture(image, at).rgb;
  color *= texel * texel;
#endif
  paint = vec4(color, floor(look.x * 255.0 + 0.5) + 0.999 * look.y);
  place = vec4(normalize(facing) / gl_FragCoord.w, 1.0);
}
