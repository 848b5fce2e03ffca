flat in int number;
out uint pixel;
void main() { pixel = uint(number); }
