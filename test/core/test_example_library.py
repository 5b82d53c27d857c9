"""The examples without ROS complete the pick and place in each cell, and never import rclpy."""

from __future__ import annotations

import json
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


def run(folder: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = RUN.format(script=str(ROOT / "examples" / script))
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("script", "name", "page"),
    [
        ("pick_and_place_library.py", "ur10", "library_ur10"),
        ("hand_over_library.py", "two_arms", "library_two_arms"),
        ("carry_together.py", "two_arms", "carry_two_arms"),
    ],
)
def test_the_workpiece_reaches_its_goal(tmp_path, script, name, page):
    done = run(tmp_path, script, str(ROOT / "config" / name / "cell.yaml"), "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 unwanted contacts" in done.stdout
    assert "rclpy imported: False" in done.stdout
    assert (tmp_path / "demo_record" / f"{page}.html").stat().st_size < 5_000_000


def test_a_demonstration_leaves_the_record_of_an_earlier_one(tmp_path):
    earlier = tmp_path / "demo_record" / "library_demo.html"
    earlier.parent.mkdir()
    earlier.write_text("earlier")
    words = ["robot_cell", "demo", "--simulation", "--seed", "3", "--json"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["folder"] == "demo_record_2"
    assert (tmp_path / "demo_record_2" / earlier.name).stat().st_size > 1_000
    assert earlier.read_text() == "earlier"


def test_the_demonstration_is_a_command(tmp_path):
    """From any folder; with --json, the standard output contains only the result."""
    words = ["robot_cell", "demo", "--simulation", "--seed", "3", "--output", "here", "--json"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout) == {
        "cell": "demo", "seed": 3, "nodes": False, "success": True, "folder": "here", "verdict": None,
    }  # fmt: skip
    assert "0 unwanted contacts" in done.stderr
    assert (tmp_path / "here" / "library_demo.html").stat().st_size < 5_000_000
