// A page that simulates by itself: the step, the links' places and a pulled point's mass are WebAssembly, without a server.

const LATE = 1 / 30, MOST = 1 / 4;                         // s that a picture may compute, and that it may be behind by
const PULLED = 4 * Math.PI;                                // rad/s, as fast as what is pulled follows

// The functions of the page, by name: each with its memory, run by arrays and numbers in order; it returns its result, and whether it is finite.
async function modules(simulated) {
  const env = {__proto__: Math, fmod: (x, y) => x % y}, made = {};
  for (const [name, {code, takes, returns}] of Object.entries(simulated.functions)) {
    const bytes = Uint8Array.from(atob(code), c => c.charCodeAt(0));
    const {instance: {exports: e}} = await WebAssembly.instantiate(bytes, {env});
    const at = x => new Float64Array(e.memory.buffer, e[x].value, e[`${x}_size`].value), result = at(returns);
    made[name] = (...given) => {
      const passed = takes.map(([x, array], i) => array ? (at(x).set(given[i]), e[x].value) : given[i]);
      return {bad: e[name](...passed, e[returns].value, ...(e.work ? [e.work.value] : [])), result};
    };
  }
  return made;
}

// Arrows of the angular and the linear momentum of all that moves, at its centre of mass; the longest so far are of one length.
class Momenta {
  constructor(drawn) {
    Object.assign(this, drawn, {words: []});
    this.begin();
  }

  begin() { Object.assign(this, {longest: [0, 0], legend: []}); }

  // What is now: the centre of mass, [angular; linear], and what the energy could carry. Returns whether the legend is another.
  set(now) {
    this.now = Array.from(now);
    const said = this.legend.map(([text]) => text).join();
    this.longest = this.longest.map((x, k) => Math.max(x, Math.hypot(...this.vector(k))));
    this.legend = [0, 1].filter(k => this.shows(k)).map(k => [`${["angular momentum", "momentum"][k]}: longest ${+this.longest[k].toPrecision(3)} ${["N·m·s", "N·s"][k]}`, this.colors[k]]);
    return said !== this.legend.map(([text]) => text).join();
  }

  vector(k) { return this.now.slice(3 + 3 * k, 6 + 3 * k); }
  shows(k) { return this.longest[k] > this.slight * this.now[9] * (k ? 1 : this.whole); }

  at(t, origin) {
    const which = [], poses = [], colors = [], [broad, long] = this.head, none = new Float32Array(0);
    for (const k of [0, 1].filter(k => this.shows(k))) {
      const vector = this.vector(k), size = Math.hypot(...vector), length = this.length * size / this.longest[k], b = this.breadth * Math.min(1, length / (1.4 * long * this.breadth));
      if (!(length > 1e-6 * this.breadth)) continue;
      const z = vector.map(x => x / size), a = Math.abs(z[0]) < 0.7 ? [1, 0, 0] : [0, 1, 0], w = cross(z, a), y = w.map(x => x / Math.hypot(...w)), x = cross(y, z);
      const add = (surface, from, wide, high) => {
        which.push(surface);
        poses.push(...[0, 1, 2].flatMap(r => [wide * x[r], wide * y[r], high * z[r], this.now[r] - origin[r] + from * z[r]]));
        colors.push(...this.colors[k].map(x => Math.round(255 * x)));
      };
      add(this.surfaces[0], 0, b, length - long * b);
      add(this.surfaces[1], length - long * b, broad * b, long * b);
    }
    return {which, poses, colors, dots: none, dot_colors: new Uint8Array(0), strokes: none, stroke_colors: [], places: none, texts: [], text_colors: []};
  }
}

class Simulated extends Tuned {
  constructor(scene, functions) {
    if (scene.simulated.momenta) scene.marks = new Momenta(scene.simulated.momenta);
    super(scene);
    Object.assign(this, {simulated: scene.simulated, functions, moving: scene.actors.map((_, i) => i ? [] : scene.simulated.moving), live: true, owed: 0, rate: 1});
    document.body.insertAdjacentHTML("beforeend", '<p id="say" role="status"></p>');
    document.body.classList.remove("still");
    document.body.classList.add("live");
    this.add_hands();
    this.add_controls();
    for (const [name, [at, value, units]] of Object.entries(scene.simulated.tuned)) {
      const given = (i, y) => {
        this.simulated.p[at + i] = this.p[at + i] = y;
        this.controls.get(`= ${name} ${i}`)(y);
      };
      this.parameter(name, value, units, given);
    }
    const [actor] = scene.actors;
    actor.poses = () => actor.world;
    this.begin_again();
    [...element("links").querySelectorAll("button")].find(link => link.textContent === scene.simulated.follow)?.click();
    this.play(scene.play);
  }

  say(text) { element("say").textContent = text; }

  // ---------------------------------------------------------------- time

  play(playing) {
    this.playing = Boolean(this.live && playing && !this.ended);
    this.clock = null;
    this.refresh();
  }

  seek(t) {}

  begin_again() {
    const {x, p} = this.simulated;
    Object.assign(this, {x: Float64Array.from(x), p: Float64Array.from(p), k: 0, owed: 0, ended: false});
    this.say("");
    this.grip = null;
    if (this.scene.marks) this.scene.marks.begin();
    this.show();
  }

  step(steps) {
    this.play(false);
    this.go(Math.max(steps, 0));
    this.show();
  }

  // As many steps as time has passed; what the machine is behind by more than that is skipped.
  advance(now) {
    const passed = this.clock === null ? 0 : (now - this.clock) / 1000, {dt} = this.simulated;
    this.clock = now;
    this.owed = Math.min(this.owed + passed * this.speed, dt + MOST * this.speed);
    const steps = Math.floor(this.owed / dt), done = this.go(steps, performance.now() + 1000 * LATE);
    this.owed -= steps * dt;
    if (passed) this.rate += (1 - Math.exp(-passed)) * (done * dt / passed - this.rate);
    this.show(false);
  }

  // So many steps, until a moment; returns how many there were.
  go(steps, until = Infinity) {
    let done = 0;
    for (; done < steps && !this.ended && (done % 16 || performance.now() < until); done++) {
      const {bad, result} = this.functions.step(this.k, this.p, this.x);
      if (bad) this.end();
      else { this.x.set(result); this.k++; }
    }
    return done;
  }

  end() {
    this.ended = true;
    this.playing = false;
    this.say(`The simulation is not finite any more from t = ${(this.k * this.simulated.dt).toPrecision(4)} s on; R begins again.`);
  }

  // Where the links are now.
  show(refresh = true) {
    const [{world}] = this.scene.actors, {result} = this.functions.poses(this.q);
    for (let link = 0; 12 * link < world.length; link++) world.set(result.subarray(16 * link, 16 * link + 12), 12 * link);
    this.t = this.k * this.simulated.dt;
    const {sky, marks} = this.scene;
    if (marks && marks.set(this.functions.momenta(this.q, this.v).result)) this.words.explain(marks.legend);
    if (sky && sky.frames) this.camera.frame = sky.upright(this.t);                        // who flies along turns
    if (refresh) this.refresh();
  }

  get q() { return this.x.subarray(0, this.simulated.nq); }
  get v() { return this.x.subarray(this.simulated.nq, this.simulated.nq + this.simulated.nv); }

  show_time() {
    super.show_time();
    if (!this.simulated) return;
    element("time").textContent = `${this.t.toFixed(3)} s`;
    element("rate").textContent = this.playing && Math.abs(this.rate / this.speed - 1) >= 0.1 ? `at ${this.rate.toFixed(2)} of real time` : "";
  }

  // ---------------------------------------------------------------- hands

  pull(link, point, target) {
    const {pull, dt} = this.simulated, chosen = this.scene.actors[0].links.map(name => Number(name === link));
    if (!this.grip.spring) {                                                                // as long as it holds, the spring is the same
      const {bad, result: [m]} = this.functions.mass(this.q, chosen, point), w = Math.min(PULLED, 0.1 / dt);
      if (bad || !(m > 0)) { this.grip.slips = true; this.grip.target = null; return; }
      this.grip.spring = [m * w * w, 2 * m * w];
    }
    const [stiffness, damping] = this.grip.spring;
    for (const [name, value] of Object.entries({link: chosen, point, target, stiffness: [stiffness], damping: [damping]})) this.p.set(value, pull[name]);
  }

  get stiffness() { return this.grip && this.grip.spring && this.grip.spring[0]; }
  release() { this.p.set(this.simulated.p); }
}
