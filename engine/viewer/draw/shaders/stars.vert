// A star: a direction and its light; those behind the Earth are left out.
layout(location = 0) in vec3 toward;
layout(location = 1) in vec3 light;
uniform mat4 turn;               // directions in the world to clip
uniform vec3 below;              // unit vector to the planet's middle
uniform float limb;              // cosine of the angle from there to its limb
uniform float scale;             // pixels that the finest stars' breadth stands for
out vec3 color;
flat out float sharp;

void main() {
  float bright = max(max(light.r, light.g), light.b);
  float breadth = scale * (0.6 + 0.35 * smoothstep(0.5, 3.0, bright));         // standard deviation, pixels
  float finest = max(breadth, 0.45), dimmed = breadth / finest;                // of less than a pixel its light is left
  sharp = 0.5 / (finest * finest);
  color = light * dimmed;
  gl_PointSize = ceil(6.0 * finest) + 1.0;
  vec4 p = turn * vec4(toward, 0.0);
  gl_Position = dot(toward, below) > limb ? vec4(2.0, 2.0, 2.0, 1.0) : p.xyww;
}
