"""Smallest distances of pairs of links of a robot, in processes of their own where there are many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np
from frozendict import frozendict
from numpy.typing import NDArray

from ..collision.checker import CollisionChecker
from ..errors import WorkerCrashedError
from ..model.cell import RobotCell
from ..model.random_configurations import finite_bounds
from ..model.robot import DisabledPair, Robot
from ..system.worker_process import start_worker
from .approach import Approach

if TYPE_CHECKING:
    from ..system.worker_process import AnyConnection

Pair: TypeAlias = tuple[str, str]
Indices = NDArray[np.intp]
WORKER = "robot_cell_planner.setup_assistant.pair_worker"
PAIRS_A_PROCESS = 50  # below, its start takes longer
MAX_PROCESSES = 8  # each has the meshes of the robot in memory


def bare_checker(robot: Robot, disabled: Iterable[Pair] = ()) -> CollisionChecker:
    """Return a checker of all variables of a robot alone, which leaves out the given pairs instead of those of its
    SRDF."""
    pairs = tuple(DisabledPair(*pair) for pair in sorted(disabled))
    sources = msgspec.structs.replace(robot.sources, srdf="")
    bare = msgspec.structs.replace(
        robot, groups=frozendict(), named_states=frozendict(), disabled_pairs=pairs, sources=sources
    )
    cell = RobotCell(name=robot.name, robots=frozendict({robot.name: bare}))
    return CollisionChecker(cell, cell.default_state())


class PairSearch:
    """Search for collisions of pairs of links by descent of their distance, see `Approach`.

    Args:
        robot: The robot.
        checker: Of all its pairs; None: one is made.

    Raises:
        GeometryError: A mesh cannot be read.
    """

    def __init__(self, robot: Robot, checker: CollisionChecker | None = None) -> None:
        self.robot = robot
        self._checker = checker or bare_checker(robot)
        self._lower, self._upper = finite_bounds(robot.variables.values())

    def smallest_distance(self, pair: Pair, seed: int) -> float:
        """Return the smallest distance of a pair that was found [m], moving the joints between its links."""
        search = Approach(self._checker, pair, self.joints_between(pair), self._lower, self._upper)
        return search.smallest_distance(seed)

    def joints_between(self, pair: Pair) -> Indices:
        """Return the indices of the variables that move the links of a pair against each other."""
        mechanism = self.robot.mechanism
        first, second = (self._joints_above(link) for link in pair)
        sources = {mechanism.mimic_source(name)[0] for name in first ^ second}
        names = {variable for name in sources for variable in mechanism.joints[name].variables}
        return np.array([index for index, name in enumerate(self.robot.variables) if name in names], dtype=np.intp)

    def _joints_above(self, link: str) -> set[str]:
        """Return the joints from the root to a link."""
        joints, found = self.robot.mechanism.parent_joints, set[str]()
        while link in joints:
            found.add(joints[link].name)
            link = joints[link].parent
        return found


def smallest_distances(search: PairSearch, pairs: Sequence[Pair], seed: int) -> list[float]:
    """Return `PairSearch.smallest_distance` of each pair. All processors are used if there are many pairs; the results
    are the same."""
    count = min(len(os.sched_getaffinity(0)), len(pairs) // PAIRS_A_PROCESS, MAX_PROCESSES) or 1
    shares = [pairs[index::count] for index in range(count)]
    with ExitStack() as started:
        connections = [_started(started, search.robot, share, seed) for share in shares[1:]]
        distances = {pair: search.smallest_distance(pair, seed) for pair in shares[0]}
        for share, connection in zip(shares[1:], connections, strict=True):
            distances |= zip(share, _received(connection), strict=False)
    # What a process that was killed has not searched is searched here.
    return [distances[pair] if pair in distances else search.smallest_distance(pair, seed) for pair in pairs]


def _started(started: ExitStack, robot: Robot, pairs: Sequence[Pair], seed: int) -> AnyConnection | None:
    """Start a process that searches some pairs, and which ends with `started`; None if it cannot be started."""
    try:
        connection, lifeline, process = start_worker(WORKER, "draft")
    except WorkerCrashedError:
        return None
    started.callback(process.wait)
    started.callback(os.close, lifeline)  # ends it
    started.callback(connection.close)
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.send((robot, list(pairs), seed))
    return connection


def _received(connection: AnyConnection | None) -> list[float]:
    """Return the distances that a process has found, in the order of its pairs; none if it has ended before."""
    found: list[float] = []
    with suppress(EOFError, ConnectionResetError):
        if connection is not None:
            found = connection.recv()
    return found
