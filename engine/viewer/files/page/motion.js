// Motion: what the page carries, and where every link is at a time.
// Poses are rows of 3×4 matrices; a link's are relative to its parent until poses() has composed them.

async function unpacked(text) {
  const packed = atob(text);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// out[o…] = a[i…] b[j…], matrices of 3×4 whose fourth row is 0 0 0 1
function compose(out, o, a, i, b, j) {
  for (let r = 0; r < 3; r++) {
    const x = a[i + 4 * r], y = a[i + 4 * r + 1], z = a[i + 4 * r + 2];
    for (let c = 0; c < 4; c++) out[o + 4 * r + c] = x * b[j + c] + y * b[j + 4 + c] + z * b[j + 8 + c] + (c === 3 ? a[i + 4 * r + 3] : 0);
  }
}

function set_rotation(m, o, w, x, y, z) {
  m[o] = 1 - 2 * (y * y + z * z); m[o + 1] = 2 * (x * y - w * z); m[o + 2] = 2 * (x * z + w * y);
  m[o + 4] = 2 * (x * y + w * z); m[o + 5] = 1 - 2 * (x * x + z * z); m[o + 6] = 2 * (y * z - w * x);
  m[o + 8] = 2 * (x * z - w * y); m[o + 9] = 2 * (y * z + w * x); m[o + 10] = 1 - 2 * (x * x + y * y);
}

// The rotation a share s of the arc from quaternion a[i…] to a[j…] (scalar first, less than half a turn apart), into the matrix m[o…].
function turn(m, o, a, i, j, s) {
  const cosine = a[i] * a[j] + a[i + 1] * a[j + 1] + a[i + 2] * a[j + 2] + a[i + 3] * a[j + 3];
  const angle = Math.acos(Math.min(cosine, 1)), near = angle < 1e-4;
  const u = near ? 1 - s : Math.sin((1 - s) * angle) / Math.sin(angle);
  const v = near ? s : Math.sin(s * angle) / Math.sin(angle);
  const w = u * a[i] + v * a[j], x = u * a[i + 1] + v * a[j + 1], y = u * a[i + 2] + v * a[j + 2], z = u * a[i + 3] + v * a[j + 3];
  const length = Math.hypot(w, x, y, z);
  set_rotation(m, o, w / length, x / length, y / length, z / length);
}

class Actor {
  constructor(data, buffer, times) {
    Object.assign(this, data);
    this.times = times;                                   // first, last, how many
    const n = this.instances * this.links.length;
    this.position_samples = new Float64Array(buffer, this.positions, times[2] * this.instances * this.moves.length * 3);
    this.rotation_samples = new Float32Array(buffer, this.rotations, times[2] * this.instances * this.turns.length * 4);
    const rest = new Float64Array(buffer, this.rest, n * 7);
    this.local = new Float64Array(n * 12);
    this.world = new Float64Array(n * 12);
    for (let i = 0; i < n; i++) {
      set_rotation(this.local, 12 * i, rest[7 * i + 3], rest[7 * i + 4], rest[7 * i + 5], rest[7 * i + 6]);
      for (let r = 0; r < 3; r++) this.local[12 * i + 4 * r + 3] = rest[7 * i + r];
    }
  }

  // Poses of all links in the world at a time: (instances, links, 3, 4).
  poses(t) {
    const [first, last, count] = this.times;
    const at = count > 1 ? Math.min(Math.max((t - first) / (last - first), 0), 1) * (count - 1) : 0;
    const k = Math.min(Math.floor(at), Math.max(count - 2, 0)), s = at - k, next = count > 1 ? 1 : 0;
    const n = this.links.length, {instances, moves, turns, position_samples: p, rotation_samples: q} = this;
    for (let i = 0; i < instances; i++) {
      moves.forEach((link, m) => {
        const a = 3 * ((k * instances + i) * moves.length + m), b = a + 3 * next * instances * moves.length;
        for (let r = 0; r < 3; r++) this.local[12 * (i * n + link) + 4 * r + 3] = (1 - s) * p[a + r] + s * p[b + r];
      });
      turns.forEach((link, m) => {
        const a = 4 * ((k * instances + i) * turns.length + m);
        turn(this.local, 12 * (i * n + link), q, a, a + 4 * next * instances * turns.length, s);
      });
      this.parents.forEach((parent, link) => {
        const o = 12 * (i * n + link);
        if (parent < 0) for (let c = 0; c < 12; c++) this.world[o + c] = this.local[o + c];
        else compose(this.world, o, this.world, 12 * (i * n + parent), this.local, o);
      });
    }
    return this.world;
  }
}
