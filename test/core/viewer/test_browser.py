"""The replay page in a real browser, if one is installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape

import numpy as np
import pytest
from recordings import STEP, demo_cell, small_recording

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.trajectory.trajectory import Trajectory
from robot_cell_planner.viewer import Moment, Recording, write_html

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# The size of the window includes the bars of the browser, 143 pixels high in Chromium 156.
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--use-angle=swiftshader",
    "--window-size=500,400", "--virtual-time-budget=2000", "--proxy-server=127.0.0.1:9", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--dump-dom",
)  # fmt: skip
# Presses keys and clicks on an object, and records the state of the page. Errors of scripts are caught first.
DRIVER = """<script>
const errors = [];
addEventListener('error', (event) => errors.push(event.message));
addEventListener('unhandledrejection', (event) => errors.push(String(event.reason)));
console.error = (...words) => errors.push(words.join(' '));
</script>"""
STEPS = """<script>
const press = (key) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
const waiting = setInterval(() => {
  if (document.documentElement.dataset.ready !== 'true') return;
  clearInterval(waiting);
  const said = {};
  const note = (name) => { said[name] = [player.time, player.playing]; };
  for (const key of ['ArrowUp', 'ArrowRight', 'ArrowRight', 'ArrowLeft', 'ArrowDown', 'ArrowUp', ' ', 'ArrowRight']) {
    press(key);
    note(`${Object.keys(said).length} ${key}`);
  }
  for (const layer of Object.keys(LAYERS)) if (player.layers.has(layer)) player.layers.show(layer, true);
  player.marks.pick('forearm_link');
  player.stage.draw();
  const requests = performance.getEntriesByType('resource').map((entry) => entry.name);
  const labels = [];
  player.stage.scene.traverseVisible((each) => { if (each.isSprite) labels.push(each); });
  const ray = new THREE.Raycaster();
  const hits = [];
  for (let x = -0.99; x < 1; x += 0.02) for (let y = -0.99; y < 1; y += 0.02) {
    ray.setFromCamera(new THREE.Vector2(x, y), player.stage.camera);
    hits.push(ray.intersectObjects(labels).length);
  }
  const shown = document.createElement('pre');
  shown.id = 'said';
  shown.textContent = JSON.stringify({ said, errors, requests, labels: labels.length, hits: Math.max(...hits),
    checks: document.getElementById('checks').textContent,
    picked: document.getElementById('picked').textContent, calls: player.stage.renderer.info.render.calls });
  document.body.append(shown);
}, 50);
</script>"""

# Records the curves of the first joint, and where the line of the present time is drawn.
CURVES = """<script>
const waiting = setInterval(() => {
  if (document.documentElement.dataset.ready !== 'true') return;
  clearInterval(waiting);
  const { curves } = player;
  player.seek(player.replay.duration);
  const now = () => Number(curves.plots.querySelector('line.now').getAttribute('x1'));
  const said = { now: [now()] };
  curves.box.querySelector('[data-order=velocity]').click();
  said.now.push(now());
  curves.box.querySelector('[data-order=position]').click();
  const [plot] = curves.plots.children;
  said.ends = [...plot.querySelectorAll('polyline')].map((line) => line.points[line.points.length - 1].x);
  said.title = plot.querySelector('span').textContent;
  said.legend = [...curves.box.querySelectorAll('.legend span')].map((each) => each.textContent);
  const shown = document.createElement('pre');
  shown.id = 'said';
  shown.textContent = JSON.stringify({ ...said, errors });
  document.body.append(shown);
}, 50);
</script>"""

# Records which controls of the page are visible.
CONTROLS = """<script>
const waiting = setInterval(() => {
  if (document.documentElement.dataset.ready !== 'true') return;
  clearInterval(waiting);
  const names = ['play', 'timeline', 'clock', 'speed', 'theme'];
  const visible = (name) => [name, getComputedStyle(document.getElementById(name)).visibility === 'visible'];
  const shown = document.createElement('pre');
  shown.id = 'said';
  shown.textContent = JSON.stringify(Object.fromEntries(names.map(visible)));
  document.body.append(shown);
}, 20);
</script>"""


def opened(page, folder, address=""):
    """Return the document of a page after it was loaded in a browser."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"no browser is installed ({', '.join(BROWSERS)})")
    command = [browser, *OPTIONS, f"--user-data-dir={folder / 'profile'}", f"{page.as_uri()}{address}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def driven(page, folder, steps=STEPS):
    """Return the records of the driver on a page."""
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<body>", f"<body>{DRIVER}").replace("</body>", f"{steps}</body>"), encoding="utf-8")
    return json.loads(unescape(re.search(r'<pre id="said">(.*?)</pre>', opened(page, folder), re.DOTALL)[1]))


def test_the_page_draws_the_cell_without_a_network(tmp_path):
    cell, state = demo_cell()
    page = write_html(tmp_path / "replay.html", cell, small_recording(state), rate=10.0)
    shown = opened(page, tmp_path, "#t=0.5&theme=light")
    assert 'data-ready="true"' in shown
    assert 'class="failure"' not in shown
    assert "0.50 / 1.18 s" in shown
    assert '<b id="caption-name">carry' in shown


@pytest.mark.parametrize("moving", [True, False])
def test_only_a_motion_has_controls_of_time(tmp_path, moving):
    cell, state = demo_cell()
    recording = small_recording(state) if moving else Recording((Moment(0.0, state),))
    found = driven(write_html(tmp_path / "state.html", cell, recording), tmp_path, CONTROLS)
    assert found == {"play": moving, "timeline": moving, "clock": moving, "speed": moving, "theme": True}


def test_keys_step_and_play_and_nothing_is_requested(tmp_path):
    cell, state = demo_cell()
    found = driven(write_html(tmp_path / "replay.html", cell, small_recording(state)), tmp_path)
    times = [time for time, _ in found["said"].values()]
    assert times == pytest.approx([0.0, STEP, 2 * STEP, STEP, 1.18, 0.0, 0.0, STEP], abs=1e-4)
    assert [playing for _, playing in found["said"].values()] == [False] * 6 + [True, False]
    assert found["errors"] == []
    assert found["requests"] == []
    assert found["calls"] > 20  # draw calls of a frame with all layers


def test_a_collision_and_contacts_of_a_picked_link_are_shown(tmp_path):
    cell, state = demo_cell()
    colliding = state.with_configuration({"shoulder_lift_joint": 0.3})
    page = write_html(tmp_path / "collision.html", cell, Recording((Moment(0.0, colliding),)))
    found = driven(page, tmp_path)
    pairs = CollisionChecker(cell, colliding).report().pairs
    for pair in pairs:
        assert f"{pair.first} \N{EN DASH} {pair.second}: {1e3 * pair.depth:.1f} mm deep" in found["checks"]
    touched = [pair.second for pair in pairs if pair.first == "forearm_link"]
    assert found["picked"] == f"forearm_linktouches {', '.join(touched)}"
    assert found["labels"] > 3  # of contacts and frames
    assert found["hits"] == 1  # labels that a ray through a point of the picture hits
    assert found["errors"] == []


def test_curves_of_several_lengths_have_one_axis_of_time(tmp_path):
    """The recording, 1.18 s long, is of the first one; the second one takes longer."""
    cell, state = demo_cell()
    motions = {
        name: Trajectory(("elbow_joint",), np.array([0.0, end]), np.array([[0.0], [goal]]))
        for name, end, goal in (("short", 1.18, 0.5), ("long", 2.36, -1.0))
    }
    page = write_html(tmp_path / "curves.html", cell, small_recording(state), trajectories=motions)
    found = driven(page, tmp_path, CURVES)
    assert found["ends"] == pytest.approx([50.0, 100.0], abs=0.01)
    assert found["now"] == pytest.approx([50.0, 50.0], abs=0.01)
    assert found["title"] == "elbow_joint (short: 0.000 to 0.500 rad; long: 0.000 to -1.000 rad)"
    assert found["legend"] == ["short (1.18 s)", "long (2.36 s)"]
    assert found["errors"] == []


# Records the sizes of labels and the contrast of the names on the time line, in a small picture.
SIZES = """<script>
const waiting = setInterval(() => {
  if (document.documentElement.dataset.ready !== 'true') return;
  clearInterval(waiting);
  player.layers.show('frames', true);
  player.stage.draw();
  document.getElementById('caption').hidden = false;
  document.getElementById('caption-name').textContent = 'a segment with a long name';
  const { camera, renderer } = player.stage;
  const labels = [];
  player.stage.scene.traverse((each) => { if (each.isSprite) labels.push(each); });
  const half = (camera.projectionMatrix.elements[5] * renderer.domElement.clientHeight) / 2;
  const pixels = labels.map((each) => each.scale.y * half);
  const channel = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const luminance = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((value) => channel(value / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrasts = [];
  for (const theme of ['light', 'dark']) {
    document.documentElement.dataset.theme = theme;
    for (const now of [false, true]) for (const block of document.querySelectorAll('#blocks div')) {
      block.classList.toggle('now', now);
      const { color, backgroundColor, opacity } = getComputedStyle(block);
      const [low, high] = [luminance(color), luminance(backgroundColor)].sort((a, b) => a - b);
      contrasts.push(Number(opacity) * ((high + 0.05) / (low + 0.05)));
    }
  }
  const group = new THREE.Group();
  const long = textSprite('gripper/left_finger - workpiece: 0.1 mm');
  group.position.copy(player.stage.center);
  group.add(long);
  player.layers.show('frames', false);
  player.marks.visible = false;
  player.stage.scene.add(group);
  player.stage.draw();
  const caption = document.getElementById('caption').getBoundingClientRect();
  const views = document.getElementById('views').getBoundingClientRect();
  const shown = document.createElement('pre');
  shown.id = 'said';
  shown.textContent = JSON.stringify({ pixels, contrasts, errors, long: long.visible,
    covered: caption.right > views.left && caption.top < views.bottom });
  document.body.append(shown);
}, 50);
</script>"""


def test_labels_and_names_can_be_read_in_a_small_window(tmp_path):
    cell, state = demo_cell()
    page = write_html(tmp_path / "replay.html", cell, small_recording(state))
    found = driven(page, tmp_path, SIZES)
    assert found["errors"] == []
    assert found["pixels"] == pytest.approx([18.0] * len(found["pixels"]))
    assert found["contrasts"]
    assert min(found["contrasts"]) >= 4.5  # WCAG 2, level AA
    assert not found["covered"]
    assert found["long"], "a label that is narrower than the picture is shown"
