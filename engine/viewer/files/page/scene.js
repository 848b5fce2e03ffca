// The scene: surfaces, actors, and what is drawn of them at a time.

class Scene {
  constructor(header, buffer, images) {
    Object.assign(this, header);                          // play, times, environment, light, floor, extent, points, space, shaders
    this.images = images;
    const shape = s => ({
      positions: new Uint16Array(buffer, s.positions, 4 * s.vertices),
      normals: new Uint32Array(buffer, s.normals, s.vertices),
      colors: s.colors === null ? null : new Uint8Array(buffer, s.colors, 4 * s.vertices),
      uv: s.uv === null ? null : new Float32Array(buffer, s.uv, 2 * s.vertices),
      faces: new (s.vertices <= 0xFFFF ? Uint16Array : Uint32Array)(buffer, s.faces, 3 * s.triangles),
    });
    this.surfaces = header.surfaces.map(s => ({...s, ...shape(s), coarse: s.coarse && shape(s.coarse)}));
    this.actors = header.actors.map(a => new Actor(a, buffer, header.times));
    this.order = this.actors.flatMap((actor, k) => actor.parts.map(part => this.ordered(actor, k, part)));
    this.order.sort((a, b) => a.clear - b.clear || a.surface - b.surface);
    const count = this.order.reduce((n, {actor}) => n + actor.instances, 0);
    if (header.marks) this.marks = new Marks(header.marks, buffer, header.times);
    this.rows = new Float32Array(Math.max(Math.ceil(count / ROWS), 1) * ROWS * ROW);
    this.spheres = new Float32Array(4 * count);           // middle and radius, about every instance
    this.row = new Float64Array(12);
    this.side = 10 ** Math.floor(Math.log10(Math.max(header.extent[1], 1e-6)));             // m, of a square of the ground
    this.stars = header.space && new Float32Array(buffer, header.space.stars, 6 * header.space.count);
    this.sky = header.space && new Sky(header.space, buffer);
    this.highlight = null;                                // {actor, link}: its number and the link's index
  }

  // What is drawn for a part of an actor: its row but for the pose, and where positions in [0, 1] lie in the link's frame.
  ordered(actor, number, part) {
    const surface = this.surfaces[part.surface], placement = new Float64Array(12);
    compose(placement, 0, part.placement, 0, [surface.scale, 0, 0, surface.origin[0], 0, surface.scale, 0, surface.origin[1], 0, 0, surface.scale, surface.origin[2]], 0);
    const size = surface.size.map(x => x / surface.scale);
    return {...part, actor, number, placement, size, casts: part.color[3] > 0.5, look: [surface.metallic, surface.roughness, 0, 0]};
  }

  // Where actors are, seen from an origin, and how large: a sphere about the first instance.
  beacons(origin) {
    return this.actors.map(({world, links}) => {
      const spots = links.map((_, i) => [0, 1, 2].map(r => world[12 * i + 4 * r + 3] - origin[r]));
      const middle = [0, 1, 2].map(r => spots.reduce((sum, p) => sum + p[r], 0) / spots.length);
      return {middle, radius: Math.max(1, ...spots.map(p => Math.hypot(...p.map((x, r) => x - middle[r]))))};
    });
  }

  // An origin near a camera's target, from where single precision is enough; lines of the ground stay where they are.
  origin(camera) {
    const whole = 10 * this.side, rounded = x => whole * Math.round(x / whole);
    return camera.target.map((x, i) => this.grounded && i < 2 ? rounded(x) : x);
  }

  // The shapes of marks, in rows from one on: runs of equal surfaces.
  place_marks({which, poses, colors}, first) {
    const needed = Math.ceil((first + which.length) / ROWS) * ROWS * ROW, runs = [];
    if (this.rows.length < needed) {
      const rows = new Float32Array(needed);
      rows.set(this.rows);
      this.rows = rows;
    }
    which.forEach((surface, i) => {
      const o = ROW * (first + i), {scale, origin, metallic, roughness} = this.surfaces[surface], last = runs[runs.length - 1];
      compose(this.row, 0, poses, 12 * i, [scale, 0, 0, origin[0], 0, scale, 0, origin[1], 0, 0, scale, origin[2]], 0);
      this.rows.set(this.row, o);
      for (let r = 0; r < 4; r++) this.rows[o + 12 + r] = colors[4 * i + r] / 255;
      this.rows.set([metallic, roughness, 0, 0], o + 16);
      if (last && last.surface === surface) last.count++;
      else runs.push({surface, first: first + i, count: 1});
    });
    return runs;
  }

  // What is drawn at a time, seen from an origin by a camera near it: rows of instances, runs of equal surfaces in them, a sphere about all.
  drawing(t, origin, {eye}) {
    for (const actor of this.actors) actor.poses(t);
    this.seen_from = origin;
    const runs = [];
    let row = 0;
    for (const part of this.order) {
      const {actor, surface, clear, casts} = part, n = actor.links.length;
      const glows = this.highlight && this.highlight.actor === part.number && this.highlight.link === part.link;
      const color = glows ? [0.5 + 0.5 * part.color[0], 0.35 + 0.3 * part.color[1], 0.1 * part.color[2], part.color[3]] : part.color;
      const last = runs[runs.length - 1];
      if (last && last.surface === surface && last.casts === casts && last.clear === clear) last.count += actor.instances;
      else runs.push({surface, first: row, count: actor.instances, casts, clear});
      for (let i = 0; i < actor.instances; i++, row++) {
        const o = ROW * row;
        compose(this.row, 0, actor.world, 12 * (i * n + part.link), part.placement, 0);
        for (let r = 0; r < 3; r++) this.row[4 * r + 3] -= origin[r];
        this.rows.set(this.row, o);
        this.rows.set(color, o + 12);
        this.rows.set(part.look, o + 16);
        sphere(this.spheres, 4 * row, this.rows, o, part.size);
      }
    }
    const globe = this.sky && this.sky.at(t);
    if (globe && globe.center) globe.center = globe.center.map((x, i) => x - origin[i]);
    const clear = runs.filter(r => r.clear).flatMap(r => Array.from({length: r.count}, (_, i) => ({...r, first: r.first + i, count: 1})));
    const far = ({first}) => Math.hypot(...[0, 1, 2].map(i => this.spheres[4 * first + i] - eye[i]));
    clear.sort((a, b) => far(b) - far(a));
    const marks = this.marks && this.marks.at(t, origin), marked = marks ? this.place_marks(marks, row) : [];
    return {
      rows: this.rows, count: row + (marks ? marks.which.length : 0), marks, marked, solid: runs.filter(r => !r.clear), clear, casting: runs.filter(r => r.casts), bounds: about(this.spheres),
      origin, around: this.extent[0].map((x, i) => x - origin[i]), floor: this.floor - origin[2],
      globe, beacons: globe && globe.center && this.beacons(origin),
    };
  }
}

// A sphere out[k…] about the box [0, size] under a pose with a scale, m[o…].
function sphere(out, k, m, o, size) {
  for (let r = 0; r < 3; r++) {
    const i = o + 4 * r;
    out[k + r] = m[i + 3] + 0.5 * (m[i] * size[0] + m[i + 1] * size[1] + m[i + 2] * size[2]);
  }
  const side = c => size[c] * Math.hypot(m[o + c], m[o + 4 + c], m[o + 8 + c]);
  out[k + 3] = 0.5 * Math.hypot(side(0), side(1), side(2));
}

// A sphere about spheres.
function about(spheres) {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (let k = 0; k < spheres.length; k += 4) {
    for (let i = 0; i < 3; i++) {
      low[i] = Math.min(low[i], spheres[k + i] - spheres[k + 3]);
      high[i] = Math.max(high[i], spheres[k + i] + spheres[k + 3]);
    }
  }
  const middle = low.map((x, i) => 0.5 * (x + high[i]));
  let radius = 0;
  for (let k = 0; k < spheres.length; k += 4) {
    radius = Math.max(radius, spheres[k + 3] + Math.hypot(spheres[k] - middle[0], spheres[k + 1] - middle[1], spheres[k + 2] - middle[2]));
  }
  return {middle, radius};
}
