// What is lit later: what a surface is made of, and where it faces.
precision highp float;
in vec3 facing;
in vec4 tint;
in vec2 at;
flat in vec3 look;
uniform sampler2D image;
layout(location = 0) out vec4 paint;     // the colour's root, and the roughness
layout(location = 1) out vec4 normal;    // as places on an unfolded octahedron, of twelve bits each, and whether it is metal

void main() {
#ifdef TEXTURED
  paint = vec4(tint.rgb * texture(image, at).rgb, look.y);
#else
  paint = vec4(tint.rgb, look.y);
#endif
  vec3 n = facing / (abs(facing.x) + abs(facing.y) + abs(facing.z));
  vec2 place = n.z < 0.0 ? (1.0 - abs(n.yx)) * vec2(n.x < 0.0 ? -1.0 : 1.0, n.y < 0.0 ? -1.0 : 1.0) : n.xy;
  vec2 count = floor((0.5 + 0.5 * place) * 4095.0 + 0.5), high = floor(count / 16.0), low = count - 16.0 * high;
  normal = vec4(vec3(high, 16.0 * low.x + low.y) / 255.0, look.x);
}
