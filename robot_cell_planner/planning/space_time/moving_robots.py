"""Robots that follow known trajectories: their joint values over time, and bounds on them in intervals of time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import msgspec
import numpy as np
from frozendict import frozendict

from ...errors import InvalidRequestError, LimitExceededError, TrajectoryStartError, UnknownNameError, Value
from ...model.cell import RobotCell
from ...model.name_suggestions import unknown_name
from ...model.placement import placements
from ...model.pose import Pose
from ...model.robot import Robot
from ...model.state import RobotCellState
from ...trajectory.limits import Array
from ...trajectory.merging import check_distinct_joints, merged_curve
from ...trajectory.trajectory import Trajectory
from ...trajectory.validation import START_TOLERANCE

STAGE = "moving robots"
CELL_SIZE = 0.005  # [s], max duration of intervals with stored bounds
MAX_BOUNDS = 2_000_000  # stored bounds: intervals times joints
LONG_REST = 1.0  # [s], rests at the end of a trajectory that are cut if they are longer
AWAY = 100.0  # [m], distance of robots that are left out of a state
ROUNDING = 1e-9  # [rad or m]


class MovingRobots:
    """Trajectories that other robots follow while a motion is planned; time 0 is the start of that motion.

    Attributes:
        trajectories: As given.
        variables: Joints that they move.
        end_time: Time from which on all rest [s], up to 1 s late.

    Raises (constructor):
        InvalidRequestError: A joint is in two trajectories, or is planned for.
        UnknownNameError: A joint does not exist.
        TrajectoryStartError: A trajectory does not begin at the state.
        LimitExceededError: They move for too long.
    """

    def __init__(
        self, cell: RobotCell, state: RobotCellState, trajectories: Sequence[Trajectory], planned: Sequence[str]
    ) -> None:
        check_distinct_joints(trajectories)
        self.trajectories = tuple(trajectories)
        self.variables = tuple(name for trajectory in trajectories for name in trajectory.variables)
        self._cell = cell
        self._state = state
        self._planned = frozenset(planned)
        self._check_names()
        for trajectory in trajectories:
            self._check_start(trajectory)
        self._until_rest = tuple(map(_until_rest, trajectories))
        self.end_time = max(trajectory.duration for trajectory in self._until_rest)
        self._check_duration()

    def _check_names(self) -> None:
        for name in self.variables:
            if name not in self._cell.variables:
                text = unknown_name(f"joint {name!r} of a moving robot", name, self._cell.variables)
                raise UnknownNameError(text, stage=STAGE, subjects=(name,))
            if name in self._planned:
                text = f"joint {name} is planned for, and is also in the trajectory of a moving robot"
                raise InvalidRequestError(text, stage=STAGE, subjects=(name,))

    def _check_start(self, trajectory: Trajectory) -> None:
        for name, value in zip(trajectory.variables, trajectory.positions[0].tolist(), strict=True):
            here, unit = self._state.configuration[name], self._cell.variables[name].unit
            away = abs(value - here)
            if away > START_TOLERANCE:
                text = f"the trajectory of a moving robot begins {away:.3g} {unit} from the state of joint {name}"
                values = (Value(name, value, here, unit),)
                raise TrajectoryStartError(text, stage=STAGE, subjects=(name,), values=values)

    def _check_duration(self) -> None:
        longest = CELL_SIZE * (MAX_BOUNDS // len(self.variables))
        if self.end_time <= longest:
            return
        text = (
            f"the trajectories of moving robots with {len(self.variables)} joints take {self.end_time:.6g} s until all "
            f"rest, and may take {longest:.6g} s; give only the part of them in which the planned robot moves"
        )
        values = (Value("time until all rest", self.end_time, longest, "s"),)
        raise LimitExceededError(text, stage=STAGE, subjects=self.variables, values=values)

    def at(self, times: Array) -> Array:
        """Return joint values (n, dof) at times (n,) [s]."""
        return np.hstack([trajectory.at(times) for trajectory in self._until_rest])

    def state_at(self, time: float) -> RobotCellState:
        """Return the state of the cell with the moving robots where they are at a time [s]."""
        values = self.at(np.array([time]))[0].tolist()
        return self._state.with_configuration(dict(zip(self.variables, values, strict=True)))

    def state_without(self) -> RobotCellState:
        """Return the state of the cell with the moving robots, their tools and workpieces out of the way."""
        supporting = self._supporting_frames()
        names = [
            name
            for name, robot in self._cell.robots.items()
            if self._moves(robot) and robot.mechanism.root not in supporting
        ]
        poses = {
            name: Pose(position=(AWAY * (index + 1), AWAY, AWAY)) @ self._state.base_poses[name]
            for index, name in enumerate(names)
        }
        return msgspec.structs.replace(self._state, base_poses=frozendict({**self._state.base_poses, **poses}))

    def _supporting_frames(self) -> frozenset[str]:
        """Return the frames that carry a robot with planned joints, which have to stay in place with it."""
        parents = placements(self._cell, self._state)
        found: set[str] = set()
        for robot in self._cell.robots.values():
            if not self._planned.isdisjoint(variable.name for variable in robot.mechanism.variables):
                frame = parents[robot.mechanism.root][0]
                while frame in parents:
                    found.add(frame)
                    frame = parents[frame][0]
        return frozenset(found)

    def _moves(self, robot: Robot) -> bool:
        """Return whether trajectories move a robot without planned joints."""
        names = {variable.name for variable in robot.mechanism.variables}
        return not names.isdisjoint(self.variables) and names.isdisjoint(self._planned)

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds (cells + 1, dof) in equal intervals of time; the last is for all times after them."""
        last = self.at(np.array([self.end_time]))
        if self.end_time <= 0.0:
            return last, last
        curve = merged_curve(self._until_rest, CELL_SIZE)
        ends = np.concatenate((curve.coefficients[:, 0], curve.evaluate(curve.breaks[-1:])))
        # A joint that moves a distance L between two positions leaves the interval between them by at most half the
        # difference of L and their distance.
        beyond = 0.5 * (curve.displacement_bounds() - np.abs(np.diff(ends, axis=0))) + ROUNDING
        low, high = np.minimum(ends[:-1], ends[1:]) - beyond, np.maximum(ends[:-1], ends[1:]) + beyond
        firsts = np.searchsorted(curve.breaks, np.arange(self._cells) * self._cell_size - 1e-12)
        low, high = np.minimum.reduceat(low, firsts), np.maximum.reduceat(high, firsts)
        return np.concatenate((low, last)), np.concatenate((high, last))

    @property
    def _cells(self) -> int:
        return max(1, math.ceil(self.end_time / CELL_SIZE))

    @property
    def _cell_size(self) -> float:
        return self.end_time / self._cells if self.end_time > 0.0 else CELL_SIZE

    def bounds(self, begins: Array, ends: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds (n, dof) of the joint values in intervals of time (n,), (n,) [s]."""
        low, high = self._bounds
        last = len(low) - 1
        first = np.minimum(np.floor(begins / self._cell_size + 1e-9).astype(np.intp), last)
        final = np.clip(np.ceil(ends / self._cell_size - 1e-9).astype(np.intp) - 1, first, last)
        width = int((final - first).max(initial=0)) + 1
        cells = np.minimum(first[:, None] + np.arange(width), final[:, None])
        return low[cells].min(axis=1), high[cells].max(axis=1)


def _until_rest(trajectory: Trajectory) -> Trajectory:
    """Return a trajectory without a long rest at its end."""
    whole = trajectory.completed()
    assert whole.velocities is not None
    assert whole.accelerations is not None
    moves = (whole.positions != whole.positions[-1]).any(axis=1)
    moves |= whole.velocities.any(axis=1) | whole.accelerations.any(axis=1)
    count = min(int(np.flatnonzero(moves)[-1]) + 2 if moves.any() else 1, len(whole))
    if whole.duration - whole.times[count - 1] <= LONG_REST:
        return trajectory
    rows = (whole.times, whole.positions, whole.velocities, whole.accelerations)
    return Trajectory(whole.variables, *(values[:count] for values in rows))
