"""Motion of one robot while others follow known trajectories.

Paths that are free without the moving robots, and paths around them where they are in the way, give the vertices of a
roadmap (`space_time.roadmap`). Its fastest motion waits where waiting is shorter than a detour. Where the roadmap does
not suffice, sampled configurations are added to it. The motion of all robots together is certified over its whole time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...collision.certification.certifier import MotionCertifier, certifiable, certifier_of
from ...collision.checker import CollisionChecker
from ...collision.pairs.allowed_pairs import CollisionOptions
from ...errors import (
    BlockedByMovingRobotsError,
    GeometryError,
    NotSupportedError,
    PlanningError,
    TrajectoryInCollisionError,
    Value,
)
from ...model.cell import RobotCell
from ...model.cell_warnings import unchecked_warnings
from ...model.state import RobotCellState
from ...trajectory.curves import Curve, CurveSequence, PolynomialCurve
from ...trajectory.limits import Array
from ...trajectory.separation import admissible_delays, separating_delay, separating_delays
from ...trajectory.timing import TimingMethod
from ...trajectory.trajectory import Rest, Trajectory, sample_curve
from ...trajectory.validation import validate
from ..path.finish import Origin, bare_plan, with_proof
from ..problem.collision_checks import CountedChecks
from ..problem.context import PlanningContext, check_start, create_context
from ..problem.plan import Plan, PlanFailure
from ..problem.progress import ProgressMonitor
from ..problem.request import MotionRequest
from ..search.registry import planner_named
from ..space_time.joint_motion import JointMotion
from ..space_time.moving_robots import MovingRobots
from ..space_time.roadmap import TimedRoadmap, TimedStep
from ..space_time.timed_checks import FINEST, TimedChecks
from .goals import GoalSet, suggested
from .path_search import PathSearch, optimized

# Searches in turn, while the motion that one finds collides between checked states: max interval between these [s], and
# whether an interval that is not proven free counts as blocked.
ATTEMPTS = ((FINEST, False), (FINEST / 8.0, False), (FINEST, True))
PERIOD = 0.02  # [s], interval between times of departure
STOP_SPACING = 0.4  # [rad or m], distance of places to wait at along a path
MAX_STOPS = 5  # places to wait at within one segment
MAX_GOALS = 8
SAMPLES_PER_ROUND = 40
MAX_ROUNDS = 12
SAMPLE_SPREAD = 0.4  # [rad or m]
MAX_ROUNDING = 2  # corrections of a delay
LONG_WAIT = 0.25  # [s], delay from which on detours are searched


def plan_among_moving(cell: RobotCell, state: RobotCellState, request: MotionRequest, monitor: ProgressMonitor) -> Plan:
    """Plan a motion that begins at time 0 of the trajectories of `request.moving`.

    The motion is straight from rest to rest between its waypoints, at which it may wait. It ends where the robot can
    stay. The plan's trajectory has been validated together with those of the moving robots.

    Raises:
        NotSupportedError: The request has constraints, a start correction, no timing, or a timing other than
            STOP_AT_WAYPOINTS.
        InvalidRequestError, UnknownNameError, TrajectoryStartError: The trajectories do not fit cell, state or request.
        BlockedByMovingRobotsError: No motion was found.
    """
    _check_supported(request)
    return _Planner(cell, state, request, monitor).plan()


def _check_supported(request: MotionRequest) -> None:
    timing = request.timing
    unsupported = (
        (timing is None, "no timing"),
        (bool(request.constraints), "constraints"),
        (request.options.max_start_correction > 0.0, "a start correction"),
        (timing is not None and timing.method is not TimingMethod.STOP_AT_WAYPOINTS, "a timing that does not stop"),
        (
            timing is not None and (timing.tool_speed > 0.0 or timing.efforts_are_limited),
            "a limit of tool speed or torques",
        ),
        (
            timing is not None and any((*timing.start_velocity.values(), *timing.end_velocity.values())),
            "a start or end velocity",
        ),
    )
    for found, what in unsupported:
        if found:
            text = f"motions among moving robots do not support {what}"
            raise NotSupportedError(text, stage="request", subjects=(what,))


class _Planner:
    """Planning of one motion among moving robots."""

    def __init__(
        self, cell: RobotCell, state: RobotCellState, request: MotionRequest, monitor: ProgressMonitor
    ) -> None:
        assert request.timing is not None
        self.cell, self.state, self.request, self.monitor = cell, state, request, monitor
        self.options, self.timing = request.options, request.timing
        self._checks: list[CountedChecks | TimedChecks] = []
        with monitor.stage("start"):
            start = self._context(state)
            self.space = start.space
            self.moving = MovingRobots(cell, state, request.moving, self.space.variables)
            check_start(replace(start, state=self.moving.state_at(0.0)))
            self.alone = self._context(self.moving.state_without())
        with monitor.stage("goals"):
            at_end = self._context(self.moving.state_at(self.moving.end_time)).including(self._hints())
            self.goals = GoalSet(at_end, request.goals, self.options.seed)
            self.at_end = self.goals.context
            self.space = self.at_end.space
            self.alone = self._in_bounds(self.alone)

    def _context(self, state: RobotCellState) -> PlanningContext:
        request = self.request
        context = create_context(
            self.cell, state, request.group, request.joints, self.options, self.monitor, timing=self.timing
        )
        self._checks.append(context.checks)
        return context

    def _in_bounds(self, context: PlanningContext) -> PlanningContext:
        """Return a context with bounds that include goals and waypoint suggestions."""
        return context.including([*(goal.q for goal in self.goals.found), *self._hints()])

    def _hints(self) -> list[Array]:
        """Return the waypoint suggestions (dof,)."""
        return suggested(self.cell, self.space, self.request.waypoint_suggestions)

    def plan(self) -> Plan:
        collision: TrajectoryInCollisionError | None = None
        tried: tuple[float, ...] = ()
        for finest, strict in ATTEMPTS:
            checks = self._timed_checks(finest, strict)
            with self.monitor.stage("search"):
                steps = self._search(checks)
            tried = ()
            for delay, trajectory in self._delayed(steps):
                motion = JointMotion(checks.checker, trajectory, self.moving.trajectories, self.monitor.check)
                tried += (delay,)
                try:
                    return self._finished(checks, steps, motion)
                except TrajectoryInCollisionError as error:
                    collision = error  # between states that were checked
        assert collision is not None
        text = f"each motion that was found collides between checked states: {collision.message}"
        if len(tried) > 1:
            delays = ", ".join(f"{1000.0 * delay:.3g}" for delay in tried)
            text += f"; the last one also with delays of {delays} ms, which merge_trajectories accepts"
        raise BlockedByMovingRobotsError(
            text, stage="search", subjects=collision.subjects, values=collision.values
        ) from collision

    def _timed_checks(self, finest: float, strict: bool) -> TimedChecks:
        variables = (*self.space.variables, *self.moving.variables)
        margins = CollisionOptions(extra_margin=self.options.extra_margin)
        checker = CollisionChecker(
            self.cell, self.moving.state_at(0.0), variables, engine=self.options.engine, options=margins
        )
        checks = TimedChecks(
            checker,
            self._certifier(checker),
            self.moving,
            self.monitor,
            lambda: not self._states_left,
            finest=finest,
            strict=strict,
        )
        self._checks.append(checks)
        return checks

    def _certifier(self, checker: CollisionChecker) -> MotionCertifier | None:
        if not certifiable(checker) or not self.options.certify:
            return None
        try:
            return certifier_of(checker)
        except GeometryError:
            return None

    def _search(self, checks: TimedChecks) -> tuple[TimedStep, ...]:
        """Return the fastest motion found.

        Raises:
            BlockedByMovingRobotsError: There is none within the limit on states.
        """
        options, duration_step = self.options, self.timing.duration_step
        roadmap = TimedRoadmap(
            self.space.start,
            self.alone.checks,
            checks,
            self.space.limits,
            self.timing,
            period=max(1, round(PERIOD / duration_step)) * duration_step,
            step=options.search_step,
            exhausted=lambda: not self._states_left,
        )
        for goal in self.goals.found[:MAX_GOALS]:
            roadmap.add(goal.q, goal=True)
        paths = self._static_paths
        for path in paths:
            self._add_path(roadmap, path)
        steps = roadmap.search()
        if paths and (steps is None or _arrival(steps) > roadmap.min_path_duration(paths[0]) + LONG_WAIT):
            for time in roadmap.conflicts(paths[0]):
                around = self._path(self._in_bounds(self._context(self.moving.state_at(time))))
                if around is not None:
                    self._add_path(roadmap, around)
            again = roadmap.search()
            steps = steps if again is None else again
        generator = np.random.default_rng(options.seed)
        for _ in range(MAX_ROUNDS):
            if steps is not None or not self._states_left:
                break
            self._add_samples(roadmap, generator)
            steps = roadmap.search()
        if steps is None:
            raise self._blocked(checks, roadmap)
        return steps

    @property
    def _states(self) -> int:
        """Number of states checked so far, in all contexts."""
        return sum(checks.states for checks in self._checks)

    @property
    def _states_left(self) -> int:
        return max(0, self.options.state_limit - self._states)

    @cached_property
    def _static_paths(self) -> tuple[Array, ...]:
        """Paths without the moving robots, and with them at their ends."""
        return tuple(path for path in map(self._path, (self.alone, self.at_end)) if path is not None)

    def _path(self, context: PlanningContext) -> Array | None:
        """Return a path to a goal in a context, shortened as requested; None if there is none within half of the states
        that are left.
        """
        context.checks.state_limit = context.checks.states + self._states_left // 2
        planner = planner_named(self.options.planner)
        search = PathSearch(context, self.options, planner, planner.info.settings(self.options.planner_parameters))
        ends = [self.space.start, *(goal.q for goal in self.goals.found[:1])]
        if not all(map(context.checks.state_free, ends)):
            return None
        try:
            return optimized(context, search.first_path(self.goals, self._hints()), self.options, planner.info)
        except PlanningError:
            return None

    def _add_path(self, roadmap: TimedRoadmap, path: Array) -> None:
        """Add waypoints, and places to wait at between them. The path ends at a goal."""
        for start, end in pairwise(path):
            stops = min(MAX_STOPS, int(float(np.abs(end - start).max()) / STOP_SPACING))
            for fraction in np.linspace(0.0, 1.0, stops + 2)[:-1].tolist():
                roadmap.add(start + fraction * (end - start))
        roadmap.add(path[-1], goal=True)

    def _add_samples(self, roadmap: TimedRoadmap, generator: np.random.Generator) -> None:
        """Add free configurations, one half near vertices and the other anywhere."""
        space, size = self.space, SAMPLES_PER_ROUND // 2
        near = np.array(roadmap.vertices)[generator.integers(len(roadmap.vertices), size=size)]
        near = near + generator.normal(scale=SAMPLE_SPREAD, size=near.shape)
        anywhere = generator.uniform(space.lower, space.upper, size=(size, space.size))
        for q in np.clip(np.concatenate((near, anywhere)), space.lower, space.upper):
            if self.alone.checks.state_free(q):
                roadmap.add(q)

    def _delayed(self, steps: Sequence[TimedStep]) -> Iterator[tuple[float, Trajectory]]:
        """Return delays [s] in order, and the trajectories of the steps with them, which `merge_trajectories` delays no
        further. Where it can separate no robot, it delays none either, and the only delay is 0."""
        undelayed = self._trajectory(steps)
        for delay in admissible_delays(undelayed, self.moving.trajectories) or (0.0,):
            yield self._separated(steps, delay) if delay else (delay, undelayed)

    def _separated(self, steps: Sequence[TimedStep], delay: float) -> tuple[float, Trajectory]:
        """Return the trajectory of the steps after a delay [s], and that delay, increased where times that are rounded
        to nanoseconds require it."""
        trajectory = self._trajectory(steps, delay)
        for _ in range(MAX_ROUNDING):
            further = separating_delay(trajectory, self.moving.trajectories)
            if not further:
                break
            delay += further
            trajectory = self._trajectory(steps, delay)
        return delay, trajectory

    def _trajectory(self, steps: Sequence[TimedStep], delay: float = 0.0) -> Trajectory:
        """Return the trajectory of the steps, with rests in between, after a delay [s]."""
        parts: list[Curve] = []
        rests = [Rest(0.0, self.space.start)]
        now = delay
        if delay:
            parts.append(PolynomialCurve(np.array([0.0, delay]), self.space.start[None, None, :]))
            rests.append(Rest(delay, self.space.start))
        for step in steps:
            departure = step.departure + delay
            if departure > now + 0.5 * self.timing.duration_step:
                wait = np.array([0.0, departure - now])
                parts.append(PolynomialCurve(wait, step.start[None, None, :]))
                rests.append(Rest(departure, step.start))
            parts.append(step.motion.curve)
            rests.append(Rest(step.arrival + delay, step.end))
            now = step.arrival + delay
        if not steps:
            return Trajectory(self.space.variables, np.zeros(1), self.space.start[None, :])
        return sample_curve(self.space.variables, CurveSequence(parts), self.timing.period, rests)

    def _finished(self, checks: TimedChecks, steps: Sequence[TimedStep], motion: JointMotion) -> Plan:
        """Return the plan of a motion.

        Raises:
            TrajectoryLimitError, TrajectoryInCollisionError: The trajectory is invalid.
        """
        options, space = self.options, self.space
        with self.monitor.stage("certify"):
            proof = motion.proof(self._certifier(checks.checker))
        if not np.isnan(proof.collision):
            raise motion.collision_at(proof.collision)
        start = dict(zip(space.variables, space.start.tolist(), strict=True))
        report = validate(
            motion.trajectory, space.limits.narrowed(self.timing.limits), start=start, start_tolerance=0.0
        )
        warnings = report.check().warnings
        if not proof.fraction >= 1.0:
            with self.monitor.stage("validate"):
                checks.states += motion.check_states(options.resolution)
            warnings += ("the motion is not proven free at all times; it was checked at steps of the resolution",)
        path = np.array([space.start, *(step.end for step in steps)])
        with self.monitor.stage("clearance"):
            clearance = motion.clearance(path)
        origin = Origin(options.planner, options.seed, options.resolution)
        plan = bare_plan(self.alone, path, origin, goal=self.goals.reached(path[-1]))
        plan = with_proof(self.alone, plan, proof.fraction)
        return replace(
            plan,
            start_state_digest=self.state.digest(),
            states_checked=self._states,
            clearance=clearance,
            trajectory=motion.trajectory,
            moving=self.moving.trajectories,
            warnings=(
                *plan.warnings,
                *self.alone.objective_warnings(options.objective),
                *unchecked_warnings(self.cell, space.variables),
                *warnings,
                *_merge_warnings((motion.trajectory, *self.moving.trajectories)),
            ),
            times=self.monitor.times,
        )

    def _blocked(self, checks: TimedChecks, roadmap: TimedRoadmap) -> BlockedByMovingRobotsError:
        """Return the error for a search without result: with the time at which the start is no longer free."""
        until = roadmap.start_free_until()
        values = [Value("states checked", self._states, self.options.state_limit)]
        text = f"no motion among the moving robots was found from {len(roadmap.vertices)} configurations"
        if not self._states_left:
            text += f" before state_limit ({self.options.state_limit}) was reached"
        names: tuple[str, ...] = ()
        if np.isfinite(until):
            names = checks.first_pair_at_rest(self.space.start, until)
            between = f" between {names[0]} and {names[1]}" if names else ""
            text += f"; the start is blocked{between} at {until:.3g} s"
            values.append(Value("start free until", until, None, "s"))
        failure = PlanFailure(states_checked=self._states, times=self.monitor.times)
        return BlockedByMovingRobotsError(text, stage="search", subjects=names, values=tuple(values), partial=failure)


def _arrival(steps: Sequence[TimedStep]) -> float:
    """Return the time at which the goal is reached [s]; 0 if the start is the goal."""
    return steps[-1].arrival if steps else 0.0


def _merge_warnings(trajectories: Sequence[Trajectory]) -> tuple[str, ...]:
    """Return a warning if `merge_trajectories` would change the times that were checked."""
    delay = max(separating_delays(trajectories))
    if delay <= 0.0:
        return ()
    text = f"merge_trajectories would delay a robot by {1000.0 * delay:.3g} ms, for which the motion was not checked"
    return (f"{text}; merge the trajectories of the moving robots first, and plan among the merged one",)
