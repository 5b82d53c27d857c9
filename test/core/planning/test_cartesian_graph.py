"""The graph over all solutions solves feasible lines, chooses short paths, and finds paths that the greedy strategy
misses."""

import numpy as np
import pytest
from cartesian_paths import axes, follow, frames, known_line, moved
from frozendict import frozendict
from loaded_cells import loaded
from msgspec.structs import replace

from benchmarks.arms import arm
from robot_cell_planner.errors import (
    InverseKinematicsError,
    MPInterpolationInCollisionError,
    MPMaxJumpError,
    MPNoIKSolutionError,
    MPStartStateInCollisionError,
    PlanningError,
    TimedOutError,
)
from robot_cell_planner.kinematics.chain import chain_of
from robot_cell_planner.kinematics.forward import forward_batch, forward_kinematics
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.kinematics.targets import TargetMode
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.planning.cartesian.ladder import search
from robot_cell_planner.planning.cartesian.ladder.graph import Ladder
from robot_cell_planner.planning.cartesian.path.curves import Line, deviations, tangents
from robot_cell_planner.planning.cartesian.path.waypoints import PointAxisWaypoints
from robot_cell_planner.planning.cartesian.planner import CartesianStrategy
from robot_cell_planner.planning.cartesian.tracking import failures
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.trajectory.timing import TimingOptions

TOLERANCE = 1e-4


class Arm:
    """An arm of the benchmarks, without shapes."""

    def __init__(self, name):
        self.cell = arm(name)
        self.state = self.cell.default_state()
        self.variables = self.cell.group().variables
        limits = [self.cell.variables[variable].limits for variable in self.variables]
        self.lower = np.array([max(limit.lower, -np.pi) for limit in limits]) + 0.02
        self.upper = np.array([min(limit.upper, np.pi) for limit in limits]) - 0.02
        self.chain = chain_of(cell_model(self.cell, self.state), self.cell.tip_link(), self.variables, ())

    def at(self, q):
        return self.state.with_configuration(dict(zip(self.variables, q.tolist(), strict=True)))

    def known_lines(self, count, seed):
        """Starts and ends of lines that are feasible."""
        rng = np.random.default_rng(seed)
        found = []
        while len(found) < count:
            q = rng.uniform(self.lower, self.upper)
            direction = rng.normal(size=3)
            direction /= np.linalg.norm(direction)
            length, turn = rng.uniform(0.05, 0.3), rng.normal(size=3) * rng.uniform(0.0, 0.5)
            end = known_line(self.chain, q, direction, length, turn, self.lower, self.upper, rng.uniform(-1.0, 1.0))
            if end is not None:
                found.append((q, end))
        return found


@pytest.fixture(scope="module", params=["ur10", "panda", "demo"])
def any_arm(request):
    return Arm(request.param)


@pytest.mark.parametrize("strategy", CartesianStrategy)
def test_lines_that_are_feasible_are_followed(any_arm, strategy):
    for q, end in any_arm.known_lines(8, seed=3):
        options = {"strategy": strategy, "max_deviation": TOLERANCE, "max_deviation_angle": TOLERANCE}
        plan = follow(any_arm.cell, any_arm.at(q), frames(Pose.from_matrix(end), mode=TargetMode.ROBOT), **options)
        report = plan.cartesian
        assert report.fraction == report.parameter_of_point[-1] == 1.0
        assert (plan.path >= any_arm.lower - 0.02).all()
        assert (plan.path <= any_arm.upper + 2.0 * np.pi).all()
        # Ten times as fine as the points, the tip is within the tolerance of its line.
        line = Line.between(any_arm.chain.forward(q.copy()), end)
        inside = np.arange(1, 11) / 10.0
        begin = 0.0
        for index, share in enumerate(report.parameter_of_point):
            between = plan.path[index] + inside[:, None] * (plan.path[index + 1] - plan.path[index])
            shares = begin + inside * (share - begin)
            poses = any_arm.chain.forward_many(between)
            distances, angles = deviations(line.poses(shares), tangents(line, shares), poses)
            assert distances.max() <= TOLERANCE
            assert angles.max() <= TOLERANCE
            begin = share
        assert report.max_deviation <= TOLERANCE


def test_joints_travel_no_further_than_with_the_greedy_strategy():
    panda = Arm("panda")
    lengths = {strategy: 0.0 for strategy in CartesianStrategy}
    for q, end in panda.known_lines(6, seed=5):
        waypoints = frames(Pose.from_matrix(end), mode=TargetMode.ROBOT)
        for strategy in CartesianStrategy:
            lengths[strategy] += follow(panda.cell, panda.at(q), waypoints, strategy=strategy).path_length
    assert lengths[CartesianStrategy.GRAPH] < lengths[CartesianStrategy.GREEDY]


def random_line(panda, rng):
    q = rng.uniform(panda.lower, panda.upper)
    end = panda.chain.forward(q.copy())
    direction = rng.normal(size=3)
    end[:3, 3] += direction / np.linalg.norm(direction) * rng.uniform(0.3, 0.6)
    return panda.at(q), frames(Pose.from_matrix(end), mode=TargetMode.ROBOT)


def test_it_finds_paths_on_which_the_greedy_strategy_reaches_a_limit():
    panda, rng = Arm("panda"), np.random.default_rng(22)
    found, missed = 0, 0
    for _ in range(4):
        state, waypoints = random_line(panda, rng)
        fractions = {}
        for strategy in CartesianStrategy:
            try:
                plan = follow(panda.cell, state, waypoints, strategy=strategy, skip_preplanning_collision_check=True)
            except PlanningError as error:
                fractions[strategy] = error.partial.cartesian.fraction
                assert fractions[strategy] < 1.0
            else:
                fractions[strategy] = plan.cartesian.fraction
        found += fractions[CartesianStrategy.GRAPH] == 1.0 and fractions[CartesianStrategy.GREEDY] < 1.0
        missed += fractions[CartesianStrategy.GRAPH] < 1.0 and fractions[CartesianStrategy.GREEDY] == 1.0
    assert found >= 1
    assert missed == 0


@pytest.fixture(scope="module")
def slot(above):
    """The demonstration's arm, its fingers across a slot between two walls that they pass only lengthwise."""
    cell, state, _ = above
    goal = world_pose(cell, state, "above_pick")
    x, y, z = goal.position
    across = goal.matrix[:3, 1]
    sideways = (1.0, 0.0) if abs(across[0]) > abs(across[1]) else (0.0, 1.0)
    along = (sideways[1], sideways[0])
    bodies, placed = dict(cell.bodies), dict(state.bodies)
    for name, side in (("left", 1.0), ("right", -1.0)):
        size = tuple(0.02 if part else 0.1 for part in sideways)
        bodies[name] = RigidBody(name, (Shape(Box((*size, 0.1))),))
        columns = zip((x, y), sideways, along, strict=True)
        centre = [start + side * 0.05 * part + 0.22 * way for start, part, way in columns]
        placed[name] = BodyState(Pose((*centre, z)))
    cell, state = replace(cell, bodies=frozendict(bodies)), replace(state, bodies=frozendict(placed))
    return cell, state, moved(goal, x=0.35 * along[0], y=0.35 * along[1])


def test_a_free_axis_is_rotated_to_avoid_collisions(slot):
    cell, state, end = slot
    for strategy in CartesianStrategy:
        with pytest.raises(MPInterpolationInCollisionError):
            follow(cell, state, frames(end), strategy=strategy)
    with pytest.raises(MPInterpolationInCollisionError) as caught:
        follow(cell, state, axes(end), strategy=CartesianStrategy.GREEDY)
    assert {"right", "left"} & set(caught.value.subjects)
    plan = follow(cell, state, axes(end), strategy=CartesianStrategy.GRAPH)
    # The axis of the tool and its path are kept, and the tool turns gradually about its axis.
    poses = forward_batch(cell, state, "gripper/tcp", plan.variables, plan.path)
    start = poses[0]
    assert np.abs(poses[:, :3, 2] - start[:3, 2]).max() < 1e-6
    assert np.abs(poses[:, 1:3, 3] - start[1:3, 3]).max() < 1e-6
    turned = np.arccos(np.clip(poses[:, :3, 0] @ start[:3, 0], -1.0, 1.0))
    assert turned.max() > 0.5
    assert np.abs(np.diff(plan.path, axis=0)).max() < 0.3


def test_a_free_start_is_chosen(slot):
    cell, state, end = slot
    options = {"sample_start_configuration": True}
    plan = follow(cell, state, axes(end), **options)
    free = follow(cell, state, axes(end))
    assert plan.path_length < free.path_length
    assert plan.path[0].tolist() != free.path[0].tolist()
    chosen = state.with_configuration(dict(zip(plan.variables, plan.path[0].tolist(), strict=True)))
    before, after = (forward_kinematics(cell, value, mode=TargetMode.TOOL) for value in (state, chosen))
    assert np.allclose(before.position, after.position, atol=1e-6)
    assert np.allclose(before.matrix[:3, 2], after.matrix[:3, 2], atol=1e-6)
    # The greedy strategy takes the first of the starts from which the path is complete.
    greedy = follow(cell, state, axes(end), strategy=CartesianStrategy.GREEDY, **options)
    assert greedy.cartesian.fraction == 1.0
    # With a full pose, the start is any solution at the same pose.
    whole = follow(cell, state, frames(moved(before, z=0.05)), **options)
    chosen = state.with_configuration(dict(zip(whole.variables, whole.path[0].tolist(), strict=True)))
    distance, angle = forward_kinematics(cell, chosen, mode=TargetMode.TOOL).distance_to(before)
    assert max(distance, angle) < 1e-6


def test_all_starts_in_collision_are_reported(slot):
    cell, state, end = slot
    x, y, z = forward_kinematics(cell, state, mode=TargetMode.TOOL).position
    bodies = frozendict({**cell.bodies, "lump": RigidBody("lump", (Shape(Box((0.1, 0.1, 0.1))),))})
    placed = frozendict({**state.bodies, "lump": BodyState(Pose((x, y, z)))})
    cell, state = replace(cell, bodies=bodies), replace(state, bodies=placed)
    with pytest.raises(MPStartStateInCollisionError, match="possible start configurations") as caught:
        follow(cell, state, axes(end), sample_start_configuration=True)
    assert "lump" in caught.value.subjects


def test_a_joint_limit_ends_the_path():
    ur10 = Arm("ur10")
    q = np.array([0.3, -1.2, 1.5, -1.0, -1.4, 5.0])
    start = Pose.from_matrix(ur10.chain.forward(q.copy()))
    target = start @ Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, 2.5))
    for strategy in CartesianStrategy:
        options = {"strategy": strategy, "max_step_angle": 0.05, "skip_preplanning_collision_check": True}
        with pytest.raises(MPMaxJumpError) as caught:
            follow(ur10.cell, ur10.at(q), frames(target, mode=TargetMode.ROBOT), **options)
        error = caught.value
        assert error.subjects == (ur10.variables[5],)
        assert error.partial.cartesian.fraction == pytest.approx((2.0 * np.pi - 5.0) / 2.5, abs=0.001)
        assert error.partial.path[-1, 5] == pytest.approx(2.0 * np.pi, abs=0.01)
    # With a free rotation about that axis, the joint need not turn.
    free = follow(ur10.cell, ur10.at(q), axes(moved(target, z=0.05), mode=TargetMode.ROBOT))
    assert free.cartesian.fraction == 1.0


def test_the_end_of_the_reach_is_found_exactly():
    ur10 = Arm("ur10")
    q = np.array([0.0, -1.0, 1.2, -0.2, 1.57, 0.0])
    start = Pose.from_matrix(ur10.chain.forward(q.copy()))
    away = np.array((*start.position[:2], 0.0)) / np.linalg.norm(start.position[:2])
    target = moved(start, *(1.5 * away))
    fractions = []
    for strategy in CartesianStrategy:
        options = {"strategy": strategy, "skip_preplanning_collision_check": True}
        with pytest.raises((MPNoIKSolutionError, MPMaxJumpError)) as caught:
            follow(ur10.cell, ur10.at(q), frames(target, mode=TargetMode.ROBOT), **options)
        fractions.append(caught.value.partial.cartesian.fraction)
        assert caught.value.partial.cartesian.failed_waypoint == 0
    assert fractions[0] == pytest.approx(fractions[1], abs=1e-3)
    # A line that ends just before is feasible, and one that ends well beyond is not, from any start.
    goals = [moved(start, *((fractions[0] + more) * 1.5 * away)) for more in (-1e-3, 0.05)]
    near, far = (frames(goal, mode=TargetMode.ROBOT) for goal in goals)
    assert follow(ur10.cell, ur10.at(q), near).cartesian.fraction == 1.0
    with pytest.raises(MPNoIKSolutionError, match="out of reach") as caught:
        follow(ur10.cell, ur10.at(q), far)
    assert caught.value.partial.cartesian.ik_failure.reason.value == "out of reach"


def test_the_same_request_gives_the_same_bytes(slot):
    cell, state, end = slot
    first, second = (plan_to_json(follow(cell, state, axes(end)), repeatable=True) for _ in range(2))
    assert first == second


def test_an_arm_without_a_closed_form():
    kinova = Arm("j2s6s200")
    solved = 0
    lines = kinova.known_lines(5, seed=2)
    for q, end in lines:
        plan = follow(kinova.cell, kinova.at(q), frames(Pose.from_matrix(end), mode=TargetMode.ROBOT))
        solved += plan.cartesian.fraction == 1.0
    assert solved == len(lines)


def test_a_limit_on_states_ends_it(slot):
    cell, state, _ = slot
    up = frames(moved(forward_kinematics(cell, state, mode=TargetMode.TOOL), z=0.3))
    for strategy in CartesianStrategy:
        with pytest.raises(TimedOutError, match="states"):
            follow(cell, state, up, strategy=strategy, state_limit=3)


def test_the_log_reports_the_attempts(slot):
    cell, state, _ = slot
    for strategy in CartesianStrategy:
        near = frames(moved(forward_kinematics(cell, state, mode=TargetMode.TOOL), z=0.05))
        assert follow(cell, state, near, strategy=strategy).cartesian.log == ()
        log = follow(cell, state, near, strategy=strategy, verbose=True).cartesian.log
        assert len(log) == 5
        assert all(line.startswith("waypoint 0 at ") for line in log)


def test_the_report_has_the_smallest_manipulability():
    ur10 = Arm("ur10")
    # The wrist is straight at the start: the path begins at a singular configuration.
    q = np.array([0.3, -1.2, 1.5, -0.8, 0.02, 0.1])
    start = Pose.from_matrix(ur10.chain.forward(q.copy()))
    plan = follow(ur10.cell, ur10.at(q), frames(moved(start, z=0.01), mode=TargetMode.ROBOT))
    values = [np.sqrt(np.linalg.det(j @ j.T)) for j in (ur10.chain.jacobian(row.copy()) for row in plan.path)]
    assert plan.cartesian.min_manipulability == pytest.approx(min(values), rel=1e-6)


def test_motions_to_solutions_that_were_added_later_are_checked_together(monkeypatch):
    """Motions between solutions of a self-motion; sequential checks of 2,500 paths took 7 s."""
    cell, state = loaded()
    start = (0.8950, -1.7652, 1.9962, -1.5100, -0.1465, 0.1540)
    line = PointAxisWaypoints((((-0.0214, 0.9251, 1.6452), (-0.8762, 0.4770, 0.0687)),), mode=TargetMode.TOOL)
    state = state.with_configuration(dict(zip(cell.group().variables, start, strict=True)))
    tried, find_paths = [], Ladder.find_paths
    monkeypatch.setattr(Ladder, "find_paths", lambda ladder: tried.append(ladder) or find_paths(ladder))
    with pytest.raises(MPMaxJumpError, match="wrist_1_joint"):
        follow(cell, state, line, strategy=CartesianStrategy.GRAPH)
    assert len(tried) < 50


def test_a_path_that_is_continued_step_by_step_has_each_point_once(monkeypatch):
    ur10, leaves_branch = Arm("ur10"), search.leaves_branch

    def ends_at_half(tracker, samples, motions, *path):
        return leaves_branch(tracker, samples, motions, *path) | (motions.ends >= len(samples.segments) // 2)

    monkeypatch.setattr(search, "leaves_branch", ends_at_half)
    q = np.array([0.3, -1.2, 1.5, -0.8, 0.9, 0.1])
    start = Pose.from_matrix(ur10.chain.forward(q.copy()))
    line = frames(moved(start, z=0.1), mode=TargetMode.ROBOT)
    plan = follow(ur10.cell, ur10.at(q), line, timing=TimingOptions())
    assert plan.cartesian.parameter_of_point == pytest.approx(np.arange(1, 11) / 10.0)
    assert plan.trajectory is not None


@pytest.mark.parametrize("seed", [8, 9, 19, 24])
def test_smoothed_paths_that_end_at_a_limit_stay_within_it(seed):
    """The first joint of the Panda starts 0.01 rad before its limit."""
    panda, random = Arm("panda"), np.random.default_rng(seed)
    limits = [panda.cell.variables[variable].limits for variable in panda.variables]
    lower, upper = np.array([(limit.lower, limit.upper) for limit in limits]).T
    q = random.uniform(panda.lower, panda.upper)
    end = q + random.uniform(-0.3, 0.3, 7)
    q[0], end[0] = upper[0] - 0.01, upper[0]
    goal = Pose.from_matrix(panda.chain.forward(np.clip(end, lower, upper)))
    plan = follow(panda.cell, panda.at(q), frames(goal, mode=TargetMode.ROBOT))
    assert (plan.path >= lower).all()
    assert (plan.path <= upper).all()


def test_a_pose_without_a_solution_is_searched_once(monkeypatch):
    """The search fails at the same pose many times, and a search without a solution takes milliseconds."""
    panda = Arm("panda")
    random, without, solve = np.random.default_rng(2), [], failures.solve

    def noted(problem, *arguments):
        try:
            return solve(problem, *arguments)
        except InverseKinematicsError:
            without.append((*problem.target[:3, 3], *problem.target[:3, 2]))
            raise

    monkeypatch.setattr(failures, "solve", noted)
    for _ in range(6):
        q = random.uniform(panda.lower, panda.upper)
        away = random.normal(size=3)
        far = moved(Pose.from_matrix(panda.chain.forward(q.copy())), *(2.0 * away / np.linalg.norm(away)))
        line = axes(far, mode=TargetMode.ROBOT)
        with pytest.raises(PlanningError):
            follow(
                panda.cell, panda.at(q), line, strategy=CartesianStrategy.GRAPH, skip_preplanning_collision_check=True
            )
    assert 0 < len(without) == len(set(without))
