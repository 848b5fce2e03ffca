// A polygon of directions around straight down, as wide as the Earth with its air.
uniform mat4 turn;               // directions in the world to clip
uniform float wide;              // tangent of the angle from straight down to its sides' middles
out vec3 toward;

void main() {
  float angle = 6.283185307 / CORNERS * float(gl_VertexID);
  float r = wide / cos(3.141592654 / CORNERS);
  toward = vec3(r * cos(angle), r * sin(angle), -1.0);
  gl_Position = (turn * vec4(toward, 0.0)).xyww;
}
