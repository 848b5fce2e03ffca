// An instance's row: three rows of its pose, its colour, and (metallic, roughness, whether it has a texture, its number).
uniform samplerBuffer rows;
layout(location = 4) in float copy;      // small surfaces lie in the buffers several times over
uniform int first;
uniform int copies;

vec4 row(int k) { return texelFetch(rows, 5 * (first + copies * gl_InstanceID + int(copy)) + k); }
