"""Numbers of joints in the report of a draft have the unit of their joint."""

import re

import pytest
from robots import MANIPULATORS

from robot_cell_planner.setup_assistant.cell_setup import NewCellOptions, new_cell
from robot_cell_planner.setup_assistant.options import DraftOptions

BOX = '<link name="{0}"><collision><geometry><box size="0.02 0.02 0.02"/></geometry></collision></link>'
JOINT = (
    '<joint name="{0}" type="{0}"><parent link="{1}"/><child link="{2}"/><origin xyz="0 0 0.2"/><axis xyz="0 0 1"/>'
    '<limit lower="-0.5" upper="1.5" effort="9" velocity="2"{3}/></joint>'
)
ARM = "".join((
    *(BOX.format(name) for name in ("base", "a", "b", "c")),
    JOINT.format("revolute", "base", "a", ' acceleration="3"'),
    JOINT.format("prismatic", "a", "b", ""),
    JOINT.format("continuous", "b", "c", ""),
))  # fmt: skip
OPTIONS = NewCellOptions(draft=DraftOptions(samples=50))


@pytest.fixture
def report(tmp_path):
    def made(description):
        new_cell(description, tmp_path / "cell", OPTIONS)
        return (tmp_path / "cell" / "report.md").read_text()

    return made


def test_limits(report, tmp_path):
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm" version="1.2">{ARM}</robot>')
    limits = report(tmp_path / "arm.urdf").partition("## Limits")[2].splitlines()
    rows = {line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]] for line in limits[4:]}
    assert rows["revolute"][:4] == ["-0.5 rad", "1.5 rad", "2 rad/s", "3 rad/s^2"]
    assert rows["prismatic"][:3] == ["-0.5 m", "1.5 m", "2 m/s"]
    assert rows["continuous"][2] == "2 rad/s"
    units = {"revolute": "rad", "prismatic": "m", "continuous": "rad"}
    for joint, cells in rows.items():
        for cell, per in zip(cells, ("", "", "/s", "/s^2", "/s^3"), strict=True):
            assert re.fullmatch(rf"-?[\d.e+\-inf]+ {units[joint]}{re.escape(per)}( \(assumed\))?", cell)


def test_home_and_hands(report):
    text = report(MANIPULATORS["panda"])
    home = text.partition("## Home")[2].partition("\n## ")[0]
    assert re.search(r"`panda_joint1` \S+ rad, ", home)
    assert re.search(r"`panda_finger_joint1` \S+ m\b", home)
    hands = text.partition("## Hands")[2].partition("\n## ")[0]
    assert len(re.findall(r"panda_finger_joint1 \S+ m ", hands)) == 2
