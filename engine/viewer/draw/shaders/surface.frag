in vec3 world;
in vec3 facing;
in vec4 tint;
in vec2 at;
flat in vec3 look;
uniform sampler2D image;
out vec4 pixel;

void main() {
  vec4 paint = tint;
#ifdef TEXTURED
  vec4 texel = texture(image, at);
  paint *= vec4(texel.rgb * texel.rgb, texel.a);
#endif
  vec3 N = normalize(facing);
  pixel = vec4(shown(lit(paint.rgb, look.x, look.y, N, world, key_light(world, N), sky_light(world, N))), paint.a);
}
