// A camera that turns about a point; z is up. Matrices are columns, as OpenGL takes them.

class Camera {
  constructor() {
    this.target = [0, 0, 0];
    this.distance = 3;                                    // m
    this.azimuth = 0.7;                                   // rad, where it stands as seen from the target; 0 is on the x axis
    this.elevation = 0.35;
    this.fov = 0.65;                                      // rad, from bottom to top
    this.radius = 1;                                      // m, of what is looked at
    this.floor = null;                                    // m, the height of the ground, where there is one
    this.frame = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];       // rows of the axes in which both angles are counted, as columns
  }

  get axes() {                                            // right, up, back
    const ca = Math.cos(this.azimuth), sa = Math.sin(this.azimuth), ce = Math.cos(this.elevation), se = Math.sin(this.elevation);
    const turned = a => this.frame.map(row => row[0] * a[0] + row[1] * a[1] + row[2] * a[2]);
    return [[-sa, ca, 0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]].map(turned);
  }

  get eye() {
    const back = this.axes[2];
    return this.target.map((x, i) => x + this.distance * back[i]);
  }

  // Distances of the near and the far plane, m.
  get planes() {
    const height = this.floor === null ? 0 : this.eye[2] - this.floor;
    const near = this.distance - 3 * this.radius;         // no ground is nearer than 0.6 of the height in any corner of a picture
    return [
      Math.max(height > 0 ? Math.min(near, 0.6 * height) : near, 0.02 * Math.min(this.distance, this.radius)),
      this.distance + Math.max(60 * this.radius, 16 * this.distance),
    ];
  }

  // The same camera for who counts from an origin.
  about(origin) {
    const target = this.target.map((x, i) => x - origin[i]), floor = this.floor === null ? null : this.floor - origin[2];
    return Object.assign(new Camera(), this, {target, floor});
  }

  projection(aspect) {
    const [near, far] = this.planes;
    const f = 1 / Math.tan(0.5 * this.fov);
    return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0];
  }

  // World to clip coordinates; and the same for directions.
  matrix(aspect) { return product(this.projection(aspect), looking(this.axes, this.eye)); }
  turn(aspect) { return product(this.projection(aspect), looking(this.axes, [0, 0, 0])); }

  // Clip coordinates to directions in the world, for what is infinitely far.
  rays(aspect) {
    const up = Math.tan(0.5 * this.fov), [x, y, z] = this.axes;
    return [...x.map(a => a * up * aspect), 0, ...y.map(a => a * up), 0, ...z.map(a => -a), 0, 0, 0, 0, 1];
  }

  // The unit vector along the line of sight through a place in the picture, from −1 at the left and below to 1.
  ray(x, y, aspect) {
    const up = Math.tan(0.5 * this.fov), [right, above, back] = this.axes;
    const d = right.map((a, i) => a * x * up * aspect + above[i] * y * up - back[i]), length = Math.hypot(...d);
    return d.map(a => a / length);
  }

  orbit(right, up) {
    this.azimuth -= right;
    this.elevation = Math.min(Math.max(this.elevation - up, -0.5 * Math.PI), 0.5 * Math.PI);
  }

  pan(right, up) {                                        // in heights of the picture at the target
    const height = 2 * this.distance * Math.tan(0.5 * this.fov), [x, y] = this.axes;
    this.target = this.target.map((a, i) => a + height * (right * x[i] + up * y[i]));
  }

  dolly(factor) {
    this.distance = Math.min(Math.max(this.distance * factor, 0.05 * this.radius), 200 * this.radius);
  }

  // Show all points, without turning.
  fit(points, aspect) {
    const ends = [0, 1, 2].map(i => [Math.min(...points.map(p => p[i])), Math.max(...points.map(p => p[i]))]);
    const centre = ends.map(([a, b]) => 0.5 * (a + b)), axes = this.axes, slope = Math.tan(0.5 * this.fov) / 1.1;
    this.radius = Math.max(0.5 * Math.hypot(...ends.map(([a, b]) => b - a)), 1e-9);
    const seen = points.map(p => axes.map(a => a[0] * (p[0] - centre[0]) + a[1] * (p[1] - centre[1]) + a[2] * (p[2] - centre[2])));
    const middle = [0, 1, 2].map(i => 0.5 * (Math.min(...seen.map(p => p[i])) + Math.max(...seen.map(p => p[i]))));
    for (let k = 0; k < 4; k++) {                         // the middle of the picture is not that of the points: those in front look larger
      const off = seen.map(p => p.map((x, i) => x - middle[i]));
      this.distance = Math.max(...off.map(p => p[2] + Math.max(Math.abs(p[0]) / (slope * aspect), Math.abs(p[1]) / slope)), 2.2 * this.radius);
      for (const i of [0, 1]) {
        const flat = off.map(p => p[i] / (this.distance - p[2]));
        middle[i] += 0.5 * this.distance * (Math.min(...flat) + Math.max(...flat));
      }
    }
    this.target = centre.map((x, i) => x + axes[0][i] * middle[0] + axes[1][i] * middle[1] + axes[2][i] * middle[2]);
  }
}

function product(a, b) {
  return Array.from({length: 16}, (_, k) => {
    const r = k % 4, c = 4 * (k >> 2);
    return a[r] * b[c] + a[r + 4] * b[c + 1] + a[r + 8] * b[c + 2] + a[r + 12] * b[c + 3];
  });
}

// World to the coordinates of one who stands at eye, with axes to the right, up, and back.
function looking([x, y, z], eye) {
  const along = a => -(a[0] * eye[0] + a[1] * eye[1] + a[2] * eye[2]);
  return [x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, along(x), along(y), along(z), 1];
}
