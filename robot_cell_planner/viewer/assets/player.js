'use strict';
// Time: play, pause, scrub, speed. The address may carry #t=<seconds>&theme=<light|dark>&view=<name>&play.

class Player {
  constructor(replay) {
    this.replay = replay;
    this.time = 0;
    this.speed = 1;
    this.playing = false;
    this.stage = new Stage(document.getElementById('view'), replay);
    this.trails = replay.tool_points.map(({ track }) => new Trail(this.stage, replay, track));
    this.panel = new Panel(replay, (time) => this.seek(time));
    this.bindButtons();
    this.bindTimeline();
    this.bindKeys();
    this.seek(0);
  }

  seek(time) {
    this.time = Math.min(Math.max(time, 0), this.replay.duration);
    const place = placeInTime(this.replay.times, this.time);
    this.stage.pose(place);
    for (const trail of this.trails) trail.update(place);
    this.panel.update(this.time, place);
  }

  play(playing) {
    if (playing && this.time >= this.replay.duration) this.seek(0);
    this.playing = playing;
    document.getElementById('play').classList.toggle('playing', playing);
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
    const steps = { ArrowLeft: -0.1, ArrowRight: 0.1, PageDown: -1, PageUp: 1 };
    document.addEventListener('keydown', (event) => {
      if (event.target.closest('select, button') && event.key === ' ') return;
      if (event.key === ' ') this.play(!this.playing);
      else if (event.key === 'Home') this.seek(0);
      else if (event.key === 'End') this.seek(this.replay.duration);
      else if (event.key in steps && !event.target.closest('select')) this.seek(this.time + steps[event.key]);
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
    player.play(address.has('play'));
    player.tick(performance.now());
    document.documentElement.dataset.ready = 'true';
  } catch (error) {
    document.getElementById('stage').replaceChildren(element('p', `This replay cannot be shown: ${error.message}`, 'failure'));
    throw error;
  }
}

start();
