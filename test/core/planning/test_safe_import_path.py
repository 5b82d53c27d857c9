"""Processes of workers import no modules from the current folder, which may hold any files."""

import os
import subprocess
import sys

import pytest

WAIT = 200.0
STRANGER = "open({marker!r}, 'a').write(__name__ + ' ')\nraise ImportError('of the current folder')\n"
# Standard modules that multiprocessing's own programs import.
NAMES = ("multiprocessing", "selectors", "signal", "threading", "robot_cell_planner")
STARTS = {
    "worker": """
import multiprocessing
from robot_cell_planner.planning.workers.handle import start_worker
if __name__ == "__main__":
    start_worker(multiprocessing.get_context("forkserver"), 0).end()
""",
    "executor": """
from robot_cell_planner.planning.workers.batch import local_executor
if __name__ == "__main__":
    with local_executor(1) as executor:
        assert executor.submit(abs, -2).result() == 2
""",
    "start": """
import multiprocessing
from robot_cell_planner.planning.workers.handle import start_worker
from robot_cell_planner.planning.workers.server import start_server
if __name__ == "__main__":
    start_server()
    start_worker(multiprocessing.get_context("forkserver"), 0).end()
""",
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_workers_import_nothing_from_the_current_folder(start, tmp_path):
    folder, marker = tmp_path / "current", tmp_path / "imported"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(STRANGER.format(marker=str(marker)))
    (tmp_path / "program.py").write_text(start)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment.pop("PYTHONSAFEPATH", None)  # which Python 3.10 does not know
    command = [sys.executable, str(tmp_path / "program.py")]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=WAIT)
    assert not marker.exists(), marker.read_text()
    assert done.returncode == 0, done.stderr
