"""A start correction keeps the constraints on frames, as the rest of the path does."""

import math

import numpy as np
import pytest
from loaded_cells import loaded

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import ConstraintMismatchError, RobotCellError
from robot_cell_planner.kinematics.targets import TargetMode, target_frame
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.constraints import FrameConstraint, FrameRule
from robot_cell_planner.planning.problem.frame_constraints import FrameConstraints
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.problem.space import joint_space

CELL, STATE = loaded()
SPACE = joint_space(CELL, STATE, "")
TOOL = target_frame(CELL, STATE, "", TargetMode.TOOL, "")
TOLERANCE = 0.01  # [rad]


def colliding_starts(count, seed):
    """Random configurations in collision."""
    rng, checker, found = np.random.default_rng(seed), CollisionChecker(CELL, STATE, SPACE.variables), []
    while len(found) < count:
        q = rng.uniform(np.maximum(SPACE.lower, -3.0), np.minimum(SPACE.upper, 3.0))
        if checker.in_collision(q) and len(checker.report(q).pairs) == 1:
            found.append(q)
    return found


def tool_axis(q):
    """Direction of the z axis of the tool in the world, by other functions than those of the planner."""
    state = STATE.with_configuration(dict(zip(SPACE.variables, q.tolist(), strict=True)))
    return world_pose(CELL, state, TOOL).matrix[:3, 2]


def request_from(q, tilt):
    """A request from a start whose tool axis is tilted against that of the constraint [rad]."""
    state = STATE.with_configuration(dict(zip(SPACE.variables, q.tolist(), strict=True)))
    axis = tool_axis(q)
    across = np.cross(axis, (0.3, 0.5, 0.7))
    wanted = axis * math.cos(tilt) + across / np.linalg.norm(across) * math.sin(tilt)
    constraint = FrameConstraint(FrameRule.AXIS_IN_CONE, axis=tuple(wanted.tolist()), tolerance=TOLERANCE)
    constraints = FrameConstraints(CELL, state, SPACE, [constraint])
    checker, rng = CollisionChecker(CELL, state, SPACE.variables), np.random.default_rng(1)
    for _ in range(100):
        near = np.clip(q + rng.normal(scale=0.5, size=len(q)), SPACE.lower, SPACE.upper)
        goal = constraints.project(near, np.eye(len(q)))
        if goal is not None and not checker.in_collision(goal):
            options = PlanningOptions(max_start_correction=0.3, state_limit=5000)
            goals = Goals((dict(zip(SPACE.variables, goal.tolist(), strict=True)),))
            return state, MotionRequest(goals, constraints=(constraint,), options=options), wanted
    return None


def test_a_start_that_breaks_a_constraint_is_refused():
    refused = 0
    for q in colliding_starts(12, seed=1):
        made = request_from(q, 5.0 * TOLERANCE)
        if made is None:
            continue
        with pytest.raises(ConstraintMismatchError, match="the start state breaks the constraint"):
            plan_motion(CELL, made[0], made[1])
        refused += 1
    assert refused > 3


def test_the_constraint_holds_on_corrections():
    corrected = 0
    for q in colliding_starts(40, seed=2):
        made = request_from(q, 0.0)
        if made is None:
            continue
        state, request, wanted = made
        try:
            plan = plan_motion(CELL, state, request)
        except RobotCellError:
            continue
        assert not any("does not support" in warning for warning in plan.warnings)
        if plan.start_correction_waypoints:
            corrected += 1
            for fraction in np.linspace(0.0, 1.0, 40).tolist():
                axis = tool_axis(plan.path[0] + fraction * (plan.path[1] - plan.path[0]))
                assert math.acos(min(float(axis @ wanted), 1.0)) <= TOLERANCE + 1e-4
    assert corrected > 3
