'use strict';
// Time: play, pause, scrub, speed. The address may carry
// #t=<seconds>&theme=<light|dark>&view=<name>&layers=<names>&pick=<frame>&curve=<order>&play.

class Player {
  constructor(replay) {
    this.replay = replay;
    this.time = 0;
    this.speed = 1;
    this.playing = false;
    this.stage = new Stage(document.getElementById('view'), replay);
    this.trails = replay.tool_points.map(({ track }) => new Trail(this.stage, replay, track));
    this.layers = new Layers(this.stage, replay);
    this.marks = this.layers.marks = new Marks(this.stage, replay);
    this.curves = new Curves(this.stage, replay);
    this.panel = new Panel(replay, (time) => this.seek(time));
    this.bindButtons();
    this.bindTimeline();
    this.bindKeys();
    document.getElementById('transport').classList.toggle('still', !(replay.duration > 0));
    this.seek(0);
  }

  seek(time) {
    this.time = Math.min(Math.max(time, 0), this.replay.duration);
    const place = placeInTime(this.replay.times, this.time);
    this.stage.pose(place);
    for (const trail of this.trails) trail.update(place);
    this.marks.update(place);
    this.layers.update(this.time);
    this.curves.update(this.time);
    this.panel.update(this.time, place);
  }

  play(playing) {
    if (playing && this.time >= this.replay.duration) this.seek(0);
    this.playing = playing;
    document.getElementById('play').classList.toggle('playing', playing);
  }

  // To the next or the previous recorded moment.
  step(direction) {
    const { times } = this.replay;
    const { index, fraction } = placeInTime(times, this.time);
    const next = direction > 0 ? index + 1 : fraction > 0 ? index : index - 1;
    this.play(false);
    this.seek(times[Math.min(Math.max(next, 0), times.length - 1)]);
  }

  tick(now) {
    const passed = Math.min(0.1, (now - (this.last ?? now)) / 1000);
    this.last = now;
    if (this.playing) {
      this.seek(this.time + passed * this.speed);
      if (this.time >= this.replay.duration) this.play(false);
    }
    this.stage.draw();
    requestAnimationFrame((next) => this.tick(next));
  }

  bindButtons() {
    document.getElementById('play').addEventListener('click', () => this.play(!this.playing));
    document.getElementById('speed').addEventListener('change', (event) => { this.speed = Number(event.target.value); });
    document.getElementById('views').addEventListener('click', (event) => {
      if (event.target.dataset.view) this.stage.look(event.target.dataset.view);
    });
    const trail = document.getElementById('trail');
    trail.addEventListener('click', () => {
      const visible = trail.getAttribute('aria-pressed') !== 'true';
      trail.setAttribute('aria-pressed', visible);
      for (const one of this.trails) one.visible = visible;
    });
    document.getElementById('theme').addEventListener('click', () => {
      setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
      this.stage.repaint();
    });
  }

  bindTimeline() {
    const line = document.getElementById('timeline');
    const scrub = (event) => {
      const { left, width } = line.getBoundingClientRect();
      this.play(false);
      this.seek((this.replay.duration * (event.clientX - left)) / width);
    };
    line.addEventListener('pointerdown', (event) => {
      line.setPointerCapture(event.pointerId);
      scrub(event);
    });
    line.addEventListener('pointermove', (event) => { if (event.buttons) scrub(event); });
  }

  bindKeys() {
    // Space, arrows left and right (one moment), up and down (begin and end), as Gestalt has them; and pages (1 s).
    const seconds = { PageDown: -1, PageUp: 1 };
    const moments = { ArrowLeft: -1, ArrowRight: 1 };
    document.addEventListener('keydown', (event) => {
      if (event.target.closest('select, button') && event.key === ' ') return;
      if (event.key === ' ') this.play(!this.playing);
      else if (event.target.closest('select')) return;
      else if (event.key === 'Home' || event.key === 'ArrowUp') this.seek(0);
      else if (event.key === 'End' || event.key === 'ArrowDown') this.seek(this.replay.duration);
      else if (event.key in seconds) this.seek(this.time + seconds[event.key]);
      else if (event.key in moments) this.step(moments[event.key]);
      else return;
      event.preventDefault();
    });
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}

async function start() {
  const address = new URLSearchParams(location.hash.slice(1));
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  setTheme(address.get('theme') ?? (dark ? 'dark' : 'light'));
  try {
    const player = new Player(await loadReplay());
    if (address.has('view')) player.stage.look(address.get('view'));
    if (address.has('t')) player.seek(Number(address.get('t')));
    for (const name of (address.get('layers') ?? '').split(',').filter((each) => each in LAYERS)) player.layers.show(name, true);
    if (address.has('pick')) player.marks.pick(address.get('pick'));
    if (address.has('curve') && player.replay.curves.length) {
      player.curves.order = address.get('curve');
      player.curves.draw();
    }
    window.player = player;
    player.play(address.has('play'));
    player.tick(performance.now());
    document.documentElement.dataset.ready = 'true';
  } catch (error) {
    document.getElementById('stage').replaceChildren(element('p', `This replay cannot be shown: ${error.message}`, 'failure'));
    throw error;
  }
}

start();
