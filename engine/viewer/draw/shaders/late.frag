// Lights what was gathered, each pixel once.
uniform sampler2D paints;
uniform sampler2D places;
uniform mat4 rays;               // clip to directions in the world, one deep
in vec2 at;
out vec4 pixel;

void main() {
  vec3 far = texelFetch(places, ivec2(gl_FragCoord.xy), 0).xyz;
  float depth = length(far);
  if (depth == 0.0) discard;
  vec4 paint = texelFetch(paints, ivec2(gl_FragCoord.xy), 0);
  vec3 N = far / depth;
  vec3 world = eye + (rays * vec4(2.0 * at - 1.0, 1.0, 1.0)).xyz * depth;
  float metallic = floor(paint.a) / 255.0, roughness = fract(paint.a) / 0.999;
  pixel = vec4(shown(lit(paint.rgb, metallic, roughness, N, world, key_light(world, N), sky_light(world, N))), 1.0);
}
