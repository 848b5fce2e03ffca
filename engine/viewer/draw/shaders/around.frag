// A picture of all directions: rows from above to below, columns to the right, in the middle +x; and ever rougher mirror images of it.
precision highp float;
uniform highp sampler2D around_map;

vec2 on_map(vec3 d) { return vec2(0.5 - atan(d.y, d.x) * 0.159154943, acos(clamp(d.z, -1.0, 1.0)) * 0.318309886); }
