'use strict';
// Labels beside their points: none covers another, and none leaves the picture.

// Which corner of a label lies at its point, in the order of preference.
const CORNERS = [[0, 0], [1, 0], [0, 1], [1, 1]];
const LABEL_HEIGHT = 18; // [px] in a picture of any size

// Rectangle of a label on the screen, in normalized device coordinates: left, bottom, right, top.
function labelRectangle(sprite, point, camera, [right, top]) {
  const width = sprite.scale.x * camera.projectionMatrix.elements[0];
  const height = sprite.scale.y * camera.projectionMatrix.elements[5];
  return [point.x - right * width, point.y - top * height, point.x + (1 - right) * width, point.y + (1 - top) * height];
}

function overlaps([left, bottom, right, top], other) {
  return left < other[2] && other[0] < right && bottom < other[3] && other[1] < top;
}

// Give each label the first place with which it is inside the picture and covers no label before it; without one, it
// is hidden. Labels of contacts come first, then the nearest ones. pixels: height of the picture.
function arrangeLabels(scene, camera, pixels) {
  camera.updateMatrixWorld();
  const labels = [];
  const height = (2 * LABEL_HEIGHT) / (pixels * camera.projectionMatrix.elements[5]);
  scene.traverseVisible((group) => {
    for (const sprite of group.children) {
      if (!sprite.isSprite) continue;
      const point = sprite.getWorldPosition(new THREE.Vector3()).project(camera);
      sprite.visible = false;
      sprite.scale.multiplyScalar(height / sprite.scale.y);
      if (Math.abs(point.z) <= 1) labels.push({ sprite, point });
    }
  });
  labels.sort((a, b) => b.sprite.renderOrder - a.sprite.renderOrder || a.point.z - b.point.z);
  const taken = [];
  for (const { sprite, point } of labels) {
    // Beside its point where it fits, else moved along until its left edge is at that of the picture.
    const left = (point.x + 0.99) / (sprite.scale.x * camera.projectionMatrix.elements[0]);
    const moved = left > 0 && left < 1 ? [[left, 0], [left, 1]] : [];
    const found = [...CORNERS, ...moved].find((corner) => {
      const rectangle = labelRectangle(sprite, point, camera, corner);
      return rectangle.every((edge) => Math.abs(edge) <= 1) && !taken.some((other) => overlaps(rectangle, other));
    });
    if (!found) continue;
    sprite.visible = true;
    sprite.center.set(...found);
    taken.push(labelRectangle(sprite, point, camera, found));
  }
}
