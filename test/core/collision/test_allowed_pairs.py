"""Table of the allowed collision matrix: every pair type, touch list and exception, in either order of the names."""

import numpy as np
import pytest
from collision_cells import (
    NO_SETTINGS,
    arm,
    at,
    body,
    box,
    gripper,
    make_cell,
    mechanism,
    place,
    settings,
    sphere,
    spindle,
    working_cell,
)
from frozendict import frozendict

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.pairs.allowed_pairs import (
    DEFAULT_OPTIONS,
    AllowedPairs,
    CheckedPair,
    CollisionOptions,
    PairType,
    SkippedPair,
)
from robot_cell_planner.collision.pairs.pair_settings import Margins, unknown_names
from robot_cell_planner.model.bodies import NamedFrame, PairMargin
from robot_cell_planner.model.mechanism import JointKind
from robot_cell_planner.model.robot import DisabledPair, PlanningGroup, Robot
from robot_cell_planner.model.sources import ModelSources

OTHERS = (body("table", box(1, 1, 0.1)), body("wall", box(1, 0.1, 1)))


def cell_and_state(collision=NO_SETTINGS, robots=(), tools=()):
    part = body("part", box(0.03, 0.05, 0.08))
    cell = make_cell((arm(), *robots), (gripper(), spindle(), *tools), (part, *OTHERS), collision)
    state = place(cell.default_state(), "gripper", attached_to="manipulator")
    return cell, place(state, "part", attached_to="gripper")


def verdict(cell, state, first, second):
    """The verdict about a pair, which must not depend on the order of the names."""
    allowed_pairs = AllowedPairs(cell, state)
    found = allowed_pairs.pair(first, second)
    assert found == allowed_pairs.pair(second, first)
    listed = {(p.first, p.second) for p in allowed_pairs.checked()}
    assert ((found.first, found.second) in listed) == isinstance(found, CheckedPair)
    return found


@pytest.mark.parametrize(
    ("first", "second", "step"),
    [
        ("base", "link4", PairType.LINK_LINK),
        ("link2", "gripper/palm", PairType.LINK_TOOL),
        ("link5", "spindle/body", PairType.LINK_TOOL),
        ("link6", "gripper/left", PairType.LINK_TOOL),
        ("link1", "table", PairType.LINK_BODY),
        ("link3", "part", PairType.LINK_BODY),
        ("part", "table", PairType.BODY_BODY),
        ("gripper/left", "wall", PairType.TOOL_BODY),
        ("spindle/body", "part", PairType.TOOL_BODY),
        ("gripper/palm", "spindle/body", PairType.TOOL_TOOL),
        ("gripper/left", "gripper/right", PairType.WITHIN_TOOL),
    ],
)
def test_each_step_has_its_pairs(first, second, step):
    cell, state = cell_and_state()
    assert verdict(cell, state, first, second) == CheckedPair(step, first, second, 0.0)


@pytest.mark.parametrize(
    ("first", "second", "step", "reason"),
    [
        ("base", "link1", PairType.LINK_LINK, "SRDF: Adjacent"),
        ("link6", "gripper/palm", PairType.LINK_TOOL, "link6 carries gripper/palm"),
        ("base", "table", PairType.LINK_BODY, "neither moves"),
        ("base", "spindle/body", PairType.LINK_TOOL, "neither moves"),
        ("table", "wall", PairType.BODY_BODY, "neither moves"),
        ("spindle/body", "wall", PairType.TOOL_BODY, "neither moves"),
        ("gripper/palm", "part", PairType.TOOL_BODY, "gripper holds part"),
        ("gripper/left", "part", PairType.TOOL_BODY, "gripper holds part"),
        ("gripper/palm", "gripper/left", PairType.WITHIN_TOOL, "neighbours at a joint"),
    ],
)
def test_skipped_pairs_have_a_reason(first, second, step, reason):
    cell, state = cell_and_state()
    assert verdict(cell, state, first, second) == SkippedPair(step, first, second, reason)


@pytest.mark.parametrize(
    ("obj", "lists", "first", "second"),
    [
        ("gripper", {"touch_links": ("link5",)}, "link5", "gripper/palm"),
        ("gripper", {"touch_links": ("link6",)}, "link6", "gripper/left"),
        ("gripper", {"touch_bodies": ("table",)}, "gripper/right", "table"),
        ("gripper", {"touch_bodies": ("spindle",)}, "gripper/palm", "spindle/body"),
        ("spindle", {"touch_bodies": ("gripper",)}, "gripper/palm", "spindle/body"),
        ("spindle", {"touch_bodies": ("part",)}, "spindle/body", "part"),
        ("part", {"touch_links": ("link5",)}, "link5", "part"),
        ("part", {"touch_bodies": ("table",)}, "part", "table"),
        ("part", {"touch_bodies": ("spindle",)}, "spindle/body", "part"),
        ("part", {"touch_links": ("spindle/body",)}, "spindle/body", "part"),
        ("table", {"touch_bodies": ("part",)}, "part", "table"),
        ("table", {"touch_bodies": ("gripper",)}, "gripper/left", "table"),
        ("table", {"touch_links": ("gripper/left",)}, "gripper/left", "table"),
        ("table", {"touch_links": ("link3",)}, "link3", "table"),
    ],
)
def test_a_touch_list_of_either_side_allows_the_pair(obj, lists, first, second):
    cell, state = cell_and_state()
    assert isinstance(verdict(cell, state, first, second), CheckedPair)
    carrier = {"gripper": "manipulator", "part": "gripper"}.get(obj, "")
    found = verdict(cell, place(state, obj, attached_to=carrier, **lists), first, second)
    assert found == SkippedPair(found.pair_type, first, second, f"touch list of {obj}")


def test_a_touch_list_allows_no_other_pair():
    cell, state = cell_and_state()
    before = {p[:3] for p in AllowedPairs(cell, state).checked()}
    after = AllowedPairs(cell, place(state, "part", attached_to="gripper", touch_bodies=("table",))).checked()
    assert before - {p[:3] for p in after} == {(PairType.BODY_BODY, "part", "table")}


def test_a_hidden_object_is_never_checked():
    cell, state = cell_and_state()
    for name, carrier in (("part", "gripper"), ("table", ""), ("gripper", "manipulator")):
        pairs = AllowedPairs(cell, place(state, name, attached_to=carrier, hidden=True)).checked()
        assert pairs
        assert not any(side.split("/")[0] == name for pair in pairs for side in pair[1:3])
    found = verdict(cell, place(state, "table", hidden=True), "part", "table")
    assert found.reason == "table is hidden"


def test_a_body_on_a_hidden_tool_is_still_checked():
    cell, state = cell_and_state()
    state = place(state, "gripper", attached_to="manipulator", hidden=True)
    assert isinstance(verdict(cell, state, "part", "table"), CheckedPair)


def test_a_body_attached_to_a_moving_link_is_checked_against_static_bodies():
    cell, state = cell_and_state()
    assert verdict(cell, state, "table", "wall").reason == "neither moves"
    assert isinstance(verdict(cell, place(state, "wall", attached_to="link3"), "table", "wall"), CheckedPair)
    assert verdict(cell, place(state, "wall", attached_to="base"), "table", "wall").reason == "neither moves"


def test_a_parent_may_touch_its_attached_body():
    cell, state = cell_and_state()
    state = place(state, "part", attached_to="link6")
    assert verdict(cell, state, "link6", "part").reason == "link6 carries part"
    assert isinstance(verdict(cell, state, "gripper/palm", "part"), CheckedPair)
    state = place(state, "part", attached_to="flange")
    assert verdict(cell, state, "link6", "part").reason == "link6 carries part"
    stack = place(place(state, "part", attached_to="gripper/left"), "wall", attached_to="part")
    assert verdict(cell, stack, "part", "wall").reason == "part carries wall"
    assert isinstance(verdict(cell, stack, "gripper/right", "wall"), CheckedPair)


def test_pairs_of_parents_and_attached_objects_are_checked_on_request():
    """Pairs of a gripper with its held body, disabled pairs and touch lists remain skipped."""
    cell, state = cell_and_state()
    usual = AllowedPairs(cell, state)
    fixed = AllowedPairs(cell, state, CollisionOptions(fixed_pairs=True))
    added = {(p.first, p.second) for p in fixed.checked()} - {(p.first, p.second) for p in usual.checked()}
    reasons = {(p.first, p.second): p.reason for p in usual.skipped()}
    assert added == {pair for pair, why in reasons.items() if why == "neither moves" or " carries " in why}
    assert any(" carries " in reasons[pair] for pair in added)


def test_a_tool_holds_bodies_attached_to_its_frames():
    part = body("part", sphere(0.02))
    frame = NamedFrame("grasp", "gripper/tcp")
    cell = make_cell((arm(),), (gripper(),), (part,), frames=(frame,))
    state = place(cell.default_state(), "gripper", attached_to="manipulator")
    for carrier in ("gripper", "gripper/palm", "gripper/right", "gripper/tcp", "grasp"):
        found = verdict(cell, place(state, "part", attached_to=carrier), "gripper/left", "part")
        assert found.reason == "gripper holds part"


def test_neighbours_of_a_robot_with_srdf_are_checked_unless_it_disables_them():
    links = {"a": [sphere(0.1)], "b": [sphere(0.1)], "c": [sphere(0.1)], "d": [sphere(0.1)]}
    joints = [
        ("ab", JointKind.REVOLUTE, "a", "b", at(0.1), (0.0, 0.0, 1.0)),
        ("bc", JointKind.FIXED, "b", "c", at(0.1), (0.0, 0.0, 1.0)),
        ("cd", JointKind.REVOLUTE, "c", "d", at(0.1), (0.0, 0.0, 1.0)),
    ]
    group = frozendict({"g": PlanningGroup("g", ("ab", "cd"), base_link="a", tip_link="d")})

    def checked(options=DEFAULT_OPTIONS, **what):
        cell = make_cell((Robot("chain", mechanism("chain", links, joints), group, **what),))
        return {(p.first, p.second) for p in AllowedPairs(cell, cell.default_state(), options).checked()}

    also_fixed = CollisionOptions(fixed_pairs=True)
    assert checked() == checked(also_fixed) == {("a", "d")}
    every = {("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")}
    of_joints = every - {("b", "c")}
    for what, disabled in (
        ({"sources": ModelSources(srdf="<robot name='chain'/>")}, set()),
        ({"disabled_pairs": (DisabledPair("b", "a"),)}, {("a", "b")}),
    ):
        assert checked(**what) == of_joints - disabled
        assert checked(also_fixed, **what) == every - disabled


@pytest.mark.parametrize("engine", ["coal", "bullet"])
def test_a_bracket_that_overlaps_the_link_to_which_it_is_fixed_collides_in_no_state(engine):
    links = {"a": [sphere(0.1)], "b": [sphere(0.1)], "bracket": [sphere(0.1)]}
    joints = [
        ("ab", JointKind.REVOLUTE, "a", "b", at(0.5), (0.0, 0.0, 1.0)),
        ("mount", JointKind.FIXED, "b", "bracket", at(0.05), (0.0, 0.0, 1.0)),
    ]
    group = frozendict({"g": PlanningGroup("g", ("ab",), base_link="a", tip_link="b")})
    robot = Robot("arm", mechanism("arm", links, joints), group, sources=ModelSources(srdf="<robot name='arm'/>"))
    cell = make_cell((robot,))
    state = cell.default_state()
    assert not CollisionChecker(cell, state, engine=engine).in_collision(np.zeros(1))
    also_fixed = CollisionChecker(cell, state, engine=engine, options=CollisionOptions(fixed_pairs=True))
    assert [(found.first, found.second) for found in also_fixed.report(np.zeros(1)).pairs] == [("b", "bracket")]


def test_links_of_two_robots_are_checked_against_each_other():
    cell, state = cell_and_state(robots=(arm("second", "second_"),))
    pair = verdict(cell, state, "link1", "second_link1")
    assert pair == CheckedPair(PairType.LINK_LINK, "link1", "second_link1", 0.0)
    assert verdict(cell, state, "base", "second_base").reason == "neither moves"


@pytest.mark.parametrize(
    "members",
    [("link3", "table"), ("arm", "table"), ("arm", "OTHER"), ("OTHER", "link3"), ("BOTH",)],
)
def test_an_ignore_group_excludes_pairs_of_its_members(members):
    groups = {"clamps": members, "OTHER": ("table", "wall", "clamps"), "BOTH": ("arm", "OTHER")}
    cell, state = cell_and_state(settings(groups))
    assert verdict(cell, state, "link3", "table").reason.startswith("ignore group ")
    assert isinstance(verdict(cell, state, "part", "table"), CheckedPair)


def test_there_is_no_limit_on_ignore_groups():
    groups = {f"group{i}": ("link3", f"missing{i}") for i in range(300)}
    cell, state = cell_and_state(settings({**groups, "last": ("link3", "table")}))
    assert verdict(cell, state, "link3", "table").reason == "ignore group last"


@pytest.mark.parametrize(
    ("margins", "expected"),
    [
        ({}, 0.0),
        ({"*": 0.01}, 0.02),
        ({"link3": 0.01}, 0.01),
        ({"arm": 0.03, "*": 0.01}, 0.04),
        ({"link3": 0.02, "arm": 0.03, "table": 0.05}, 0.07),
        ({"link2": 0.02, "wall": 0.05}, 0.0),
    ],
)
def test_margins_of_both_sides_add_up_and_the_nearest_name_counts(margins, expected):
    cell, state = cell_and_state(settings(margins=margins))
    assert verdict(cell, state, "link3", "table").margin == pytest.approx(expected)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("link3", "table", 0.0)], 0.0),
        ([("table", "link3", 0.1)], 0.1),
        ([("arm", "table", 0.1), ("link3", "table", 0.02)], 0.02),
        ([("*", "table", 0.1), ("arm", "table", 0.05)], 0.05),
        ([("arm", "*", 0.1), ("*", "table", 0.2)], 0.2),
        ([("link2", "table", 0.1)], 0.02),
    ],
)
def test_a_margin_of_the_pair_overrides_the_sum(pairs, expected):
    found = [PairMargin(*pair) for pair in pairs]
    cell, state = cell_and_state(settings(margins={"*": 0.01}, pairs=found))
    assert verdict(cell, state, "link3", "table").margin == pytest.approx(expected)


@pytest.mark.parametrize(
    ("margins", "pairs"),
    [
        ({}, []),
        ({"*": 0.01}, []),
        ({"link3": 0.02, "table": 0.05}, []),
        ({"arm": 0.03, "*": 0.01}, [("arm", "table", 0.1)]),
        ({"arm": 0.2}, [("arm", "table", 0.1)]),
    ],
)
def test_no_pair_has_a_larger_margin_than_the_bound(margins, pairs):
    cell, state = cell_and_state(settings(margins=margins, pairs=[PairMargin(*pair) for pair in pairs]))
    found = [pair.margin for pair in AllowedPairs(cell, state).checked()]
    assert max(found) <= Margins(cell).bound <= 2.0 * max([0.0, *margins.values(), *(pair[2] for pair in pairs)])


def test_margins_of_a_tool_apply_to_its_links():
    cell, state = cell_and_state(settings(margins={"gripper": 0.01, "gripper/left": 0.03}))
    assert verdict(cell, state, "gripper/palm", "table").margin == 0.01
    assert verdict(cell, state, "gripper/left", "table").margin == 0.03


def test_options_choose_steps_and_add_a_margin():
    cell, state = cell_and_state(settings(margins={"*": 0.01}))
    allowed_pairs = AllowedPairs(cell, state, CollisionOptions(0.005, (PairType.BODY_BODY, PairType.TOOL_BODY)))
    assert {p.pair_type for p in allowed_pairs.checked()} == {PairType.BODY_BODY, PairType.TOOL_BODY}
    assert {p.margin for p in allowed_pairs.checked()} == {0.025}
    assert allowed_pairs.pair("base", "link4").reason == "its pair type is not requested"
    with pytest.raises(ValueError, match="extra_margin is -1"):
        CollisionOptions(-1.0)


def test_unknown_names_in_the_settings_are_found():
    found = settings({"g": ("link3", "tabel")}, {"arm": 0.1, "gripper/lift": 0.1}, [PairMargin("*", "wal", 0.0)])
    cell, state = cell_and_state(found)
    assert unknown_names(cell) == ("gripper/lift", "tabel", "wal")
    assert AllowedPairs(cell, state).checked()


def test_objects_without_collision_shapes_have_no_row():
    cell, state = working_cell()
    assert "flange" not in AllowedPairs(cell, state).by_name


def test_plain_obstacles_are_checked_once():
    """Obstacles with equal rules share one row; a group, a margin or a touch list gives an obstacle its own row."""
    many = [body(f"stone{i}", sphere(0.1)) for i in range(1000)]
    cell, state = working_cell(many, settings({"ours": ("stone7", "link3")}, {"stone8": 0.1}))
    state = place(state, "part", attached_to="gripper", touch_bodies=("stone9",))
    rows = AllowedPairs(cell, state).static_rows
    stones = sorted(len(row.objects) for row in rows)
    assert stones == [1, 1, 1, 1, 997]
