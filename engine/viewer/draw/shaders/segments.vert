// A segment's row: ends and width in pixels, and its colour.
uniform samplerBuffer rows;

vec4 segment(int k) { return texelFetch(rows, 3 * gl_InstanceID + k); }
