"""Findings for numbers of cells and descriptions that are probably in other units."""

import pytest
import trimesh
from test_check_objects import CELL, JOINT, LINKS

from robot_cell_planner.setup_assistant.check_file import check_cell_file

INERTIAL = '<inertial><mass value="2"/><inertia ixx="{0}" iyy="{0}" izz="{0}" ixy="0" ixz="0" iyz="0"/></inertial>'
TOPICS = ("units",)


@pytest.fixture
def found(tmp_path):
    """Return the texts of the findings about units in a cell with other texts in its file or description."""

    def check(cell=("", ""), urdf=("", "")):
        description = f'<robot name="arm">{LINKS}{JOINT}</robot>'
        for (old, new), text, file in ((cell, CELL, "cell.yaml"), (urdf, description, "arm.urdf")):
            assert old in text
            (tmp_path / file).write_text(text.replace(old, new, 1))
        findings = [each for each in check_cell_file(tmp_path / "cell.yaml") if each.topic in TOPICS]
        return [each.text for each in findings if "in mm" in each.text or "degrees" in each.text or "gyr" in each.text]

    return check


def test_a_cell_in_metres_and_radians_has_none(found):
    assert found() == []
    assert found(urdf=("<axis", '<origin rpy="6.2 0 -6.2"/><axis')) == []
    assert found(urdf=('lower="-2" upper="2"', 'lower="-6.3" upper="12.6"')) == []
    assert found(cell=("[1, 1, 0.1]", "[150, 150, 0.1]")) == []  # a floor
    assert found(urdf=('<link name="arm"/>', f'<link name="arm">{INERTIAL.format(150.0)}</link>')) == []


@pytest.mark.parametrize(("size", "large"), [("[1200, 800, 50]", "1200 x 800 x 50"), ("[60, 40, 30]", "60 x 40 x 30")])
def test_sizes_of_bodies_in_mm(found, size, large):
    assert found(cell=("[1, 1, 0.1]", size)) == [f"body table is {large} m large; is its size in mm?"]


def test_meshes_of_bodies_in_mm(found, tmp_path):
    trimesh.creation.box((300.0, 200.0, 100.0)).export(tmp_path / "part.stl")
    old = "{type: box, size: [0.1, 0.1, 0.1], pose: {rpy: [0, 0, 0]}}"
    assert found(cell=(old, "{type: mesh, uri: part.stl}")) == [
        "body part is 300 x 200 x 100 m large; is its size in mm?"
    ]
    assert found(cell=(old, "{type: mesh, uri: part.stl, scale: 0.001}")) == []


def test_numbers_in_other_units_come_before_the_collisions_that_they_cause(tmp_path):
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{LINKS}{JOINT}</robot>')
    (tmp_path / "cell.yaml").write_text(CELL.replace("[1, 1, 0.1]", "[1200, 800, 50]", 1))
    findings = check_cell_file(tmp_path / "cell.yaml")
    assert findings[0].text == "body table is 1200 x 800 x 50 m large; is its size in mm?"
    levels = [found.level for found in findings[1:]]
    assert "error" in levels
    assert levels == sorted(levels, key=["error", "warning", "draft"].index)


def test_limits_of_a_description_in_degrees(found):
    text = "robot arm: position limits that may be in degrees: j -170 to 170 rad"
    assert found(urdf=('lower="-2" upper="2"', 'lower="-170" upper="170"')) == [text]


def test_angles_of_a_description_in_degrees(found):
    text = "robot arm: origin of joint j: the angle 90 rad is more than a turn; if roll, pitch, yaw are in degrees"
    (finding,) = found(urdf=("<axis", '<origin rpy="0 90 0"/><axis'))
    assert finding == f"{text}, write 0, 1.570796, 0"


def inertias_of_no_body(folder, inertia, body=""):
    """Return the findings about principal moments of inertia in a cell whose link `arm` has diagonal moments."""
    values = " ".join(f'{name}="{value}"' for name, value in zip(("ixx", "iyy", "izz"), inertia, strict=True))
    inertial = f'<inertial><mass value="2"/><inertia {values} ixy="0" ixz="0" iyz="0"/></inertial>'
    link = f'<link name="arm">{inertial}</link>'
    (folder / "arm.urdf").write_text(f'<robot name="arm">{LINKS}{JOINT}</robot>'.replace('<link name="arm"/>', link))
    (folder / "cell.yaml").write_text(CELL.replace("  part:\n", f"  part:\n{body}"))
    return [found.text for found in check_cell_file(folder / "cell.yaml") if "principal moment" in found.text]


@pytest.mark.parametrize("inertia", [(0.01, 0.01, 0.01), (0.01, 0.01, 0.0), (0.01, 0.01, 0.0201), (0.0, 0.0, 0.0)])
def test_inertias_of_spheres_rods_and_plates_are_possible(tmp_path, inertia):
    assert inertias_of_no_body(tmp_path, inertia) == []


def test_a_principal_moment_above_the_sum_of_the_others_is_found(tmp_path):
    text = "inertias of which one principal moment is above the sum of the others"
    assert inertias_of_no_body(tmp_path, (0.01, 1.0, 0.01)) == [f"robot arm: {text}: arm (0.01, 0.01, 1) kg m2"]
    # Both diagonal elements are possible moments, those about the principal axes are not.
    body = "    inertial: {mass: 2, inertia: [0.6, 0.5, 0, 0.6, 0, 0.2]}\n"
    assert inertias_of_no_body(tmp_path, (0.01, 0.01, 0.01), body) == [f"body part: {text}: part (0.1, 0.2, 1.1) kg m2"]


def test_inertias_in_other_units(found):
    text = "robot arm: inertias that cannot be right, by their radius of gyration: arm 100 m"
    assert found(urdf=('<link name="arm"/>', f'<link name="arm">{INERTIAL.format(20000.0)}</link>')) == [text]


BOX = '<visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual>'


@pytest.mark.parametrize(("mass", "shape", "wrong"), [("1e-9", "", False), ("1e-9", BOX, True), ("1e5", "", True)])
def test_frames_may_have_next_to_no_mass(tmp_path, mass, shape, wrong):
    """As of the SO-101, whose frame at the gripper has 1e-9 kg because simulators need a mass."""
    inertial = f'<inertial><mass value="{mass}"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>'
    frame = '<joint name="at" type="fixed"><parent link="arm"/><child link="frame"/></joint>'
    text = f'<robot name="arm">{LINKS}{JOINT}<link name="frame">{inertial}{shape}</link>{frame}</robot>'
    (tmp_path / "arm.urdf").write_text(text)
    (tmp_path / "cell.yaml").write_text(CELL)
    texts = [each.text for each in check_cell_file(tmp_path / "cell.yaml") if each.topic == "units"]
    assert texts == ([f"robot arm: masses that cannot be right: frame {float(mass):g} kg"] if wrong else [])
