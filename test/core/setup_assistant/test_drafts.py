"""Drafted groups follow the kinematic tree; drafted files can be read and equal their source."""

import msgspec
import pytest
from frozendict import frozendict
from robots import MANIPULATORS

from robot_cell_planner.io.common.resources import ResourceRoots, read_text
from robot_cell_planner.io.robot_description.limits import read_limits, with_default_limits
from robot_cell_planner.io.robot_description.srdf import read_srdf
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.model.robot import DisabledPair, Robot
from robot_cell_planner.setup_assistant.files import limits_text, srdf_text
from robot_cell_planner.setup_assistant.groups import draft_groups, passive_joints


def read(name):
    path = MANIPULATORS[name]
    return read_urdf(read_text(path, "test"), str(path.parent), ResourceRoots().with_file(path))


def chain(name, parent, child, kind="revolute", mimic=""):
    """A joint as XML; its axis is z."""
    follows = f'<mimic joint="{mimic}"/>' if mimic else ""
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    return (
        f'<link name="{child}"/><joint name="{name}" type="{kind}"><axis xyz="0 0 1"/><parent link="{parent}"/>'
        f'<child link="{child}"/>{limit}{follows}</joint>'
    )


def robot(*joints):
    return read_urdf(f'<robot name="r"><link name="base"/>{"".join(joints)}</robot>')


def arm(count, base="base", prefix=""):
    names = [base, *(f"{prefix}link{i}" for i in range(1, count + 1))]
    return [chain(f"{prefix}joint{i}", names[i - 1], names[i]) for i in range(1, count + 1)]


def found(mechanism):
    return {
        g.group.name: (g.group.base_link, g.group.tip_link, len(g.group.variables)) for g in draft_groups(mechanism)
    }


@pytest.mark.parametrize(
    "name, expected",
    [
        ("ur10", {"manipulator": ("base_link", "tool0", 6)}),
        ("xarm7", {"manipulator": ("link_base", "link_eef", 7)}),
        ("panda", {"manipulator": ("panda_link0", "panda_hand", 7), "hand": ("", "", 1)}),
        ("so101", {"manipulator": ("base_link", "gripper_link", 5), "hand": ("", "", 1)}),
        (
            "baxter",
            {
                "right_arm": ("right_arm_mount", "right_gripper_base_link", 7),
                "left_arm": ("left_arm_mount", "left_gripper_base_link", 7),
                "all_arms": ("", "", 14),
                "right_hand": ("", "", 1),
                "left_hand": ("", "", 1),
                "head": ("torso", "head", 1),
            },
        ),
    ],
)
def test_groups_of_public_robots(name, expected):
    assert found(read(name)) == expected


def test_covers_and_rods_beside_an_arm_do_not_end_it():
    """As on the IRB 2400: a rod that mimics joint 2, and a cover with a joint of its own, before the wrist."""
    joints = arm(6)
    rod = chain("rod", "link1", "rod_link", mimic="joint2")
    cover = chain("cover", "link3", "cover_link")
    groups = found(robot(*joints, rod, cover))
    assert groups["manipulator"] == ("base", "link6", 6)
    assert [size for name, (_, _, size) in groups.items() if name != "manipulator"] == [1]


def test_a_head_at_the_first_joint_does_not_take_it_from_the_arm():
    """As on Sawyer."""
    groups = found(robot(*arm(7), chain("head_pan", "link1", "head")))
    assert groups["manipulator"] == ("base", "link7", 7)
    assert groups["head"][2] == 1


def test_a_rail_is_in_the_group_and_the_arm_has_one_without_it():
    groups = found(robot(chain("rail", "base", "carriage", "prismatic"), *arm(6, "carriage")))
    assert groups["manipulator"] == ("base", "link6", 7)
    assert groups["manipulator_without_rail"] == ("carriage", "link6", 6)


def test_a_telescope_is_not_a_rail():
    parts = [chain(f"t{i}", f"t{i - 1}" if i else "base", f"t{i}", "prismatic") for i in range(5)]
    groups = found(robot(*parts, *arm(3, "t4")))
    assert groups == {"manipulator": ("base", "link3", 8)}


def test_two_arms_on_a_torso_are_a_composite_group_too():
    torso = chain("torso_joint", "base", "torso")
    groups = found(robot(torso, *arm(6, "torso", "left_"), *arm(6, "torso", "right_")))
    assert groups["left_arm"] == ("torso", "left_link6", 6)
    assert groups["right_arm"] == ("torso", "right_link6", 6)
    assert groups["all_arms"] == ("", "", 12)
    assert groups["torso"] == ("base", "torso", 1)


@pytest.mark.parametrize(("name", "part"), [("lift", "lift"), ("torso_lift_joint", "torso"), ("j0", "rail")])
def test_each_of_two_arms_on_a_lift_has_a_group_with_it(name, part):
    """A joint that carries both arms was in no group that is a chain to a tip."""
    lift = chain(name, "base", "carriage", "prismatic")
    groups = found(robot(lift, *arm(6, "carriage", "left_"), *arm(6, "carriage", "right_")))
    assert groups["left_arm"] == ("carriage", "left_link6", 6)
    assert groups[f"left_arm_with_{part}"] == ("base", "left_link6", 7)
    assert groups[f"right_arm_with_{part}"] == ("base", "right_link6", 7)
    assert groups["all_arms"] == ("", "", 12)


def test_arms_on_a_torso_on_a_lift_have_no_group_with_both():
    lift, waist = chain("lift", "base", "carriage", "prismatic"), chain("waist", "carriage", "chest")
    groups = found(robot(lift, waist, *arm(6, "chest", "left_"), *arm(6, "chest", "right_")))
    assert not [name for name in groups if "_with_" in name]


LEGS = (
    ("{}_HIP_R", "{}_HIP_P", "{}_HIP_Y", "{}_KNEE", "{}_ANKLE_R", "{}_ANKLE_P"),
    ("{}_hip_yaw", "{}_hip_roll", "{}_thigh_pitch", "{}_shank_pitch", "{}_foot_pitch", "{}_foot_roll"),
)


@pytest.mark.parametrize("leg", LEGS)
def test_legs_and_the_neck_of_a_humanoid_are_no_arms(leg):
    """As of the JVRC-1: its right leg was `right_arm`, and its right arm `right_arm_2`."""
    joints = [chain("waist", "base", "chest")]
    for side in ("left", "right"):
        names = [name.format(side) for name in leg]
        links = ["base", *(f"{name}_link" for name in names)]
        joints += [chain(name, links[i], links[i + 1]) for i, name in enumerate(names)]
        joints += arm(7, "chest", f"{side}_")
    groups = found(robot(*joints, *arm(3, "chest", "neck_")))
    assert {name: size for name, (_, _, size) in groups.items()} == {
        "left_leg": 6, "right_leg": 6, "left_arm": 7, "right_arm": 7, "neck": 3, "all_arms": 14, "torso": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("LARM_JOINT{}", "left"),
        ("l_shoulder_{}", "left"),
        ("yumi_joint_{}_r", "right"),
        ("R/joint{}", "right"),
        ("l{}", ""),
        ("larm{}", ""),
        ("wrist{}r", ""),
    ],
)
def test_sides_are_words_of_all_names(name, side):
    links = [f"{name.format(i)}_link" for i in range(6)]
    parts = [chain(name.format(i), links[i - 1] if i else "torso", links[i]) for i in range(6)]
    groups = found(robot(chain("torso_joint", "base", "torso"), *parts, *arm(6, "torso", "other_")))
    assert (f"{side}_arm" in groups) == bool(side)
    assert "other_arm" in groups


def test_wheels_are_in_no_group():
    wheels = [chain(f"{side}_wheel", "base", f"{side}_wheel_link", "continuous") for side in ("left", "right")]
    mechanism = robot(*wheels, *arm(5))
    assert found(mechanism) == {"manipulator": ("base", "link5", 5)}
    assert [joint.name for joint in passive_joints(mechanism)] == ["left_wheel", "right_wheel"]


def test_fingers_in_series_are_found_by_name_and_others_by_similarity():
    serial = robot(*arm(6), chain("jaw", "link6", "jaw_link", "prismatic"))
    likeness = robot(*arm(6), chain("a", "link6", "a_link"), chain("b", "link6", "b_link", mimic="a"))
    for mechanism in (serial, likeness):
        assert found(mechanism) == {"manipulator": ("base", "link6", 6), "hand": ("", "", 1)}


def test_the_joint_that_drives_the_fingers_is_in_their_group():
    knuckles = [chain(f"{side}_knuckle", "link6", f"{side}_link", mimic="drive") for side in ("left", "right")]
    tips = [chain(f"{side}_tip", f"{side}_link", f"{side}_tip_link", mimic="drive") for side in ("left", "right")]
    mechanism = robot(*arm(6), chain("drive", "link6", "drive_link"), *knuckles, *tips)
    assert found(mechanism) == {"manipulator": ("base", "link6", 6), "hand": ("", "", 1)}


def test_the_tip_is_the_tool_frame():
    fixed = '<link name="{0}"/><joint name="{0}_joint" type="fixed"><parent link="{1}"/><child link="{0}"/></joint>'
    inner = "".join(fixed.format(*pair) for pair in (("camera", "link6"), ("flange", "link6"), ("tool0", "flange")))
    assert found(robot(*arm(6), inner))["manipulator"][1] == "tool0"
    assert found(robot(*arm(6), fixed.format("camera", "link6"), fixed.format("flange", "link6")))["manipulator"][
        1
    ] == ("flange")


@pytest.mark.parametrize("name", MANIPULATORS)
def test_the_srdf_is_read_back(name):
    mechanism = read(name)
    groups = draft_groups(mechanism)
    links = list(mechanism.links)
    pairs = (DisabledPair(links[0], links[1], "Adjacent"), DisabledPair(links[0], links[-1], 'odd "&<'))
    named = frozendict({g.group.name: g.group for g in groups})
    states = frozendict({f"{g.group.name}/home": frozendict(dict.fromkeys(g.group.variables, 0.1)) for g in groups})
    whole = Robot("r", mechanism, named, states, pairs)
    passive = [joint.name for joint in passive_joints(mechanism)]
    semantic = read_srdf(srdf_text(whole, groups, passive, "a -- note --"), mechanism)
    assert {n: sorted(g.variables) for n, g in semantic.groups.items()} == {
        g.group.name: sorted(g.group.variables) for g in groups
    }
    for g in groups:
        assert g.group.tip_link in ("", semantic.groups[g.group.name].tip_link)
    assert semantic.disabled_pairs == pairs
    assert semantic.named_states == states
    assert semantic.passive_joints == tuple(passive)


def test_a_link_called_world_keeps_its_name_in_the_file():
    mechanism = read_urdf(
        '<robot name="r"><link name="world"/><link name="a"/><joint name="j" type="continuous"><parent link="world"/>'
        '<child link="a"/></joint></robot>'
    )
    groups = draft_groups(mechanism)
    named = frozendict({g.group.name: g.group for g in groups})
    text = srdf_text(Robot("r", mechanism, named), groups, (), "")
    assert 'base_link="world"' in text
    assert read_srdf(text, mechanism).groups["manipulator"].base_link == "r_world"


@pytest.mark.parametrize("name", ["ur10", "panda", "tiago"])
def test_the_limits_are_read_back_and_remain_assumed(name):
    mechanism = read(name)
    text = limits_text(mechanism)
    again, expected = read_limits(text, mechanism), with_default_limits(mechanism)
    for joint in expected.joints.values():
        if joint.variables:
            limits = again.joints[joint.name].limits
            assert limits.velocity == joint.limits.velocity
            assert limits.acceleration == pytest.approx(joint.limits.acceleration, rel=1e-5)
            assert limits.jerk == pytest.approx(joint.limits.jerk, rel=1e-5)
            assert limits.defaulted == joint.limits.defaulted
    confirmed = read_limits(text.replace("assumed:", "# assumed:"), mechanism)
    assert not any(msgspec.structs.astuple(joint.limits)[-1] for joint in confirmed.joints.values())
