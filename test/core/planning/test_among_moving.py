"""One arm is planned while the other follows a known trajectory: the motion is free by another engine every
millisecond, waits if that is shorter, and leaves the path of the other arm."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_cell_planner import (
    CollisionChecker,
    FrameTarget,
    Goals,
    MotionLimits,
    MotionRequest,
    PlanningOptions,
    Pose,
    TargetMode,
    TimingOptions,
    Trajectory,
    load_cell,
    merge_trajectories,
    plan_from_json,
    plan_motion,
    plan_to_json,
    time_path,
    upright,
    validate,
    verify_plan,
)
from robot_cell_planner.errors import (
    BlockedByMovingRobotsError,
    GoalInCollisionError,
    InvalidRequestError,
    NotSupportedError,
    PlanningError,
    TrajectoryStartError,
)
from robot_cell_planner.planning.joint_space import among_moving
from robot_cell_planner.planning.space_time.joint_motion import JointMotion, Proof
from robot_cell_planner.planning.space_time.moving_robots import MovingRobots
from robot_cell_planner.planning.space_time.timed_checks import TimedChecks
from robot_cell_planner.trajectory.separation import JerkSteps, separating_delays

LEFT, RIGHT = "left/manipulator", "right/manipulator"
SIDES = {LEFT: "left", RIGHT: "right"}


@pytest.fixture(scope="module")
def arms(request):
    return load_cell(request.config.rootpath / "config" / "two_arms" / "cell.yaml")


def grip_at(group, x, y, z=0.85):
    yaw = np.pi if group == RIGHT else 0.0
    pose = Pose.from_rpy((x, y, z), (np.pi, 0.0, yaw))
    return Goals(targets=(FrameTarget(pose=pose, mode=TargetMode.TOOL, reference_frame="world"),))


def moved(cell, state, group, goals, **options):
    return plan_motion(cell, state, MotionRequest(goals, group, **options))


@pytest.fixture(scope="module")
def sides(arms):
    """Both arms low over the table, each on the same side of it."""
    cell, state = arms
    for group, x in ((LEFT, -0.25), (RIGHT, 0.2)):
        state = state.with_configuration(moved(cell, state, group, grip_at(group, x, -0.3)).end_configuration())
    return cell, state


@pytest.fixture(scope="module")
def passing(sides):
    """The left arm sweeps over the middle of the table, to the other side."""
    cell, state = sides
    out = moved(cell, state, LEFT, grip_at(LEFT, 0.1, 0.05))
    back = moved(cell, state.with_configuration(out.end_configuration()), LEFT, grip_at(LEFT, -0.3, 0.35))
    later = replace(back.trajectory, times=back.trajectory.times + out.duration)
    rows = [
        np.concatenate((getattr(out.trajectory, name), getattr(later, name)[1:]))
        for name in ("times", "positions", "velocities", "accelerations")
    ]
    return Trajectory(out.variables, *rows)


def check_free(cell, state, plan):
    """Everything is free every millisecond, by PyBullet."""
    together = merge_trajectories((plan.trajectory, *plan.moving))
    checker = CollisionChecker(cell, state, together.variables, engine="bullet")
    times = np.arange(0.0, together.duration + 0.001, 0.001)
    assert not checker.in_collision_batch(together.at(times)).any()
    return checker


def test_a_motion_is_free_at_all_times(sides, passing):
    cell, state = sides
    goals = grip_at(RIGHT, -0.05, 0.2)
    plan = moved(cell, state, RIGHT, goals, moving=(passing,))
    assert plan.certified_fraction == 1.0
    assert plan.moving == (passing,)
    checker = check_free(cell, state, plan)
    assert plan.clearance.closest.distance > 0.0
    # Planned without the trajectory of the other, the motion collides: the other arm obstructs the path.
    alone = moved(cell, state, RIGHT, Goals(joint_goals=(plan.end_configuration(),)))
    both = merge_trajectories((alone.trajectory, passing))
    assert checker.in_collision_batch(both.at(np.arange(0.0, both.duration, 0.002))).any()
    # Faster than one after the other.
    after = state.with_configuration(dict(zip(passing.variables, passing.positions[-1].tolist(), strict=True)))
    second = moved(cell, after, RIGHT, Goals(joint_goals=(plan.end_configuration(),)))
    assert max(plan.duration, passing.duration) < passing.duration + second.duration - 0.3


def test_equal_requests_give_equal_plans_which_verification_accepts(sides, passing):
    cell, state = sides
    request = MotionRequest(grip_at(RIGHT, -0.05, 0.2), RIGHT, moving=(passing,))
    plan = plan_motion(cell, state, request)
    text = plan_to_json(plan, repeatable=True)
    assert plan_to_json(plan_motion(cell, state, request), repeatable=True) == text
    read = plan_from_json(text)
    assert verify_plan(cell, state, read).valid
    # The same motion is refused if the other arm starts later or its trajectory is missing.
    late = replace(passing, times=passing.times + 0.8)
    broken = verify_plan(cell, state, replace(plan, moving=(late,)))
    assert not broken.valid


def test_the_robot_leaves_the_goal_of_the_other(sides):
    """The other arm moves to the place of this arm, and stays there."""
    cell, state = sides
    away = state.with_configuration(moved(cell, state, RIGHT, grip_at(RIGHT, 0.3, 0.35)).end_configuration())
    coming = moved(cell, away, LEFT, grip_at(LEFT, 0.15, -0.3)).trajectory
    plan = moved(cell, state, RIGHT, grip_at(RIGHT, 0.3, 0.35), moving=(coming,))
    check_free(cell, state, plan)
    assert plan.certified_fraction == 1.0
    with pytest.raises(GoalInCollisionError):
        moved(cell, state, RIGHT, grip_at(RIGHT, 0.2, -0.3), moving=(coming,))


def test_a_missing_path_is_reported_with_the_pair_and_the_time(sides):
    """A start that the other reaches faster than the arm can leave."""
    cell, state = sides
    away = state.with_configuration(moved(cell, state, RIGHT, grip_at(RIGHT, 0.3, 0.35)).end_configuration())
    coming = moved(cell, away, LEFT, grip_at(LEFT, 0.15, -0.3)).trajectory
    fast = replace(coming, times=0.1 * coming.times, velocities=None, accelerations=None)
    options = PlanningOptions(state_limit=20_000)
    with pytest.raises(BlockedByMovingRobotsError, match="the start is blocked between") as found:
        moved(cell, state, RIGHT, grip_at(RIGHT, 0.3, 0.35), moving=(fast,), options=options)
    assert len(found.value.subjects) == 2
    assert any(value.name == "start free until" and value.value < 0.1 for value in found.value.values)


@pytest.mark.parametrize("times", [1, 2, 9])
def test_a_motion_that_collides_between_checked_states_is_searched_again(sides, passing, monkeypatch, times):
    """Also if the certificate is undecided and the final check at the resolution finds the collision."""
    cell, state = sides
    searches, found, check_states = [], [], JointMotion.check_states

    def collide(motion, step):
        found.append(step)
        if len(found) <= times:
            raise motion.collision_at(0.5)
        return check_states(motion, step)

    def timed_checks(*arguments, finest, strict):
        searches.append((finest, strict))
        return TimedChecks(*arguments, finest=finest, strict=strict)

    monkeypatch.setattr(JointMotion, "proof", lambda motion, certifier: Proof(0.5))
    monkeypatch.setattr(JointMotion, "check_states", collide)
    monkeypatch.setattr(among_moving, "TimedChecks", timed_checks)
    goals = grip_at(RIGHT, -0.05, 0.2)
    if times < len(among_moving.ATTEMPTS):
        plan = moved(cell, state, RIGHT, goals, moving=(passing,))
        assert plan.certified_fraction == 0.5
        assert any("not proven free" in warning for warning in plan.warnings)
        check_free(cell, state, plan)
        assert searches == list(among_moving.ATTEMPTS[: times + 1])
    else:
        with pytest.raises(BlockedByMovingRobotsError, match="collides between checked states") as error:
            moved(cell, state, RIGHT, goals, moving=(passing,))
        assert isinstance(error.value, PlanningError)
        assert searches == list(among_moving.ATTEMPTS)


def test_requests_that_do_not_fit_are_refused(sides, passing):
    cell, state = sides
    goals = grip_at(RIGHT, -0.05, 0.2)
    with pytest.raises(InvalidRequestError, match="is planned for, and is also in"):
        moved(cell, state, LEFT, grip_at(LEFT, 0.0, 0.0), moving=(passing,))
    with pytest.raises(InvalidRequestError, match="is in two trajectories"):
        moved(cell, state, RIGHT, goals, moving=(passing, passing))
    with pytest.raises(NotSupportedError, match="constraints"):
        moved(cell, state, RIGHT, goals, moving=(passing,), constraints=(upright(),))
    with pytest.raises(NotSupportedError, match="no timing"):
        moved(cell, state, RIGHT, goals, moving=(passing,), timing=None)
    elsewhere = replace(passing, positions=passing.positions + 0.1)
    with pytest.raises(TrajectoryStartError, match=r"begins 0\.1 rad from the state"):
        moved(cell, state, RIGHT, goals, moving=(elsewhere,))


@pytest.mark.parametrize("away", [-1.5e-4, -2e-5, 1e-6, 1e-4])
def test_merging_does_not_change_the_times_that_were_checked(sides, passing, away):
    """The other arm begins next to a jerk step of the motion."""
    cell, state = sides
    goals = grip_at(RIGHT, 0.3, 0.35)
    alone = moved(cell, state, RIGHT, goals, moving=(replace(passing, times=passing.times + 5.0),))
    step = JerkSteps.of(alone.trajectory).main[1]
    later = replace(passing, times=passing.times + (step + away))
    plan = moved(cell, state, RIGHT, goals, moving=(later,))
    assert 1e-4 < plan.duration - alone.duration < 1e-3
    for pair in ((plan.trajectory, later), (later, plan.trajectory)):
        assert separating_delays(pair) == (0.0, 0.0)
        both = merge_trajectories(pair)
        validate(both, MotionLimits.of([cell.variables[name] for name in both.variables])).check()
    assert not any("merge_trajectories" in warning for warning in plan.warnings)
    assert verify_plan(cell, state, plan).valid
    check_free(cell, state, plan)


def test_moving_robots_that_merging_would_delay_are_reported(arms):
    """Steps of two moving trajectories are too close to each other: merged first, they are not."""
    cell, state = arms
    joint, other = cell.group(LEFT).variables[:2]
    first, second = (
        time_path(
            state.configuration[name] + np.array([[0.0], [0.1]]),
            MotionLimits.of([cell.variables[name]]),
            TimingOptions(),
        ).trajectory
        for name in (joint, other)
    )
    second = replace(second, times=second.times + 1e-4)
    goals = Goals(joint_goals=({name: state.configuration[name] for name in cell.group(RIGHT).variables},))
    plan = moved(cell, state, RIGHT, goals, moving=(first, second))
    assert any("merge_trajectories would delay a robot by 0.1 ms" in warning for warning in plan.warnings)
    plan = moved(cell, state, RIGHT, goals, moving=(merge_trajectories((first, second)),))
    assert not any("merge_trajectories" in warning for warning in plan.warnings)


def test_merged_trajectories_equal_the_given_ones(sides, passing):
    cell, state = sides
    other = moved(cell, state, RIGHT, grip_at(RIGHT, 0.3, 0.35)).trajectory
    later = replace(other, times=other.times + 0.7)
    both = merge_trajectories((passing, later))
    assert both.variables == (*passing.variables, *other.variables)
    assert both.duration == pytest.approx(max(passing.duration, later.duration))
    times = np.random.default_rng(1).uniform(0.0, both.duration, 500)
    for order, tolerance in ((0, 1e-7), (1, 1e-4)):
        separate = np.hstack((passing.at(times, order), later.at(times, order)))
        assert np.abs(both.at(times, order) - separate).max() < tolerance
    assert not both.velocities[[0, -1]].any()


@settings(deadline=None, max_examples=25)
@given(begin=st.floats(0.0, 3.0), length=st.floats(1e-4, 0.5))
def test_bounds_of_moving_robots_contain_their_motion(sides, passing, begin, length):
    cell, state = sides
    moving = MovingRobots(cell, state, (passing,), cell.group(RIGHT).variables)
    low, high = moving.bounds(np.array([begin]), np.array([begin + length]))
    inside = moving.at(np.linspace(begin, begin + length, 200))
    assert (inside >= low - 1e-12).all()
    assert (inside <= high + 1e-12).all()
    # Not much wider than the motion: by at most the motion during one time interval at both ends.
    assert ((high - low) - np.ptp(inside, axis=0)).max() < 0.06


def blocked_delays(monkeypatch, blocked):
    """Motions collide if they are delayed by one of some numbers of the delays to try; returns the delays tried [s]."""
    tried, proof = [], JointMotion.proof

    def collide(motion, certifier):
        tried.append(motion.trajectory.times[np.flatnonzero(motion.trajectory.velocities.any(axis=1))[0] - 1])
        return Proof(0.5, collision=0.5) if len(tried) - 1 in blocked else proof(motion, certifier)

    monkeypatch.setattr(JointMotion, "proof", collide)
    return tried


@pytest.fixture
def next_to_a_step(sides, passing):
    """The other arm begins next to a jerk step of the motion to the goals."""
    cell, state = sides
    goals = grip_at(RIGHT, 0.3, 0.35)
    alone = moved(cell, state, RIGHT, goals, moving=(replace(passing, times=passing.times + 5.0),))
    step = JerkSteps.of(alone.trajectory).main[1]
    return goals, replace(passing, times=passing.times + (step + 1e-4)), alone.duration


@pytest.mark.parametrize("blocked", [1, 4])
def test_a_motion_that_collides_for_its_delay_gets_a_later_one(sides, next_to_a_step, monkeypatch, blocked):
    cell, state = sides
    goals, later, shortest = next_to_a_step
    tried = blocked_delays(monkeypatch, range(blocked))
    plan = moved(cell, state, RIGHT, goals, moving=(later,))
    assert len(tried) == blocked + 1
    assert (np.diff(tried) >= 0.999e-3).all()
    assert 1e-3 < plan.duration - shortest < 0.02
    assert separating_delays((plan.trajectory, later)) == (0.0, 0.0)
    assert not any("merge_trajectories" in warning for warning in plan.warnings)
    assert verify_plan(cell, state, plan).valid
    check_free(cell, state, plan)


def test_the_delays_that_were_tried_are_reported(sides, next_to_a_step, monkeypatch):
    cell, state = sides
    goals, later, _ = next_to_a_step
    tried = blocked_delays(monkeypatch, range(1000))
    with pytest.raises(BlockedByMovingRobotsError, match=r"with delays of 0\.\d+, 1\.\d+.* ms") as error:
        moved(cell, state, RIGHT, goals, moving=(later,))
    assert len(tried) == 5 * len(among_moving.ATTEMPTS)
    assert len(error.value.subjects) == 2
