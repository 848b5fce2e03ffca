// How deep in a crease a point lies, without normals: how far the angle to the points on either side of it in the picture, open towards the
// eye, is from a straight one. Each pixel of four looks along its own four of sixteen directions, at its own three of twelve distances.
precision highp float;
uniform highp sampler2D depth;
uniform vec2 size;               // of the picture, pixels
uniform vec4 lens;               // slope of the line of sight at the picture's right and at its top; the projection's a, b: a + b / z
uniform float reach;             // of what counts, m
uniform float wide;              // what it is in pixels, 1 m from the eye
out vec2 crease;                 // in [0, 1], and the distance along the line of sight's middle, m

vec3 place(ivec2 p) {
  float z = lens.w / (2.0 * texelFetch(depth, p, 0).r - 1.0 + lens.z);
  return vec3((2.0 * (vec2(p) + 0.5) / size - 1.0) * lens.xy, 1.0) * z;
}

void main() {
  ivec2 half_way = ivec2(gl_FragCoord.xy), p = min(2 * half_way, ivec2(size) - 1);
  crease = vec2(0.0, 1e9);
  if (texelFetch(depth, p, 0).r == 1.0) return;
  vec3 P = place(p), V = -normalize(P);
  if (wide < 4.0 * P.z) return;                        // too far away to tell
  float pixels = clamp(wide / P.z, 9.0, max(0.08 * size.y, 9.0)), within = reach * pixels * P.z / wide;
  int own = (half_way.x & 1) + 2 * (half_way.y & 1);
  float turn = float(own) * 0.19635, further = float((own * 3) & 3) * 0.0625;
  float sum = 0.0;
  for (int k = 0; k < 12; k++) {
    float angle = turn + 0.785398 * float(k & 3);
    ivec2 o = ivec2(round(vec2(cos(angle), sin(angle)) * pixels * (0.12 + 0.25 * float(k >> 2) + further)));
    if (any(greaterThan(abs(vec2(p) + 0.5 - 0.5 * size) + abs(vec2(o)), 0.5 * size))) continue;
    vec3 a = place(p + o) - P, b = place(p - o) - P;
    float aa = dot(a, a), bb = dot(b, b), la = inversesqrt(aa), lb = inversesqrt(bb);
    if (dot(a, V) * la + dot(b, V) * lb < 0.02) continue;        // straight, or an edge
    sum += (1.0 + dot(a, b) * la * lb) * max(1.0 - aa / (within * within), 0.0) * max(1.0 - bb / (within * within), 0.0);
  }
  crease = vec2(min(0.3 * sum, 1.0), P.z);
}
