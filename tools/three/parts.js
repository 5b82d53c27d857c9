// The parts of three.js that the replay page uses; `tools/three/bundle` packs them into one file.
export {
  BufferAttribute, BufferGeometry, CanvasTexture, CapsuleGeometry, Color, ConeGeometry, DirectionalLight, DoubleSide, Group,
  HemisphereLight, InstancedMesh, LatheGeometry, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial,
  MeshStandardMaterial, NeutralToneMapping, PCFShadowMap, PMREMGenerator, PerspectiveCamera, PlaneGeometry, Quaternion,
  Raycaster, Scene, SphereGeometry, Sprite, SpriteMaterial, SRGBColorSpace, Vector2, Vector3, WebGLRenderer,
} from 'three';
export { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
export { RoomEnvironment } from 'three/examples/jsm/environments/RoomEnvironment.js';
export { RoundedBoxGeometry } from 'three/examples/jsm/geometries/RoundedBoxGeometry.js';
export { toCreasedNormals } from 'three/examples/jsm/utils/BufferGeometryUtils.js';
