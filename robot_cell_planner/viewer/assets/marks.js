'use strict';
// Collisions and distances at a moment: red objects, contact points, names and depth; the object that was picked.

class Marks {
  constructor(stage, replay) {
    this.stage = stage;
    this.replay = replay;
    this.list = document.getElementById('checks');
    this.pickedText = document.getElementById('picked');
    this.group = new THREE.Group();
    stage.scene.add(this.group);
    this.red = new THREE.MeshStandardMaterial({ color: COLOURS.colliding, roughness: 0.5 });
    this.blue = new THREE.MeshStandardMaterial({ color: COLOURS.close, roughness: 0.5 });
    this.at = undefined;
    this.picked = null;
    this.bindPicking();
  }

  set visible(visible) {
    this.group.visible = visible;
    this.stage.changed = true;
  }

  // The last check at or before a moment.
  checkAt(index) {
    let found = null;
    for (const check of this.replay.checks) {
      if (check.moment > index) break;
      found = check;
    }
    return found;
  }

  update(place) {
    const check = this.checkAt(place.index);
    if (check === this.at) return;
    this.at = check;
    this.refresh();
  }

  refresh() {
    this.group.clear();
    const { pairs, closest } = this.at ?? { pairs: [], closest: null };
    for (const pair of closest ? [...pairs, closest] : pairs) this.draw(pair, pairs.includes(pair));
    this.paint(new Set(pairs.flatMap((pair) => [pair.first, pair.second])));
    this.list.replaceChildren(...pairs.map((pair) => element('li', pair.label, 'colliding')));
    if (!pairs.length) this.list.append(element('li', closest ? `closest: ${closest.label}` : 'no collision', 'free'));
    this.tell(pairs, closest);
    this.stage.changed = true;
  }

  draw(pair, colliding) {
    const colour = colliding ? COLOURS.colliding : COLOURS.close;
    this.group.add(lines(pair.points.flat(), colour));
    for (const [first, second] of pair.points) {
      for (const point of [first, second]) {
        const ball = new THREE.Mesh(new THREE.SphereGeometry(0.006, 12, 8), new THREE.MeshBasicMaterial({ color: colour, depthTest: false, transparent: true, toneMapped: false }));
        ball.position.set(...point);
        ball.renderOrder = 9;
        this.group.add(ball);
      }
    }
    if (!pair.points.length) return;
    const label = textSprite(pair.label, colour);
    label.position.set(...pair.points[0][0]);
    label.renderOrder = 11; // before the names of frames
    this.group.add(label);
  }

  paint(colliding) {
    for (const { frame, group } of this.stage.objects) {
      const wanted = colliding.has(frame) ? this.red : frame === this.picked ? this.blue : null;
      group.children[0].traverse((mesh) => {
        if (!mesh.isMesh) return;
        mesh.userData.own ??= mesh.material;
        mesh.material = wanted ?? mesh.userData.own;
      });
    }
  }

  tell(pairs, closest) {
    if (!this.picked) return this.pickedText.replaceChildren();
    const touches = pairs.filter((pair) => [pair.first, pair.second].includes(this.picked))
      .map((pair) => (pair.first === this.picked ? pair.second : pair.first));
    const near = closest && [closest.first, closest.second].includes(this.picked) ? `closest: ${closest.label}` : '';
    const said = touches.length ? `touches ${touches.join(', ')}` : `touches nothing${near && `; ${near}`}`;
    return this.pickedText.replaceChildren(element('b', this.picked), element('span', said));
  }

  pick(frame) {
    this.picked = frame === this.picked ? null : frame;
    this.refresh();
  }

  // A click without a drag picks the object under the pointer.
  bindPicking() {
    const canvas = document.getElementById('view');
    let pressed = null;
    canvas.addEventListener('pointerdown', (event) => { pressed = [event.clientX, event.clientY]; });
    canvas.addEventListener('pointerup', (event) => {
      if (!pressed || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 5) return;
      const frame = this.frameAt(event.clientX, event.clientY);
      if (frame) this.pick(frame);
    });
  }

  frameAt(x, y) {
    const { left, top, width, height } = document.getElementById('view').getBoundingClientRect();
    const pointer = new THREE.Vector2((2 * (x - left)) / width - 1, 1 - (2 * (y - top)) / height);
    const ray = new THREE.Raycaster();
    ray.setFromCamera(pointer, this.stage.camera);
    const visible = this.stage.objects.filter(({ group }) => group.visible);
    const hits = visible.flatMap(({ frame, group }) => ray.intersectObject(group.children[0], true).map((hit) => ({ frame, hit })));
    hits.sort((a, b) => a.hit.distance - b.hit.distance);
    return hits[0]?.frame ?? null;
  }
}
