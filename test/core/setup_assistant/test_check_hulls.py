"""The remedy of a collision is another representation of the meshes exactly where only their hulls overlap.

A part that is inside of a wall touches none of its triangles."""

import pytest
import trimesh

from robot_cell_planner.setup_assistant.check_file import check_cell_file
from robot_cell_planner.setup_assistant.check_hulls import HULLS_REMEDY, TRIANGLES_REMEDY

CELL = """format: robot_cell/1
name: c
robots:
  arm: {urdf: arm.urdf, srdf: arm.srdf, meshes: USE}
state: {configuration: {slide: START}}
"""
LIMIT = '<limit lower="0" upper="2" effort="9" velocity="1"/><axis xyz="1 0 0"/></joint>'
MESH = '<link name="channel"><collision><geometry><mesh filename="channel.stl"/></geometry></collision></link>'
PART = '<link name="part"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>'
SLIDE = f'<joint name="slide" type="prismatic"><parent link="channel"/><child link="part"/>{LIMIT}'
URDF = f'<robot name="arm">{MESH}{PART}{SLIDE}</robot>'
SRDF = """<robot name="arm"><group name="main"><joint name="slide"/></group>
<group_state name="at" group="main"><joint name="slide" value="VALUE"/></group_state></robot>"""


def channel():
    """Two walls parallel to the x axis at y = 0.2 and -0.2, and one across them at x = 1."""
    walls = [trimesh.creation.box((2.0, 0.1, 0.5)) for _ in range(2)]
    walls[0].apply_translation((0.0, 0.2, 0.0))
    walls[1].apply_translation((0.0, -0.2, 0.0))
    end = trimesh.creation.box((0.2, 0.3, 0.5))
    end.apply_translation((0.9, 0.0, 0.0))
    return trimesh.util.concatenate([*walls, end])


@pytest.fixture
def findings(tmp_path):
    def check(start, value, use="hull"):
        channel().export(tmp_path / "channel.stl")
        (tmp_path / "arm.urdf").write_text(URDF)
        (tmp_path / "arm.srdf").write_text(SRDF.replace("VALUE", str(value)))
        (tmp_path / "cell.yaml").write_text(CELL.replace("USE", use).replace("START", str(start)))
        found = check_cell_file(tmp_path / "cell.yaml")
        return {f.level: f.remedy for f in found if f.topic == "state" and "in collision" in f.text}

    return check


@pytest.mark.parametrize(("start", "value"), [(0.0, 0.9), (0.9, 0.0)])
def test_hulls_are_named_only_where_pieces_do_not_overlap(findings, start, value):
    remedies = findings(start, value)
    assert {level: remedy == HULLS_REMEDY for level, remedy in remedies.items()} == {
        "error": start == 0.0,
        "warning": value == 0.0,
    }
    assert TRIANGLES_REMEDY not in remedies.values()  # the part is inside of the wall


@pytest.mark.parametrize("use", ["exact", "decomposition"])
def test_what_the_remedy_says_ends_the_collision(findings, use):
    assert findings(0.0, 0.0).keys() == {"error", "warning"}
    assert findings(0.0, 0.0, use) == {}
