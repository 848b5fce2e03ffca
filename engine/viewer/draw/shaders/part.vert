// Parts of the picture, at the far plane.
void main() { gl_Position = vec4(corner(), 1.0, 1.0); }
