'use strict';
// What stands beside the picture: results, the table of segments, the joints, and the time line.

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Black or white, whichever has the higher contrast to a colour #rrggbb (relative luminance of WCAG).
function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => (parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? '#000000' : '#ffffff';
}

// Numbers line up on the right; longer words may wrap.
function factCell(text) {
  return element('td', text, text && Number.isNaN(Number(text)) ? 'words' : undefined);
}

class Panel {
  constructor(replay, seek) {
    this.replay = replay;
    this.caption = document.getElementById('caption');
    this.clock = document.getElementById('clock');
    this.cursor = document.getElementById('cursor');
    this.addSummary();
    this.addSegments(seek);
    this.addTimeline();
    this.addJoints();
  }

  addSummary() {
    const list = document.getElementById('summary');
    for (const [name, text] of Object.entries(this.replay.summary)) list.append(element('dt', name), element('dd', text));
  }

  addSegments(seek) {
    const { segments } = this.replay;
    const table = document.getElementById('segments');
    if (!segments.length) return;
    const columns = [...new Set(segments.flatMap((segment) => Object.keys(segment.facts)))];
    const head = element('tr');
    head.append(element('th', 'segment'), element('th', 'time s'), ...columns.map((name) => element('th', name)));
    table.createTHead().append(head);
    new ResizeObserver(() => this.fitTable(table)).observe(table.parentElement);
    const body = table.createTBody();
    this.rows = segments.map((segment) => {
      const name = element('td');
      const swatch = element('span', undefined, 'swatch');
      swatch.style.background = segment.colour;
      name.append(swatch, segment.name);
      const row = element('tr');
      const time = element('td', (segment.end - segment.start).toFixed(2));
      time.dataset.name = 'time s';
      row.append(name, time);
      row.append(...columns.map((column) => Object.assign(factCell(segment.facts[column] ?? ''), { title: column })));
      for (const cell of row.querySelectorAll('[title]')) cell.dataset.name = cell.title;
      row.addEventListener('click', () => seek(segment.start));
      body.append(row);
      return row;
    });
  }

  // Where the columns do not fit side by side, each row becomes a list with the names of the columns.
  fitTable(table) {
    table.classList.remove('stacked');
    table.classList.toggle('stacked', table.scrollWidth > table.parentElement.clientWidth);
  }

  addTimeline() {
    const { segments, events, duration } = this.replay;
    const percent = (time) => `${duration ? (100 * time) / duration : 0}%`;
    this.percent = percent;
    this.blocks = segments.map((segment) => {
      const block = element('div');
      block.append(element('span', segment.name), element('b', String(segments.indexOf(segment) + 1)));
      Object.assign(block.style, { left: percent(segment.start), width: percent(segment.end - segment.start) });
      block.style.setProperty('--colour', segment.colour);
      block.style.setProperty('--ink-on', inkOn(segment.colour));
      block.title = segment.name;
      document.getElementById('blocks').append(block);
      return block;
    });
    new ResizeObserver(() => this.fitNames()).observe(document.getElementById('blocks'));
    for (const event of events) {
      const tick = element('i');
      tick.style.left = percent(event.time);
      tick.title = event.text;
      document.getElementById('ticks').append(tick);
    }
  }

  // A name that does not fit its block gives way to the number of the segment.
  fitNames() {
    for (const block of this.blocks) {
      block.classList.remove('narrow');
      block.classList.toggle('narrow', block.scrollWidth > block.clientWidth);
    }
  }

  addJoints() {
    const { joints, times, duration } = this.replay;
    this.joints = joints.map((joint) => {
      const row = element('div', undefined, 'joint');
      let low = joint.values.reduce((least, value) => Math.min(least, value), Infinity);
      const high = joint.values.reduce((most, value) => Math.max(most, value), -Infinity);
      // The noise of a joint at rest fills no chart.
      const span = Math.max(high - low, STILL[joint.angular]);
      low = (low + high - span) / 2;
      const points = Array.from(joint.values, (value, i) => {
        const x = duration ? (100 * times[i]) / duration : 0;
        return `${x.toFixed(2)},${(22 - (20 * (value - low)) / span).toFixed(2)}`;
      });
      const chart = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      chart.setAttribute('viewBox', '0 0 100 24');
      chart.setAttribute('preserveAspectRatio', 'none');
      chart.innerHTML = `<polyline points="${points.join(' ')}"/><line y1="0" y2="24"/>`;
      const value = element('span');
      row.append(element('span', joint.name), chart, value);
      row.title = this.range(joint);
      document.getElementById('joints').append(row);
      return { joint, value, line: chart.lastChild };
    });
  }

  range(joint) {
    if (joint.lower === null || joint.upper === null) return `${joint.name}: no limits`;
    return `${joint.name}: ${this.number(joint, joint.lower)} to ${this.number(joint, joint.upper)}`;
  }

  number(joint, value) {
    return joint.angular ? `${((180 / Math.PI) * value).toFixed(1)}°` : `${(1000 * value).toFixed(1)} mm`;
  }

  update(time, place) {
    const { segments, events, duration } = this.replay;
    const now = segmentAt(this.replay, time);
    const at = now ? segments.indexOf(now) : -1;
    this.rows?.forEach((row, i) => row.classList.toggle('now', i === at));
    this.blocks.forEach((block, i) => block.classList.toggle('now', i === at));
    const event = events.filter((e) => e.time <= time + 1e-9 && e.time > time - 1.5).pop();
    this.caption.hidden = !now && !event;
    this.caption.style.setProperty('--segment', now ? now.colour : 'var(--accent)');
    document.getElementById('caption-name').textContent = now ? now.name : '';
    document.getElementById('caption-event').textContent = event ? event.text : '';
    this.cursor.style.left = this.percent(time);
    this.clock.textContent = `${time.toFixed(2)} / ${duration.toFixed(2)} s`;
    for (const { joint, value, line } of this.joints) {
      value.textContent = this.number(joint, valueAt(joint.values, place));
      line.setAttribute('x1', parseFloat(this.percent(time)));
      line.setAttribute('x2', parseFloat(this.percent(time)));
    }
  }
}
