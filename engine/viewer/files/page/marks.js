// Marks: arrows, points, lines and names, at samples of a motion, or as a server sends them.

// Arrays of a frame: numbers of a row, and how they are written. Those of one kind have as many rows as the counts say.
const MARKS = {
  which: [1, Uint16Array, 0], poses: [12, Float32Array, 0], colors: [4, Uint8Array, 0], dots: [4, Float32Array, 1], dot_colors: [4, Uint8Array, 1],
  strokes: [7, Float32Array, 2], stroke_colors: [4, Uint8Array, 2], places: [3, Float32Array, 3], texts: [1, Uint16Array, 3], text_colors: [4, Uint8Array, 3],
};
const KINDS = 4, BEHIND = 0.12;                           // instances, dots, strokes, names; opacity of a line that a planet hides

class Marks {
  constructor(header, buffer, times) {
    Object.assign(this, header);                          // moments, words, legend
    [this.first, this.last] = times;
    this.read(buffer, header.arrays);
  }

  // Those of a buffer, where arrays begin.
  read(buffer, arrays) {
    this.origins = new Float64Array(buffer, arrays.origin, 3 * this.moments);
    this.counts = new Int32Array(buffer, arrays.counts, KINDS * this.moments);
    this.begins = new Int32Array(KINDS * (this.moments + 1));
    for (let k = 0; k < this.counts.length; k++) this.begins[k + KINDS] = this.begins[k] + this.counts[k];
    for (const [name, [n, type, kind]] of Object.entries(MARKS)) this[name] = new type(buffer, arrays[name], n * this.begins[KINDS * this.moments + kind]);
  }

  // Those of one moment, as a server sends them: one array after the other, each from a multiple of eight bytes on; without bytes none.
  frame(buffer) {
    const bytes = buffer.byteLength ? buffer : new ArrayBuffer(24 + 4 * KINDS), arrays = {origin: 0, counts: 24};
    const counts = new Int32Array(bytes, 24, KINDS);
    let at = 24 + 4 * KINDS;
    for (const [name, [n, type, kind]] of Object.entries(MARKS)) {
      arrays[name] = at;
      at += 8 * Math.ceil(n * counts[kind] * type.BYTES_PER_ELEMENT / 8);
    }
    this.read(bytes, arrays);
  }

  // A kind's rows of an array at a moment.
  rows(name, k) {
    const [n,, kind] = MARKS[name], begin = this.begins[KINDS * k + kind];
    return this[name].subarray(n * begin, n * (begin + this.counts[KINDS * k + kind]));
  }

  // What there is at a time, seen from an origin: shapes and lines between two moments where both have the same, else those of the nearer one.
  at(t, origin) {
    const at = this.moments > 1 ? Math.min(Math.max((t - this.first) / (this.last - this.first), 0), 1) * (this.moments - 1) : 0;
    const k = Math.min(Math.floor(at), Math.max(this.moments - 2, 0)), part = at - k, near = this.moments > 1 && part >= 0.5 ? k + 1 : k;
    const shift = j => [0, 1, 2].map(r => this.origins[3 * j + r] - origin[r]), same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);
    const read = (name, moved) => {
      const kept = MARKS[name][2], next = k + 1 < this.moments && part > 0 && kept !== 1;
      const between = next && this.rows(name, k).length === this.rows(name, k + 1).length && (kept || same(this.rows("which", k), this.rows("which", k + 1)));
      const [j, s] = between ? [k, part] : [near, 0], a = this.rows(name, j), b = s ? this.rows(name, j + 1) : a, n = MARKS[name][0];
      const [p, q] = [shift(j), shift(s ? j + 1 : j)], out = new Float32Array(a.length);
      for (let i = 0; i < a.length; i++) {
        const r = moved.indexOf(i % n) % 3;
        out[i] = r < 0 ? (1 - s) * a[i] + s * b[i] : (1 - s) * (a[i] + p[r]) + s * (b[i] + q[r]);
      }
      return out;
    };
    return {
      which: this.rows("which", near), poses: read("poses", [3, 7, 11]), colors: this.rows("colors", near),
      dots: read("dots", [0, 1, 2]), dot_colors: this.rows("dot_colors", near),
      strokes: read("strokes", [0, 1, 2, 3, 4, 5]), stroke_colors: this.rows("stroke_colors", near),
      places: read("places", [0, 1, 2]), texts: this.rows("texts", near), text_colors: this.rows("text_colors", near),
    };
  }
}

// The names of marks and what arrows mean, flat over the picture.
class Words {
  constructor(page) {
    this.page = page;
    this.picture = document.body.insertBefore(document.createElementNS(document.querySelector("svg").namespaceURI, "svg"), element("bar"));
    this.picture.id = "words";
    document.body.insertBefore(Object.assign(document.createElement("div"), {id: "legend"}), element("bar"));
    this.explain(page.scene.marks.legend);
  }

  // What arrows mean.
  explain(entries) {
    element("legend").replaceChildren();
    for (const [text, [r, g, b]] of entries) {
      const entry = Object.assign(document.createElement("div"), {textContent: text});
      entry.style.setProperty("--tint", `rgb(${[r, g, b].map(x => Math.round(255 * x))})`);
      element("legend").append(entry);
    }
  }

  draw(camera, {marks}) {
    const {canvas, scene} = this.page, wide = canvas.clientWidth, high = canvas.clientHeight, m = camera.matrix(wide / high), {texts, places, text_colors: c} = marks;
    while (this.picture.children.length > texts.length) this.picture.lastChild.remove();
    while (this.picture.children.length < texts.length) this.picture.append(document.createElementNS(this.picture.namespaceURI, "text"));
    texts.forEach((text, k) => {
      const clip = r => m[r] * places[3 * k] + m[r + 4] * places[3 * k + 1] + m[r + 8] * places[3 * k + 2] + m[r + 12], w = clip(3), made = this.picture.children[k];
      made.style.display = w > 0 ? "" : "none";
      if (!(w > 0)) return;
      made.textContent = scene.marks.words[text] ?? "";
      made.setAttribute("x", (0.5 + 0.5 * clip(0) / w) * wide);
      made.setAttribute("y", (0.5 - 0.5 * clip(1) / w) * high);
      made.setAttribute("fill", `rgb(${c[4 * k]} ${c[4 * k + 1]} ${c[4 * k + 2]})`);
    });
  }
}
