// A segment's row, as attributes of an instance: WebGL has no buffer textures.
layout(location = 0) in vec4 first_part;
layout(location = 1) in vec4 second_part;
layout(location = 2) in vec4 third_part;

vec4 segment(int k) { return k == 0 ? first_part : k == 1 ? second_part : third_part; }
