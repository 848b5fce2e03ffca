// A segment as a rectangle on the screen: its ends and width in pixels, and its colour, are rows of a table.
uniform mat4 matrix;             // world to clip
uniform vec2 size;               // of the picture, pixels
out vec4 tint;
out float across;                // pixels from the middle, times w: WebGL has no noperspective
flat out float half_width;

void main() {
  vec4 a = segment(0), b = segment(1);
  vec4 p = matrix * vec4(a.xyz, 1.0), q = matrix * vec4(b.xyz, 1.0);
  float m = p.z + p.w, n = q.z + q.w;                  // what lies before the near plane is cut off
  if (m < 0.0 && n > 0.0) p = mix(p, q, m / (m - n) + 1e-5);
  else if (n < 0.0 && m > 0.0) q = mix(q, p, n / (n - m) + 1e-5);
  vec2 d = (q.xy / q.w - p.xy / p.w) * size;
  float l = length(d);
  vec2 side = l > 1e-6 ? vec2(-d.y, d.x) / l : vec2(0.0, 1.0);
  half_width = 0.5 * a.w;
  float away = (float(gl_VertexID & 1) * 2.0 - 1.0) * (half_width + 1.0);
  tint = segment(2);
  gl_Position = gl_VertexID < 2 ? p : q;
  gl_Position.xy += side * away * 2.0 / size * gl_Position.w;
  across = away * gl_Position.w;
  gl_Position.z = min(gl_Position.z, gl_Position.w);     // what is farther than the far plane lies on it
  if (m < 0.0 && n < 0.0) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}
