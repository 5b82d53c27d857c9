"""Inverse kinematics of arms with and without a closed form, in every target mode."""

import os
import subprocess
import sys

import msgspec
import numpy as np
import pytest
from kinematic_cells import arm, demo, odd_cell, put, ranges, without_closed_form

from benchmarks.arms import ARMS, CLOSED_FORM
from robot_cell_planner.errors import NotSupportedError, OutOfReachError, RobotCellError
from robot_cell_planner.kinematics.forward import forward_batch, forward_kinematics, forward_kinematics_to_frame
from robot_cell_planner.kinematics.ik.options import IkOptions, IkOrder, IkSolver
from robot_cell_planner.kinematics.ik.seeds import random_rotations
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics, iter_inverse_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, PointAxisTarget, TargetMode
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState

TURN = 2.0 * np.pi
NUMERIC = IkOptions(solver=IkSolver.NUMERIC, max_solutions=1)


def problems(cell, state, count, seed, group="", tip=""):
    """Random configurations, the poses that they reach, and states with other random configurations to start from."""
    rng = np.random.default_rng(seed)
    lower, upper = ranges(cell, group)
    goals = rng.uniform(lower, upper, (count, len(lower)))
    names = cell.group(group).variables
    poses = forward_batch(cell, state, tip or cell.tip_link(group), names, goals)
    for goal, pose in zip(goals, poses, strict=True):
        start = put(cell, state, rng.uniform(lower, upper), group)
        yield goal, FrameTarget(pose=Pose.from_matrix(pose)), start


def check(cell, state, target, result, group=""):
    """All solutions are distinct and reach the target within limits, by forward kinematics of the whole state."""
    lower, upper = (np.array([getattr(cell.variables[n].limits, end) for n in result.variables])
                    for end in ("lower", "upper"))  # fmt: skip
    assert len(result) > 0
    assert (result.solutions >= lower).all()
    assert (result.solutions <= upper).all()
    for q in result.solutions:
        moved = state.with_configuration(dict(zip(result.variables, q.tolist(), strict=True)))
        reached = forward_kinematics(cell, moved, group)
        assert max(reached.distance_to(target.pose)) < 1.1e-6
    for index, q in enumerate(result.solutions):
        gaps = np.abs(result.solutions[:index] - q).max(axis=1, initial=0.0)
        assert (gaps > 1e-6).all()


def apart(first, second):
    """Largest difference of joint values, up to multiples of 2 pi."""
    gap = np.asarray(first) - np.asarray(second)
    return np.abs(gap - TURN * np.round(gap / TURN)).max(axis=-1)


@pytest.mark.parametrize("name", CLOSED_FORM)
def test_a_closed_form_gives_all_solutions_including_the_original(name):
    cell = arm(name)
    state = cell.default_state()
    for goal, target, start in problems(cell, state, 150, seed=5):
        result = inverse_kinematics(cell, start, target)
        assert result.solver == "analytic 6R"
        assert result.complete
        assert apart(result.solutions, goal).min() < 1e-5
        check(cell, start, target, result)


@pytest.mark.parametrize("name", ARMS)
def test_solutions_reach_the_target_within_limits(name):
    cell = arm(name)
    state = cell.default_state()
    for _, target, start in problems(cell, state, 12, seed=6):
        check(cell, start, target, inverse_kinematics(cell, start, target))


@pytest.mark.parametrize("name", ["panda", "xarm7", "rail"])
def test_seven_joints_are_swept_over_one_that_is_locked(name):
    cell = arm(name)
    state = cell.default_state()
    for _, target, start in problems(cell, state, 60, seed=7):
        swept = inverse_kinematics(cell, start, target, options=IkOptions(solver=IkSolver.ANALYTIC, sweep=96))
        assert swept.solver.endswith("locked")
        check(cell, start, target, swept)
        first = inverse_kinematics(cell, start, target, options=IkOptions(max_solutions=1))
        assert len(first) == 1
        check(cell, start, target, first)


@pytest.mark.parametrize("solver", [IkSolver.AUTO, IkSolver.NUMERIC])
@pytest.mark.parametrize("name", [*ARMS, "skew"])
def test_a_tolerance_of_half_a_turn_frees_the_orientation(name, solver):
    """Each position is reachable with at least one orientation; the orientations of the targets differ."""
    cell = without_closed_form() if name == "skew" else arm(name)
    state = cell.default_state()
    turns = iter(random_rotations(60, 3))
    for _, target, start in problems(cell, state, 60, seed=9):
        pose = target.pose.matrix
        pose[:3, :3] = next(turns)
        anyhow = FrameTarget(pose=Pose.from_matrix(pose), tolerance_angle=np.pi)
        result = inverse_kinematics(cell, start, anyhow, options=IkOptions(solver=solver, max_solutions=1))
        moved = start.with_configuration(dict(zip(result.variables, result.solutions[0].tolist(), strict=True)))
        assert forward_kinematics(cell, moved).distance_to(anyhow.pose)[0] < 1.1e-6
        assert result.residuals[0, 1] == 0.0


def test_the_default_tolerance_is_a_micrometre_in_every_unit():
    pose = Pose((1.0, 2.0, 3.0))
    for scale in (1.0, 0.001, 25.4):
        assert FrameTarget(pose=pose, native_scale=scale).tolerances == (1e-6, 1e-6)
    assert FrameTarget(pose=pose, native_scale=0.001, tolerance_position=2.0).tolerances[0] == pytest.approx(2e-3)


@pytest.mark.parametrize("name", [*ARMS, "skew"])
def test_the_numeric_search_reaches_reachable_poses(name):
    cell = without_closed_form() if name == "skew" else arm(name)
    state = cell.default_state()
    missed = 0
    for _, target, start in problems(cell, state, 60, seed=8):
        try:
            result = inverse_kinematics(cell, start, target, options=NUMERIC)
        except RobotCellError:
            missed += 1
            continue
        assert result.solver == "numeric"
        assert not result.complete
        check(cell, start, target, result)
    assert missed == 0


def test_the_numeric_search_agrees_with_the_closed_form():
    cell = arm("ur5")
    state = cell.default_state()
    for _, target, start in problems(cell, state, 10, seed=9):
        exact = inverse_kinematics(cell, start, target)
        searched = inverse_kinematics(cell, start, target, options=IkOptions(solver=IkSolver.NUMERIC, max_restarts=300))
        for q in searched.solutions:
            assert apart(exact.solutions, q).min() < 1e-4
        assert len(searched) <= len(exact)


def test_an_arm_without_a_closed_form_is_reported():
    cell = without_closed_form()
    state = cell.default_state()
    _, target, start = next(problems(cell, state, 1, seed=0))
    assert inverse_kinematics(cell, start, target).solver == "numeric"
    with pytest.raises(NotSupportedError, match="closed form"):
        inverse_kinematics(cell, start, target, options=IkOptions(solver=IkSolver.ANALYTIC))


@pytest.mark.parametrize("name", ARMS)
def test_the_start_is_the_first_solution_if_it_reaches_the_target(name):
    cell = arm(name)
    rng = np.random.default_rng(11)
    for _ in range(5):
        start = put(cell, cell.default_state(), rng.uniform(*ranges(cell)))
        target = FrameTarget(pose=forward_kinematics(cell, start))
        values = [start.configuration[variable] for variable in cell.group().variables]
        np.testing.assert_allclose(inverse_kinematics(cell, start, target).best, values, atol=1e-9)
        np.testing.assert_allclose(next(iter_inverse_kinematics(cell, start, target)), values, atol=1e-9)


@pytest.mark.parametrize("wrist", [0.0, np.pi, -np.pi])
def test_singular_configurations_are_solved(wrist):
    """The wrist of a UR arm is singular where its second joint is straight: there are infinitely many solutions."""
    cell = arm("ur5")
    q = np.array([0.4, -1.2, 1.3, -0.7, wrist, 0.9])
    for offset in (0.0, 1e-9, 1e-7, 1e-5, 0.3):
        target = FrameTarget(pose=forward_kinematics(cell, put(cell, cell.default_state(), q)))
        start = put(cell, cell.default_state(), q + offset)
        check(cell, start, target, inverse_kinematics(cell, start, target))


def test_the_stretched_arm_is_reached():
    cell = arm("ur5")
    stretched = put(cell, cell.default_state(), [0.3, -0.8, 0.0, 0.4, 1.1, 0.2])
    target = FrameTarget(pose=forward_kinematics(cell, stretched))
    for shift in (0.0, 0.2):
        start = put(cell, stretched, np.array([0.3, -0.8, 0.0, 0.4, 1.1, 0.2]) + shift)
        check(cell, start, target, inverse_kinematics(cell, start, target))


def test_angles_are_taken_across_half_a_turn():
    """A start just beyond +pi has its nearest solution just beyond +pi, not a turn away."""
    cell = arm("ur5")
    q = np.array([np.pi - 0.01, -1.2, 1.3, -0.7, 0.8, -np.pi + 0.01])
    target = FrameTarget(pose=forward_kinematics(cell, put(cell, cell.default_state(), q)))
    start = put(cell, cell.default_state(), q + np.array([0.02, 0, 0, 0, 0, -0.02]))
    np.testing.assert_allclose(inverse_kinematics(cell, start, target).best, q, atol=1e-6)


def test_all_turns_are_all_combinations_within_limits():
    cell = arm("ur5")  # all joints but the elbow go from -360 to 360 degrees
    goal, target, start = next(problems(cell, cell.default_state(), 1, seed=13))
    plain = inverse_kinematics(cell, start, target)
    turned = inverse_kinematics(cell, start, target, options=IkOptions(all_turns=True))
    assert len(turned) == 2**5 * len(plain)
    assert np.abs(turned.solutions - goal).max(axis=1).min() < 1e-6
    assert (np.abs(turned.solutions) <= TURN + 1e-9).all()
    for q in turned.solutions:
        assert apart(plain.solutions, q).min() < 1e-9
    start_q = np.array([start.configuration[name] for name in turned.variables])
    distances = np.linalg.norm(turned.solutions - start_q, axis=1)
    assert (np.diff(distances) >= -1e-12).all()
    np.testing.assert_allclose(turned.best, plain.best, atol=1e-9)


def test_continuous_joints_have_their_two_nearest_turns():
    cell = arm("j2s6s200")
    names = cell.group().variables
    unlimited = [index for index, name in enumerate(names) if not np.isfinite(cell.variables[name].limits.lower)]
    assert unlimited
    goal, target, start = next(problems(cell, cell.default_state(), 1, seed=2))
    start = put(cell, start, goal + 0.1)
    turned = inverse_kinematics(cell, start, target, options=IkOptions(all_turns=True))
    near = turned.solutions[apart(turned.solutions, goal) < 1e-6]
    assert len(near) >= 2 ** len(unlimited)
    assert (np.abs(near[:, unlimited] - goal[unlimited] - 0.1) <= TURN + 1e-9).all()


def test_orders():
    cell = arm("ur5")
    for _, target, start in problems(cell, cell.default_state(), 5, seed=14):
        q = np.array([start.configuration[name] for name in cell.group().variables])
        nearest = inverse_kinematics(cell, start, target)
        assert (np.diff(np.linalg.norm(nearest.solutions - q, axis=1)) >= 0.0).all()
        far = inverse_kinematics(cell, start, target, options=IkOptions(order=IkOrder.FARTHEST_FROM_LIMITS))
        assert (np.diff(far.limit_distances()) <= 0.0).all()
        able = inverse_kinematics(cell, start, target, options=IkOptions(order=IkOrder.MOST_MANIPULABLE))
        assert (np.diff(able.manipulabilities()) <= 0.0).all()
        assert len(nearest) == len(far) == len(able)
        options = IkOptions(order=IkOrder.MOST_MANIPULABLE, max_solutions=1)
        one = inverse_kinematics(cell, start, target, options=options)
        np.testing.assert_array_equal(one.solutions, able.solutions[:1])
        assert not one.complete


def test_the_iterator_gives_the_same_solutions_until_it_is_exhausted():
    for name in ("ur5", "panda"):
        cell = arm(name)
        _, target, start = next(problems(cell, cell.default_state(), 1, seed=15))
        together = inverse_kinematics(cell, start, target)
        one_by_one = np.array(list(iter_inverse_kinematics(cell, start, target)))
        assert sorted(map(tuple, one_by_one)) == sorted(map(tuple, together.solutions))
        three = list(iter_inverse_kinematics(cell, start, target, options=IkOptions(max_solutions=3)))
        np.testing.assert_array_equal(three, one_by_one[:3])


def test_the_iterator_computes_solutions_on_demand():
    cell = arm("panda")
    _, target, start = next(problems(cell, cell.default_state(), 1, seed=15))
    checked = []
    solutions = iter_inverse_kinematics(cell, start, target, is_valid=lambda q: checked.append(q) is None)
    next(solutions)
    assert len(checked) == 1


def test_only_valid_solutions_are_returned_and_no_more_than_needed_are_checked():
    cell = arm("ur5")
    _, target, start = next(problems(cell, cell.default_state(), 1, seed=16))
    everything = inverse_kinematics(cell, start, target).solutions
    checked = []

    def is_valid(q):
        checked.append(q)
        return len(checked) % 2 == 0

    kept = inverse_kinematics(cell, start, target, is_valid=is_valid)
    np.testing.assert_array_equal(kept.solutions, everything[1::2])
    checked.clear()
    kept = inverse_kinematics(cell, start, target, is_valid=is_valid, options=IkOptions(max_solutions=1))
    np.testing.assert_array_equal(kept.solutions, everything[1:2])
    assert len(checked) == 2


def test_a_validity_check_cannot_change_the_solutions():
    cell = arm("ur5")
    _, target, start = next(problems(cell, cell.default_state(), 1, seed=16))
    everything = inverse_kinematics(cell, start, target).solutions

    def meddling(q):
        q[:] = 0.0
        return True

    np.testing.assert_array_equal(inverse_kinematics(cell, start, target, is_valid=meddling).solutions, everything)


@pytest.mark.parametrize("mode", [TargetMode.ROBOT, TargetMode.TOOL, TargetMode.WORKPIECE, TargetMode.FRAME])
def test_every_mode_puts_its_own_frame_at_the_target(mode):
    cell, state = demo()
    state = state.with_body("workpiece", BodyState(Pose((0.01, 0.02, 0.03)), "gripper/tcp"))
    frame = {"robot": "tool0", "tool": "gripper/tcp", "workpiece": "workpiece", "frame": "grasp"}[mode.value]
    elsewhere = put(cell, state, [-0.9, -1.5, 1.6, -1.2, -1.3, 0.4])
    pose = forward_kinematics_to_frame(cell, elsewhere, frame)
    target = FrameTarget(pose=pose, mode=mode, frame=frame if mode is TargetMode.FRAME else "")
    result = inverse_kinematics(cell, state, target)
    for q in result.solutions:
        reached = forward_kinematics_to_frame(cell, put(cell, state, q), frame)
        assert max(reached.distance_to(pose)) < 1e-6


def test_targets_may_be_written_in_another_frame_and_in_millimetres():
    cell, state = demo()
    elsewhere = put(cell, state, [-0.9, -1.5, 1.6, -1.2, -1.3, 0.4])
    in_bin = forward_kinematics(cell, elsewhere, mode=TargetMode.TOOL, relative_to="bin", native_scale=0.001)
    target = FrameTarget(pose=in_bin, mode=TargetMode.TOOL, reference_frame="bin", native_scale=0.001)
    result = inverse_kinematics(cell, state, target)
    expected = [elsewhere.configuration[name] for name in result.variables]
    assert apart(result.solutions, expected).min() < 1e-6
    # In the current frame of the tool: 50 mm ahead along its axis.
    ahead = FrameTarget(pose=Pose((0.0, 0.0, 0.05)), mode=TargetMode.TOOL, reference_frame="gripper/tcp")
    best = inverse_kinematics(cell, state, ahead).best
    moved = forward_kinematics(cell, put(cell, state, best), mode=TargetMode.TOOL)
    before = forward_kinematics(cell, state, mode=TargetMode.TOOL)
    assert max((before.inverse() @ moved).distance_to(Pose((0.0, 0.0, 0.05)))) < 1e-6


@pytest.mark.parametrize("name", [*ARMS, "skew"])
def test_point_and_axis_are_reached_with_any_rotation(name):
    cell = without_closed_form() if name == "skew" else arm(name)
    for _, frame_target, start in problems(cell, cell.default_state(), 5, seed=17):
        matrix = frame_target.pose.matrix
        axis = tuple(3.0 * matrix[:3, 2])
        target = PointAxisTarget(point=frame_target.pose.position, axis=axis)
        result = inverse_kinematics(cell, start, target)
        assert not result.complete
        rotations = []
        for q in result.solutions:
            reached = forward_kinematics(cell, put(cell, start, q)).matrix
            np.testing.assert_allclose(reached[:3, 3], target.point, atol=1.1e-6)
            np.testing.assert_allclose(reached[:3, 2], matrix[:3, 2], atol=1.1e-6)
            rotations.append(np.arctan2(matrix[:3, 1] @ reached[:3, 0], matrix[:3, 0] @ reached[:3, 0]))
        assert len(result) == 1 or np.ptp(rotations) > 0.1


def test_a_coarse_tolerance_is_a_tolerance():
    """A target that is just out of reach is reached within a tolerance larger than the distance."""
    cell = arm("ur5")
    stretched = put(cell, cell.default_state(), [0.0, 0.0, 0.0, 0.0, 1.1, 0.2])  # along x
    pose = forward_kinematics(cell, stretched)
    far = Pose((pose.position[0] + 0.01, *pose.position[1:]), pose.quaternion)
    with pytest.raises(OutOfReachError, match="in its orientation"):
        inverse_kinematics(cell, stretched, FrameTarget(pose=far))
    target = FrameTarget(pose=far, tolerance_position=0.02, tolerance_angle=0.02)
    result = inverse_kinematics(cell, stretched, target)
    reached = forward_kinematics(cell, put(cell, stretched, result.best))
    distance, angle = reached.distance_to(far)
    assert distance <= 0.02
    assert angle <= 0.02


def test_joints_outside_the_group_are_fixed():
    """The arm of the rail robot alone, with the rail where the state has it."""
    cell = arm("rail")
    robot = cell.robot
    whole = robot.groups["manipulator"]
    group = msgspec.structs.replace(whole, name="arm", variables=whole.variables[1:])
    robot = msgspec.structs.replace(robot, groups=robot.groups.set("arm", group))
    cell = msgspec.structs.replace(cell, robots=cell.robots.set("rail", robot))
    state = cell.default_state().with_configuration({"rail_joint": 0.7})
    for goal, target, start in problems(cell, state, 20, seed=18, group="arm"):
        result = inverse_kinematics(cell, start, target, "arm")
        assert result.complete
        assert apart(result.solutions, goal).min() < 1e-5
        check(cell, start, target, result, "arm")
        some = inverse_kinematics(cell, start, target, "manipulator", variables=result.variables)
        np.testing.assert_array_equal(some.solutions, result.solutions)
        turned_round = inverse_kinematics(cell, start, target, "manipulator", variables=result.variables[::-1])
        assert turned_round.variables == result.variables[::-1]
        np.testing.assert_allclose(turned_round.solutions[:, ::-1], result.solutions, atol=1e-9)


def test_fewer_than_six_joints_are_solved_for_reachable_poses():
    """Groups of the UR5: all joints but the last, or only the last three."""
    cell = arm("ur5")
    names = cell.group().variables
    for variables in (names[:5], names[3:]):
        for goal, target, start in problems(cell, cell.default_state(), 15, seed=24):
            held = {name: float(value) for name, value in zip(names, goal, strict=True) if name not in variables}
            result = inverse_kinematics(cell, start.with_configuration(held), target, variables=variables)
            assert result.variables == variables
            check(cell, start.with_configuration(held), target, result)


def test_groups_with_mimicking_planar_and_floating_joints_are_solved_numerically():
    cell, state = odd_cell()
    group = cell.group("two_all")
    for _, target, start in problems(cell, state, 5, seed=19, group=group.name):
        result = inverse_kinematics(cell, start, target, group.name, IkOptions(max_solutions=3))
        assert result.solver == "numeric"
        assert len(result) == 3
        for q in result.solutions:
            reached = forward_kinematics(cell, put(cell, start, q, group.name), group.name)
            assert max(reached.distance_to(target.pose)) < 1.1e-6


def test_a_time_limit_that_is_long_enough_changes_nothing():
    cell = arm("panda")
    _, target, start = next(problems(cell, cell.default_state(), 1, seed=20))
    free = inverse_kinematics(cell, start, target)
    limited = inverse_kinematics(cell, start, target, options=IkOptions(timeout=1000.0))
    np.testing.assert_array_equal(free.solutions, limited.solutions)


PRINT_SOLUTIONS = """
import sys
sys.path[:0] = {paths!r}
import hashlib
from test_inverse import IkOptions, IkSolver, arm, inverse_kinematics, problems, without_closed_form
digest = hashlib.sha256()
cells = arm("panda"), without_closed_form(), arm("ur5")
for cell, solver in zip(cells, (IkSolver.AUTO, IkSolver.AUTO, IkSolver.NUMERIC)):
    for _, target, start in problems(cell, cell.default_state(), 5, seed=21):
        options = IkOptions(solver=solver, seed=7, max_restarts=20)
        digest.update(inverse_kinematics(cell, start, target, options=options).solutions.tobytes())
print(digest.hexdigest())
"""


def test_the_same_seed_gives_the_same_list_in_any_process():
    script = PRINT_SOLUTIONS.format(paths=sys.path)
    digests = [
        subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert digests[0] == digests[1]
    assert len(digests[0].strip()) == 64


def test_another_seed_searches_elsewhere():
    cell = without_closed_form()
    _, target, start = next(problems(cell, cell.default_state(), 1, seed=22))
    first, second = (
        inverse_kinematics(cell, start, target, options=IkOptions(seed=seed, max_restarts=40)).solutions
        for seed in (1, 2**63)
    )
    assert first.tobytes() != second.tobytes()


def test_threads_do_not_disturb_one_another():
    from concurrent.futures import ThreadPoolExecutor

    cell = arm("panda")
    given = list(problems(cell, cell.default_state(), 20, seed=23))
    alone = [inverse_kinematics(cell, start, target).solutions for _, target, start in given]
    with ThreadPoolExecutor(4) as pool:
        together = pool.map(lambda item: inverse_kinematics(cell, item[2], item[1]).solutions, given * 3)
    for index, solutions in enumerate(together):
        np.testing.assert_array_equal(solutions, alone[index % len(alone)])
