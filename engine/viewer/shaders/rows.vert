// An instance's row: three rows of its pose, its colour, and (metallic, roughness, whether it has a texture, its number).
uniform samplerBuffer rows;
uniform int first;

vec4 row(int k) { return texelFetch(rows, 5 * (first + gl_InstanceID) + k); }
