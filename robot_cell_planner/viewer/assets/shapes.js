'use strict';
// Geometry and material of the parts that objects are made of. Lengths in m, z up.

// Turned about the y axis with chamfered rims, then stood up along z.
function roundSolid(radius, length) {
  const edge = Math.min(0.0025, 0.12 * radius, 0.12 * length);
  const half = length / 2;
  const profile = [[0, -half], [radius - edge, -half], [radius, edge - half], [radius, half - edge], [radius - edge, half], [0, half]];
  const lathe = new THREE.LatheGeometry(profile.map(([x, y]) => ({ x, y })), 48);
  return THREE.toCreasedNormals(lathe, 0.5).rotateX(Math.PI / 2);
}

function boxSolid([x, y, z]) {
  return new THREE.RoundedBoxGeometry(x, y, z, 2, Math.min(0.004, 0.12 * Math.min(x, y, z)));
}

function meshSolid({ low, step, vertices, faces }) {
  const positions = new Float32Array(vertices.length);
  for (let i = 0; i < vertices.length; i += 1) positions[i] = low[i % 3] + step[i % 3] * vertices[i];
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(positions, 3));
  geometry.setIndex(new THREE.BufferAttribute(faces, 1));
  return THREE.toCreasedNormals(geometry, 0.6);
}

function solid(part, meshes) {
  switch (part.type) {
    case 'box': return boxSolid(part.size);
    case 'sphere': return new THREE.SphereGeometry(part.radius, 40, 24);
    case 'cylinder': return roundSolid(part.radius, part.length);
    case 'capsule': return new THREE.CapsuleGeometry(part.radius, part.length, 12, 40).rotateX(Math.PI / 2);
    case 'cone': return new THREE.ConeGeometry(part.radius, part.length, 48).rotateX(Math.PI / 2);
    case 'mesh': {
      const mesh = meshes[part.mesh];
      mesh.geometry ??= meshSolid(mesh);
      return mesh.geometry;
    }
    default: throw new Error(`unknown shape ${part.type}`);
  }
}

const materials = new Map();

function material(rgba) {
  const [red, green, blue, alpha] = rgba ?? [0.6, 0.63, 0.68, 1];
  const key = [red, green, blue, alpha].join();
  if (!materials.has(key)) {
    const made = new THREE.MeshStandardMaterial({ roughness: 0.52, metalness: 0.08, transparent: alpha < 1, opacity: alpha });
    made.color.setRGB(red, green, blue, THREE.SRGBColorSpace);
    materials.set(key, made);
  }
  return materials.get(key);
}

// One object that moves as a whole.
function buildObject(object, meshes) {
  const group = new THREE.Group();
  group.name = object.frame;
  for (const part of object.parts) {
    const mesh = new THREE.Mesh(solid(part, meshes), material(part.rgba));
    mesh.position.fromArray(part.pose);
    mesh.quaternion.fromArray(part.pose, 3);
    mesh.castShadow = (part.rgba?.[3] ?? 1) > 0.5;
    mesh.receiveShadow = true;
    group.add(mesh);
  }
  return group;
}
