// A corner of a rectangle, −1 … 1 across it and along it.
vec2 corner() { return vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1)) * 2.0 - 1.0; }
