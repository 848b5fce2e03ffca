// What is seen at a place: the nearest triangle that a line of sight meets.

// The surface that a ray from an eye meets first: {actor, link, instance, point}, m, world axes; null where there is none.
function pick(scene, eye, ray) {
  let nearest = Infinity, found = null;
  const pose = new Float64Array(12);
  for (const part of scene.order) {
    const {actor, link} = part;
    for (let instance = 0; instance < actor.instances; instance++) {
      compose(pose, 0, actor.world, 12 * (instance * actor.links.length + link), part.placement, 0);
      const to = inverse(pose), from = to([eye[0] - pose[3], eye[1] - pose[7], eye[2] - pose[11]]), along = to(ray);
      if (!crosses(from, along, part.size, nearest)) continue;
      const at = met(scene.surfaces[part.surface], from, along, nearest);
      if (at < nearest) [nearest, found] = [at, {actor: part.number, link, instance, point: eye.map((x, i) => x + at * ray[i])}];
    }
  }
  return found;
}

// The function that takes vectors back through the columns of a pose with a scale.
function inverse(m) {
  const a = [m[0], m[4], m[8]], b = [m[1], m[5], m[9]], c = [m[2], m[6], m[10]], rows = [cross(b, c), cross(c, a), cross(a, b)];
  const volume = dot(a, rows[0]);
  return v => rows.map(row => dot(row, v) / volume);
}

function cross(a, b) { return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]; }
function dot(a, b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// Whether a ray crosses the box [0, size] nearer than a distance.
function crosses(from, along, size, nearest) {
  let first = 0, last = nearest;
  for (let i = 0; i < 3; i++) {
    const p = (-1e-4 - from[i]) / along[i], q = (size[i] + 1e-4 - from[i]) / along[i];
    first = Math.max(first, Math.min(p, q));
    last = Math.min(last, Math.max(p, q));
  }
  return first <= last;
}

// How far along a ray its first triangle of a surface is, by Möller and Trumbore; Infinity where it meets none.
function met(surface, from, along, nearest) {
  const {positions: x, faces} = surface, unit = 1 / 0xFFFF, corner = k => [x[4 * k] * unit, x[4 * k + 1] * unit, x[4 * k + 2] * unit];
  for (let f = 0; f < faces.length; f += 3) {
    const a = corner(faces[f]), b = corner(faces[f + 1]), c = corner(faces[f + 2]);
    const u = b.map((y, i) => y - a[i]), v = c.map((y, i) => y - a[i]), s = from.map((y, i) => y - a[i]);
    const p = cross(along, v), volume = dot(u, p), q = cross(s, u);
    const share = dot(s, p) / volume, other = dot(along, q) / volume, at = dot(v, q) / volume;
    if (share >= 0 && other >= 0 && share + other <= 1 && at > 0 && at < nearest) nearest = at;
  }
  return nearest;
}
