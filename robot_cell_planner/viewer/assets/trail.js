'use strict';
// The path of a tool centre point: a thin tube in the colours of the segments, solid as far as it has been travelled.

class Trail {
  constructor(stage, replay, track) {
    this.stage = stage;
    this.sides = 8;
    const points = [];
    this.pointOfMoment = [];
    const position = new THREE.Vector3();
    for (let moment = 0; moment < replay.times.length; moment += 1) {
      position.fromArray(track, 7 * Math.min(moment, track.length / 7 - 1));
      const last = points[points.length - 1];
      if (!last || last.at.distanceTo(position) > 0.0015) {
        points.push({ at: position.clone(), colour: segmentAt(replay, replay.times[moment])?.colour ?? '#8d9bab' });
      }
      this.pointOfMoment.push(points.length - 1);
    }
    const geometry = this.tube(points, Math.max(0.0022, 0.0028 * stage.radius));
    const travelled = new THREE.MeshBasicMaterial({ vertexColors: true, toneMapped: false });
    const ahead = new THREE.MeshBasicMaterial({ vertexColors: true, toneMapped: false, transparent: true, opacity: 0.28, depthWrite: false });
    this.travelled = new THREE.Mesh(geometry, travelled);
    this.ahead = new THREE.Mesh(geometry.clone(), ahead);
    this.group = new THREE.Group();
    this.group.add(this.travelled, this.ahead);
    stage.scene.add(this.group);
  }

  // Rings around the points, turned as little as possible from each to the next.
  tube(points, radius) {
    const { sides } = this;
    const positions = new Float32Array(3 * sides * points.length);
    const colours = new Float32Array(3 * sides * points.length);
    const faces = [];
    const tangent = new THREE.Vector3();
    const across = new THREE.Vector3(0.3, 0.5, 0.8);
    const other = new THREE.Vector3();
    const colour = new THREE.Color();
    points.forEach((point, i) => {
      const before = points[Math.max(0, i - 1)].at;
      const after = points[Math.min(points.length - 1, i + 1)].at;
      tangent.subVectors(after, before).normalize();
      across.addScaledVector(tangent, -across.dot(tangent)).normalize();
      other.crossVectors(tangent, across);
      colour.set(point.colour);
      for (let side = 0; side < sides; side += 1) {
        const angle = (2 * Math.PI * side) / sides;
        const start = 3 * (i * sides + side);
        point.at.clone().addScaledVector(across, radius * Math.cos(angle)).addScaledVector(other, radius * Math.sin(angle))
          .toArray(positions, start);
        colour.toArray(colours, start);
        if (i > 0) {
          const a = (i - 1) * sides + side;
          const b = (i - 1) * sides + ((side + 1) % sides);
          faces.push(a, b, a + sides, b, b + sides, a + sides);
        }
      }
    });
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.BufferAttribute(positions, 3));
    geometry.setAttribute('color', new THREE.BufferAttribute(colours, 3));
    geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(faces), 1));
    return geometry;
  }

  update(place) {
    const done = 6 * this.sides * this.pointOfMoment[place.index];
    this.travelled.geometry.setDrawRange(0, done);
    this.ahead.geometry.setDrawRange(done, Infinity);
  }

  set visible(visible) {
    this.group.visible = visible;
    this.stage.changed = true;
  }
}
