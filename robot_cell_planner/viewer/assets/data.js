'use strict';
// The recording that this page carries: JSON, and one compressed block with all arrays.

const ARRAYS = { float32: Float32Array, uint16: Uint16Array, uint32: Uint32Array };

async function loadReplay() {
  const replay = JSON.parse(document.getElementById('replay').textContent);
  const packed = Uint8Array.from(atob(document.getElementById('block').textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  const buffer = await new Response(stream).arrayBuffer();
  const array = (place) => new ARRAYS[place.kind](buffer, place.offset, place.count);

  replay.times = array(replay.times);
  for (const object of [...replay.objects, ...replay.tool_points]) object.track = array(object.track);
  for (const object of replay.objects) object.spheres = array(object.spheres);
  for (const curve of replay.curves) {
    for (const name of ['times', 'path', 'position', 'velocity', 'acceleration', 'jerk']) curve[name] = array(curve[name]);
  }
  if (replay.certificate) replay.certificate.points = array(replay.certificate.points);
  for (const joint of replay.joints) joint.values = array(joint.values);
  for (const mesh of replay.meshes) {
    mesh.vertices = array(mesh.vertices);
    mesh.faces = array(mesh.faces);
  }
  replay.duration = replay.times[replay.times.length - 1];
  replay.segments.forEach((segment, index) => { segment.colour = segmentColour(index); });
  return replay;
}

// Colours that people with any colour vision can tell apart, on a light and on a dark ground (Okabe and Ito).
function segmentColour(index) {
  const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#b8860b'];
  return colours[index % colours.length];
}

// The moment at or before a time, and how far the time lies between it and the next (0 to 1).
function placeInTime(times, time) {
  let low = 0;
  let high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle; else high = middle;
  }
  if (high === low || time <= times[low]) return { index: low, fraction: 0 };
  if (time >= times[high]) return { index: high, fraction: 0 };
  return { index: low, fraction: (time - times[low]) / (times[high] - times[low]) };
}

// Position and orientation of a track there: linear, and along the great circle.
function poseAt(track, place, position, quaternion) {
  const rows = track.length / 7;
  const row = 7 * Math.min(place.index, rows - 1);
  position.fromArray(track, row);
  quaternion.fromArray(track, row + 3);
  if (place.fraction > 0 && rows > 1) {
    position.lerp(poseAt.nextPosition.fromArray(track, row + 7), place.fraction);
    quaternion.slerp(poseAt.nextQuaternion.fromArray(track, row + 10), place.fraction);
  }
}
poseAt.nextPosition = new THREE.Vector3();
poseAt.nextQuaternion = new THREE.Quaternion();

function valueAt(values, place) {
  const value = values[place.index];
  return place.fraction > 0 ? value + place.fraction * (values[place.index + 1] - value) : value;
}

// The segment at a time; of two that meet there, the later one.
function segmentAt(replay, time) {
  return replay.segments.reduce((found, s) => (s.start <= time + 1e-9 && time <= s.end + 1e-9 ? s : found), null);
}
