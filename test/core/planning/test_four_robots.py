"""Four arms around a point: names and frames of each, checks of any two, and motions of one and of two."""

from itertools import permutations
from math import pi

import numpy as np
import pytest
from loaded_cells import CONFIG

from robot_cell_planner import (
    CollisionChecker,
    Coordination,
    Goals,
    MotionRequest,
    PlanningOptions,
    Pose,
    SimultaneousGoal,
    TargetMode,
    TimingOptions,
    forward_kinematics,
    forward_kinematics_to_frame,
    plan_motion,
)
from robot_cell_planner.errors import PlanningError, TrajectoryLimitError
from robot_cell_planner.io.cell_file.reader import read_cell
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.planning.joint_space import prioritised
from robot_cell_planner.planning.joint_space.planner import plan_with_monitor
from robot_cell_planner.planning.joint_space.prioritised import orders, plan_prioritised
from robot_cell_planner.planning.path.plan_check import verify_plan
from robot_cell_planner.planning.path.simplification import densify
from robot_cell_planner.planning.problem.progress import ProgressMonitor

BASES = {name: Pose.from_rpy((x, y, 0.0), (0.0, 0.0, yaw)) for name, x, y, yaw in (
    ("east", 0.8, 0.0, pi), ("north", 0.0, 0.8, -pi / 2), ("south", 0.0, -0.8, pi / 2), ("west", -0.8, 0.0, 0.0)
)}  # fmt: skip
# The arm points along x of its base, horizontally at shoulder height: those of two neighbours collide in the middle.
REACHING = {
    "shoulder_pan_joint": 0.0, "shoulder_lift_joint": 0.0, "elbow_joint": 0.0,
    "wrist_1_joint": -pi / 2, "wrist_2_joint": 0.0, "wrist_3_joint": 0.0,
}  # fmt: skip


def cell_of(robots):
    """A cell of arms by prefix, "" for one alone."""
    entries = [
        f"  {prefix or 'alone'}: {{urdf: urdf/arm.urdf.xacro, srdf: config/demo/arm.srdf, "
        f"limits: config/demo/joint_limits.yaml, prefix: '{prefix + '/' if prefix else ''}', "
        f"base_pose: {{position: {list(pose.position)}, quaternion: {list(pose.quaternion)}}}}}"
        for prefix, pose in robots.items()
    ]
    text = "\n".join(["format: robot_cell/1", "name: arms", "robots:", *entries])
    root = str(CONFIG.parent)
    return read_cell(text, root, ResourceRoots(folders=(root,)))


@pytest.fixture(scope="module")
def four():
    return cell_of(BASES)


def same(first, second):
    return np.allclose(first.matrix, second.matrix, atol=1e-9)


def up(cell, state):
    values = {}
    for name in BASES:
        values.update(cell.named_state(f"{name}/manipulator", "up"))
    return state.with_configuration(values)


def test_each_robot_has_its_own_names_and_frames(four):
    cell, state = four
    alone, alone_state = cell_of({"": Pose()})
    generator = np.random.default_rng(1)
    values = dict(zip(REACHING, generator.uniform(-1.0, 1.0, len(REACHING)).tolist(), strict=True))
    expected = forward_kinematics(alone, alone_state.with_configuration(values), "manipulator", TargetMode.ROBOT)
    for name, base in BASES.items():
        group = f"{name}/manipulator"
        assert set(cell.group(group).variables) == {f"{name}/{joint}" for joint in REACHING}
        moved = state.with_configuration({f"{name}/{joint}": value for joint, value in values.items()})
        found = forward_kinematics(cell, moved, group, TargetMode.ROBOT)
        assert same(found, base @ expected)
        for other in set(BASES) - {name}:
            tip = f"{other}/tool0"
            assert same(forward_kinematics_to_frame(cell, state, tip), forward_kinematics_to_frame(cell, moved, tip))


def test_a_check_covers_every_two_robots(four):
    cell, state = four
    free = up(cell, state)
    variables = tuple(v for name in BASES for v in cell.group(f"{name}/manipulator").variables)
    checker = CollisionChecker(cell, free, variables)
    values = dict(zip(variables, checker.default.tolist(), strict=True))
    assert not checker.in_collision(checker.default)
    for first, second in (("east", "west"), ("north", "south"), ("east", "north")):
        reaching = {f"{name}/{joint}": value for name in (first, second) for joint, value in REACHING.items()}
        q = np.array([{**values, **reaching}[name] for name in variables])
        pairs = checker.report(q).pairs
        assert {frozenset(name.split("/")[0] for name in (pair.first, pair.second)) for pair in pairs} == {
            frozenset((first, second))
        }


def test_one_robot_and_two_robots_are_planned_among_the_others(four):
    cell, state = four
    state = up(cell, state)
    one = plan_motion(cell, state, MotionRequest(Goals(named_states=("folded",)), "east/manipulator", timing=None))
    assert set(one.variables) == set(cell.group("east/manipulator").variables)
    goal = SimultaneousGoal({"north/manipulator": "folded", "west/manipulator": "home"})
    group = "north/manipulator+west/manipulator"
    two = plan_motion(cell, state, MotionRequest(Goals(simultaneous=(goal,)), group, timing=None))
    assert set(two.variables) == {v for part in group.split("+") for v in cell.group(part).variables}
    for plan in (one, two):
        assert plan.certified_fraction == 1.0
        assert verify_plan(cell, state, plan).valid
        rows = densify(plan.path, 0.01)[0]
        assert not CollisionChecker(cell, state, plan.variables).in_collision_batch(rows).any()


def test_a_robot_that_reaches_across_is_an_obstacle_to_each_of_the_others(four):
    cell, state = four
    state = up(cell, state).with_configuration({f"east/{joint}": value for joint, value in REACHING.items()})
    for name in ("north", "south", "west"):
        goal = {f"{name}/{joint}": value for joint, value in REACHING.items()}
        with pytest.raises(PlanningError, match="east/"):
            plan_motion(cell, state, MotionRequest(Goals((goal,)), f"{name}/manipulator", timing=None))


@pytest.mark.parametrize("last", ["east/manipulator", "south/manipulator"])
@pytest.mark.parametrize("error", [PlanningError, TrajectoryLimitError])
def test_each_of_four_robots_may_be_the_last_one(four, last, error):
    """Robot by robot the motion is found if one of the robots has to wait for all others."""
    cell, state = four
    state = up(cell, state)
    groups = [f"{name}/manipulator" for name in BASES]
    goal = SimultaneousGoal(dict.fromkeys(groups, "folded"))
    options = PlanningOptions(coordination=Coordination.PRIORITISED)
    request = MotionRequest(Goals(simultaneous=(goal,)), "+".join(groups), options=options, timing=TimingOptions())

    def plan_one(cell, state, one, monitor):
        moving = {
            name.split("/")[0] for trajectory in one.moving if len(trajectory) > 1 for name in trajectory.variables
        }
        if one.group == last and len(moving) < len(groups) - 1:
            raise error("it has to be the last one")
        return plan_with_monitor(cell, state, one, monitor)

    monitor = ProgressMonitor(0.0)
    with monitor.counting() as work:
        plan = plan_prioritised(cell, state, request, monitor, plan_one, work)
    assert plan.certified_fraction == 1.0
    assert verify_plan(cell, state, plan).valid


@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_orders_of_priority(count):
    robots = [f"robot{number}" for number in range(count)]
    found = orders(robots)
    assert len(set(found)) == len(found) <= max(6, 2 * count)
    for place in range(count):
        assert {order[place] for order in found} == set(robots)
    if count <= 3:
        assert found == tuple(permutations(robots))


def test_a_motion_that_is_invalid_once_merged_is_replaced_by_the_next_one(four, monkeypatch):
    cell, state = four
    state = up(cell, state)
    groups = ("north/manipulator", "west/manipulator")
    goal = SimultaneousGoal(dict.fromkeys(groups, "folded"))
    options = PlanningOptions(coordination=Coordination.PRIORITISED)
    request = MotionRequest(Goals(simultaneous=(goal,)), "+".join(groups), options=options, timing=TimingOptions())
    calls, validate = [], prioritised.validate

    def invalid_at_first(*arguments, **named):
        calls.append(arguments)
        if len(calls) == 1:
            raise TrajectoryLimitError("a jerk of the merged trajectory exceeds its limit")
        return validate(*arguments, **named)

    monkeypatch.setattr(prioritised, "validate", invalid_at_first)
    assert plan_motion(cell, state, request).planner == prioritised.PRIORITISED
    assert len(calls) == 2


@pytest.mark.parametrize("invalid", [0, 1])
def test_an_order_with_motions_that_are_nearly_straight_ends_the_search(four, monkeypatch, invalid):
    """The other orders are tried only if its merged motion is invalid."""
    cell, state = four
    state = up(cell, state)
    groups = [f"{name}/manipulator" for name in BASES]
    turned = {name: state.configuration[f"{name}/shoulder_pan_joint"] + 1.2 for name in BASES}
    parts = {f"{name}/manipulator": {f"{name}/shoulder_pan_joint": angle} for name, angle in turned.items()}
    goals = Goals(simultaneous=(SimultaneousGoal(parts),))
    options = PlanningOptions(coordination=Coordination.PRIORITISED)
    request = MotionRequest(goals, "+".join(groups), options=options, timing=TimingOptions())
    planned, validate, invalid_ones = [], prioritised.validate, [None] * invalid

    def plan_one(cell, state, one, monitor):
        planned.append(one.group)
        return plan_with_monitor(cell, state, one, monitor)

    def invalid_at_first(*arguments, **named):
        if invalid_ones:
            invalid_ones.pop()
            raise TrajectoryLimitError("a jerk of the merged trajectory exceeds its limit")
        return validate(*arguments, **named)

    monkeypatch.setattr(prioritised, "validate", invalid_at_first)
    monitor = ProgressMonitor(0.0)
    with monitor.counting() as work:
        plan = plan_prioritised(cell, state, request, monitor, plan_one, work)
    assert len(planned) == len(groups) * (1 + invalid)
    straight = plan_motion(cell, state, MotionRequest(goals, request.group, timing=request.timing))
    assert len(straight.path) == 2
    assert plan.duration <= prioritised.NEARLY * straight.duration
    assert verify_plan(cell, state, plan).valid


def test_an_order_for_the_nearest_goal_does_not_end_the_search_if_another_goal_is_reached_sooner(four):
    """One robot turns by 1.2 rad, or each by 0.7: this is farther in joint space, but takes less time."""
    cell, state = four
    state = up(cell, state)
    joints = {name: f"{name}/shoulder_pan_joint" for name in BASES}
    goals = Goals(
        joint_goals=tuple(
            {joint: state.configuration[joint] + turns.get(name, 0.0) for name, joint in joints.items()}
            for turns in ({"east": 1.2}, dict.fromkeys(BASES, 0.7))
        )
    )
    options = PlanningOptions(coordination=Coordination.PRIORITISED)
    group = "+".join(f"{name}/manipulator" for name in BASES)
    plan = plan_motion(cell, state, MotionRequest(goals, group, options=options, timing=TimingOptions()))
    assert (plan.planner, plan.goal) == (prioritised.PRIORITISED, 1)
