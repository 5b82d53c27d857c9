"""The complete demo without display: the supervisor starts six nodes and the client as processes."""

import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

pytestmark = pytest.mark.alone

ROOT = Path(__file__).parents[2]


# Runs the client twice, and returns the exit status of the first run; that of the second is printed.
TWICE = """
import subprocess, sys
first = subprocess.run(sys.argv[1:])
print("second run:", subprocess.run(sys.argv[1:]).returncode, file=sys.stderr)
sys.exit(first.returncode)
"""


def run_demo(folder, cell="config/demo/cell.yaml", seed=3, twice=False):
    """The completed process and the record of a run."""
    command = [sys.executable, "-m", "robot_cell_planner.nodes.bringup", "--cell", str(ROOT / cell), "--"]
    command += [sys.executable, "-c", TWICE] if twice else []
    command += [sys.executable, str(ROOT / "examples" / "pick_and_place.py")]
    command += ["--seed", str(seed), "--output", str(folder)]
    environment = {name: value for name, value in os.environ.items() if name != "ROS_DOMAIN_ID"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done, json.loads((folder / "record.json").read_text())


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first")
    return *run_demo(folder), folder


def test_the_workpiece_is_at_its_goal_without_other_contacts(first):
    _, record, _ = first
    verdict = record["verdict"]
    assert verdict["success"]
    assert verdict["position_error_mm"] <= 1.0
    assert verdict["angle_error_deg"] <= 0.5
    assert verdict["unwanted_contacts"] == []
    assert any("left_finger" in pair for pair in verdict["contacts"])


def test_the_table_lists_every_motion(first):
    done, record, _ = first
    motions = [segment for segment in record["segments"] if segment["plan_digest"]]
    assert len(motions) == 7
    for segment in motions:
        assert segment["states_checked"] > 0
        assert segment["clearance_mm"] > 0.0
        assert segment["certified_fraction"] == pytest.approx(1.0)
        assert segment["execution"]["commands"] > 200 * segment["duration"]
        assert segment["name"] in done.stdout


def test_each_motion_begins_at_the_commanded_end_of_the_previous_one(first):
    _, _, folder = first
    plans = json.loads((folder / "plans.json").read_text())
    for before, after in pairwise(plans):
        assert before["positions"][-1] == after["positions"][0]
    for plan in plans:
        assert not any(plan["velocities"][0])
        assert not any(plan["velocities"][-1])


def test_the_replay_is_one_self_contained_page(first):
    _, _, folder = first
    page = (folder / "replay.html").read_text()
    assert not re.search(r'(src|href)\s*=\s*["\']?https?:', page)
    assert "over to the bin" in page


def test_the_same_seed_gives_the_same_plans_and_a_second_run_reports_the_missing_workpiece(first, tmp_path):
    _, record, folder = first
    done, again = run_demo(tmp_path / "again", twice=True)
    assert "second run: 1" in done.stderr
    assert re.search(
        r"pick_and_place: .*the workpiece is 0\.\d+ m from where it is picked up; end the nodes", done.stderr
    )
    assert again["plans_digest"] == record["plans_digest"]
    assert (tmp_path / "again" / "plans.json").read_bytes() == (folder / "plans.json").read_bytes()


def test_the_second_cell_completes_the_same_task(tmp_path):
    _, record = run_demo(tmp_path / "ur10", "config/ur10/cell.yaml")
    assert record["verdict"]["success"]
