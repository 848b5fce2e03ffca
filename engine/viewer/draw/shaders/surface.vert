layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 color;
layout(location = 3) in vec2 uv;
uniform mat4 matrix;             // world to clip
out vec3 world;
out vec3 facing;
out vec4 tint;
out vec2 at;
flat out vec3 look;

void main() {
  vec4 a = row(0), b = row(1), c = row(2), paint = row(3), rest = row(4);
  vec4 p = vec4(position, 1.0);
  world = vec3(dot(a, p), dot(b, p), dot(c, p));
  // normals turn by the cofactors of the pose: right for any scale
  vec3 n = vec3(dot(cross(b.xyz, c.xyz), normal), dot(cross(c.xyz, a.xyz), normal), dot(cross(a.xyz, b.xyz), normal));
  facing = n * sign(dot(a.xyz, cross(b.xyz, c.xyz)));
  tint = vec4(paint.rgb * color.rgb, paint.a * color.a);
#ifndef DEFERRED
  tint.rgb *= tint.rgb;
#endif
  at = uv;
  look = rest.xyz;
  gl_Position = matrix * vec4(world, 1.0);
}
