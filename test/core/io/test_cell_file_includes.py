"""Scenes that a cell file includes: an SDF world and a MoveIt scene, at a pose and with a prefix."""

import numpy as np
import pytest

from robot_cell_planner.errors import DuplicateNameError, FileError, ResourceError
from robot_cell_planner.io.cell_file.cell_file import load_cell, save_cell
from robot_cell_planner.kinematics.transforms import WorldTransforms

WORLD = """<sdf version="1.9"><world name="shop">
<model name="shelf"><pose>1 0 0.5 0 0 0</pose><static>true</static>
  <link name="board"><collision name="c"><geometry><box><size>1 0.5 0.02</size></box></geometry></collision></link>
  <frame name="corner"><pose>0.5 0.25 0 0 0 0</pose></frame>
</model>
<light name="sun" type="directional"/></world></sdf>"""
SCENE = "scene\n* crate\n0.5 0 0\n0 0 0 1\n1\nbox\n0.2 0.2 0.1\n0 0 0\n0 0 0 1\n0 0 0 0\n0\n.\n"
CELL = """format: robot_cell/1
include:
  - {file: shop.sdf, prefix: shop/, pose: {position: [0, 2, 0], rpy: [0, 0, 1.5707963267948966]}}
  - {file: crate.scene}
bodies:
  part:
    collisions: [{type: box, size: [0.1, 0.1, 0.1]}]
    attached_to: shop/shelf::board
    relative_to: shop/shelf::corner
    pose: {position: [0, 0, 0.06]}
"""


@pytest.fixture
def folder(tmp_path):
    for name, text in (("shop.sdf", WORLD), ("crate.scene", SCENE), ("cell.yaml", CELL)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_included_bodies_are_at_the_pose_of_the_include(folder):
    cell, state = load_cell(folder / "cell.yaml")
    assert set(cell.bodies) == {"part", "shop/shelf::board", "crate"}
    transforms = WorldTransforms(cell, state)
    # The world of the file is turned by a quarter and moved by 2 m along y.
    np.testing.assert_allclose(transforms.matrix("shop/shelf::board")[:3, 3], (0.0, 3.0, 0.5), atol=1e-12)
    np.testing.assert_allclose(transforms.matrix("part")[:3, 3], (-0.25, 3.5, 0.56), atol=1e-12)
    np.testing.assert_allclose(transforms.matrix("crate")[:3, 3], (0.5, 0.0, 0.0), atol=1e-12)


def test_a_saved_cell_has_the_bodies_themselves(folder):
    cell, state = load_cell(folder / "cell.yaml")
    text = save_cell(folder / "saved.yaml", cell, state)
    assert "include" not in text
    assert load_cell(folder / "saved.yaml") == (cell, state)


@pytest.mark.parametrize(
    "old, new, error, message",
    [
        ("file: crate.scene", "file: none.scene", ResourceError, r"cell\.yaml:4: include\[1\].*none\.scene"),
        ("file: crate.scene", "file: cell.yaml", FileError, r"include\[1\].*expected one of \.sdf, \.world, \.scene"),
        ("file: crate.scene", "path: crate.scene", FileError, "key 'path' does not exist"),
        ("file: crate.scene", "file: ../../../etc/passwd", ResourceError, r"include\[1\]"),
        ("prefix: shop/", 'prefix: "/"', Exception, r"include\[0\]"),
        ("file: shop.sdf, prefix: shop/", "file: crate.scene", DuplicateNameError, "a prefix makes names different"),
    ],
)
def test_mistakes_name_the_entry(folder, old, new, error, message):
    assert old in CELL
    (folder / "cell.yaml").write_text(CELL.replace(old, new))
    with pytest.raises(error, match=message):
        load_cell(folder / "cell.yaml")
