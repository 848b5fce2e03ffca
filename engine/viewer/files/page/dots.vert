// A dot: its middle and radius, m, and its colour are attributes.
layout(location = 0) in vec4 dot;
layout(location = 1) in vec4 color;
uniform mat4 matrix;             // world to clip
uniform vec3 eye;                // where the camera stands, m
uniform float focus;             // pixels of what is as large as it is far away
out vec3 middle;
out vec4 tint;

void main() {
  middle = dot.xyz;
  tint = vec4(color.rgb * color.rgb, color.a);
  gl_Position = matrix * vec4(dot.xyz + dot.w * normalize(eye - dot.xyz), 1.0);             // where it is nearest: before what it lies on
  gl_PointSize = max(2.0 * dot.w * focus / gl_Position.w, 1.5);
}
