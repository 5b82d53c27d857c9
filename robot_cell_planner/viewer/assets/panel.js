'use strict';
// What stands beside the picture: results, the table of segments, the joints, and the time line.

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
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
    const body = table.createTBody();
    this.rows = segments.map((segment) => {
      const name = element('td');
      const swatch = element('span', undefined, 'swatch');
      swatch.style.background = segment.colour;
      name.append(swatch, segment.name);
      const row = element('tr');
      row.append(name, element('td', (segment.end - segment.start).toFixed(2)));
      row.append(...columns.map((column) => factCell(segment.facts[column] ?? '')));
      row.addEventListener('click', () => seek(segment.start));
      body.append(row);
      return row;
    });
  }

  addTimeline() {
    const { segments, events, duration } = this.replay;
    const share = (time) => `${duration ? (100 * time) / duration : 0}%`;
    this.share = share;
    this.blocks = segments.map((segment) => {
      const block = element('div', segment.name);
      Object.assign(block.style, { left: share(segment.start), width: share(segment.end - segment.start), background: segment.colour });
      block.title = segment.name;
      document.getElementById('blocks').append(block);
      return block;
    });
    for (const event of events) {
      const tick = element('i');
      tick.style.left = share(event.time);
      tick.title = event.text;
      document.getElementById('ticks').append(tick);
    }
  }

  addJoints() {
    const { joints, times, duration } = this.replay;
    this.joints = joints.map((joint) => {
      const row = element('div', undefined, 'joint');
      const low = joint.values.reduce((least, value) => Math.min(least, value), Infinity);
      const span = joint.values.reduce((most, value) => Math.max(most, value), -Infinity) - low || 1;
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
    this.cursor.style.left = this.share(time);
    this.clock.textContent = `${time.toFixed(2)} / ${duration.toFixed(2)} s`;
    for (const { joint, value, line } of this.joints) {
      value.textContent = this.number(joint, valueAt(joint.values, place));
      line.setAttribute('x1', parseFloat(this.share(time)));
      line.setAttribute('x2', parseFloat(this.share(time)));
    }
  }
}
