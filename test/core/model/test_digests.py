"""Digests of cells: the parts that cells share are computed once, and every name counts."""

from pathlib import Path

import pytest
from frozendict import frozendict
from reference import box
from support.planning_cells import gantry

from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.model.bodies import NamedFrame, RigidBody, Tool
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.digest import digest_of, without_places
from robot_cell_planner.model.geometry import Mesh, Shape
from robot_cell_planner.model.mechanism import Link, Mechanism

REPOSITORY = Path(__file__).parents[3]
NAMES = ("sources", "uri", "path", "type")


def tool(name, link="palm"):
    return Tool(name, Mechanism(name, frozendict({link: Link(link)}), frozendict()))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "with_object",
    [
        lambda name: RobotCell(frames=frozendict({name: NamedFrame(name)})),
        lambda name: RobotCell(tools=frozendict({name: tool(name)})),
        lambda name: RobotCell(tools=frozendict(hand=tool("hand", link=name))),
        lambda name: RobotCell(bodies=frozendict({name: RigidBody(name, (box(),))})),
    ],
    ids=["frame", "tool", "link", "body"],
)
def test_every_name_counts(with_object, name):
    assert len({with_object(each).digest() for each in (name, "other")} | {RobotCell().digest()}) == 3


def test_the_parts_give_the_digest_of_the_whole():
    cell = load_cell(REPOSITORY / "config/demo/cell.yaml")[0]
    for each in (cell, gantry()[0], RobotCell()):
        assert each.digest() == digest_of(without_places(each))


def test_the_place_of_a_mesh_file_does_not_count():
    def placed(path):
        mesh = Mesh("part.stl", path=path, digest="0" * 64)
        return RobotCell(bodies=frozendict(part=RigidBody("part", (Shape(mesh),), (Shape(mesh),))))

    first, other = placed("/one/part.stl"), placed("/other/part.stl")
    assert first.digest() == other.digest() == digest_of(without_places(first))
    assert first.digest_with_places() != other.digest_with_places()
