// Sliders: numbers that hands set, of joints and of parameters. Who inherits says what they do.

const HANDS_OFF = 500;                                    // ms, of a control after a hand was on it

class Tuned extends Hands {
  add_controls() {
    this.controls = new Map();
    this.touched = new Map();                             // ms, when a hand was on a slider
    document.body.insertAdjacentHTML("beforeend", '<details id="controls" open><summary>controls</summary><div id="sliders"></div></details>');
    element("controls").hidden = true;                    // until there are some
    if (innerWidth < 560) element("controls").open = false;
  }

  // A slider with its number; what is typed in may lie beyond the slider's ends. It is told of values that are set elsewhere.
  slider(key, label, [lower, upper], does) {
    const made = document.createElement("label"), input = type => Object.assign(document.createElement("input"), {type, step: "any"});
    const range = input("range"), number = input("number");
    const name = Object.assign(document.createElement("span"), {textContent: label}), ends = document.createElement("small");
    const reach = (lower, upper) => {
      [range.min, range.max] = [lower, upper];
      ends.textContent = `${short(lower)} … ${short(upper)}`;
    };
    reach(lower, upper);
    let truth = 0;
    const show = () => {
      if (key.startsWith("=")) reach(Math.min(range.min, truth), Math.max(range.max, truth));
      range.value = truth;
      number.value = short(truth);
    };
    range.oninput = () => {
      this.touched.set(key, performance.now());
      number.value = short(range.valueAsNumber);
      does(range.valueAsNumber);
    };
    number.onchange = () => {
      number.blur();                                      // keys are the page's again
      const value = number.valueAsNumber;
      if (Number.isFinite(value)) return does(value);
      show();
      this.say(`what was typed for '${label}' is no number; expected one such as ${number.value}`);
    };
    name.append(ends);
    made.append(name, range, number);
    element("sliders").append(made);
    element("controls").hidden = false;
    this.controls.set(key, value => {
      truth = value;
      if (performance.now() - (this.touched.get(key) ?? -Infinity) > HANDS_OFF && document.activeElement !== number) show();
    });
  }

  // Sliders of a parameter, a number or a few, in their units where they are known; ``given`` an entry and its value when a hand sets one.
  parameter(name, value, units, given) {
    const entries = Array.isArray(value) ? value : [value];
    entries.forEach((x, i) => {
      const key = `= ${name} ${i}`, ends = x ? [Math.min(0, 2 * x), Math.max(0, 2 * x)] : [-1, 1];
      const label = (Array.isArray(value) ? `${name}[${i}]` : name) + (units[i] ? `, ${units[i]}` : "");
      if (!this.controls.has(key)) this.slider(key, label, ends, y => given(i, y));
      this.controls.get(key)(x);
    });
  }
}
