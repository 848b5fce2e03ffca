// A corner of a cell of a rectangle, −1 … 1 across it and along it.
layout(location = 0) in vec2 place;      // counted in cells
uniform vec2 cells;                      // of the rectangle
vec2 corner() { return 2.0 * place / cells - 1.0; }
