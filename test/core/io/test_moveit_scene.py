"""MoveIt's .scene files of both forms, and their mistakes."""

import pytest

from robot_cell_planner.errors import FileError, RobotCellError
from robot_cell_planner.io.scene_import.moveit_scene import read_moveit_scene
from robot_cell_planner.model.geometry import Box, Cone, Cylinder, MeshUse, Sphere, Triangles
from robot_cell_planner.model.placement import Placements, placements
from robot_cell_planner.model.pose import Pose

NEW = """(noname)+
* big box
0.1 0.2 0.3
0 0 0.7071067811865476 0.7071067811865476
2
box
1 2 3
0 0 1
0 0 0 1
0.5 0 0 1
sphere
0.25
0 0 2
0 0 0 1
0 0 0 0
1
grasp
1 0 0
0 0 0 1
* part
1 0 0
0 0 0 1
3
cylinder
0.1 0.5
0 0 0
0 0 0 1
0 0 0 0
cone
0.2 0.6
0 0 0
0 0 0 1
0 0 0 0
mesh
4 2
0 0 0
1 0 0
0 1 0
0 0 1
0 1 2
0 1 3
0 0 0
0 0 0 1
0 0 0 0
0
.
"""
OLD = """my scene
* box
1
box
1 2 3
0.5 0 0
0 0 0 1
0 0 0 0
* ball
1
sphere
0.5
0 0 0
0 0 0 1
0 1 0 1
.
"""


def test_the_current_format():
    imported = read_moveit_scene(NEW)
    cell, state = imported.cell, imported.state
    cell.check_state(state)
    box, ball = cell.bodies["big box"].collisions
    assert (box.geometry, box.pose, box.rgba) == (Box((1.0, 2.0, 3.0)), Pose((0.0, 0.0, 1.0)), (0.5, 0.0, 0.0, 1.0))
    assert (ball.geometry, ball.rgba) == (Sphere(0.25), None)
    assert state.bodies["big box"].pose.position == (0.1, 0.2, 0.3)
    cylinder, cone, mesh = (shape.geometry for shape in cell.bodies["part"].collisions)
    assert (cylinder, cone) == (Cylinder(0.1, 0.5), Cone(0.2, 0.6))
    assert mesh == Triangles(
        ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), ((0, 1, 2), (0, 1, 3)), MeshUse.EXACT
    )
    grasp = Placements(placements(cell, state)).world("big box/grasp")
    assert grasp.position == pytest.approx((0.1, 1.2, 0.3))


def test_the_format_without_object_poses():
    imported = read_moveit_scene(OLD)
    assert imported.cell.name == "my scene"
    assert list(imported.cell.bodies) == ["box", "ball"]
    assert imported.cell.bodies["box"].collisions[0].pose.position == (0.5, 0.0, 0.0)
    assert imported.state.bodies["box"].pose == Pose()


def test_an_empty_scene():
    assert not read_moveit_scene("empty\n.\n").cell.bodies


@pytest.mark.parametrize(
    "old, new, line, expected",
    [
        ("* big box", "+ big box", 2, "expected"),
        ("1 2 3\n", "1 2 x\n", 7, "expected z"),
        ("1 2 3\n", "1 2 nan\n", 7, "finite"),
        ("1 2 3\n", "1 -2 3\n", 7, "box size y is -2"),
        ("0.25", "0.25 1_0", 12, "finite"),
        ("sphere", "plane", 11, "expected box"),
        ("0 0 1\n0 0 0 1\n0.5", "0 0 1\n0 0 0 0\n0.5", 9, "length 0"),
        ("0.5 0 0 1", "5 0 0 1", 10, "range 0 to 1"),
        ("\n2\nbox", "\n-2\nbox", 5, "number of shapes"),
        ("\n2\nbox", "\n99999999999\nbox", 5, "number of shapes"),
        ("4 2\n", "4 3\n", 46, "expected"),
        ("0 1 3\n", "0 1 4\n", 41, "indices from 0 to 3"),
        ("* part", "* big box", 20, "second object"),
        ("* part", "* pa;rt", 44, "letters"),
        ("* part", "* world", 44, "world"),
        ("0\n.\n", "0\n", 45, "ends where"),
        ("1\ngrasp", "2\ngrasp", 20, "expected a position"),
    ],
)
def test_mistakes_are_refused_with_their_line(old, new, line, expected):
    assert old in NEW
    with pytest.raises(FileError, match=expected) as caught:
        read_moveit_scene(NEW.replace(old, new, 1), "x.scene")
    assert caught.value.message.startswith(f"x.scene:{line}: ")


@pytest.mark.parametrize("end", range(len(NEW) - 3))
def test_a_text_that_is_cut_off_is_refused(end):
    with pytest.raises(RobotCellError):
        read_moveit_scene(NEW[:end])
