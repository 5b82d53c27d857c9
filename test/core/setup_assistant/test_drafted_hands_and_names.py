"""Drafts find hands of many fingers, and distinguish arms by numbers, sides and positions."""

import pytest
from test_drafts import arm, chain, found, robot

from robot_cell_planner.collision.engines.base import TOUCHING
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.model.robot import Robot
from robot_cell_planner.setup_assistant.draft import draft_robot
from robot_cell_planner.setup_assistant.groups import passive_joints

INSPIRE = {"thumb_proximal": 2, "index_proximal": 1, "middle_proximal": 1, "ring_proximal": 1, "pinky_proximal": 1}
FIVE_NAMED = {"index_joint_": 4, "middle_joint_": 4, "ring_joint_": 4, "pinky_joint_": 5, "thumb_joint_": 5}


def fingers(base, lengths, links="{}_part"):
    """Serial joints for each name and number of joints."""
    result = []
    for name, count in lengths.items():
        at = [base, *(links.format(f"{name}{i}") for i in range(count))]
        result += [chain(f"{name}{i}", at[i], at[i + 1]) for i in range(count)]
    return result


def sizes(mechanism):
    return {name: size for name, (_, _, size) in found(mechanism).items()}


@pytest.mark.parametrize("lengths", [INSPIRE, FIVE_NAMED])
def test_fingers_beside_a_thumb_are_in_the_hand(lengths):
    """As of humanoids with hands of Inspire: the index was a part of the arm, and each other finger a side chain."""
    groups = found(robot(*arm(7), *fingers("link7", lengths)))
    assert groups == {"manipulator": ("base", "link7", 7), "hand": ("", "", sum(lengths.values()))}


def test_fingers_are_found_by_the_names_of_their_links():
    """As of the Shadow hand: joints are FFJ4 and so on, links ffknuckle, and the base of the thumb has another name."""
    named = fingers("link6", dict.fromkeys(("FFJ", "MFJ", "RFJ"), 4), "{}knuckle")
    thumb = fingers("link6", {"THJ": 4})
    assert sizes(robot(*arm(6), *named, *thumb)) == {"manipulator": 6, "hand": 16}


def test_fingers_of_five_joints_are_found_where_there_are_many():
    lengths = {"a": 4, "b": 4, "c": 4, "d": 5, "e": 5}
    assert sizes(robot(*arm(6), *fingers("link6", lengths))) == {"manipulator": 6, "hand": 22}
    two = sizes(robot(*arm(6), *fingers("link6", {"d": 5, "e": 5})))
    assert "hand" not in two


def test_words_such_as_middle_are_fingers_beside_others_only():
    assert sizes(robot(*arm(3), *fingers("link3", {"middle_": 3}))) == {"manipulator": 6}
    assert sizes(robot(*arm(3), *fingers("link3", {"middle_": 2, "index_": 1}))) == {"manipulator": 3, "hand": 3}


def test_short_arms_on_a_waist_of_three_joints_are_no_fingers():
    """As of small humanoids: arms of four joints beside each other and a head."""
    limbs = {"l_shoulder_": 4, "r_shoulder_": 4, "head_": 2}
    assert sizes(robot(*arm(3, prefix="waist_"), *fingers("waist_link3", limbs))) == {
        "left_arm": 4, "right_arm": 4, "all_arms": 8, "torso": 3, "head": 2,
    }  # fmt: skip


def test_a_robot_that_is_called_a_hand_consists_of_fingers():
    joints = "".join(fingers("base", {"a": 4, "b": 4, "c": 4}))
    text = f'<robot name="{{}}"><link name="base"/>{joints}</robot>'
    assert sizes(read_urdf(text.format("left_hand"))) == {"hand": 12}
    assert "hand" not in sizes(read_urdf(text.format("handler")))


def test_a_steered_wheel_is_in_no_group():
    """As of cars: the joint that steers is named after its hub."""
    steered = chain("base_hub", "base", "hub"), chain("hub_wheel", "hub", "tyre", "continuous")
    mechanism = robot(*steered, *arm(5))
    assert sizes(mechanism) == {"manipulator": 5}
    assert [joint.name for joint in passive_joints(mechanism)] == ["base_hub", "hub_wheel"]


def at(x, y, joint):
    """A joint of `chain` at a position."""
    return joint.replace("<axis", f'<origin xyz="{x} {y} 0"/><axis')


def two_arms(first, second, one=(0, 0), other=(0, 0)):
    """Two arms whose first joints are at positions x, y of the base; {} in their names is the number of the joint."""
    result = []
    for name, position in ((first, one), (second, other)):
        links = ["base", *(f"{name.format(i)}_link" for i in range(6))]
        joints = [chain(name.format(i), links[i], links[i + 1]) for i in range(6)]
        result += [at(*position, joints[0]), *joints[1:]]
    return found(robot(*result))


@pytest.mark.parametrize(
    "names, places, expected",
    [
        (("panda_1_{}", "panda_2_{}"), ((0, 0), (0, 1)), ("panda_1_arm", "panda_2_arm")),
        (("arm_1_{}", "arm_2_{}"), ((0, 0), (0, 1)), ("arm_1", "arm_2")),
        (("j{}r", "j{}l"), ((0, 0), (0, 0)), ("right_arm", "left_arm")),
        (("{}a_arm", "{}b_arm"), ((0, -0.3), (0, 0.3)), ("right_arm", "left_arm")),
        (("{}a_arm", "{}b_arm"), ((0, 0.3), (0.1, -0.3)), ("left_arm", "right_arm")),
        (("{}a_arm", "{}b_arm"), ((0, 0), (1, 0.1)), ("arm", "arm_2")),
    ],
)
def test_arms_are_distinguished(names, places, expected):
    groups = two_arms(*names, *places)
    assert [groups[name][1] for name in expected] == [f"{name.format(5)}_link" for name in names]


def test_the_composite_group_of_legs_is_named_so():
    legs = fingers("base", {f"{side}_hip_": 3 for side in ("fl", "fr", "rl", "rr")})
    assert sizes(robot(*legs))["all_legs"] == 12


BENT = 1.5  # [rad]
FINGERS = {"index": -0.045, "middle": -0.015, "ring": 0.015, "pinky": 0.045}  # places across the palm [m]


def part(name, length, parent, xyz, axis):
    """A box along z on a joint that bends it."""
    return (
        f'<link name="{name}"><collision><origin xyz="0 0 {0.5 * length + 0.008}"/><geometry>'
        f'<box size="0.014 0.014 {length - 0.016}"/></geometry></collision></link><joint name="{name}_joint" '
        f'type="revolute"><parent link="{parent}"/><child link="{name}"/><origin xyz="{xyz}"/><axis xyz="{axis}"/>'
        f'<limit lower="0" upper="{BENT}" effort="1" velocity="1"/></joint>'
    )


def hand(fingers, thumb):
    """Fingers of two joints that bend towards the front of a palm, -y, and a thumb beside it."""
    palm = '<collision><origin xyz="0 0 0.04"/><geometry><box size="0.1 0.02 0.08"/></geometry></collision>'
    parts = [f'<link name="palm">{palm}</link>']
    for name, x in fingers.items():
        parts += [part(f"{name}_1", 0.045, "palm", f"{x} 0 0.1", "1 0 0")]
        parts += [part(f"{name}_2", 0.035, f"{name}_1", "0 0 0.045", "1 0 0")]
    if thumb:
        parts += [part("thumb_1", 0.04, "palm", "-0.08 -0.03 0.02", "0 1 0")]
        parts += [part("thumb_2", 0.03, "thumb_1", "0 0 0.04", "0 1 0")]
    return read_urdf(f'<robot name="five_finger_hand">{"".join(parts)}</robot>')


@pytest.mark.parametrize(("count", "thumb"), [(4, True), (4, False), (3, True)])
def test_a_hand_of_many_fingers_is_open_when_they_are_straight(count, thumb):
    """A finger that bends alone moves away from its neighbours: the fist was the open state, in which fingers overlap,
    and pairs that overlap there were left out of all checks."""
    drafted = draft_robot(Robot("hand", hand(dict(list(FINGERS.items())[:count]), thumb)))
    (found,) = drafted.hands.values()
    assert set(found.opened.values()) == {0.0}
    assert min(found.closed.values()) > 0.0
    assert found.opening >= 0.0
    assert not [pair for pair in drafted.pairs if pair.reason == "Default"]
    assert not drafted.home.colliding


JAW = """<link name="{0}_slide"><collision><origin xyz="0 0.03 0"/><geometry><sphere radius="0.002"/></geometry>
</collision></link><link name="{0}_jaw"><collision><geometry><box size="0.02 0.02 0.06"/></geometry>
</collision></link>
<joint name="{0}_finger_1" type="prismatic"><parent link="palm"/><child link="{0}_slide"/><origin xyz="{1} 0 0.08"/>
<axis xyz="{2} 0 0"/><limit lower="0" upper="0.02" effort="1" velocity="1"/></joint>
<joint name="{0}_finger_2" type="prismatic"><parent link="{0}_slide"/><child link="{0}_jaw"/>
<axis xyz="{2} 0 0"/><limit lower="0" upper="0.02" effort="1" velocity="1"/></joint>"""


def gripper(stop):
    """Two jaws of two slides each that open along x, and stops of the palm at a distance from its middle [m]."""
    palm = "".join(
        f'<collision><origin xyz="{x} 0 {z}"/><geometry><box size="{size} 0.02 0.02"/></geometry></collision>'
        for x, z, size in ((0.0, 0.02, 0.2), (stop + 0.01, 0.08, 0.02), (-stop - 0.01, 0.08, 0.02))
    )
    jaws = JAW.format("left", 0.011, 1) + JAW.format("right", -0.011, -1)
    return Robot("gripper", read_urdf(f'<robot name="gripper"><link name="palm">{palm}</link>{jaws}</robot>'))


def test_jaws_that_overlap_the_palm_at_their_limits_open_less():
    """Their outer faces are at 21 mm when closed, and 61 mm at the upper limit: 6 mm beyond the stops."""
    drafted = draft_robot(gripper(0.055))
    (found,) = drafted.hands.values()
    assert list(found.opened.values()) == pytest.approx([0.017] * 4, abs=TOUCHING)
    disabled = {frozenset((pair.first, pair.second)) for pair in drafted.pairs}
    assert disabled.isdisjoint({frozenset(("palm", "left_jaw")), frozenset(("palm", "right_jaw"))})
    assert not drafted.home.colliding


def test_jaws_that_overlap_nowhere_open_up_to_their_limits():
    (found,) = draft_robot(gripper(0.07)).hands.values()
    assert set(found.opened.values()) == {0.02}
