"""SRDF: groups of every kind, named states, disabled pairs, and names that the robot does not have."""

import pytest
from robots import MANIPULATORS, ROBOTS

from robot_cell_planner.errors import FileError
from robot_cell_planner.io.common.defects import Defects
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.io.robot_description.srdf import EndEffector, VirtualJoint, read_srdf
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.model.robot import DisabledPair

LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'


def joint(name, kind, parent, child, inner=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f"{LIMIT if kind in ('revolute', 'prismatic') else ''}{inner}</joint>"
    )


URDF = (
    '<robot name="r">'
    + "".join(f'<link name="{name}"/>' for name in ("base", "l1", "l2", "l3", "tip", "left", "right", "cart"))
    + joint("j1", "revolute", "base", "l1")
    + joint("j2", "continuous", "l1", "l2")
    + joint("j3", "planar", "l2", "l3")
    + joint("flange", "fixed", "l3", "tip")
    + joint("finger", "prismatic", "tip", "left")
    + joint("other", "prismatic", "tip", "right", '<mimic joint="finger"/>')
    + joint("wheel", "revolute", "base", "cart")
    + "</robot>"
)
PLANAR = ("j3/x", "j3/y", "j3/theta")


@pytest.fixture(scope="module")
def mechanism():
    return read_urdf(URDF)


def read(mechanism, text, **options):
    return read_srdf(f'<robot name="r">{text}</robot>', mechanism, "robot.srdf", **options)


@pytest.mark.parametrize(
    ("members", "variables", "ends"),
    [
        ('<chain base_link="base" tip_link="tip"/>', ("j1", "j2", *PLANAR), ("base", "tip")),
        ('<chain base_link="l1" tip_link="l2"/>', ("j2",), ("l1", "l2")),
        ('<joint name="j2"/><joint name="j1"/>', ("j1", "j2"), ("base", "l2")),
        ('<joint name="j1"/><joint name="j3"/>', ("j1", *PLANAR), ("", "")),
        ('<link name="l1"/><link name="l2"/>', ("j1", "j2"), ("base", "l2")),
        ('<link name="base"/><link name="l1"/>', ("j1",), ("base", "l1")),
        ('<joint name="finger"/><joint name="other"/>', ("finger",), ("", "")),
        ('<group name="arm"/><group name="hand"/>', ("j1", "j2", *PLANAR, "finger"), ("", "")),
        ('<joint name="world_joint"/>', (), ("", "")),
        ("", (), ("", "")),
    ],
)
def test_groups(mechanism, members, variables, ends):
    text = (
        '<virtual_joint name="world_joint" type="floating" parent_frame="world" child_link="base"/>'
        f'<group name="g">{members}</group><group name="hand"><joint name="finger"/><joint name="other"/></group>'
        '<group name="arm"><chain base_link="base" tip_link="tip"/></group>'
    )
    group = read(mechanism, text).groups["g"]
    assert group.variables == variables
    assert (group.base_link, group.tip_link) == ends


def test_a_passive_joint_in_a_group_is_left_out_with_a_warning(mechanism):
    """The Panda's SRDF of moveit_resources has one, which MoveIt ignores."""
    text = '<group name="g"><joint name="j1"/><passive_joint name="j2"/></group>'
    defects = Defects()
    assert read(mechanism, text, defects=defects).groups["g"].variables == ("j1",)
    assert "<passive_joint> is no member of a group" in defects.texts[0]
    with pytest.raises(FileError, match="no member of a group"):
        read(mechanism, text)


def test_passive_joints_are_not_variables_of_groups(mechanism):
    text = '<group name="g"><joint name="j1"/><joint name="j2"/></group><passive_joint name="j2"/>'
    semantic = read(mechanism, text)
    assert semantic.groups["g"].variables == ("j1",)
    assert semantic.passive_joints == ("j2",)


def test_states_end_effectors_and_disabled_pairs(mechanism):
    semantic = read(
        mechanism,
        '<group name="g"><chain base_link="base" tip_link="tip"/></group>'
        '<group name="hand"><joint name="finger"/></group>'
        '<group_state name="home" group="g"><joint name="j1" value="0.5"/>'
        '<joint name="j3" value="1 2 3"/></group_state>'
        '<group_state name="open" group="hand"><joint name="finger" value="1e-2"/>'
        '<joint name="other" value="1"/></group_state>'
        '<disable_collisions link1="base" link2="l1" reason="Adjacent"/><disable_collisions link1="l1" link2="tip"/>'
        '<end_effector name="e" parent_link="tip" group="hand" parent_group="g"/>'
        '<virtual_joint name="v" type="fixed" parent_frame="odom" child_link="base"/>'
        '<link_sphere_approximation link="base"/>',
    )
    assert semantic.named_states["g/home"] == {"j1": 0.5, "j3/x": 1.0, "j3/y": 2.0, "j3/theta": 3.0}
    assert semantic.named_states["hand/open"] == {"finger": 0.01}
    assert semantic.disabled_pairs == (DisabledPair("base", "l1", "Adjacent"), DisabledPair("l1", "tip"))
    assert semantic.end_effectors == (EndEffector("e", "hand", "tip", "g"),)
    assert semantic.virtual_joints == (VirtualJoint("v", "fixed", "odom", "base"),)


def test_prefix():
    mechanism = read_urdf(URDF, prefix="left_")
    text = (
        '<group name="g"><chain base_link="base" tip_link="tip"/></group><group name="h"><group name="g"/></group>'
        '<group_state name="home" group="g"><joint name="j1" value="1"/></group_state>'
        '<disable_collisions link1="base" link2="l1"/>'
    )
    semantic = read(mechanism, text, prefix="left_")
    assert list(semantic.groups) == ["left_g", "left_h"]
    assert semantic.groups["left_h"].variables[0] == "left_j1"
    assert semantic.named_states["left_g/home"] == {"left_j1": 1.0}
    assert semantic.disabled_pairs[0] == DisabledPair("left_base", "left_l1")


def test_a_chain_from_the_link_called_world():
    text = URDF.replace('"base"', '"world"')
    mechanism = read_urdf(text)
    semantic = read(mechanism, '<group name="g"><chain base_link="world" tip_link="tip"/></group>')
    assert semantic.groups["g"].base_link == "r_world"


def test_the_panda_of_its_maker():
    robot = load_robot("panda", MANIPULATORS["panda"], ROBOTS / "panda_description/srdf/panda.srdf")
    assert robot.main_group == "arm"
    assert robot.group().variables == tuple(f"panda_joint{i}" for i in range(1, 8))
    assert robot.group("arm").tip_link == "panda_link7"
    assert robot.group("arm_and_hand").variables[-1] == "panda_finger_joint1"
    assert robot.named_state("arm_and_hand", "default")["panda_joint4"] == -2.35619
    assert DisabledPair("panda_hand", "panda_leftfinger", "Adjacent") in robot.disabled_pairs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<group/>", "'name'"),
        ('<group name="g"><joint name="j9"/></group>', "joint 'j9' does not exist; there are finger"),
        ('<group name="g"><link name="l9"/></group>', "link 'l9' does not exist"),
        ('<group name="g"><chain base_link="tip" tip_link="base"/></group>', "is not a descendant of"),
        ('<group name="g"><chain base_link="base"/></group>', "tip_link"),
        ('<group name="g"><group name="h"/></group>', "'h' does not exist"),
        ('<group name="g"><group name="g"/></group>', "loop"),
        ('<group name="g"><group name="h"/></group><group name="h"><group name="g"/></group>', "g -> h -> g"),
        ('<group name="g"/><group name="g"/>', "already"),
        ('<group name="g"><gripper/></group>', "no member"),
        ('<group name=";"/>', "letters"),
        ('<group name="g"/><group_state name="s" group="f"/>', "'f'"),
        ('<group name="g"/><group_state name="s" group="g"/><group_state name="s" group="g"/>', "already"),
        ('<group name="g"/><group_state name="s" group="g"><joint name="j1" value="x"/></group_state>', "number"),
        ('<group name="g"/><group_state name="s" group="g"><joint name="j3" value="1"/></group_state>', "expected 3"),
        ('<group name="g"/><group_state name="s" group="g"><joint name="j1" value="nan"/></group_state>', "finite"),
        ('<group name="g"/><group_state name="s" group="g"><joint name="q" value="1"/></group_state>', "'q'"),
        ('<disable_collisions link1="base" link2="l7"/>', "l7"),
        ('<disable_collisions link1="base"/>', "link2"),
        ('<passive_joint name="none"/>', "none"),
        ('<end_effector name="e" parent_link="none" group="g"/>', "none"),
        ('<virtual_joint name="v" type="fixed" parent_frame="world" child_link="none"/>', "none"),
    ],
)
def test_mistakes_are_refused_with_their_line(mechanism, text, expected):
    with pytest.raises(FileError, match=expected) as caught:
        read(mechanism, f"\n{text}")
    assert caught.value.message.startswith("robot.srdf:2: ")


def test_another_document(mechanism):
    with pytest.raises(FileError, match="expected <robot>"):
        read_srdf("<sdf/>", mechanism)


def test_links_without_default_collisions_are_checked_against_none_but_the_enabled(mechanism):
    """As MoveIt: defaults first, then enabled pairs, then disabled ones."""
    text = (
        '<group name="g"><joint name="j1"/></group><disable_default_collisions link="l1"/>'
        '<enable_collisions link1="tip" link2="l1"/><enable_collisions link1="base" link2="l1"/>'
        '<disable_collisions link1="l1" link2="base" reason="Adjacent"/>'
    )
    defects = Defects(strict=True)
    pairs = read(mechanism, text, defects=defects).disabled_pairs
    expected = {frozenset(("l1", other)) for other in mechanism.links} - {frozenset(("l1",)), frozenset(("l1", "tip"))}
    assert {frozenset((pair.first, pair.second)) for pair in pairs} == expected
    assert len(pairs) == len(expected)
    assert "disable_default_collisions of l1" in defects.texts[0]


def test_enabled_collisions_alone_disable_no_pair(mechanism):
    text = '<group name="g"><joint name="j1"/></group><enable_collisions link1="tip" link2="l1"/>'
    assert read(mechanism, text).disabled_pairs == ()


RAIL = (
    '<robot name="r">'
    + "".join(f'<link name="{name}"/>' for name in ("floor", "carriage", "base", "base_inertia", "l1", "l2", "probe"))
    + joint("rail", "prismatic", "floor", "carriage")
    + joint("mount", "fixed", "carriage", "base")
    + joint("inertia", "fixed", "base", "base_inertia")
    + joint("j1", "revolute", "base_inertia", "l1")
    + joint("j2", "revolute", "l1", "l2")
    + joint("turn", "revolute", "carriage", "probe")
    + "</robot>"
)
ARM = '<group name="arm"><chain base_link="base" tip_link="l2"/></group>'


def test_a_rail_and_the_arm_on_its_carriage_are_a_chain():
    """As of a UR on a rail of PickNik: the fixed joints between both are in neither group."""
    text = f'<group name="rail"><joint name="rail"/></group>{ARM}'
    groups = read(read_urdf(RAIL), f'{text}<group name="all"><group name="arm"/><group name="rail"/></group>').groups
    assert groups["all"].variables == ("rail", "j1", "j2")
    assert (groups["all"].base_link, groups["all"].tip_link) == ("floor", "l2")
    assert groups["all"].links == ("carriage", "base", "base_inertia", "l1", "l2")


def test_an_arm_with_a_finger_beyond_fixed_joints_is_no_chain():
    """The tip of the group with the finger would be the finger, and that of the arm is where a tool is mounted."""
    grasp = joint("mount_2", "fixed", "l2", "hand") + joint("finger", "prismatic", "hand", "pad")
    text = RAIL.replace("</robot>", f'<link name="hand"/><link name="pad"/>{grasp}</robot>')
    group = '<group name="g"><group name="arm"/><joint name="finger"/></group>'
    assert read(read_urdf(text), f"{ARM}{group}").groups["g"].tip_link == ""


@pytest.mark.parametrize("others", ['<joint name="turn"/>', '<joint name="rail"/><joint name="j2"/>'])
def test_joints_with_a_branch_or_a_moving_joint_between_them_are_no_chain(others):
    names = '<joint name="rail"/>' if "turn" not in others else '<group name="arm"/><joint name="rail"/>'
    group = read(read_urdf(RAIL), f'{ARM}<group name="g">{names}{others}</group>').groups["g"]
    assert (group.base_link, group.tip_link) == ("", "")
    assert "base" not in group.links or "turn" in others
