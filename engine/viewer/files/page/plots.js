// Plots: courses of signals with their names and units, events as lines and phases as bands, as pictures and windows have them.

const TOP = 20, LOW = 5, ENDS = 46, FADED = 0.42;         // px: above a chart, below it, and beside it for its least and greatest value
const UNSEEN = 1e-6;                                      // of a curve's peak, what is none beside it
const DASH = 6;                                           // px: the stretch in which one of several curves lies on top

class Charts {
  constructor({where, title, colors, found}) {
    document.body.insertAdjacentHTML("beforeend", `<details id="readings" class="${where}" open><summary></summary><div id="plots"></div></details>`);
    document.body.classList.toggle("plotted-left", where.includes("left"));
    this.colors = colors;
    this.panel = element("readings");
    this.list = element("plots");
    this.panel.firstChild.textContent = `readings${title}`;
    this.panel.ontoggle = () => this.draw(this.t);
    if (innerWidth < 560) this.panel.open = false;
    this.t = null;
    this.show(found);
  }

  show(plots) {
    this.plots = plots;
    this.panel.hidden = !plots.length;
    while (this.list.children.length > plots.length) this.list.lastChild.remove();
    while (this.list.children.length < plots.length) this.list.append(document.createElement("canvas"));
    this.draw(this.t);
  }

  // At a time of a motion that is over, or at the end of what has come so far.
  draw(t) {
    this.t = t;
    if (!this.panel.open) return;
    const ratio = window.devicePixelRatio || 1;
    this.plots.forEach((plot, k) => {
      const canvas = this.list.children[k], [w, h] = [canvas.clientWidth, canvas.clientHeight], pen = sized(canvas, w, h, ratio);
      if (plot.course?.width !== canvas.width || plot.course?.height !== canvas.height) plot.course = this.course(plot, w, h, ratio);
      const values = plot.curves.map(curve => settled(t === null ? curve.now : between(plot.t, curve.y, t), curve));
      this.label(pen, plot, values, w);
      if (!plot.scale) return;
      const {across, up, least, most} = plot.scale, now = across(t ?? plot.t[plot.t.length - 1]);
      pen.fillStyle = "#a8b2bf";
      pen.textAlign = "right";
      pen.fillText(short(most, 3), w - 6, TOP + 8);
      pen.fillText(short(least, 3), w - 6, h - LOW);
      pen.globalAlpha = FADED;
      pen.drawImage(plot.course, 0, 0, w, h);
      pen.globalAlpha = 1;
      if (now > 0) pen.drawImage(plot.course, 0, 0, now * ratio, h * ratio, 0, 0, now, h);
      if (t !== null) {
        pen.fillStyle = "#ffffff59";
        pen.fillRect(now, TOP - 2, 1, h - TOP - LOW + 3);
      }
      values.forEach((y, n) => {
        if (y === null) return;
        pen.fillStyle = values.length > 1 ? this.color(n) : "#f2f4f6";
        pen.beginPath();
        pen.arc(now, up(y), 2.6, 0, 7);
        pen.fill();
      });
    });
  }

  color(n) { return this.colors[n % this.colors.length]; }

  // Names with the colours of their curves, or one name with its value, and the unit.
  label(pen, {unit, curves}, values, w) {
    const alone = curves.length === 1, value = alone && values[0] !== null ? `${short(values[0])} ${unit}` : unit;
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.fillStyle = "#f2f4f6";
    pen.fillText(value, w - 6, 13, 0.45 * w);
    pen.textAlign = "left";
    const room = (w - 18 - Math.min(pen.measureText(value).width, 0.45 * w)) / curves.length;
    curves.forEach(({name}, n) => {
      const x = 6 + n * room;
      if (!alone) {
        pen.fillStyle = this.color(n);
        pen.beginPath();
        pen.arc(x + 3, 9, 3, 0, 7);
        pen.fill();
      }
      pen.fillStyle = "#c9d0d8";
      pen.fillText(name, alone ? x : x + 9, 13, alone ? room : room - 13);
    });
  }

  // What stands still of a plot, as a picture: its phases, its events and its curves, each of which lies on top in its turn:
  // those that coincide are one line of many colours.
  course(plot, w, h, ratio) {
    const canvas = document.createElement("canvas"), pen = sized(canvas, w, h, ratio), {t, curves, events, phases} = plot;
    const known = curves.flatMap(({y}) => y.filter(x => x !== null)), first = t[0], last = t[t.length - 1];
    plot.scale = null;
    if (!known.length || !(last > first)) return canvas;
    const [least, most] = known.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]), reach = most - least;
    const middle = 0.5 * (least + most), high = h - TOP - LOW, slope = reach > 1e-12 * Math.max(Math.abs(least), Math.abs(most)) ? (high - 2) / reach : 0;
    const across = x => 6 + (w - 12 - ENDS) * Math.min(Math.max((x - first) / (last - first), 0), 1), up = y => TOP + 0.5 * high - slope * (y - middle);
    plot.scale = {across, up, least, most};
    pen.font = "10px system-ui, sans-serif";
    phases.forEach(([name, begin, end], n) => {
      const [a, b] = [begin, end].map(across);
      pen.fillStyle = "#ffffff1c";
      if (n % 2) pen.fillRect(a, TOP - 2, b - a, high + 3);
      pen.fillStyle = "#a8b2bf";
      if (pen.measureText(name).width + 4 < b - a) pen.fillText(name, a + 2, TOP + 7);
    });
    pen.fillStyle = "#ffffff60";
    for (const event of events) if (event >= first && event <= last) pen.fillRect(across(event), TOP - 2, 1, high + 3);
    pen.fillStyle = "#ffffff29";
    pen.fillRect(6, h - LOW + 1, w - 12 - ENDS, 1);
    const stroke = n => {
      const {y} = curves[n];
      pen.strokeStyle = this.color(n);
      pen.lineWidth = 1.6;
      pen.lineJoin = "round";
      pen.beginPath();
      t.forEach((x, i) => y[i] !== null && (i && y[i - 1] !== null ? pen.lineTo(across(x), up(y[i])) : pen.moveTo(across(x), up(y[i]))));
      pen.stroke();
    };
    for (let n = curves.length - 1; n >= 0; n--) stroke(n);
    for (let n = 0; curves.length > 1 && n < curves.length; n++) {
      pen.save();
      pen.beginPath();
      for (let x = n * DASH; x < w; x += curves.length * DASH) pen.rect(x, 0, DASH, h);
      pen.clip();
      stroke(n);
      pen.restore();
    }
    return canvas;
  }
}

// A canvas of so many pixels of the page, empty: the pen on it.
function sized(canvas, w, h, ratio) {
  const [wide, high] = [w, h].map(x => Math.max(Math.round(x * ratio), 1)), pen = canvas.getContext("2d");
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, w, h);
  return pen;
}

// A value of a curve, of which nothing is left where it has died away.
function settled(x, curve) {
  curve.peak ??= Math.max(0, ...curve.y.map(Math.abs));
  return x !== null && Math.abs(x) <= UNSEEN * curve.peak ? 0 : x;
}

// A value between its samples; null where one beside is none.
function between(times, y, t) {
  const k = Math.max(times.findIndex(x => x >= t), 0), last = times.length - 1;
  if (!times.length) return null;
  if (t >= times[last]) return y[last];
  if (k === 0) return y[0];
  if (y[k] === null || y[k - 1] === null) return null;
  return y[k - 1] + (y[k] - y[k - 1]) * (t - times[k - 1]) / Math.max(times[k] - times[k - 1], 1e-300);
}
