"""Robots of SDFormat documents move as defined by the specification, and as their URDF does."""

import sys
from pathlib import Path

import numpy as np
import pytest
from frozendict import frozendict

from robot_cell_planner.errors import FileError, FrameCycleError, NotSupportedError
from robot_cell_planner.io.common.defects import Defects
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.io.sdformat.robot import sdf_to_urdf
from robot_cell_planner.kinematics.transforms import WorldTransforms
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.mechanism import JointKind
from robot_cell_planner.model.robot import Robot

KUKA = next(path for entry in sys.path if (path := Path(entry, "pybullet_data/kuka_iiwa")).is_dir())
BOX = "<geometry><box><size>1 2 3</size></box></geometry>"


def joint(
    name, parent, child, axis="<xyz>0 0 1</xyz>", kind="revolute", pose="", limit="<lower>-1</lower><upper>1</upper>"
):
    moves = f"<axis>{axis}<limit>{limit}</limit></axis>" if kind != "fixed" else ""
    return f"<joint name='{name}' type='{kind}'>{pose}<parent>{parent}</parent><child>{child}</child>{moves}</joint>"


def link(name, content=""):
    return f"<link name='{name}'>{content}</link>"


def convert(*content, version="1.10", **given):
    return sdf_to_urdf(f"<sdf version='{version}'><model name='m'>{''.join(content)}</model></sdf>", **given)


def read(*content, **given):
    return read_urdf(convert(*content, **given))


def matrix(mechanism, frame, reference="base", **values):
    cell = RobotCell(robots=frozendict(m=Robot("m", mechanism)))
    return WorldTransforms(cell, cell.default_state().with_configuration(values)).matrix(frame, reference)


def test_a_robot_moves_as_its_urdf():
    """pybullet has both for the KUKA iiwa."""
    ours, theirs = load_robot("a", KUKA / "model.sdf"), load_robot("b", KUKA / "model.urdf")
    cells = [RobotCell(robots=frozendict({robot.name: robot})) for robot in (ours, theirs)]
    assert len(ours.variables) == len(theirs.variables) == 7
    for values in np.random.default_rng(1).uniform(-1.5, 1.5, (5, 7)).tolist():
        found = []
        for cell, robot, link in zip(cells, (ours, theirs), ("lbr_iiwa_link_7",) * 2, strict=True):
            state = cell.default_state().with_configuration(dict(zip(robot.variables, values, strict=True)))
            found.append(WorldTransforms(cell, state).matrix(link, "lbr_iiwa_link_0"))
        assert found[0] == pytest.approx(found[1], abs=1e-4)
    for name, variable in ours.variables.items():
        assert variable.limits.lower == pytest.approx(theirs.variables[name].limits.lower, abs=1e-3)
    assert (
        ours.mechanism.links["lbr_iiwa_link_3"].inertial.mass == theirs.mechanism.links["lbr_iiwa_link_3"].inertial.mass
    )
    assert ours.mechanism.links["lbr_iiwa_link_3"].collisions


def test_a_link_turns_about_the_axis_of_its_joint_for_any_frame_of_the_link():
    """The joint is 1 m beside the frame of the link, with its z axis along y of the model."""
    pose = "<pose>-1 0 0 -1.5707963267948966 0 0</pose>"
    arm = link("arm", f"<pose>1 0 0 0 0 0</pose><collision name='c'><pose>0 0 0.5 0 0 0</pose>{BOX}</collision>")
    frame = "<frame name='tool0' attached_to='arm'><pose>0 0 1 0 0 0</pose></frame>"
    mechanism = read(link("base"), arm, joint("j", "base", "arm", pose=pose), frame)
    assert matrix(mechanism, "tool0", j=0.0)[:3, 3] == pytest.approx([1.0, 0.0, 1.0])
    # Rotation by 0.5 rad about +y through the origin.
    expected = [np.cos(0.5) + np.sin(0.5), 0.0, np.cos(0.5) - np.sin(0.5)]
    assert matrix(mechanism, "tool0", j=0.5)[:3, 3] == pytest.approx(expected)
    shape = mechanism.links["arm"].collisions[0].pose.matrix
    assert (matrix(mechanism, "arm", j=0.0) @ shape)[:3, 3] == pytest.approx([1.0, 0.0, 0.5])


@pytest.mark.parametrize(
    "version, axis",
    [
        ("1.10", "<xyz expressed_in='__model__'>0 0 2</xyz>"),
        ("1.6", "<xyz>0 0 1</xyz><use_parent_model_frame>1</use_parent_model_frame>"),
        ("1.4", "<xyz>0 0 1</xyz>"),
        ("1.10", "<xyz>0 1 0</xyz>"),
    ],
)
def test_axes_of_all_versions(version, axis):
    """The link is rolled by a quarter turn, so its y axis is the model's z axis."""
    arm = link("arm", "<pose>0 0 0 1.5707963267948966 0 0</pose>")
    mechanism = read(link("base"), arm, joint("j", "base", "arm", axis), version=version)
    assert mechanism.joints["j"].axis == pytest.approx([0.0, 1.0, 0.0])


def test_kinds_limits_and_mimics():
    numbers = "<multiplier>2</multiplier><offset>0.5</offset><reference>0.1</reference>"
    mimic = f"<xyz>1 0 0</xyz><mimic joint='j'>{numbers}</mimic>"
    limit = "<lower>0</lower><upper>0.1</upper><effort>5</effort><velocity>-1</velocity>"
    mechanism = read(
        *(link(name) for name in ("base", "a", "b", "c")),
        joint("mount", "world", "base", kind="fixed"),
        joint("j", "base", "a", limit="<lower>-1e16</lower><upper>1e16</upper>"),
        joint("k", "a", "b", mimic, kind="prismatic", limit=limit),
        joint("l", "b", "c", kind="fixed"),
    )
    kinds = {name: found.kind for name, found in mechanism.joints.items()}
    assert kinds == {
        "mount": JointKind.FIXED, "j": JointKind.CONTINUOUS, "k": JointKind.PRISMATIC, "l": JointKind.FIXED,
    }  # fmt: skip
    found = mechanism.joints["k"]
    assert (found.limits.lower, found.limits.upper, found.limits.effort, found.limits.velocity) == (0.0, 0.1, 5.0, None)
    assert (found.mimic.joint, found.mimic.multiplier, found.mimic.offset) == ("j", 2.0, pytest.approx(0.3))
    assert mechanism.root == "m_world"


@pytest.mark.parametrize(
    "content, expected",
    [
        ([link("a"), link("b")], "has 2 links that no joint moves \\(a, b\\)"),
        ([link("a"), link("b"), joint("j", "a", "b", kind="ball")], "type 'ball', expected fixed, revolute"),
        ([link("a"), link("b"), joint("j", "a", "b", kind="prismatic", limit="")], "no lower and upper limit"),
        ([link("a"), link("b"), joint("j", "a", "b"), joint("k", "a", "b")], "two joints that move link b"),
        ([link("a"), link("b"), joint("j", "a", "b", "<xyz>0 0 0</xyz>")], "no direction"),
        ([link("a", "<collision name='c'><geometry><plane/></geometry></collision>")], "no box, sphere"),
    ],
)
def test_models_that_are_not_robots_are_refused_with_the_line(content, expected):
    with pytest.raises((FileError, NotSupportedError), match=expected) as caught:
        convert(*content, source="arm.sdf")
    assert caught.value.message.startswith("arm.sdf:1: ")


def test_several_models_are_refused():
    with pytest.raises(FileError, match="holds 2 models \\(a, b\\), expected one"):
        sdf_to_urdf(
            "<sdf version='1.9'><model name='a'><link name='l'/></model><model name='b'><link name='l'/></model></sdf>"
        )


def test_a_visual_without_counterpart_is_left_out_with_a_warning():
    defects = Defects(strict=False)
    cone = "<visual name='v'><geometry><cone><radius>1</radius><length>1</length></cone></geometry></visual>"
    assert not read_urdf(convert(link("a", cone), defects=defects)).links["a"].visuals
    assert "it is not shown" in defects.texts[0]


ONE_BOUND = {
    "only lower": "<lower>-1</lower>",
    "only upper": "<upper>1</upper>",
    "upper without end": "<lower>-1</lower><upper>1e16</upper>",
    "infinite upper": "<lower>-1</lower><upper>inf</upper>",
    "infinite lower": "<lower>-inf</lower><upper>1</upper>",
}


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("case", ONE_BOUND)
def test_a_joint_with_one_position_limit_does_not_lose_it(kind, case):
    with pytest.raises(NotSupportedError, match=f"{kind} joint j has only the limit .*, expected both"):
        convert(link("base"), link("arm"), joint("j", "base", "arm", kind=kind, limit=ONE_BOUND[case]))


def test_a_revolute_joint_without_position_limits_is_continuous():
    found = read(link("base"), link("arm"), joint("j", "base", "arm", limit="<velocity>2</velocity>"))
    assert (found.joints["j"].kind, found.joints["j"].limits.velocity) == (JointKind.CONTINUOUS, 2.0)


@pytest.mark.parametrize(("text", "acceleration"), [("7", 7.0), ("inf", None)])
def test_the_acceleration_limit_of_drake_is_read(text, acceleration):
    limit = f"<lower>-1</lower><upper>1</upper><drake:acceleration>{text}</drake:acceleration>"
    content = link("base"), link("arm"), joint("j", "base", "arm", limit=limit)
    declared = "1.10' xmlns:drake='http://drake.mit.edu"
    assert read(*content, version=declared).joints["j"].limits.acceleration == acceleration


def test_a_negative_acceleration_limit_of_drake_is_refused():
    limit = "<lower>-1</lower><upper>1</upper><drake:acceleration>-1</drake:acceleration>"
    content = link("base"), link("arm"), joint("j", "base", "arm", limit=limit)
    with pytest.raises(FileError, match="<acceleration> is -1"):
        convert(*content, version="1.10' xmlns:drake='http://drake.mit.edu")


def test_frames_that_do_not_exist_are_refused_also_where_no_pose_depends_on_them():
    with pytest.raises(FileError, match=r"m\.sdf:1: .*'nowhere' does not exist"):
        convert(link("a", "<pose relative_to='nowhere'/>"), source="m.sdf")


def test_a_loop_of_frames_names_the_file_and_what_to_change():
    with pytest.raises(FrameCycleError, match=r"^frames: m\.sdf: .*loop") as caught:
        convert(link("a", "<pose relative_to='f'/>"), "<frame name='f'><pose relative_to='a'/></frame>", source="m.sdf")
    assert "relative_to" in caught.value.remedy
