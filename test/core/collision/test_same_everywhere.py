"""Equal requests have equal results, byte for byte, in any process."""

import os
import subprocess
import sys
from pathlib import Path

from folders import SUPPORT

SETTLED = """
import sys
import coal
import numpy as np
from robot_cell_planner.collision.engines.coal_shapes import coal_geometry
from robot_cell_planner.model.geometry import Box
first, second = coal_geometry(Box((0.1, 0.1, 0.1))), coal_geometry(Box((0.1, 1.7, 0.3)))
request, result = coal.DistanceRequest(), coal.DistanceResult()
pose = coal.Transform3s(np.eye(3), np.array((0.0, 0.9273132491104385, 0.0)))
print(repr(coal.distance(first, coal.Transform3s(), second, pose, request, result)))
"""
SCRIPT = """
import sys
sys.path[:0] = {folders!r}
import numpy as np
from collision_cells import body, box, working_cell
from test_engines_agree import margins
from robot_cell_planner.collision.checker import CollisionChecker
if sys.argv[1] == "2":
    # What was asked before, and of what, must not matter.
    CollisionChecker(*working_cell((body("cube", box(0.1, 0.1, 0.1)),))).report(np.zeros(6))
cell, state = margins()
for engine in ("coal", "bullet"):
    checker = CollisionChecker(cell, state, engine=engine)
    for q in np.random.default_rng(0).uniform(-2.5, 2.5, (20, 6)):
        report = checker.report(q, verbose=True)
        print(repr(report), checker.clearances(q, 3))
"""


def answers(seed):
    script = SCRIPT.format(folders=[str(SUPPORT), str(Path(__file__).parent)])
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-c", script, seed], capture_output=True, env=environment, check=False, timeout=500
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_processes_agree_to_the_last_byte():
    first = answers("1")
    assert first.count(b"CollisionPair(") > 10
    assert first == answers("2")


def test_boxes_have_their_size_after_any_first_request():
    """coal decides at the first box of a process whether all boxes are slightly wider."""
    done = subprocess.run([sys.executable, "-c", SETTLED], capture_output=True, check=True, timeout=500)
    assert abs(float(done.stdout) - 0.0273132491104385) < 1e-15
