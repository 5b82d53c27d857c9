'use strict';
// The cell in three dimensions: renderer, light, ground, camera, and everything at its place in time.

class Stage {
  constructor(canvas, replay) {
    this.replay = replay;
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(32, 1, 0.02, 100);
    this.camera.up.set(0, 0, 1);
    this.controls = new THREE.OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.addEventListener('change', () => { this.changed = true; });
    this.changed = true;

    this.objects = replay.objects.map((object) => {
      const group = buildObject(object, replay.meshes);
      this.scene.add(group);
      return { ...object, group };
    });
    this.measure();
    this.addLight();
    this.addGround();
    this.look('corner');
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  // A ball around what matters: all places of objects that move, and bodies that are no floor.
  measure() {
    const low = new THREE.Vector3(Infinity, Infinity, Infinity);
    const high = new THREE.Vector3(-Infinity, -Infinity, -Infinity);
    const position = new THREE.Vector3();
    this.floor = 0;
    for (const { track, parts } of this.objects) {
      let reach = 0;
      for (const part of parts) {
        const half = part.type === 'box' ? Math.hypot(...part.size) / 2 : 0.05;
        reach = Math.max(reach, half + Math.hypot(...part.pose.slice(0, 3)));
      }
      for (let row = 0; row < track.length; row += 7) {
        position.fromArray(track, row);
        if (track.length === 7) this.floor = Math.min(this.floor, position.z);
        if (reach > 1.1) continue;
        low.min(position.clone().addScalar(-0.5 * reach));
        high.max(position.clone().addScalar(0.5 * reach));
      }
    }
    if (!Number.isFinite(low.x)) {
      low.set(-1, -1, 0);
      high.set(1, 1, 1);
    }
    this.center = low.clone().add(high).multiplyScalar(0.5);
    this.radius = Math.max(0.3, 0.5 * low.distanceTo(high));
    this.center.z -= 0.08 * this.radius;
  }

  addLight() {
    const studio = new THREE.PMREMGenerator(this.renderer).fromScene(new THREE.RoomEnvironment(), 0.04).texture;
    this.scene.environment = studio;
    this.scene.environmentRotation.set(Math.PI / 2, 0, 0);
    this.scene.environmentIntensity = 0.5;
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x8d99a8, 0.35));
    const sun = new THREE.DirectionalLight(0xfff6ea, 1.7);
    sun.position.copy(this.center).add(new THREE.Vector3(-0.75, -0.8, 1.7).multiplyScalar(2 * this.radius));
    sun.target.position.copy(this.center);
    sun.castShadow = true;
    sun.shadow.mapSize.set(2048, 2048);
    sun.shadow.radius = 3;
    sun.shadow.normalBias = 0.004;
    sun.shadow.bias = -0.0002;
    const reach = 1.5 * this.radius;
    Object.assign(sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1, far: 8 * this.radius });
    this.scene.add(sun, sun.target);
  }

  // A grid of 0.25 m that fades out.
  addGround() {
    const size = Math.max(6, 8 * this.radius);
    this.ground = new THREE.Mesh(
      new THREE.PlaneGeometry(size, size),
      new THREE.MeshBasicMaterial({ transparent: true, depthWrite: false }),
    );
    this.ground.position.set(Math.round(this.center.x), Math.round(this.center.y), this.floor - 0.022);
    this.scene.add(this.ground);
    this.groundSize = size;
    this.repaint();
  }

  paintGround() {
    const size = this.groundSize;
    const pixels = 2048;
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = pixels;
    const pen = canvas.getContext('2d');
    pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--grid');
    const lines = Math.round(size / 0.25);
    for (let i = 0; i <= lines; i += 1) {
      const at = (i / lines) * pixels;
      pen.lineWidth = (i - Math.round(lines / 2)) % 4 === 0 ? 1.8 : 0.6;
      pen.beginPath();
      pen.moveTo(at, 0); pen.lineTo(at, pixels);
      pen.moveTo(0, at); pen.lineTo(pixels, at);
      pen.stroke();
    }
    pen.globalCompositeOperation = 'destination-in';
    const fade = pen.createRadialGradient(pixels / 2, pixels / 2, 0.1 * pixels, pixels / 2, pixels / 2, pixels / 2);
    fade.addColorStop(0, 'rgba(0,0,0,0.9)');
    fade.addColorStop(1, 'rgba(0,0,0,0)');
    pen.fillStyle = fade;
    pen.fillRect(0, 0, pixels, pixels);
    this.ground.material.map?.dispose();
    this.ground.material.map = new THREE.CanvasTexture(canvas);
    this.ground.material.map.colorSpace = THREE.SRGBColorSpace;
    this.ground.material.map.anisotropy = 8;
    this.ground.material.needsUpdate = true;
    this.changed = true;
  }

  // The colours of the page have changed.
  repaint() {
    this.renderer.toneMappingExposure = document.documentElement.dataset.theme === 'dark' ? 0.8 : 1;
    this.paintGround();
  }

  look(name) {
    const directions = { corner: [1.0, -1.25, 0.75], front: [1, 0, 0.18], side: [0, -1, 0.18], top: [-0.001, 0, 1] };
    const direction = new THREE.Vector3(...directions[name]).normalize();
    this.controls.target.copy(this.center);
    this.camera.position.copy(this.center).addScaledVector(direction, 3.1 * this.radius);
    this.controls.minDistance = 0.1;
    this.controls.maxDistance = 12 * this.radius;
    this.controls.update();
    this.changed = true;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.renderer.domElement;
    if (!width || !height) return;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.fov = width > height ? 32 : 46;
    this.camera.updateProjectionMatrix();
    this.changed = true;
  }

  // Put everything where it is at a place in time.
  pose(place) {
    for (const { group, track, shown } of this.objects) {
      poseAt(track, place, group.position, group.quaternion);
      group.visible = shown.reduce((visible, [index, now]) => (index <= place.index ? now : visible), true);
    }
    this.changed = true;
  }

  draw() {
    this.controls.update();
    if (!this.changed) return;
    this.changed = false;
    arrangeLabels(this.scene, this.camera, this.renderer.domElement.clientHeight);
    this.renderer.render(this.scene, this.camera);
  }
}
