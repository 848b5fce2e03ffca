// The sky: a planet and the Sun at a time, from samples; what of its light arrives at a place.

class Sky {
  constructor(header, buffer) {
    Object.assign(this, header);                          // of the planet: radius, air, soil, desert, wet; count of stars; images
    [this.first, this.last] = header.times;
    const numbers = (at, n) => at === null ? null : new Float64Array(buffer, at, n * header.places);
    [this.centers, this.axes, this.suns, this.frames] = [numbers(header.centers, 3), numbers(header.axes, 9), numbers(header.suns, 3), numbers(header.frames, 9)];
  }

  // The planet's middle (or null, where it goes along with the eye), its axes by rows, and the unit vector to the Sun.
  at(t) {
    const read = this.reading(t), a = read(this.axes, 9), turned = this.rate * this.turns(t) * (this.last - this.first);
    const c = Math.cos(turned), s = Math.sin(turned);
    const axes = a.map((x, i) => i < 3 ? c * x + s * a[i + 3] : i < 6 ? c * x - s * a[i - 3] : x);
    return {center: this.centers && read(this.centers, 3), axes, sun: read(this.suns, 3)};
  }

  // How often a turn that is repeated is over; the axes of who flies along, by rows.
  turns(t) { return this.frames ? Math.floor((t - this.first) / (this.last - this.first)) : 0; }
  upright(t) {
    const a = this.reading(t)(this.frames, 9);
    return [a.slice(0, 3), a.slice(3, 6), a.slice(6)];
  }

  // What reads n numbers of a time between samples.
  reading(t) {
    const passed = (t - this.first) / (this.last - this.first) - this.turns(t), s = this.last > this.first ? Math.min(Math.max(passed, 0), 1) * (this.places - 1) : 0;
    const k = Math.min(Math.floor(s), Math.max(this.places - 2, 0)), part = s - k, next = this.places > 1 ? 1 : 0;
    return (x, n) => Array.from({length: n}, (_, i) => (1 - part) * x[n * k + i] + part * x[n * (k + next) + i]);
  }

  // The unit vector from an eye to the middle, and how far it is, in radii.
  seen({center}, eye) {
    if (!center) return [[0, 0, -1], this.height];
    const away = center.map((x, i) => x - eye[i]), far = Math.hypot(...away);
    return [away.map(x => x / Math.max(far, 1e-9)), Math.max(far / this.radius, 1 + 1e-6)];
  }

  // Whether the planet hides a point from an eye.
  hides({center}, eye, point) {
    const d = point.map((x, i) => x - eye[i]), c = center.map((x, i) => x - eye[i]), along = d.reduce((sum, x, i) => sum + x * c[i], 0);
    const s = Math.min(Math.max(along / d.reduce((sum, x) => sum + x * x, 0), 0), 1);
    return Math.hypot(...c.map((x, i) => s * d[i] - x)) < 0.999 * this.radius;
  }

  // The Sun's light, dimmed by the planet's shadow, and what the day's side gives back.
  light({center, sun}, place, light) {
    if (!center) return light;
    const p = place.map((x, i) => x - center[i]), far = Math.max(Math.hypot(...p), 1e-9), along = p.reduce((sum, x, i) => sum + x * sun[i], 0);
    const behind = along < 0 ? Math.hypot(...p.map((x, i) => x - along * sun[i])) / this.radius : Infinity;
    const lit = Math.min(Math.max((behind - 0.995) / 0.01, 0), 1), day = Math.max(along / far, 0) * Math.min((this.radius / Math.max(far, this.radius)) ** 2, 1);
    return {...light, key: sun, key_color: light.key_color.map(c => lit * c), fill: p.map(x => -x / far), fill_color: [0.30, 0.36, 0.46].map(c => (0.15 + day) * c)};
  }
}

// What lies flat over the picture where there is a planet: the robots' orbits, and a ring and a name where one is too small to be seen.
class Signs {
  constructor(page) {
    this.page = page;
    const svg = document.querySelector("svg").namespaceURI, make = name => document.createElementNS(svg, name);
    this.picture = document.body.insertBefore(make("svg"), element("bar"));
    this.picture.id = "signs";
    this.lines = page.scene.sky.orbits.map(() => this.picture.appendChild(make("path")));
    this.rings = page.scene.actors.map(actor => {
      const ring = this.picture.appendChild(make("g"));
      ring.append(make("circle"), make("text"));
      ring.firstChild.setAttribute("r", 6);
      ring.lastChild.textContent = actor.name;
      return ring;
    });
  }

  draw(camera, {globe, beacons}) {
    const {canvas, scene: {sky}} = this.page, wide = canvas.clientWidth, high = canvas.clientHeight, [right, up, back] = camera.axes;
    const focus = 0.5 * high / Math.tan(0.5 * camera.fov), dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    const seen = p => {
      const d = p.map((x, i) => x - camera.eye[i]), depth = -dot(d, back);
      if (depth <= 0) return null;
      return {x: 0.5 * wide + focus * dot(d, right) / depth, y: 0.5 * high - focus * dot(d, up) / depth, depth, hidden: sky.hides(globe, camera.eye, p)};
    };
    this.lines.forEach((line, k) => {
      let text = "", pen = "M";
      for (const p of sky.orbits[k]) {
        const at = seen(p.map((x, i) => x + globe.center[i]));
        if (!at || at.hidden) { pen = "M"; continue; }
        text += `${pen}${at.x.toFixed(1)} ${at.y.toFixed(1)}`;
        pen = "L";
      }
      line.setAttribute("d", text);
    });
    this.rings.forEach((ring, k) => {
      const at = seen(beacons[k].middle);
      ring.style.display = at && beacons[k].radius * focus / at.depth < 3 ? "" : "none";
      if (!at) return;
      ring.setAttribute("transform", `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`);
      ring.setAttribute("opacity", at.hidden ? 0.35 : 1);
    });
  }
}
