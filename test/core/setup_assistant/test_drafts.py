"""Drafted groups follow the tree; drafted files are read back as what they were drafted from."""

import pytest
from robots import MANIPULATORS

from robot_cell_planner.io.common.resources import ResourceRoots, enclosing_folder, read_text
from robot_cell_planner.io.robot_description.limits import read_limits, with_default_limits
from robot_cell_planner.io.robot_description.srdf import read_srdf
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.model.robot import DisabledPair
from robot_cell_planner.setup_assistant.groups_and_limits import draft_groups, limits_text, srdf_text


def read(name):
    path = MANIPULATORS[name]
    roots = ResourceRoots(folders=(str(enclosing_folder(path)),))
    return read_urdf(read_text(path, "test"), str(path.parent), roots)


@pytest.mark.parametrize(
    "name, expected",
    [
        ("ur10", {"manipulator": ("base_link", "tool0", 6)}),
        ("xarm7", {"manipulator": ("link_base", "link_eef", 7)}),
        ("panda", {"manipulator": ("panda_link0", "panda_hand", 7), "panda_hand_fingers": ("", "", 1)}),
        (
            "baxter",
            {
                "head_chain": ("torso", "head", 1),
                "right_upper_shoulder_chain": ("right_arm_mount", "right_gripper_base_link", 7),
                "left_upper_shoulder_chain": ("left_arm_mount", "left_gripper_base_link", 7),
                "right_gripper_base_link_fingers": ("", "", 1),
                "left_gripper_base_link_fingers": ("", "", 1),
            },
        ),
    ],
)
def test_groups(name, expected):
    groups = draft_groups(read(name))
    assert {g.name: (g.base_link, g.tip_link, len(g.variables)) for g in groups} == expected


@pytest.mark.parametrize("name", MANIPULATORS)
def test_every_variable_is_in_one_group(name):
    mechanism = read(name)
    variables = [variable for group in draft_groups(mechanism) for variable in group.variables]
    assert sorted(variables) == sorted(variable.name for variable in mechanism.variables)


@pytest.mark.parametrize("name", MANIPULATORS)
def test_the_srdf_is_read_back(name):
    mechanism = read(name)
    groups = draft_groups(mechanism)
    links = list(mechanism.links)
    pairs = (DisabledPair(links[0], links[1], "Adjacent"), DisabledPair(links[0], links[-1], 'odd "&<'))
    semantic = read_srdf(srdf_text(mechanism, groups, pairs, "a -- note --"), mechanism)
    assert {n: (g.variables, g.tip_link) for n, g in semantic.groups.items()} == {
        g.name: (g.variables, g.tip_link) for g in groups
    }
    assert semantic.disabled_pairs == pairs


def test_a_link_called_world_keeps_its_name_in_the_file():
    mechanism = read_urdf(
        '<robot name="r"><link name="world"/><link name="a"/><joint name="j" type="continuous"><parent link="world"/>'
        '<child link="a"/></joint></robot>'
    )
    text = srdf_text(mechanism, draft_groups(mechanism), (), "")
    assert 'base_link="world"' in text
    assert read_srdf(text, mechanism).groups["manipulator"].base_link == "r_world"


@pytest.mark.parametrize("name", ["ur10", "panda", "tiago"])
def test_the_limits_are_read_back(name):
    mechanism = read(name)
    text = limits_text(mechanism)
    again, expected = read_limits(text, mechanism), with_default_limits(mechanism)
    for joint in expected.joints.values():
        if joint.variables:
            limits = again.joints[joint.name].limits
            assert limits.velocity == joint.limits.velocity
            assert limits.acceleration == pytest.approx(joint.limits.acceleration, rel=1e-5)
            assert limits.jerk == pytest.approx(joint.limits.jerk, rel=1e-5)
    assert "# assumed" in text
