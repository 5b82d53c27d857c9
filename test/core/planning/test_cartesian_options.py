"""Further options of Cartesian planning, paths through singularities, and results that do not depend on the process."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from cartesian_digests import digests
from cartesian_paths import axes, follow, frames, moved
from folders import SUPPORT
from frozendict import frozendict
from planning_cells import gantry, wall_with_gap

from benchmarks.arms import arm
from robot_cell_planner.errors import (
    LimitExceededError,
    MPInterpolationInCollisionError,
    MPMaxJumpError,
    MPNoIKSolutionError,
    MPStartStateInCollisionError,
    TimedOutError,
)
from robot_cell_planner.kinematics._kernels import ik_kernels
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.ik.problem import ik_problem
from robot_cell_planner.kinematics.ik.warm_up import practice_arms
from robot_cell_planner.kinematics.targets import FrameTarget, TargetMode
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.planning.cartesian.path.options import CartesianOptions
from robot_cell_planner.planning.cartesian.path.waypoints import FrameWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianRequest, CartesianStrategy, plan_cartesian
from robot_cell_planner.planning.cartesian.redundancy.self_motion import MIN_SEPARATION, STEPS, trace_self_motion
from robot_cell_planner.trajectory.timing import TimingOptions

ROBOT = {"mode": TargetMode.ROBOT}
UNTRIED = {"skip_preplanning_collision_check": True}


def elbow(lower=-3.0, upper=3.0, sign=1.0):
    """Three revolute joints about z: the frame at the end moves in a plane.

    lower, upper: Limits of the first [rad]. sign: -1 for the mirror image.
    """
    wide = JointLimits(-3.1, 3.1, 2.0, 8.0, 80.0)
    joints, parent = {}, "base"
    for number, (name, length) in enumerate((("shoulder", 0.0), ("elbow", 0.5), ("wrist", 0.4))):
        limits = wide if number else JointLimits(lower, upper, 2.0, 8.0, 80.0)
        joints[name] = Joint(
            name, JointKind.REVOLUTE, parent, f"{name}_link", Pose((length, 0.0, 0.0)), (0.0, 0.0, 1.0), limits
        )
        parent = f"{name}_link"
    links = {name: Link(name) for name in ("base", *(f"{name}_link" for name in joints))}
    group = PlanningGroup("arm", tuple(joints), tuple(links), "base", parent)
    robot = Robot("elbow", Mechanism("elbow", frozendict(links), frozendict(joints)), frozendict({"arm": group}))
    cell = RobotCell(robots=frozendict({"elbow": robot}))
    return cell, cell.default_state().with_configuration({"shoulder": 0.3 * sign, "elbow": -sign, "wrist": 0.2 * sign})


@pytest.mark.parametrize("strategy", CartesianStrategy)
@pytest.mark.parametrize(("sign", "side"), [(1.0, "upper"), (-1.0, "lower")])
def test_a_joint_at_its_limit_is_named_as_the_cause_of_a_jump(strategy, sign, side):
    """With the elbow on the other side, the path continues; the wrist and the elbow would have to jump to there."""
    limit = 0.6 * sign
    for limits, fails in (({}, False), ({side: limit}, True)):
        cell, state = elbow(**limits, sign=sign)
        start = forward_kinematics(cell, state, "arm", TargetMode.ROBOT)
        goal = Pose((start.position[0], start.position[1] + 0.3 * sign, 0.0), start.quaternion)
        request = CartesianRequest(
            FrameWaypoints((goal,), **ROBOT), options=CartesianOptions(strategy=strategy, **UNTRIED), timing=None
        )
        if not fails:
            assert plan_cartesian(cell, state, request).cartesian.fraction == 1.0
            continue
        with pytest.raises(
            MPMaxJumpError, match=f"joint shoulder reaches its {side} limit on the segment to"
        ) as caught:
            plan_cartesian(cell, state, request)
        error = caught.value
        assert error.subjects == ("shoulder", "elbow")
        assert "joint elbow would have to jump" in error.message
        (value,) = (each for each in error.values if each.name == "shoulder")
        assert value.limit == limit
        assert abs(value.value - limit) < 1e-3
        assert error.partial.path[-1, 0] == pytest.approx(limit, abs=1e-3)


def test_a_jump_away_from_limits_names_the_joint_that_jumps():
    cell, state = elbow()
    start = forward_kinematics(cell, state, "arm", TargetMode.ROBOT)
    goal = Pose((start.position[0], start.position[1] + 0.3, 0.0), start.quaternion)
    options = CartesianOptions(strategy=CartesianStrategy.GREEDY, max_jump_revolute=1e-5, **UNTRIED)
    request = CartesianRequest(FrameWaypoints((goal,), **ROBOT), options=options, timing=None)
    with pytest.raises(MPMaxJumpError, match=r"joint \w+ would jump on the segment to waypoint 0"):
        plan_cartesian(cell, state, request)


def polar():
    """A slide of 0 to 1 m on a turntable: the tip reaches a disc, and is singular at the axis."""
    turn = JointLimits(-4.0, 4.0, 2.0, 8.0, 80.0)
    joints = {
        "turn": Joint("turn", JointKind.REVOLUTE, "base", "table", axis=(0.0, 0.0, 1.0), limits=turn),
        "slide": Joint(
            "slide", JointKind.PRISMATIC, "table", "tip", axis=(1.0, 0.0, 0.0),
            limits=JointLimits(0.0, 1.0, 1.0, 4.0, 40.0),
        ),
    }  # fmt: skip
    links = {name: Link(name) for name in ("base", "table", "tip")}
    group = PlanningGroup("arm", ("turn", "slide"), tuple(links), "base", "tip")
    robot = Robot("polar", Mechanism("polar", frozendict(links), frozendict(joints)), frozendict({"arm": group}))
    cell = RobotCell(robots=frozendict({"polar": robot}))
    return cell, cell.default_state().with_configuration({"turn": 0.0, "slide": 0.5})


@pytest.mark.parametrize("strategy", CartesianStrategy)
def test_a_path_through_a_singular_configuration_ends_there(strategy):
    cell, state = polar()
    start = forward_kinematics(cell, state)
    with pytest.raises(MPMaxJumpError) as caught:
        follow(cell, state, axes(moved(start, x=-0.8), **ROBOT), strategy=strategy, **UNTRIED)
    error = caught.value
    # The axis is at 0.5 m of a path of 0.8 m; beyond it the table is turned by half a turn, or the slide below 0.
    assert error.subjects == ("slide", "turn")
    assert error.partial.cartesian.fraction == pytest.approx(0.5 / 0.8, abs=1e-3)
    assert error.partial.cartesian.min_manipulability < 1e-3
    assert error.values[1].value > error.values[1].limit == pytest.approx(math.pi / 2.0)
    # A path that passes at a distance is followed, and the table turns by nearly half a turn.
    beside = follow(cell, state, axes(moved(start, x=-1.0, y=0.05), **ROBOT), strategy=strategy)
    assert beside.cartesian.fraction == 1.0
    assert beside.path[-1, 0] > math.pi - 0.2


@pytest.mark.parametrize("strategy", CartesianStrategy)
def test_the_extra_margin_is_kept(strategy):
    # The cube passes a wall at 0.05 m.
    cell, state = gantry((("wall", (0.0, 0.2), (0.2, 0.2)),))
    state = state.with_configuration({"x": -0.5, "y": 0.0})
    way = frames(moved(forward_kinematics(cell, state), x=1.0), **ROBOT)
    plan = follow(cell, state, way, strategy=strategy, extra_margin=0.04)
    assert plan.clearance.closest.distance == pytest.approx(0.05)
    with pytest.raises(MPInterpolationInCollisionError) as caught:
        follow(cell, state, way, strategy=strategy, extra_margin=0.06, **UNTRIED)
    assert "wall" in caught.value.subjects
    # Corners are nearer than 0.06 m where the wall begins, 0.1 m before its middle, or a little before.
    slack = math.sqrt(0.06**2 - 0.05**2)
    reached = 0.5 - 0.1 - 0.05 - slack
    assert caught.value.partial.cartesian.fraction == pytest.approx(reached, abs=0.011)
    near = state.with_configuration({"x": 0.0})
    with pytest.raises(MPStartStateInCollisionError):
        follow(cell, near, way, strategy=strategy, extra_margin=0.06)


@pytest.mark.parametrize("strategy", CartesianStrategy)
def test_the_requested_engine_is_used(strategy):
    cell, state = wall_with_gap()
    into = frames(moved(forward_kinematics(cell, state), x=1.0), **ROBOT)
    clear = frames(moved(forward_kinematics(cell, state), x=0.5), **ROBOT)
    fractions = []
    for engine in ("coal", "bullet"):
        plan = follow(cell, state, clear, strategy=strategy, engine=engine)
        assert plan.engine == engine
        assert plan.certified_fraction == 1.0
        with pytest.raises(MPInterpolationInCollisionError) as caught:
            follow(cell, state, into, strategy=strategy, engine=engine, **UNTRIED)
        fractions.append(caught.value.partial.cartesian.fraction)
    # From -0.8 m the cube meets the wall at -0.1 m.
    assert fractions == pytest.approx([0.7, 0.7], abs=0.011)


def test_the_numeric_search_depends_on_the_seed():
    cell, state = practice_arms()[1]
    state = state.with_configuration(dict.fromkeys(cell.group().variables, 0.9))
    # The arm has no closed form. With a free rotation there are infinitely many solutions, of which some are found.
    way = axes(moved(forward_kinematics(cell, state), x=-0.03), **ROBOT)
    logs, paths = [], []
    for seed in (0, 0, 1, 2):
        plan = follow(cell, state, way, seed=seed, verbose=True)
        assert plan.seed == seed
        assert plan.cartesian.fraction == 1.0
        logs.append(plan.cartesian.log)
        paths.append(plan.path.tobytes())
    assert logs[0] == logs[1]
    assert paths[0] == paths[1]
    assert len(set(logs)) > 1


@pytest.mark.parametrize("strategy", CartesianStrategy)
def test_the_time_limit_ends_it(strategy):
    cell, state = wall_with_gap()
    way = frames(moved(forward_kinematics(cell, state), x=0.5), **ROBOT)
    with pytest.raises(TimedOutError) as caught:
        follow(cell, state, way, strategy=strategy, time_limit=1e-6)
    assert caught.value.values[0].limit == 1e-6
    assert follow(cell, state, way, strategy=strategy, time_limit=1e6).cartesian.fraction == 1.0


def test_the_same_bytes_in_another_process(demo):
    cell, state = demo
    here = digests(cell, state)
    assert {name.split()[0] for name in here} == {strategy.value for strategy in CartesianStrategy}
    program = [sys.executable, str(SUPPORT / "cartesian_digests.py")]
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    answer = subprocess.run(program, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    assert json.loads(answer.stdout) == here


def test_self_motion_is_traced_in_steps():
    cell = arm("panda")
    variables = cell.group().variables
    start = np.array([0.2, 0.3, 0.1, -1.5, 0.2, 1.8, 0.6])
    state = cell.default_state().with_configuration(dict(zip(variables, start.tolist(), strict=True)))
    pose = forward_kinematics(cell, state)
    problem = ik_problem(cell, state, FrameTarget(pose=pose), cell.group().name, variables)
    lower, upper = problem.joints.limits[:2]

    def project(configurations):
        found = np.array(configurations, order="C")
        targets = np.repeat(pose.matrix[None], len(found), axis=0)
        left = ik_kernels.solve_many(
            problem.chain.table,
            targets,
            problem.rotation_weights,
            found,
            lower,
            upper,
            1e-3 * problem.tolerance,
            40,
            0.99,
        )
        return found, (left <= problem.tolerance).all(axis=1)

    # From one configuration, the trace continues in steps up to the joint limits, and the pose is constant.
    found = np.vstack((start, trace_self_motion(problem, start[None], STEPS[0], 1, project)))
    assert len(found) > 20
    reached = problem.chain.forward_many(found)
    assert np.abs(reached - pose.matrix).max() < 1e-5
    assert (found >= lower).all()
    assert (found <= upper).all()
    gaps = np.abs(found[:, None] - found[None]).max(axis=2) + np.eye(len(found))
    assert gaps.min() >= MIN_SEPARATION * STEPS[0] - 1e-9
    assert gaps.min(axis=1).max() <= 1.5 * STEPS[0]
    # A second trace with the same step finds no new configuration; one with a finer step does.
    assert len(trace_self_motion(problem, found, STEPS[0], 1, project)) == 0
    assert len(trace_self_motion(problem, found, STEPS[1], 1, project)) > 20


@pytest.mark.parametrize("strategy", list(CartesianStrategy))
@pytest.mark.parametrize("far", [1e6, 1e12, 1e160, 1.7e308])
def test_a_path_that_is_too_long_for_its_points_is_refused(demo, strategy, far):
    """With or without the check of the waypoints, which would report that they are out of reach."""
    cell, state = demo
    for poses in ((Pose((far, 0.1, 0.1)),), (Pose((far, 0.0, 0.0)), Pose((-far, far, 0.0)))):
        for step in (1e-6, 0.01, 100.0):
            options = CartesianOptions(
                strategy=strategy,
                skip_preplanning_collision_check=True,
                max_step_distance=step,
                min_step_distance=min(step, 1e-4),
            )
            request = CartesianRequest(FrameWaypoints(poses), "manipulator", options=options)
            with pytest.raises((LimitExceededError, MPNoIKSolutionError)) as caught:
                plan_cartesian(cell, state, request)
            if far / step > 1e9:
                assert isinstance(caught.value, LimitExceededError)
                assert "waypoint 0 is too long" in str(caught.value)


@pytest.mark.parametrize("joint", [0, 3, 6])
def test_a_joint_of_a_redundant_arm_may_have_equal_limits(joint):
    """Also one that the analytic solver samples."""
    cell, state = practice_arms()[2]
    pose, name = forward_kinematics(cell, state), f"j{joint}"
    value = state.configuration[name]
    timing = TimingOptions(limits={name: JointLimits(lower=value, upper=value)})
    plan = plan_cartesian(cell, state, CartesianRequest(FrameWaypoints((moved(pose, z=-0.02),)), timing=timing))
    assert plan.cartesian.fraction == 1.0
    assert (plan.path[:, joint] == value).all()
