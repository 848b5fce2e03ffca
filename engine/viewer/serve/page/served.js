// A page that is served: what moves comes over a WebSocket, and orders go back.

const SAID = 6000, AGAIN = 2000;                          // ms: of a sentence, until it connects anew

class Served extends Tuned {
  constructor(scene) {
    super(scene);
    this.served = scene.served;
    this.given = this.obeyed = 0;                         // orders to this server
    this.said = "";
    for (const actor of scene.actors) {
      if (this.served.kind === "motion") break;
      actor.poses(this.first);
      actor.poses = () => actor.world;                    // what frames say, from now on
    }
    document.body.classList.add(this.served.kind);
    this.add_controls();
    document.body.insertAdjacentHTML("beforeend", '<p id="say" role="status"></p>');
    if (this.live) this.add_buttons();
    if (this.live) document.body.classList.remove("still");
    this.served.joints.forEach((joints, actor) => Object.entries(joints).forEach(([joint, [lower, upper, unit]]) =>
      this.slider(`${actor} ${joint}`, `${joint}, ${unit}`, [lower, upper], value => this.order("turn", {actor, joint, value}))));
    this.connect();
  }

  get live() { return this.served && this.served.kind === "live"; }

  add_buttons() {
    this.add_hands();
  }

  // ---------------------------------------------------------------- the socket, or the notebook around a frame

  connect() {
    if (location.protocol === "about:") {
      this.send = text => parent.postMessage(text, "*");
      addEventListener("message", ({source, data}) => { if (source === parent) this.receive(data); });
      this.order("watch");
      return;
    }
    const address = new URL(`socket${location.search}`, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const socket = new WebSocket(address);
    this.send = text => { if (socket.readyState === WebSocket.OPEN) socket.send(text); };
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.gone = false;
      this.given = this.obeyed = 0;
      this.say("");
    };
    socket.onmessage = ({data}) => this.receive(data);
    socket.onclose = () => {
      this.gone = true;
      this.say("");
      setTimeout(() => this.connect(), AGAIN);
    };
  }

  order(order, fields = {}) {
    this.send?.(JSON.stringify({order, ...fields}));
    if (order !== "seen" && order !== "watch") this.given++;
  }

  receive(data) { if (typeof data === "string") this.told(JSON.parse(data)); else this.show(data); }

  // A frame: a time and an origin for each actor, and from there the poses of the links that move.
  show(data) {
    this.order("seen");
    const {actors} = this.scene, head = 1 + 3 * actors.length, numbers = new Float64Array(data, 0, head), poses = new Float32Array(data, 8 * head);
    let k = 0;
    actors.forEach((actor, a) => {
      for (let i = 0; i < actor.instances; i++) {
        for (const link of this.served.moving[a]) {
          const o = 12 * (i * actor.links.length + link);
          for (let r = 0; r < 3; r++) actor.world[o + 4 * r + 3] = numbers[1 + 3 * a + r] + poses[k + r];
          set_rotation(actor.world, o, poses[k + 3], poses[k + 4], poses[k + 5], poses[k + 6]);
          k += 7;
        }
      }
    });
    this.t = numbers[0];
    if (this.scene.marks) this.scene.marks.frame(data.slice(Math.min(8 * Math.ceil((8 * head + 4 * k) / 8), data.byteLength)));
    this.refresh();
  }

  told({page, obeyed, status, plots, words, legend, error}) {
    if (page && page !== this.served.name) location.reload();                               // of another server
    if (error) this.refused(error);
    if (plots) this.charts.show(plots);
    if (words && this.words) {
      this.scene.marks.words = words;
      this.words.explain(legend);
      this.refresh();
    }
    this.obeyed = obeyed ?? this.obeyed;
    if (!status) return;
    this.status = status;
    this.say(this.said);
    if (this.live && this.obeyed >= this.given) this.speed = status.speed;                  // a status from before the last tap is old
    for (const [name, value] of Object.entries(status.parameters || {})) {
      this.parameter(name, value, this.served.units[name] || [], (i, y) => {
        const latest = this.status.parameters[name];
        if (Array.isArray(latest)) latest[i] = y;
        else this.status.parameters[name] = y;
        this.order("set", {name, value: this.status.parameters[name]});
      });
    }
    (status.joints || []).forEach((joints, actor) => Object.entries(joints).forEach(([name, q]) => this.controls.get(`${actor} ${name}`)?.(q)));
    this.refresh();
  }

  // What holds is seen as long as it does, and under it for a while another sentence.
  say(text) {
    const holds = this.gone ? "The server is gone; waiting for it." : this.status && this.status.error;
    element("say").textContent = [holds, text].filter(Boolean).join("\n");
    if (text === this.said) return;
    this.said = text;
    clearTimeout(this.saying);
    if (text) this.saying = setTimeout(() => this.say(""), SAID);
  }

  // What was asked for is not so: controls go back to the status, which follows, and the hand lets go.
  refused(error) {
    this.said = "";                                       // it is said anew
    this.say(error);
    this.touched.clear();
    if (this.grip) {
      Object.assign(this.grip, {slips: true, target: null});
      this.order("release");
    }
  }

  // ---------------------------------------------------------------- time is the server's

  toggle() { if (this.live) this.order(this.status && this.status.paused ? "resume" : "pause"); else super.toggle(); }
  play(playing) { if (!this.live) super.play(playing); }
  seek(t) { if (!this.live) super.seek(t); }
  begin_again() { if (this.live) this.order("reset"); else super.begin_again(); }

  step(steps) {
    if (!this.live) super.step(steps);
    else if (steps > 0) this.order("step", {steps});
  }

  pace(speed) {
    super.pace(speed);
    if (this.live) this.order("speed", {value: speed});
  }

  show_time() {
    super.show_time();
    if (!this.live || !this.status) return;
    const {paused, rate, speed, error} = this.status, runs = !paused && !error;
    element("play").classList.toggle("playing", runs);
    element("play").title = error ? "it has ended" : paused ? "go on (space)" : "pause (space)";
    element("time").textContent = `${this.t.toFixed(3)} s`;
    element("rate").textContent = runs && Math.abs(rate / speed - 1) >= 0.05 ? `at ${rate.toFixed(2)} of real time` : "";
  }

  get moment() { return this.live ? null : this.t; }

  // What is there now, not where it began.
  fit() {
    const {spheres, seen_from} = this.scene, points = [];
    if (!this.status || this.served.kind === "motion" || !seen_from) return super.fit();
    for (let k = 0; k < spheres.length; k += 4) {
      const middle = seen_from.map((x, i) => x + spheres[k + i]);
      for (let i = 0; i < 6; i++) points.push(middle.map((x, r) => r === i >> 1 ? x + (i & 1 ? 1 : -1) * spheres[k + 3] : x));
    }
    super.fit(points);
  }

  // ---------------------------------------------------------------- hands

  get moving() { return this.served.moving; }
  get stiffness() { return this.status && this.status.stiffness; }

  get keys() {
    return [...super.keys, ...Object.entries(this.served.marks || {}).map(([key, [meaning]]) => [key.toUpperCase(), meaning])];
  }

  key(event) {
    const mark = !event.ctrlKey && !event.altKey && !event.metaKey && event.target.type !== "number" && (this.served.marks || {})[event.key.toLowerCase()];
    if (mark) this.order("show", {name: mark[1]});
    else super.key(event);
  }

  pull(link, point, target) { this.order("pull", {link, point, target}); }
  release() { this.order("release"); }
}
