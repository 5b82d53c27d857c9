"""One rule decides whether a motion keeps constraints on frames, in all stages of planning and in path tools."""

import numpy as np
import pytest

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import NotConnectedError
from robot_cell_planner.kinematics.forward import forward_batch
from robot_cell_planner.kinematics.targets import TargetMode, target_frame
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.processing import PathRequest, PathTool, check_joint_path, process_path
from robot_cell_planner.planning.path.simplification import densify
from robot_cell_planner.planning.problem.constraints import FrameConstraint, FrameRule
from robot_cell_planner.planning.problem.frame_constraints import FrameConstraints
from robot_cell_planner.planning.problem.plan import path_length
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.problem.space import joint_space

GROUP = "manipulator"
BASIS = np.eye(6)


class Cell:
    """A cell with the joint space of its arm."""

    def __init__(self, cell, state):
        self.cell, self.state = cell, state
        self.space = joint_space(cell, state, GROUP)
        self.variables = self.space.variables

    def state_at(self, q):
        return self.state.with_configuration(dict(zip(self.variables, q.tolist(), strict=True)))

    def tools(self, configurations):
        name = target_frame(self.cell, self.state, GROUP, TargetMode.TOOL, "")
        return forward_batch(self.cell, self.state, name, self.variables, configurations)

    def frames(self, *constraints):
        return FrameConstraints(self.cell, self.state, self.space, constraints)

    def within_limits(self, q):
        return bool(((q >= self.space.lower) & (q <= self.space.upper)).all())

    def random(self, random):
        return random.uniform(np.maximum(self.space.lower, -3.0), np.minimum(self.space.upper, 3.0))

    def plan(self, start, goal, constraints, **options):
        request = MotionRequest(
            Goals((dict(zip(self.variables, goal.tolist(), strict=True)),)),
            GROUP,
            constraints=constraints,
            timing=None,
            options=PlanningOptions(**options),
        )
        return plan_motion(self.cell, self.state_at(start), request)


@pytest.fixture(scope="module")
def arm(demo):
    return Cell(*demo)


def cone_and_box(arm, q, seed):
    tool = arm.tools(q[None])[0]
    cone = FrameConstraint(FrameRule.AXIS_IN_CONE, axis=tuple(tool[:3, 2]), tolerance=(0.01, 0.1, 0.3)[seed % 3])
    pose, extent = Pose(tuple(tool[:3, 3])), (0.3, 0.3, (0.05, 0.005, 0.0)[seed % 3])
    box = FrameConstraint(FrameRule.POSITION_IN_BOX, pose=pose, extent=extent, tolerance=0.001)
    return cone, box


def free_goal(arm, frames, q, random):
    """A free goal near q on the frames; None if none is found, or q is in collision."""
    checker = CollisionChecker(arm.cell, arm.state_at(q), arm.variables)
    if checker.in_collision(q):
        return None
    for _ in range(30):
        near = q + random.normal(scale=0.8, size=6)
        goal = frames.project(np.clip(near, arm.space.lower, arm.space.upper), BASIS)
        if goal is not None and not checker.in_collision(goal):
            return goal
    return None


@pytest.mark.parametrize("rule", list(FrameRule))
def test_the_rule_is_the_deviation_of_every_state_of_a_motion(arm, rule):
    """States are left out only where bounds prove them."""
    random = np.random.default_rng(1)
    for index in range(60):
        q = arm.random(random)
        motion = np.stack((q, q + random.normal(size=6) * 10.0 ** random.uniform(-3.0, 0.3)))
        states = densify(motion, 0.001)[0]
        tool = arm.tools(states[random.integers(len(states))][None])[0] if index % 2 else arm.tools(q[None])[0]

        def constraint(tolerance, tool=tool):
            pose, axis = Pose.from_matrix(tool), tuple(tool[:3, 2])
            return FrameConstraint(rule, pose=pose, axis=axis, extent=(0.3, 0.0, 0.1), tolerance=tolerance)

        worst = float(arm.frames(constraint(1.0)).excess(states).max())
        for factor in (0.9, 1.0 - 1e-6, 1.0 + 1e-6, 1.1):
            if 1e-6 < worst * factor < 10.0:
                assert arm.frames(constraint(worst * factor)).keeps(motion) == (factor > 1.0)


# Requests whose shortcuts, or whose changes while the path is optimized, would leave the constraints on the motions
# that lead to them: seed, step of the search, objective.
REQUESTS = [(1258, 1.0), (1243, 0.2), (843, 1.0), (6912, 1.0), (6430, 1.0), (6406, 1.0), (5226, 1.0)]


@pytest.mark.parametrize(("seed", "step"), REQUESTS)
def test_changes_that_leave_a_constraint_are_not_made(arm, seed, step):
    random = np.random.default_rng(seed)
    q = arm.random(random)
    cone, box = cone_and_box(arm, q, seed)
    constraints = [(cone,), (box,), (cone, box)][random.integers(3)]
    frames = arm.frames(*constraints)
    options = {"seed": seed, "state_limit": 4000, "search_step": step, "improvement_states": seed % 2 * 1000}
    found = arm.plan(q, free_goal(arm, frames, q, random), constraints, **options)
    assert frames.excess(densify(found.path, 0.001)[0]).max() <= 1.0
    assert not check_joint_path(
        arm.cell, arm.state, arm.variables, found.path, constraints, PlanningOptions(seed=seed)
    ).violations


@pytest.mark.parametrize("seed", range(4))
def test_a_projection_keeps_combinations_of_joints_at_limits_of_joints(arm, seed):
    """Where it moves a joint to its limit, the others follow."""
    random = np.random.default_rng(seed)
    projected = 0
    for _ in range(100):
        q = arm.random(random)
        cone, _ = cone_and_box(arm, q, seed)
        coefficients = random.normal(size=6)
        basis = np.ascontiguousarray(np.linalg.svd(coefficients[None])[2][1:].T)
        moved = q + basis @ (basis.T @ random.normal(scale=1.5, size=6))
        found = arm.frames(cone).project(moved, basis)
        if found is not None:
            projected += not arm.within_limits(moved)
            assert abs(coefficients @ (found - q)) <= 1e-9
            assert arm.within_limits(found)
    assert projected > 10


@pytest.mark.parametrize("search_step", [0.05, 0.2, 1.0])
def test_simplification_makes_no_path_longer_and_adds_no_waypoints(arm, search_step):
    """A direct motion along constraints may do both: the path is returned as it is then."""
    shorter = same = 0
    for seed in range(100, 130):
        random = np.random.default_rng(seed)
        q = arm.random(random)
        cone, box = cone_and_box(arm, q, seed)
        constraints = [(cone,), (box,), (cone, box)][random.integers(3)]
        goal = free_goal(arm, arm.frames(*constraints), q, random)
        if goal is None:
            continue
        options = {"seed": seed, "state_limit": 4000, "search_step": 0.2, "simplify": False, "tighten": False}
        try:
            path = arm.plan(q, goal, constraints, **options).path
        except NotConnectedError:
            continue
        for given in (path, densify(path, 0.02)[0]):
            options = PlanningOptions(seed=seed, search_step=search_step)
            request = PathRequest(PathTool.SIMPLIFY, arm.variables, (given,), constraints, options)
            result = process_path(arm.cell, arm.state_at(q), request).path
            assert len(result) <= len(given)
            assert path_length(result) <= path_length(given) * (1.0 + 1e-12)
            shorter, same = shorter + (len(result) < len(given)), same + np.array_equal(result, given)
    assert same > 3 or search_step == 1.0  # with long steps, direct motions have few waypoints
    assert shorter > 3
