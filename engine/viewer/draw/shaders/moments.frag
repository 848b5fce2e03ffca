precision highp float;
out vec2 moments;
void main() { moments = vec2(gl_FragCoord.z, gl_FragCoord.z * gl_FragCoord.z); }
