in vec2 at;
uniform mat4 rays;               // clip to directions in the world
out vec4 pixel;

void main() {
  vec3 d = normalize((rays * vec4(2.0 * at - 1.0, 1.0, 1.0)).xyz);
  pixel = vec4(shown(textureLod(around_map, on_map(d), 0.0).rgb), 1.0);
}
