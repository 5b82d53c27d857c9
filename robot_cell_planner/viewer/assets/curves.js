'use strict';
// Positions, velocities, accelerations and jerks of trajectories against their limits, and their paths in space.

const ORDERS = { position: '', velocity: '/s', acceleration: '/s²', jerk: '/s³' };
const CURVE_COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00'];
const STILL = { true: Math.PI / 180, false: 0.001 }; // [rad, m]: less is drawn as rest

const endOf = (curve) => curve.times[curve.times.length - 1];

class Curves {
  constructor(stage, replay) {
    this.replay = replay;
    this.box = document.getElementById('curves');
    this.box.hidden = !replay.curves.length;
    if (this.box.hidden) return;
    // All curves have one axis of time, as long as the longest of them and the recording, which may be of another length.
    this.span = Math.max(replay.duration, ...replay.curves.map(endOf));
    this.order = 'position';
    this.time = 0;
    this.addChoice();
    this.plots = document.createElement('div');
    this.box.append(this.plots);
    this.draw();
    replay.curves.forEach((curve, index) => this.addPath(stage, curve, index));
    this.addCertificate(stage);
  }

  addChoice() {
    const bar = element('div', undefined, 'choice');
    for (const order of Object.keys(ORDERS)) {
      const button = element('button', order);
      button.dataset.order = order;
      button.addEventListener('click', () => { this.order = order; this.draw(); });
      bar.append(button);
    }
    const names = element('div', undefined, 'legend');
    this.replay.curves.forEach((curve, index) => {
      const name = element('span', `${curve.name} (${endOf(curve).toFixed(2)} s)`);
      name.style.setProperty('--colour', CURVE_COLOURS[index % CURVE_COLOURS.length]);
      names.append(name);
    });
    this.box.append(element('h2', 'Curves'), bar, names);
  }

  limits(name) {
    const joint = this.replay.joints.find((each) => each.name === name);
    if (this.order === 'position') return joint ? [joint.lower, joint.upper] : [null, null];
    const limit = this.replay.limits[name]?.[this.order] ?? null;
    return limit === null ? [null, null] : [-limit, limit];
  }

  draw() {
    for (const button of this.box.querySelectorAll('[data-order]')) button.setAttribute('aria-pressed', button.dataset.order === this.order);
    const names = [...new Set(this.replay.curves.flatMap((curve) => curve.joints))];
    this.plots.replaceChildren(...names.map((name) => this.plot(name)));
    this.update(this.time);
  }

  // One joint: the limits are dashed, and the scale holds what is drawn and, if they are near, the limits.
  plot(name) {
    const joint = this.replay.joints.find((each) => each.name === name);
    const series = this.replay.curves.filter((curve) => curve.joints.includes(name)).map((curve) => {
      const column = curve.joints.indexOf(name);
      const values = Array.from(curve.times, (_, row) => curve[this.order][row * curve.joints.length + column]);
      return { curve, values };
    });
    const all = series.flatMap(({ values }) => values);
    const [lower, upper] = this.limits(name);
    let low = Math.min(...all);
    let high = Math.max(...all);
    const rest = STILL[joint?.angular ?? true];
    if (high - low < rest) [low, high] = [(low + high - rest) / 2, (low + high + rest) / 2];
    if (this.order !== 'position' && upper !== null) [low, high] = [Math.min(low, lower), Math.max(high, upper)];
    const x = (time) => this.place(time);
    const y = (value) => 38 - (36 * (value - low)) / (high - low);
    const polylines = series.map(({ curve, values }) => {
      const points = values.map((value, row) => `${x(curve.times[row]).toFixed(2)},${y(value).toFixed(2)}`).join(' ');
      const colour = CURVE_COLOURS[this.replay.curves.indexOf(curve) % CURVE_COLOURS.length];
      return `<polyline points="${points}" style="stroke: ${colour}"/>`;
    });
    const bounds = [lower, upper].filter((value) => value !== null && value >= low && value <= high)
      .map((value) => `<line class="limit" x1="0" x2="100" y1="${y(value)}" y2="${y(value)}"/>`);
    const row = element('div', undefined, 'curve');
    const chart = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    chart.setAttribute('viewBox', '0 0 100 40');
    chart.setAttribute('preserveAspectRatio', 'none');
    chart.innerHTML = `${bounds.join('')}${polylines.join('')}<line class="now" y1="0" y2="40" x1="0" x2="0"/>`;
    const extents = series.map(({ curve, values }) => {
      const extent = this.extent(values, upper, joint);
      return this.replay.curves.length > 1 ? `${curve.name}: ${extent}` : extent;
    });
    row.append(element('span', `${name} (${extents.join('; ')})`), chart);
    return row;
  }

  // First and last position; of the other orders the largest value, as a fraction of the limit where there is one.
  extent(values, limit, joint) {
    const unit = joint ? ` ${joint.angular ? 'rad' : 'm'}${ORDERS[this.order]}` : '';
    if (this.order === 'position') return `${values[0].toFixed(3)} to ${values[values.length - 1].toFixed(3)}${unit}`;
    const most = Math.max(...values.map(Math.abs));
    if (limit === null) return `${most.toFixed(3)}${unit}`;
    return `${((100 * most) / limit).toFixed(0)} % of ${limit.toFixed(2)}${unit}`;
  }

  // A time on the axis [%].
  place(time) {
    return this.span ? (100 * time) / this.span : 0;
  }

  update(time) {
    if (this.box.hidden) return;
    this.time = time;
    const at = this.place(time);
    for (const line of this.plots.querySelectorAll('line.now')) {
      line.setAttribute('x1', at);
      line.setAttribute('x2', at);
    }
  }

  addPath(stage, curve, index) {
    if (this.replay.curves.length < 2) return; // one alone is the path of the recording
    const points = [];
    for (let row = 3; row < curve.path.length; row += 3) points.push([...curve.path.subarray(row - 3, row)], [...curve.path.subarray(row, row + 3)]);
    if (points.length) stage.scene.add(lines(points, CURVE_COLOURS[index % CURVE_COLOURS.length]));
  }

  addCertificate(stage) {
    const found = this.replay.certificate;
    if (!found || !found.verdicts.length) return;
    const points = [];
    const colours = [];
    found.verdicts.forEach((verdict, index) => {
      points.push([...found.points.subarray(3 * index, 3 * index + 3)], [...found.points.subarray(3 * index + 3, 3 * index + 6)]);
      const colour = COLOURS[verdict] ?? COLOURS.undecided;
      colours.push(colour, colour);
    });
    stage.scene.add(lines(points, colours));
    const proven = found.verdicts.filter((verdict) => verdict === 'free').length;
    const percent = Math.floor((100 * proven) / found.verdicts.length);
    const others = proven < found.verdicts.length ? '; the rest is orange' : '';
    const said = `${percent} % of the path is certified (green)${others}`;
    this.box.append(element('p', said, 'certificate'));
  }
}
