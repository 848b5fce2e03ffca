// The light of what the buffers hold.
uniform sampler2D paints;
uniform sampler2D normals;
uniform highp sampler2D depths;
uniform vec2 size;               // of the picture, pixels
uniform mat4 rays;               // clip to directions in the world, 1 m along the middle of the line of sight
uniform vec2 lens;               // the projection's a, b: a + b / z
out vec4 pixel;

void main() {
  ivec2 p = ivec2(gl_FragCoord.xy);
  vec4 paint = texelFetch(paints, p, 0), normal = texelFetch(normals, p, 0);
  vec3 bits = floor(255.0 * normal.rgb + 0.5);
  float low = floor(bits.z / 16.0);
  vec2 place = (16.0 * bits.xy + vec2(low, bits.z - 16.0 * low)) / 2047.5 - 1.0;
  vec3 N = vec3(place, 1.0 - abs(place.x) - abs(place.y));
  N.xy -= max(-N.z, 0.0) * vec2(N.x < 0.0 ? -1.0 : 1.0, N.y < 0.0 ? -1.0 : 1.0);
  N = normalize(N);
  float z = lens.y / (2.0 * texelFetch(depths, p, 0).r - 1.0 + lens.x);
  vec3 world = eye + z * (rays * vec4(2.0 * gl_FragCoord.xy / size - 1.0, 1.0, 1.0)).xyz;
  pixel = vec4(shown(lit(paint.rgb * paint.rgb, normal.a, paint.a, N, world, key_light(world, N), sky_light(world, N))), 1.0);
}
