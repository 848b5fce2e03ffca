// The page: time, the camera in the hands of mouse, fingers and keys, and the list of links.
//
// The address says what is shown first: #t=1.5 stops there, &speed=0.1, &play, &loop=0, and
// &camera=azimuth,elevation (degrees),distance,x,y,z (metres).

const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
const ROUND = [0.1, 0.2, 0.5, 1, 2, 5, 10];               // which taps go through where there is no room for − and +
const STEP = 1 / 60;                                      // s, of the arrow keys, at speed 1
const MAX_PIXELS = 2;                                     // of the canvas, along one of the page's
// Where a browser is slow, what moves is drawn with fewer pixels and coarse surfaces: shares of the pixels along a side, from fine on.
const SHARES = [1, 1, 0.7, 0.5], SLOW = 30, QUICK = 10;   // ms that a picture takes, above and below which there are fewer and more
const SOON = 4, LATER = 30, REST = 150;                   // of so many pictures one is timed, at first and later; ms until it is drawn fine
const element = id => document.getElementById(id);
const short = (x, digits = 4) => String(Number(x.toPrecision(digits)));

class Page {
  constructor(scene) {
    this.scene = scene;
    [this.first, this.last] = scene.times;
    this.t = this.first;
    this.playing = scene.play && this.last > this.first;
    this.speed = 1;
    this.clock = null;                                    // ms, when the last frame was shown
    this.loop = true;
    this.level = this.pictures = 0;                       // of SHARES; those in a row that something moves in
    this.rested = false;                                  // whether what is seen now is drawn as fine as it will be
    this.followed = null;
    this.camera = new Camera();
    [this.camera.frame, this.camera.azimuth] = [scene.frame, scene.azimuth];
    this.camera.floor = scene.grounded ? scene.floor : null;
    this.canvas = element("picture");
    this.renderer = new Renderer(this.canvas, scene);
    this.signs = scene.sky && scene.sky.centers ? new Signs(this) : null;
    this.words = scene.marks ? new Words(this) : null;
    this.charts = scene.plots ? new Charts(scene.plots) : null;
    this.fit();
    this.read_address();
    this.listen();
    this.list_links();
    document.body.classList.toggle("still", this.last === this.first);
    this.refresh();
  }

  get aspect() { return Math.max(this.canvas.clientWidth, 1) / Math.max(this.canvas.clientHeight, 1); }

  // ---------------------------------------------------------------- time

  seek(t) {
    this.t = Math.min(Math.max(t, this.first), this.last);
    this.refresh();
  }

  play(playing) {
    this.playing = playing && this.last > this.first;
    if (this.playing && this.t >= this.last) this.t = this.first;
    this.clock = null;
    this.refresh();
  }

  toggle() { this.play(!this.playing); }

  step(steps) {
    this.play(false);
    this.seek(this.t + steps * STEP * Math.max(this.speed, 0.01));
  }

  begin_again() { this.seek(this.first); }

  pace(speed) {
    this.speed = speed;
    this.refresh();
  }

  faster(rungs) {
    const now = SPEEDS.findIndex(s => s >= this.speed * 0.999);
    this.pace(SPEEDS[Math.min(Math.max((now < 0 ? SPEEDS.length - 1 : now) + rungs, 0), SPEEDS.length - 1)]);
  }

  advance(now) {
    const passed = this.clock === null ? 0 : Math.min((now - this.clock) / 1000, 0.25);     // a hidden page stands still
    this.clock = now;
    let t = this.t + passed * this.speed;
    if (t >= this.last) {
      if (this.loop) t = this.first + (t - this.last) % Math.max(this.last - this.first, 1e-9);
      else { t = this.last; this.playing = false; }
    }
    this.t = t;
  }

  // ---------------------------------------------------------------- the picture

  refresh() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(now => this.frame(now));
  }

  frame(now) {
    this.waiting = false;
    if (this.playing) this.advance(now);
    this.follow();
    if (++this.pictures % (this.pictures < LATER ? SOON : LATER) === 0) this.adapt(this.timed(() => this.draw(this.level)));
    else this.draw(this.level);
    this.rested = false;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.rest(), REST);
    this.show_time();
    document.body.dataset.shown = this.t;
    if (this.playing) this.refresh();
  }

  rest() {
    if (this.waiting) return;                             // the next picture is late
    if (this.level || this.renderer.software) this.draw(this.renderer.software ? -1 : 0);
    this.pictures = 0;
    this.rested = true;
  }

  // The milliseconds until a picture is there.
  timed(draw) {
    const {gl} = this.renderer, began = performance.now();
    draw();
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    return performance.now() - began;
  }

  adapt(took) {
    if (took > SLOW && this.level < SHARES.length - 1) this.level++;
    if (took < QUICK && this.level) this.level--;
  }

  // The time on plots; null at the end of what goes on.
  get moment() { return this.t; }

  // At a level of SHARES; −1 smooths edges by many pixels.
  draw(level) {
    if (this.lost) return;
    const ratio = level < 0 ? MAX_PIXELS : SHARES[level] * Math.min(window.devicePixelRatio || 1, MAX_PIXELS);
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight].map(x => Math.max(Math.round(x * ratio), 1));
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
    const origin = this.scene.origin(this.camera), camera = this.camera.about(origin);
    const drawing = this.scene.drawing(this.t, origin, camera);
    this.renderer.draw(camera, drawing, level > 0);
    if (this.signs) this.signs.draw(camera, drawing);
    if (this.words) this.words.draw(camera, drawing);
    if (this.charts) this.charts.draw(this.moment);
  }

  show_time() {
    const digits = this.speed < 0.1 ? 4 : 3;
    element("time").textContent = `${this.t.toFixed(digits)} / ${this.last.toFixed(digits)} s`;
    element("scrub").value = this.last > this.first ? (this.t - this.first) / (this.last - this.first) : 0;
    element("speed").textContent = `${this.speed}×`;
    element("play").classList.toggle("playing", this.playing);
    element("play").title = this.playing ? "pause (space)" : "play (space)";
    element("loop").classList.toggle("on", this.loop);
  }

  fit(points = this.scene.points) {
    this.camera.fit(points, this.aspect);
    this.fitted = {aspect: this.aspect, eye: this.camera.eye};
  }

  // From where the camera looks, degrees.
  look(azimuth, elevation) {
    [this.camera.azimuth, this.camera.elevation] = [azimuth, elevation].map(x => x * Math.PI / 180);
    this.refresh();
  }

  // The camera goes along with a link that was chosen in the list.
  follow() {
    if (!this.followed) return;
    const {actor, link} = this.followed, world = this.scene.actors[actor].poses(this.t);
    const at = [0, 1, 2].map(r => world[12 * link + 4 * r + 3]);
    if (this.followed.at) this.camera.target = this.camera.target.map((x, i) => x + at[i] - this.followed.at[i]);
    this.followed.at = at;
  }

  // ---------------------------------------------------------------- the address

  read_address() {
    const asked = new URLSearchParams(location.hash.slice(1)), number = name => parseFloat(asked.get(name));
    if (Number.isFinite(number("speed"))) this.speed = Math.min(Math.max(number("speed"), SPEEDS[0]), SPEEDS[SPEEDS.length - 1]);
    if (asked.has("loop")) this.loop = asked.get("loop") !== "0";
    if (Number.isFinite(number("t"))) { this.playing = false; this.seek(number("t")); }
    if (asked.has("play")) this.play(asked.get("play") !== "0");
    const camera = (asked.get("camera") || "").split(",").map(parseFloat);
    if (camera.length === 6 && camera.every(Number.isFinite)) {
      this.look(camera[0], camera[1]);
      this.camera.distance = Math.max(camera[2], 1e-6);
      this.camera.target = camera.slice(3);
    }
    this.refresh();
  }

  // ---------------------------------------------------------------- hands

  listen() {
    element("play").onclick = () => this.toggle();
    element("slower").onclick = () => this.faster(-1);
    element("faster").onclick = () => this.faster(1);
    element("speed").onclick = () => this.pace(element("slower").offsetParent ? 1 : ROUND.find(s => s > 1.001 * this.speed) ?? ROUND[0]);
    element("loop").onclick = () => { this.loop = !this.loop; this.refresh(); };
    element("fit").onclick = () => { this.fit(); this.refresh(); };
    element("scrub").oninput = event => { this.play(false); this.seek(this.first + event.target.value * (this.last - this.first)); };
    addEventListener("hashchange", () => this.read_address());
    addEventListener("keydown", event => this.key(event));
    new ResizeObserver(() => this.resized()).observe(this.canvas);
    this.canvas.addEventListener("webglcontextlost", event => { event.preventDefault(); this.lost = true; });
    this.canvas.addEventListener("webglcontextrestored", () => {
      this.renderer = new Renderer(this.canvas, this.scene);
      this.lost = false;
      this.refresh();
    });
    this.canvas.addEventListener("contextmenu", event => event.preventDefault());
    this.canvas.addEventListener("wheel", event => this.wheel(event), {passive: false});
    const held = new Map();
    this.canvas.addEventListener("pointerdown", event => {
      this.canvas.focus();
      this.canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, [event.clientX, event.clientY]);
      this.press(event);
    });
    this.canvas.addEventListener("pointermove", event => held.has(event.pointerId) && this.drag(event, held));
    for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, event => { held.delete(event.pointerId); this.lift(event); });
  }

  // A phone that is turned shows all again, unless the camera is in somebody's hands.
  resized() {
    const turned = Math.max(this.aspect / this.fitted.aspect, this.fitted.aspect / this.aspect) > 1.3;
    if (turned && this.fitted.eye.every((x, i) => x === this.camera.eye[i])) this.fit();
    this.refresh();
  }

  press(event) {}
  lift(event) {}

  // One finger or the left button turns, the other buttons (or shift) pan; two fingers pan and pinch.
  drag(event, held) {
    const [x, y] = held.get(event.pointerId), height = this.canvas.clientHeight;
    const dx = (event.clientX - x) / height, dy = (event.clientY - y) / height;
    if (held.size === 2) {
      const other = [...held].find(([id]) => id !== event.pointerId)[1];
      const before = Math.hypot(x - other[0], y - other[1]), after = Math.hypot(event.clientX - other[0], event.clientY - other[1]);
      this.camera.pan(-0.5 * dx, 0.5 * dy);
      this.camera.dolly(Math.max(before, 1) / Math.max(after, 1));
    } else if (event.buttons & 6 || event.shiftKey) this.camera.pan(-dx, dy);
    else this.camera.orbit(Math.PI * dx, -Math.PI * dy);
    held.set(event.pointerId, [event.clientX, event.clientY]);
    this.refresh();
  }

  wheel(event) {
    if (window !== window.parent && document.activeElement !== this.canvas) return;         // a notebook scrolls past
    event.preventDefault();
    const lines = event.deltaY * [1, 30, 300][event.deltaMode];
    this.camera.dolly(Math.exp(0.0015 * Math.min(Math.max(lines, -300), 300)));
    this.refresh();
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.type === "number") return;
    const does = {
      " ": () => this.toggle(),
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      ArrowUp: () => this.faster(1),
      ArrowDown: () => this.faster(-1),
      Home: () => this.seek(this.first),
      End: () => { this.play(false); this.seek(this.last); },
      r: () => this.begin_again(),
      o: () => { this.loop = !this.loop; this.refresh(); },
      f: () => { this.fit(); this.refresh(); },
      h: () => this.help(),
      1: () => this.look(0, 0), 2: () => this.look(180, 0), 3: () => this.look(90, 0), 4: () => this.look(-90, 0),
      5: () => this.look(-90, 90), 6: () => this.look(-90, -90),
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }

  // ---------------------------------------------------------------- help

  // What keys do.
  get keys() {
    return [["Space", "play or pause"], ["← →", "back and on"], ["↑ ↓", "faster, slower"], ["R", "begin again"], ["O", "begin again at the end, or not"], ["F", "show everything"],
      ["1 … 6", "from the front, the back, left, right, above, below"], ["H", "this help"]];
  }

  help() {
    if (element("help")) return element("help").remove();
    const table = Object.assign(document.createElement("table"), {id: "help"});
    for (const [key, meaning] of this.keys) table.insertRow().append(...[key, meaning].map(textContent => Object.assign(document.createElement("td"), {textContent})));
    table.onclick = () => table.remove();
    document.body.append(table);
  }

  // ---------------------------------------------------------------- links

  list_links() {
    const list = element("links");
    this.scene.actors.forEach((actor, number) => {
      if (this.scene.actors.length > 1) list.append(Object.assign(document.createElement("h2"), {textContent: actor.name}));
      const drawn = new Set(actor.parts.map(part => part.link));
      actor.links.forEach((name, link) => {
        if (!drawn.has(link)) return;
        const item = Object.assign(document.createElement("button"), {textContent: name, title: "click: the camera follows it"});
        item.onmouseenter = item.onfocus = () => this.glow({actor: number, link});
        item.onmouseleave = item.onblur = () => this.glow(null);
        item.onclick = () => {
          const same = this.followed && this.followed.actor === number && this.followed.link === link;
          this.followed = same ? null : {actor: number, link};
          for (const other of list.querySelectorAll("button")) other.classList.toggle("on", other === item && !same);
          this.refresh();
        };
        list.append(item);
      });
    });
  }

  glow(link) {
    this.scene.highlight = link;
    this.refresh();
  }
}

async function start() {
  const header = JSON.parse(element("scene").textContent);
  const buffer = await unpacked(element("data").textContent.trim());
  const image = ([at, length]) => createImageBitmap(new Blob([new Uint8Array(buffer, at, length)], {type: "image/png"}),
    {premultiplyAlpha: "none", colorSpaceConversion: "none"});
  const scene = new Scene(header, buffer, await Promise.all(header.images.map(image)));
  window.page = header.served ? new Served(scene) : header.simulated ? new Simulated(scene, await modules(header.simulated)) : new Page(scene);
}

start().catch(error => {
  element("fault").textContent = error.message;
  document.body.classList.add("broken");
});
