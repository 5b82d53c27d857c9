'use strict';
// What can be shown besides the visual shapes: collision shapes, margins, spheres, frames with names, start and goal.

const LAYERS = {
  visual: ['shapes', 'what is seen'],
  collisions: ['collision shapes', 'what is checked for collisions'],
  margins: ['margins', 'safety margins; those of two objects are added'],
  spheres: ['spheres', 'sphere approximation, of the certificates'],
  frames: ['frames', 'frames and their names'],
  ghosts: ['start, goal', 'the robot at the begin and at the end of the segment'],
  marks: ['distances', 'contacts, and the closest pair with its distance'],
};
// Okabe and Ito, Color Universal Design, 2008.
const COLOURS = {
  colliding: '#d53600', close: '#0072b2', free: '#009e73', undecided: '#e69f00', margins: '#f0e442', spheres: '#cc79a7',
  collisions: '#5f7fa8', start: '#56b4e9', goal: '#e69f00',
};

function tinted(colour, opacity) {
  return new THREE.MeshStandardMaterial({ color: colour, roughness: 0.7, transparent: true, opacity, depthWrite: false });
}

// A text that always faces the camera and keeps its size on the screen.
function textSprite(text, colour = '#1b2530') {
  const canvas = document.createElement('canvas');
  const pen = canvas.getContext('2d');
  const font = '600 36px system-ui, "DejaVu Sans", sans-serif';
  pen.font = font;
  canvas.width = Math.ceil(pen.measureText(text).width) + 24;
  canvas.height = 52;
  pen.fillStyle = 'rgba(255, 255, 255, 0.85)';
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.font = font;
  pen.fillStyle = colour;
  pen.fillText(text, 12, 38);
  const map = new THREE.CanvasTexture(canvas);
  map.colorSpace = THREE.SRGBColorSpace;
  const sprite = new THREE.Sprite(new THREE.SpriteMaterial({ map, depthTest: false, sizeAttenuation: false, toneMapped: false }));
  sprite.scale.set(canvas.width / canvas.height, 1, 1);
  sprite.center.set(0, 0);
  sprite.renderOrder = 10;
  return sprite;
}

function lines(points, colours) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(points.flat()), 3));
  if (Array.isArray(colours)) {
    const values = colours.flatMap((colour) => new THREE.Color(colour).toArray());
    geometry.setAttribute('color', new THREE.BufferAttribute(new Float32Array(values), 3));
  }
  const material = new THREE.LineBasicMaterial({
    depthTest: false, transparent: true, toneMapped: false,
    ...(Array.isArray(colours) ? { vertexColors: true } : { color: colours }),
  });
  const made = new THREE.LineSegments(geometry, material);
  made.renderOrder = 9;
  return made;
}

class Layers {
  constructor(stage, replay) {
    this.stage = stage;
    this.replay = replay;
    this.shown = { visual: true, marks: true };
    this.groups = stage.objects.map(() => ({}));
    this.ghosts = [];
    this.segment = undefined;
    stage.objects.forEach((object, index) => {
      const visual = new THREE.Group();
      visual.add(...object.group.children);
      object.group.add(visual);
      this.groups[index].visual = visual;
    });
    const bar = document.getElementById('layers');
    for (const [name, [label, title]] of Object.entries(LAYERS)) {
      if (!this.has(name)) continue;
      const button = element('button', label);
      Object.assign(button, { title });
      button.dataset.layer = name;
      button.setAttribute('aria-pressed', Boolean(this.shown[name]));
      button.addEventListener('click', () => this.show(name, !this.shown[name]));
      bar.append(button);
    }
  }

  has(name) {
    const { objects, checks, duration } = this.replay;
    if (name === 'margins' || name === 'collisions') return objects.some((object) => object[name].length);
    if (name === 'spheres') return objects.some((object) => object.spheres.length);
    if (name === 'marks') return checks.some((check) => check.closest || check.pairs.length);
    return name !== 'ghosts' || duration > 0;
  }

  show(name, visible) {
    this.shown[name] = visible;
    document.querySelector(`[data-layer="${name}"]`)?.setAttribute('aria-pressed', visible);
    if (name === 'ghosts') this.placeGhosts();
    else if (name === 'marks') this.marks.visible = visible;
    else this.groups.forEach((group, index) => this.showPart(group, index, name, visible));
    this.stage.changed = true;
  }

  showPart(group, index, name, visible) {
    if (!group[name]) {
      if (!visible) return;
      group[name] = this.build(this.stage.objects[index], name);
      this.stage.objects[index].group.add(group[name]);
    }
    group[name].visible = visible;
  }

  build(object, name) {
    const group = new THREE.Group();
    if (name === 'frames') {
      const ends = [[0, 0, 0], [0.07, 0, 0], [0, 0, 0], [0, 0.07, 0], [0, 0, 0], [0, 0, 0.07]];
      group.add(lines(ends, ['#d53600', '#d53600', '#009e73', '#009e73', '#0072b2', '#0072b2']), textSprite(object.frame));
    } else if (name === 'spheres') {
      const count = object.spheres.length / 4;
      if (!count) return group;
      const mesh = new THREE.InstancedMesh(new THREE.SphereGeometry(1, 16, 10), tinted(COLOURS.spheres, 0.3), count);
      const matrix = new THREE.Matrix4();
      for (let i = 0; i < count; i += 1) {
        const [x, y, z, r] = object.spheres.subarray(4 * i, 4 * i + 4);
        mesh.setMatrixAt(i, matrix.makeScale(r, r, r).setPosition(x, y, z));
      }
      group.add(mesh);
    } else {
      this.addParts(group, object[name], tinted(COLOURS[name], name === 'margins' ? 0.28 : 0.45));
    }
    return group;
  }

  addParts(group, parts, material) {
    for (const part of parts) {
      const mesh = new THREE.Mesh(solid(part, this.replay.meshes), material);
      mesh.position.fromArray(part.pose);
      mesh.quaternion.fromArray(part.pose, 3);
      group.add(mesh);
    }
  }

  // The moving objects at the begin and at the end of the present segment, or of the whole.
  update(time) {
    const segment = segmentAt(this.replay, time);
    if (segment === this.segment && this.ghosts.length) return;
    this.segment = segment;
    this.placeGhosts();
  }

  placeGhosts() {
    if (this.shown.ghosts && !this.ghosts.length) {
      this.ghosts = ['start', 'goal'].map((which) => this.buildGhost(which));
    }
    const { times, duration } = this.replay;
    const ends = this.segment ? [this.segment.start, this.segment.end] : [0, duration];
    this.ghosts.forEach((ghost, which) => {
      const place = placeInTime(times, ends[which]);
      ghost.visible = Boolean(this.shown.ghosts);
      for (const { group, track } of ghost.userData.items) poseAt(track, place, group.position, group.quaternion);
    });
    this.stage.changed = true;
  }

  buildGhost(which) {
    const ghost = new THREE.Group();
    const material = tinted(COLOURS[which], 0.3);
    ghost.userData.items = this.stage.objects.filter(({ track }) => track.length > 7).map(({ track, parts }) => {
      const group = new THREE.Group();
      this.addParts(group, parts, material);
      ghost.add(group);
      return { group, track };
    });
    this.stage.scene.add(ghost);
    return ghost;
  }
}
