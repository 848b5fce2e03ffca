// An instance's row, in a texture of 256 rows side by side: WebGL has no buffer textures. One that is alone is handed over, which is quicker.
uniform highp sampler2D rows;
uniform int first;               // of them, −1 for one that is alone
uniform vec4 alone[5];

vec4 row(int k) {
  if (first < 0) return alone[k];
  int i = first + gl_InstanceID;
  return texelFetch(rows, ivec2(5 * (i & 255) + k, i >> 8), 0);
}
