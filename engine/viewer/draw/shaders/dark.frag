uniform vec3 color;              // linear
out vec4 pixel;
void main() { pixel = vec4(sqrt(color), 1.0); }
