// Hands on a simulation: links are pulled, and it is begun again, or goes step by step. Who inherits says ``live``, which links are ``moving``,
// and what ``pull`` and ``release`` do.

const ICONS = {
  step: '<svg viewBox="0 0 16 16"><path d="M2 2v12l8-6zM11 2h3v12h-3z"/></svg>',
  reset: '<svg viewBox="0 0 16 16"><path d="M8 2.5V0L3.5 3.5 8 7V4.5A4 4 0 1 1 4 8.5H2a6 6 0 1 0 6-6z"/></svg>',
  pull: '<svg viewBox="0 0 16 16"><path fill-rule="evenodd" d="M4 7.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM7 8.2l5-5V6h2V0H8v2h2.7l-5 5z"/></svg>',
};

class Hands extends Page {
  get keys() { return [...super.keys, ["→", "a step"], ["Ctrl + drag", "pull a link"]]; }

  add_hands() {
    document.body.insertAdjacentHTML("beforeend", '<svg id="band"></svg>');
    const button = (id, title, does) => {
      const made = Object.assign(document.createElement("button"), {id, title, innerHTML: ICONS[id], onclick: does});
      element("bar").insertBefore(made, element(id === "step" ? "scrub" : "fit"));
    };
    button("step", "one step (→)", () => this.step(1));
    element("time").after(Object.assign(document.createElement("span"), {id: "rate"}));
    button("reset", "begin again (R)", () => this.begin_again());
    button("pull", "pull links (or Ctrl + drag)", () => {
      this.pulls = !this.pulls;
      document.body.classList.toggle("pulling", this.pulls);
      element("pull").classList.toggle("on", this.pulls);
    });
  }

  draw(level) {
    super.draw(level);
    this.stretch();
  }

  press(event) {
    if (!this.live || this.grip || !(this.pulls || event.ctrlKey)) return;
    const found = pick(this.scene, this.camera.eye, this.ray(event));
    if (!found || !this.moving[found.actor].includes(found.link)) return;
    const {world, links} = this.scene.actors[found.actor], o = 12 * (found.instance * links.length + found.link);
    const d = found.point.map((x, r) => x - world[o + 4 * r + 3]);
    this.grip = {...found, id: event.pointerId, world, o, local: [0, 1, 2].map(c => d[0] * world[o + c] + d[1] * world[o + 4 + c] + d[2] * world[o + 8 + c])};
  }

  drag(event, held) {
    if (!this.grip) return super.drag(event, held);
    if (event.pointerId !== this.grip.id || this.grip.slips) return;
    const {eye, axes: [,, back]} = this.camera, ray = this.ray(event);
    const far = dot(this.grip.point.map((x, i) => x - eye[i]), back) / dot(ray, back);      // where it was taken hold of, in depth
    this.grip.target = eye.map((x, i) => x + far * ray[i]);
    this.pull(this.scene.actors[this.grip.actor].links[this.grip.link], this.grip.local, this.grip.target);
    this.refresh();
  }

  lift(event) {
    if (!this.grip || event.pointerId !== this.grip.id) return;
    this.grip = null;
    this.release();
    this.refresh();
  }

  ray({clientX, clientY}) {
    return this.camera.ray(2 * clientX / this.canvas.clientWidth - 1, 1 - 2 * clientY / this.canvas.clientHeight, this.aspect);
  }

  // The rubber band from the point that is held to where it is pulled.
  stretch() {
    if (!element("band")) return;
    if (!this.grip || !this.grip.target) { element("band").innerHTML = ""; return; }
    const {world, o, local, target} = this.grip, {eye} = this.camera, camera = this.camera.about(eye), m = camera.matrix(this.aspect);
    const seen = p => {
      const [x, y, z] = p.map((a, i) => a - eye[i]), clip = r => m[r] * x + m[r + 4] * y + m[r + 8] * z + m[r + 12], w = clip(3);
      return [0.5 + 0.5 * clip(0) / w, 0.5 - 0.5 * clip(1) / w].map((a, i) => a * [this.canvas.clientWidth, this.canvas.clientHeight][i]);
    };
    const held = [0, 1, 2].map(r => world[o + 4 * r + 3] + world[o + 4 * r] * local[0] + world[o + 4 * r + 1] * local[1] + world[o + 4 * r + 2] * local[2]);
    const [[a, b], [c, d]] = [seen(held), seen(target)], force = (this.stiffness || 0) * Math.hypot(...held.map((x, r) => x - target[r]));
    const said = force ? `<text x="${0.5 * (a + c)}" y="${0.5 * (b + d) - 8}">${short(Number(force.toPrecision(3)))} N</text>` : "";
    element("band").innerHTML = `<line x1="${a}" y1="${b}" x2="${c}" y2="${d}" stroke-width="2.5"/><circle cx="${a}" cy="${b}" r="4"/><circle cx="${c}" cy="${d}" r="6"/>${said}`;
  }
}
