"""The examples without ROS do the whole job, in each cell, and never import rclpy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = (
    "import runpy, sys; sys.argv = ['example', *sys.argv[1:]]\n"
    "try: runpy.run_path({script!r}, run_name='__main__')\n"
    "finally: print('rclpy imported:', 'rclpy' in sys.modules)"
)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = "hand_over_library.py" if "two_arms" in arguments[0] else "pick_and_place_library.py"
    code = RUN.format(script=str(ROOT / "examples" / script))
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["demo", "ur10", "two_arms"])
def test_the_workpiece_gets_where_it_belongs(tmp_path, name):
    done = run(tmp_path, str(ROOT / "config" / name / "cell.yaml"), "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 unwanted contacts" in done.stdout
    assert "rclpy imported: False" in done.stdout
    assert (tmp_path / "demo_record" / f"library_{name}.html").stat().st_size < 5_000_000
