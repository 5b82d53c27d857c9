"""The same question has the same answer, byte for byte, in any process."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
from test_engines_agree import margins
from robot_cell_planner.collision.checker import CollisionChecker
cell, state = margins()
for engine in ("coal", "bullet"):
    checker = CollisionChecker(cell, state, engine=engine)
    for q in np.random.default_rng(0).uniform(-2.5, 2.5, (20, 6)):
        report = checker.report(q, verbose=True)
        print(repr(report), checker.clearances(q, 3))
"""


def answers(seed):
    script = SCRIPT.format(folder=str(Path(__file__).parent))
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, env=environment, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_processes_agree_to_the_last_byte():
    first = answers("1")
    assert first.count(b"CollisionPair(") > 10
    assert first == answers("2")
