// An instance's row, in a texture of 256 rows side by side: WebGL has no buffer textures.
uniform highp sampler2D rows;
uniform int first;

vec4 row(int k) {
  int i = first + gl_InstanceID;
  return texelFetch(rows, ivec2(5 * (i & 255) + k, i >> 8), 0);
}
