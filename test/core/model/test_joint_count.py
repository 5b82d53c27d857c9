"""Cells with more moving joints than their dynamics have memory for are refused, in one line."""

import msgspec
import pytest
from frozendict import frozendict

from robot_cell_planner.errors import InvalidValueError, LimitExceededError
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.joint_count import MAX_JOINTS
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism
from robot_cell_planner.model.robot import Robot
from robot_cell_planner.setup_assistant.kinematic_tree import structure_of
from robot_cell_planner.setup_assistant.options import DraftOptions

LIMITS = JointLimits(-1.0, 1.0, 1.0, 4.0, 40.0)


def chain(name, count, fixed=0):
    """A chain of revolute joints, with fixed ones before each."""
    links, joints = {f"{name}/0": Link(f"{name}/0")}, {}
    for index in range(1, count * (fixed + 1) + 1):
        kind = JointKind.FIXED if index % (fixed + 1) else JointKind.REVOLUTE
        link, joint = f"{name}/{index}", f"{name}/j{index}"
        links[link] = Link(link)
        joints[joint] = Joint(joint, kind, f"{name}/{index - 1}", link, limits=LIMITS)
    return Mechanism(name, frozendict(links), frozendict(joints))


def test_a_mechanism_with_too_many_moving_joints_is_refused():
    text = f"mechanism long has {MAX_JOINTS + 1} moving joints, expected at most {MAX_JOINTS}"
    with pytest.raises(LimitExceededError, match=text):
        chain("long", MAX_JOINTS + 1)


def test_a_cell_with_too_many_moving_joints_is_refused():
    robots = {name: Robot(name, chain(name, MAX_JOINTS // 2)) for name in ("a", "b")}
    cell = RobotCell(robots=frozendict(robots))
    third = Robot("c", chain("c", 1))
    with pytest.raises(LimitExceededError, match=f"the cell has {MAX_JOINTS + 1} moving joints"):
        msgspec.structs.replace(cell, robots=cell.robots.set("c", third))


def test_the_structure_of_the_longest_mechanism_is_found():
    found = structure_of(chain("long", MAX_JOINTS, fixed=7))
    assert [len(arm) for arm in found.arms] == [MAX_JOINTS]


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_seeds_of_drafts_are_checked(seed):
    with pytest.raises(InvalidValueError, match="seed is"):
        DraftOptions(seed=seed)
