"""Drafted homes are above the base, and joints that contribute nothing to them are neutral."""

import numpy as np
import pytest
from frozendict import frozendict

from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.kinematics.transforms import WorldTransforms
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.robot import Robot
from robot_cell_planner.setup_assistant.draft import draft_robot
from robot_cell_planner.setup_assistant.fingertips import points_of

AXES = ("0 0 1", "0 1 0", "0 1 0", "1 0 0", "0 1 0", "1 0 0")
BASE = -0.06  # [m] bottom of the base


def link(name, length, size, shape=True):
    box = f'<collision><origin xyz="{0.5 * length} 0 0"/><geometry><box size="{length} {size} {size}"/></geometry>'
    return f'<link name="{name}">{f"{box}</collision>" if shape else ""}</link>'


def arm(root="base", low=-3.0, high=3.0):
    """An arm of six joints 0.2 m apart, whose second and third joint move it up and down; the base is a box around the
    first one, or nothing."""
    parts = [link("base", 0.12, -2.0 * BASE, root == "base")]
    for i, axis in enumerate(AXES, 1):
        parent = f"l{i - 1}" if i > 1 else "base"
        parts.append(
            f'{link(f"l{i}", 0.14, 0.04)}<joint name="j{i}" type="revolute"><parent link="{parent}"/>'
            f'<child link="l{i}"/><origin xyz="0.2 0 0"/><axis xyz="{axis}"/>'
            f'<limit lower="{low}" upper="{high}" effort="1" velocity="1"/></joint>'
        )
    return Robot("arm", read_urdf(f'<robot name="arm">{"".join(parts)}</robot>'))


def lowest(robot, values):
    """The lowest point of the shapes of links that move [m]."""
    cell = RobotCell(robots=frozendict(arm=robot))
    transforms = WorldTransforms(cell, cell.default_state().with_configuration(values))
    heights = []
    for name in robot.mechanism.links:
        if name != robot.mechanism.root:
            matrix = transforms.matrix(name, "world")
            heights.append((points_of(robot, name) @ matrix[:3, :3].T + matrix[:3, 3])[:, 2].min())
    return min(heights)


def test_joints_of_an_arm_that_contribute_nothing_to_its_home_are_at_their_neutral_values():
    """The first joint of an arm turns all of it, and the last one its tool: a home had both at random values."""
    home = draft_robot(arm()).home
    assert home.values["j1"] == home.values["j6"] == 0.0
    assert np.abs([home.values["j2"], home.values["j3"]]).max() > 0.2  # where a stretched arm would be singular
    assert home.clearance > 0.0


def test_the_home_of_an_arm_is_above_the_bottom_of_its_base():
    """The arm is the same upside down, so that its home was as likely below; table-top arms were below the table."""
    robot = arm()
    assert lowest(robot, draft_robot(robot).home.values) > BASE


@pytest.mark.parametrize("root", ["base", "nothing"])
def test_an_arm_that_hangs_has_a_home_too(root):
    """Its limits keep it below its base."""
    robot = arm(root, 0.3, 0.9)
    home = draft_robot(robot).home
    assert not home.colliding
    assert lowest(robot, home.values) < BASE
