"""The check of a cell names meshes that branch or have holes, and named states with joints of other groups."""

import numpy as np
import pytest
import trimesh
from test_check_objects import JOINT, LINKS

from robot_cell_planner.setup_assistant.check_file import check_cell_file

CELL = """format: robot_cell/1
name: c
robots:
  arm: {urdf: arm.urdf, srdf: arm.srdf}
bodies:
  part:
    collisions: [{type: mesh, uri: part.stl, use: USE}]
    pose: {position: [2, 0, 0]}
"""
SRDF = """<robot name="arm"><group name="main"><joint name="j"/></group><group name="other"><link name="base"/></group>
<group_state name="up" group="GROUP"><joint name="j" value="0"/></group_state></robot>"""


def box(size=0.2, offset=(0.0, 0.0, 0.0)):
    mesh = trimesh.creation.box((size, size, size))
    mesh.apply_translation(offset)
    return mesh


def with_fin():
    """A box with a face that stands on one of its edges."""
    mesh = box()
    corner = len(mesh.vertices)
    vertices = np.vstack((mesh.vertices, [0.0, 0.0, 0.5]))
    return trimesh.Trimesh(vertices, np.vstack((mesh.faces, [*mesh.faces[0][:2], corner])), process=False)


def open_box():
    mesh = box()
    mesh.update_faces(np.arange(len(mesh.faces)) > 0)
    return mesh


def two_boxes():
    """Boxes that share an edge."""
    return trimesh.util.concatenate([box(), box(offset=(0.2, 0.2, 0.0))])


@pytest.fixture
def found(tmp_path):
    def check(mesh, use, group="main"):
        (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{LINKS}{JOINT}</robot>')
        (tmp_path / "arm.srdf").write_text(SRDF.replace("GROUP", group))
        (tmp_path / "cell.yaml").write_text(CELL.replace("USE", use))
        mesh.export(tmp_path / "part.stl")
        return [finding.text for finding in check_cell_file(tmp_path / "cell.yaml")]

    return check


@pytest.mark.parametrize(
    ("mesh", "use", "edges"),
    [
        (with_fin, "exact", 1),
        (with_fin, "decomposition", 3),
        (open_box, "decomposition", 3),
        (open_box, "exact", 0),  # a sheet
        (with_fin, "hull", 0),
        (box, "exact", 0),
        (box, "decomposition", 0),
        (two_boxes, "exact", 0),
        (two_boxes, "decomposition", 0),
    ],
)
def test_meshes_that_are_not_closed_are_named_where_it_matters(mesh, use, edges, found):
    texts = [text for text in found(mesh(), use) if "branches" in text]
    assert len(texts) == (1 if edges else 0)
    assert all(f"use `{use}`" in text and text.endswith(f": part.stl of part ({edges} edges)") for text in texts)


def test_joints_of_a_named_state_that_are_not_in_its_group_are_named(found):
    text = "named state other/up gives joints that are not in its group, which motions to it do not move: j"
    assert text in found(box(), "hull", "other")
    assert not [text for text in found(box(), "hull", "main") if "not in its group" in text]


def test_triangles_that_a_simulation_refuses_are_named(found, monkeypatch):
    monkeypatch.setattr("robot_cell_planner.system.physics.MAX_FACES", 11)
    text = "a mesh of body part has 8 vertices and 12 faces, more than PyBullet takes (131072 and 11)"
    assert [text in found(box(), use) for use in ("exact", "hull", "decomposition")] == [True, False, False]
    monkeypatch.setattr("robot_cell_planner.system.physics.MAX_FACES", 12)
    assert text not in found(box(), "exact")
