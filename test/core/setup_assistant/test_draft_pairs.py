"""A drafted SRDF disables pairs for the stated reasons, is reproducible, and has a collision-free state `home`."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from frozendict import frozendict

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import NotSupportedError
from robot_cell_planner.io.robot_description.loading import load_robot, robot_from_sources
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.sources import ModelSources
from robot_cell_planner.setup_assistant.approach import Approach
from robot_cell_planner.setup_assistant.draft import draft_robot
from robot_cell_planner.setup_assistant.options import DraftOptions
from robot_cell_planner.setup_assistant.pair_search import bare_checker
from robot_cell_planner.setup_assistant.pairs import drafted_pairs

SHARES = (Path(entry, "cmeel.prefix/share/example-robot-data/robots") for entry in sys.path)
PANDA = next(folder for folder in SHARES if folder.is_dir()) / "panda_description"
URDF, SRDF = PANDA / "urdf/panda.urdf", PANDA / "srdf/panda.srdf"
OPTIONS = DraftOptions(samples=1500)


@pytest.fixture(scope="module")
def draft():
    return draft_robot(load_robot("panda", URDF), OPTIONS)


def reasons(draft):
    return {frozenset((pair.first, pair.second)): pair.reason for pair in draft.pairs}


def test_the_same_seed_gives_the_same_text(draft):
    assert draft_robot(load_robot("panda", URDF), OPTIONS).srdf == draft.srdf
    assert draft_robot(load_robot("panda", URDF), DraftOptions(samples=20, seed=2)).srdf != draft.srdf


def test_an_existing_srdf_does_not_change_the_draft(draft):
    assert draft_robot(load_robot("panda", URDF, SRDF), OPTIONS).srdf == draft.srdf


def test_neighbours_are_adjacent(draft):
    found = reasons(draft)
    for i in range(7):
        assert found[frozenset((f"panda_link{i}", f"panda_link{i + 1}"))] == "Adjacent"
    assert found[frozenset(("panda_hand", "panda_leftfinger"))] == "Adjacent"


def test_pairs_drafted_as_never_colliding_hardly_ever_collide(draft):
    """Compared with other random configurations, with all pairs checked except neighbours."""
    robot = load_robot("panda", URDF)
    cell = RobotCell(robots=frozendict(panda=robot))
    checker = CollisionChecker(cell, cell.default_state())
    never = {pair for pair, reason in reasons(draft).items() if reason == "Never"}
    limits = [variable.limits for variable in robot.variables.values()]
    lower, upper = ([getattr(limit, end) for limit in limits] for end in ("lower", "upper"))
    hits = 0
    for q in np.random.default_rng(99).uniform(lower, upper, (500, len(limits))):
        hits += any(frozenset((pair.first, pair.second)) in never for pair in checker.report(q).pairs)
    assert hits <= 3
    assert len(never) > 10


def test_it_agrees_with_the_srdf_of_the_manufacturer(draft):
    """No pair that can collide according to the manufacturer is drafted as never colliding, and vice versa."""
    maker = {frozenset((p.first, p.second)): p.reason for p in load_robot("panda", URDF, SRDF).disabled_pairs}
    never = {pair for pair, reason in reasons(draft).items() if reason == "Never"}
    assert len(never & set(maker)) >= 0.8 * len(never)


def test_home_is_free_and_inside_the_limits(draft):
    cell = RobotCell(robots=frozendict(panda=draft.robot))
    state = cell.default_state().with_configuration(draft.home.values)
    assert not CollisionChecker(cell, state).report().in_collision
    assert draft.home.clearance > 0.0
    arm = draft.robot.groups["manipulator"].variables
    limits = {name: cell.variables[name].limits for name in arm}
    assert all(limits[n].lower + 0.1 < draft.home.values[n] < limits[n].upper - 0.1 for n in arm)


def test_the_hand_opens_and_its_tool_centre_point_is_between_the_fingers(draft):
    """The Panda's fingertips meet on the z axis of its hand, 103.4 mm away (Franka's F_T_NE)."""
    hand = draft.hands["hand"]
    assert hand.opened == {"panda_finger_joint1": 0.04}
    assert hand.closed == pytest.approx({"panda_finger_joint1": 0.0}, abs=1e-4)
    assert hand.base == "panda_hand"
    assert hand.tcp.position == pytest.approx((0.0, 0.0, 0.1034), abs=0.005)


def test_named_states_are_free_and_inside_the_limits():
    """Fingers of a closed hand do not overlap; limits with more digits than a rounded value are kept."""
    limit = f'lower="{-1 / 3}" upper="{2 / 3}" effort="1" velocity="1"'
    box = '<geometry><box size="0.02 0.02 0.1"/></geometry>'
    link = f'<link name="{{}}"><collision><origin xyz="0.2 0 0"/>{box}</collision></link>'
    joint = (
        '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><axis xyz="{4}"/><limit {5}/>'
        '<origin xyz="0 {6} 0.2"/></joint>'
    )
    finger = 'lower="0" upper="0.05128" effort="1" velocity="1"'
    parts = [link.format(name) for name in ("a", "b", "c")]
    parts += [
        joint.format(f"j{i}", "revolute", p, c, "0 0 1", limit, 0)
        for i, p, c in ((1, "base", "a"), (2, "a", "b"), (3, "b", "c"))
    ]
    for name, side in (("left", 1), ("right", -1)):
        parts.append(f'<link name="{name}"><collision>{box}</collision></link>')
        parts.append(joint.format(f"{name}_finger", "prismatic", "c", name, f"0 {side} 0", finger, 0.009 * side))
    text = f'<robot name="r"><link name="base"/>{"".join(parts)}</robot>'
    draft = draft_robot(robot_from_sources("r", ModelSources(urdf=text)), DraftOptions(samples=200))
    cell = RobotCell(robots=frozendict(r=draft.robot))
    state = cell.default_state().with_configuration(draft.home.values)
    assert set(draft.robot.named_states) == {"manipulator/home", "hand/open", "hand/closed"}
    for values in draft.robot.named_states.values():
        assert not CollisionChecker(cell, state.with_configuration(values)).report().in_collision
        assert all(cell.variables[n].limits.lower <= v <= cell.variables[n].limits.upper for n, v in values.items())
    assert draft.hands["hand"].closed["left_finger"] + draft.hands["hand"].closed["right_finger"] < 0.003
    # The hand is open, at its limit; the joints of the arm are not near their limits.
    assert draft.home.values["left_finger"] == 0.05128
    arm = draft.robot.groups["manipulator"].variables
    ends = [(cell.variables[name].limits, draft.home.values[name]) for name in arm]
    assert draft.home.limit_margin == min(min(q - limits.lower, limits.upper - q) for limits, q in ends) > 0.05


def test_invalid_options_are_refused():
    for given in ({"samples": 0}, {"always": 0.0}, {"always": 1.5}):
        with pytest.raises(ValueError, match="expected"):
            DraftOptions(**given)
    with pytest.raises(NotSupportedError, match="prefix"):
        draft_robot(load_robot("panda", URDF, prefix="left_"))


def test_a_pair_that_collides_in_few_states_remains_checked():
    """A sphere of 20 mm at the tip of an arm of 1.5 m reaches one of the same size at the base, at a distance of 0.8 m,
    but not one that is 1.6 m away."""
    ball = '<collision><origin xyz="{} 0 0"/><geometry><sphere radius="0.02"/></geometry></collision>'
    links = [f'<link name="base">{ball.format(0.7)}</link><link name="far">{ball.format(0)}</link>']
    fixed = '<joint name="fixed" type="fixed"><parent link="base"/><child link="far"/><origin xyz="0 0 -1.6"/></joint>'
    links.append(fixed)
    parent = "base"
    for index, axis in enumerate(("0 0 1", "0 1 0", "0 1 0")):
        shape = ball.format(0.5 if index == 2 else 0.1)
        links.append(
            f'<link name="l{index}">{shape}</link><joint name="j{index}" type="revolute"><parent link="{parent}"/>'
            f'<child link="l{index}"/><origin xyz="{0.5 if index else 0} 0 0"/><axis xyz="{axis}"/>'
            f'<limit lower="-3" upper="3" velocity="1" effort="1"/></joint>'
        )
        parent = f"l{index}"
    robot = robot_from_sources("r", ModelSources(urdf=f'<robot name="r">{"".join(links)}</robot>'))
    found = {frozenset((pair.first, pair.second)): pair for pair in drafted_pairs(robot, DraftOptions(samples=5))}
    assert frozenset(("base", "l2")) not in found
    assert found[frozenset(("far", "l2"))].reason == "Never"


def six_joints(goal):
    """An arm of six joints with a sphere of 20 mm at its tip, and another one at a position on the base."""
    ball = '<collision><geometry><sphere radius="0.01"/></geometry></collision>'
    place = " ".join(map(str, goal))
    parts = [
        f'<link name="base"/><link name="goal">{ball}</link><joint name="fixed" type="fixed"><parent link="base"/>'
        f'<child link="goal"/><origin xyz="{place}"/></joint><link name="tip">{ball}</link>'
    ]
    names = ("base", *(f"l{index}" for index in range(5)), "tip")
    for index, (parent, child) in enumerate(pairwise(names)):
        axis = ("0 0 1", "0 1 0", "0 1 0", "1 0 0", "0 1 0", "1 0 0")[index]
        parts.append("" if child == "tip" else f'<link name="{child}"/>')
        parts.append(
            f'<joint name="j{index}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{0.3 if index else 0.0} 0 0.1"/><axis xyz="{axis}"/>'
            f'<limit lower="-2.5" upper="2.5" velocity="1" effort="1"/></joint>'
        )
    return robot_from_sources("r", ModelSources(urdf=f'<robot name="r">{"".join(parts)}</robot>'))


def place(q):
    """The position of the tip of `six_joints` at a configuration."""
    cell = RobotCell(robots=frozendict(r=six_joints((9.0, 9.0, 9.0))))
    values = dict(zip((f"j{index}" for index in range(6)), q.tolist(), strict=True))
    return world_pose(cell, cell.default_state().with_configuration(values), "tip").position


@pytest.mark.parametrize("seed", range(4))
def test_a_position_that_the_tip_reaches_remains_checked(seed):
    """The other sphere is at the position of the tip at a random configuration."""
    tip = place(np.random.default_rng(seed).uniform(-2.4, 2.4, 6))
    reached = drafted_pairs(six_joints(tip), DraftOptions(samples=5))
    assert not any({pair.first, pair.second} == {"goal", "tip"} for pair in reached)
    far = drafted_pairs(six_joints((9.0, 9.0, 9.0)), DraftOptions(samples=5))
    assert [pair.reason for pair in far if {pair.first, pair.second} == {"goal", "tip"}] == ["Never"]


@pytest.mark.parametrize("seed", [2, 14, 15])
def test_a_position_among_others_just_out_of_reach_remains_checked(seed):
    """The descent of the distance ends at most of the spheres around the workspace, which are 40 mm out of reach."""
    tip = np.array(place(np.random.default_rng(seed).uniform(-2.4, 2.4, 6)))
    steps = np.arange(100) + 0.5
    polar, turn = np.arccos(1.0 - 0.02 * steps), np.pi * (1.0 + np.sqrt(5.0)) * steps
    directions = np.stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)], axis=1)
    spheres = "".join(
        f'<collision><origin xyz="{x} {y} {z}"/><geometry><sphere radius="0.01"/></geometry></collision>'
        for x, y, z in (0.0, 0.0, 0.1) + 1.63 * directions - tip
    )
    text = six_joints(tuple(tip)).sources.urdf.replace('<link name="goal">', f'<link name="goal">{spheres}')
    found = drafted_pairs(robot_from_sources("r", ModelSources(urdf=text)), DraftOptions(samples=5))
    assert not any({pair.first, pair.second} == {"goal", "tip"} for pair in found)


TUBE = '<collision><geometry><box size="0.3 {0} {0}"/></geometry></collision>'
SLIDE = (
    '<joint name="{1}" type="{2}"><parent link="{0}"/><child link="{1}"/><origin xyz="0 0 0" rpy="{3}"/>'
    '<axis xyz="{4}"/><limit lower="0" upper="0.2" velocity="1" effort="1"/></joint>'
)


def test_parts_of_a_telescope_are_not_checked_and_carriages_of_a_rail_are():
    """The outer and inner tube overlap where the extensions are together less than 0.3 m: at 87.5 % of the states."""
    links = {"rail": 0.05, "outer": 0.04, "middle": 0.04, "inner": 0.03, "other": 0.02, "across": 0.01, "wrist": 0.01}
    joints = [
        SLIDE.format("rail", "outer", "fixed", "0 0 0.3", "1 0 0"),
        SLIDE.format("outer", "middle", "prismatic", "0 0 3.14159265358979", "-1 0 0"),
        SLIDE.format("middle", "inner", "prismatic", "0 0 3.14159265358979", "1 0 0"),
        SLIDE.format("rail", "other", "prismatic", "0 0 0.3", "1 0 0"),
        SLIDE.format("middle", "across", "prismatic", "0 0 0", "0 1 0"),
        SLIDE.format("middle", "wrist", "revolute", "0 0 0", "1 0 0"),
    ]
    text = "".join(f'<link name="{name}">{TUBE.format(size)}</link>' for name, size in links.items())
    robot = robot_from_sources("r", ModelSources(urdf=f'<robot name="r">{text}{"".join(joints)}</robot>'))
    found = {frozenset((p.first, p.second)): p.reason for p in drafted_pairs(robot, DraftOptions(samples=2000))}
    expected = {frozenset(pair) for pair in (("outer", "inner"), ("rail", "inner"))}
    assert {pair for pair, reason in found.items() if reason == "Default"} == expected
    for pair in (("middle", "other"), ("inner", "other"), ("outer", "across"), ("outer", "wrist")):
        assert found.get(frozenset(pair)) in (None, "Always"), pair  # as measured at random


COUPLED = """<robot name="r"><link name="base">{ball}</link><link name="a"/><link name="b"/>
<link name="tip">{ball}</link><link name="side">{ball}</link>
<joint name="turn" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0.1 0 0.2" rpy="0.3 0.2 0"/>
<axis xyz="0 0.6 0.8"/>{limit}</joint>
<joint name="slide" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>{limit}</joint>
<joint name="follow" type="revolute"><parent link="b"/><child link="tip"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
<mimic joint="turn" multiplier="-0.5" offset="0.1"/>{limit}</joint>
<joint name="other" type="revolute"><parent link="a"/><child link="side"/><origin xyz="0 0.3 0"/><axis xyz="1 0 0"/>
{limit}</joint></robot>"""


@pytest.mark.parametrize("pair", [("base", "tip"), ("tip", "side")])
def test_the_gradient_of_the_distance_is_that_of_differences(pair):
    """With a revolute, a prismatic and a coupled joint; the other links of the robot are not checked."""
    ball = '<collision><origin xyz="0.1 0.05 0"/><geometry><box size="0.05 0.06 0.07"/></geometry></collision>'
    text = COUPLED.format(ball=ball, limit='<limit lower="-1" upper="1" velocity="1" effort="1"/>')
    robot = robot_from_sources("r", ModelSources(urdf=text))
    pairs = {("base", "tip"), ("base", "side"), ("side", "tip")}
    checker = bare_checker(robot, {other for other in pairs if set(other) != set(pair)})
    count = len(checker.variables)
    search = Approach(checker, pair, np.arange(count), -np.ones(count), np.ones(count))
    for q in np.random.default_rng(1).uniform(-0.9, 0.9, (20, count)):
        ends = [[checker.distance(q + h * row).distance for h in (1e-6, -1e-6)] for row in np.eye(count)]
        differences = [(plus - minus) / 2e-6 for plus, minus in ends]
        assert search.gradient(q, checker.distance(q)) == pytest.approx(differences, abs=2e-3)
    moved = search.gradient(np.ones(count), checker.distance(np.ones(count)))
    assert (moved >= 0.0).all()  # no step exceeds the upper limits


def test_neighbours_across_links_without_shapes_are_not_certain():
    shape = '<collision><geometry><sphere radius="0.05"/></geometry></collision>'
    joint = (
        '<joint name="j{0}" type="revolute"><parent link="{0}"/><child link="{1}"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>'
    )
    names = "abcd"
    links = "".join(f'<link name="{name}">{shape if name != "c" else ""}</link>' for name in names)
    joints = "".join(joint.format(*names[index : index + 2]) for index in range(3))
    robot = robot_from_sources("r", ModelSources(urdf=f'<robot name="r">{links}{joints}</robot>'))
    found = {(pair.first, pair.second): pair for pair in drafted_pairs(robot, DraftOptions(samples=5))}
    assert found["a", "b"].sure.startswith("certain")
    assert found["b", "d"].sure.startswith("not sure: 2 joints apart")
