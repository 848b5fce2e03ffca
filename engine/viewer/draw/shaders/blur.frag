precision highp float;
in vec2 at;
uniform sampler2D image;
uniform vec2 along;              // one texel along the row or the column
out vec2 pixel;

void main() {                    // a binomial of order 16, two texels a sample
  pixel = 0.19638 * texture(image, at).rg
    + 0.29675 * (texture(image, at + 1.411764706 * along).rg + texture(image, at - 1.411764706 * along).rg)
    + 0.09442 * (texture(image, at + 3.294117647 * along).rg + texture(image, at - 3.294117647 * along).rg)
    + 0.01064 * (texture(image, at + 5.176470588 * along).rg + texture(image, at - 5.176470588 * along).rg);
}
