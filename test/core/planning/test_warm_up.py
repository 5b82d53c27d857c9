"""Prepared data are not computed again, and the progress of the warm-up is reported."""

import json

import pytest

from robot_cell_planner.commands.main import main
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.planning.workers import warm_up as module
from robot_cell_planner.planning.workers.warm_up import warm_up

CELL = """format: robot_cell/1
name: c
robots: {arm: {urdf: arm.urdf, srdf: arm.srdf}}
bodies:
  part: {collisions: [{type: box, size: [0.05, 0.05, 0.071]}], pose: {position: [2, 0, 0]}}
  wall: {collisions: [{type: box, size: [1, 1, 1]}], pose: {position: [-3, 0, 0]}}
"""
URDF = """<robot name="arm"><link name="base"/><link name="tip"><collision><origin xyz="0.3 0 0"/><geometry>
<box size="0.21 0.1 0.1"/></geometry></collision></link><joint name="j" type="revolute"><parent link="base"/>
<child link="tip"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""
SRDF = """<robot name="arm"><group name="manipulator"><chain base_link="base" tip_link="tip"/></group></robot>"""


@pytest.fixture
def cell_file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "KERNELS", (("kernels", lambda: None),))
    for name, text in (("cell.yaml", CELL), ("arm.urdf", URDF), ("arm.srdf", SRDF)):
        (tmp_path / name).write_text(text)
    return tmp_path / "cell.yaml"


def test_progress_names_each_stage_and_ends_at_one(cell_file):
    reported = []
    found = warm_up(*load_cell(cell_file), lambda text, fraction: reported.append((text, fraction)))
    assert [text for text, _ in reported] == [
        "kernels", "spheres of tip (1 of 2)", "spheres of part (2 of 2)", "models of group manipulator", "ready",
    ]  # fmt: skip
    fractions = [fraction for _, fraction in reported]
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)
    assert found.spheres > 0
    assert list(found.seconds) == ["kernels", "spheres", "group manipulator"]


def test_the_command_prints_what_is_ready(cell_file, capsys):
    assert main(["warm", str(cell_file), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["spheres"] > 0
    assert err.splitlines()[-1].split() == ["100%", "ready"]
    assert main(["warm", "none.yaml"]) == 1
