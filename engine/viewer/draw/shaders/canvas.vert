layout(location = 0) in vec2 position;    // device pixels, from the upper left corner
layout(location = 1) in vec2 local;
layout(location = 2) in vec4 shape;
layout(location = 3) in vec4 color;
layout(location = 4) in vec4 clip;
uniform vec2 size;
out vec2 pixel;
out vec2 at;
flat out vec4 form;
flat out vec4 paint;
flat out vec4 within;

void main() {
  pixel = position;
  at = local;
  form = shape;
  paint = color;
  within = clip;
  gl_Position = vec4(2.0 * position.x / size.x - 1.0, 1.0 - 2.0 * position.y / size.y, 0.0, 1.0);
}
