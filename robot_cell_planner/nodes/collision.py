"""The collision node: who collides with whom, how far things are apart, and what collides along a motion."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from visualization_msgs.msg import Marker, MarkerArray

from robot_cell_planner import srv
from robot_cell_planner.msg import CollisionOptions, TrajectoryCollision

from ..cell.value import WORLD
from ..collision.checker import CollisionChecker, segments
from ..collision.report import CollisionPair, CollisionReport
from ..errors import InvalidRequestError, LimitExceededError, NotSupportedError, Value
from .conversions.basic import (
    configuration_to_message,
    duration_from_message,
    duration_to_message,
    path_from_message,
    point_to_message,
)
from .conversions.collisions import clearance_to_message, pair_to_message, report_to_message
from .conversions.models import ModelReader
from .diagnostics import DIAGNOSTIC_PARAMETERS, ERROR, OK, WARN, Diagnostics
from .node import LATCHED, CellNode, run
from .parameters import Parameter
from .replica import SceneReplica
from .resource_roots import RESOURCE_PARAMETERS, resource_roots
from .scene_view import ResolvedState

PARAMETERS = (
    Parameter("engine", "coal", "Collision engine.", choices=("coal", "bullet"), running=True),
    Parameter("most_configurations", 10_000, "Largest number of configurations in a request.", 1, 10_000_000),
    Parameter("most_pairs", 1000, "Most pairs in a report.", 1, 1_000_000, running=True),
    Parameter(
        "contacts_period", 0.5, "Time between checks of the present state, for markers and diagnostics [s].", 0.02, 60.0
    ),
    Parameter(
        "wait_timeout", 5.0, "How long requests wait for a newer state that name no time themselves [s].", 0.0, 600.0
    ),
    *RESOURCE_PARAMETERS,
    *DIAGNOSTIC_PARAMETERS,
)


class CollisionNode(CellNode):
    """Answers for the scene's state or one that the request brings; shows the present state to those who look."""

    declared = PARAMETERS

    def __init__(self) -> None:
        super().__init__("collision_node")
        models = ModelReader(resource_roots(self.parameters))
        self._replica = SceneReplica(self, models, self.parameters["wait_timeout"])
        self._present: CollisionReport | None = None
        self._contacts = self.create_publisher(MarkerArray, "collision/contacts", LATCHED)
        self.serve(srv.CheckStates, "collision/check_states", self._check_states)
        self.serve(srv.CheckTrajectory, "collision/check_trajectory", self._check_trajectory)
        self.serve(srv.ComputeClearance, "collision/compute_clearance", self._compute_clearance)
        self.create_timer(self.parameters["contacts_period"], self._look)
        self._diagnostics = Diagnostics(self, "collision", self._check)

    def _checker(self, state: ResolvedState, names: tuple[str, ...], margin: float = 0.0) -> CollisionChecker:
        if margin:
            raise NotSupportedError(
                "extra_margin is not offered here; set margins in the scene", subjects=("extra_margin",)
            )
        variables = names or None
        return CollisionChecker(state.scene.cell, state.scene.state, variables, engine=self.parameters["engine"])

    def _report(self, checker: CollisionChecker, q: NDArray[np.float64] | None, options: CollisionOptions) -> Any:
        most = self.parameters["most_pairs"]
        wanted = min(options.max_pairs or most, most) if options.full_report or options.verbose else 1
        report = checker.report(q, max_pairs=wanted, verbose=options.verbose)
        message = report_to_message(report)
        message.truncated = len(report.pairs) >= wanted and wanted > 1
        if not options.contacts:
            for pair in message.pairs:
                pair.contacts = []
        return message

    async def _check_states(self, request: Any, response: Any) -> None:
        _refuse_steps(request.options)
        names, rows = path_from_message(
            request.configurations, "configurations", self.parameters["most_configurations"]
        )
        state = await self._replica.resolve(request.state)
        response.state = state.used
        checker = self._checker(state, names, request.options.extra_margin)
        if not names:
            rows = checker.default[None, :]
        if request.verdicts_only:
            response.in_collision = checker.in_collision_batch(rows).tolist()
            return
        response.reports = [self._report(checker, row, request.options) for row in rows]
        response.in_collision = [report.in_collision for report in response.reports]

    async def _check_trajectory(self, request: Any, response: Any) -> None:
        _refuse_steps(request.options)
        names = tuple(request.trajectory.joint_names)
        rows = self._rows(request.trajectory)
        state = await self._replica.resolve(request.state)
        response.state = state.used
        checker = self._checker(state, names, request.options.extra_margin)
        points, places = _between(rows, request.resolution, self.parameters["most_configurations"])
        times = np.array([duration_from_message(point.time_from_start) for point in request.trajectory.points])
        found, response.states_checked = _collisions(checker, points, request.find_all)
        most = request.options.max_pairs or self.parameters["most_pairs"]
        for index, pair in found[:most]:
            place = float(places[index])
            hit = TrajectoryCollision(point=int(np.ceil(place)), place=place, pair=pair_to_message(pair))
            hit.time = duration_to_message(float(np.interp(place, np.arange(len(times)), times)))
            if not request.options.contacts:
                hit.pair.contacts = []
            response.collisions.append(hit)
        response.truncated = len(found) > most
        response.valid = not found
        if request.clearance:
            closest = min(((checker.distance(q), i) for i, q in enumerate(points)), key=lambda entry: entry[0].distance)
            response.smallest_clearance = clearance_to_message(closest[0])
            response.smallest_clearance.place = float(places[closest[1]])

    def _rows(self, trajectory: Any) -> NDArray[np.float64]:
        """Positions (n, dof) of a trajectory whose times may be missing."""
        count = len(trajectory.joint_names)
        for index, point in enumerate(trajectory.points):
            if len(point.positions) != count:
                text = f"trajectory.points[{index}] has {len(point.positions)} positions, expected {count}"
                raise InvalidRequestError(text, subjects=("trajectory",))
        if not trajectory.points or not count:
            raise InvalidRequestError("trajectory has no points or no joints", subjects=("trajectory",))
        most = self.parameters["most_configurations"]
        if len(trajectory.points) > most:
            numbers = (Value("points", len(trajectory.points), most),)
            raise LimitExceededError("trajectory has too many points", subjects=("trajectory",), values=numbers)
        return np.array([point.positions for point in trajectory.points], dtype=np.float64)

    async def _compute_clearance(self, request: Any, response: Any) -> None:
        names, rows = path_from_message(
            request.configurations, "configurations", self.parameters["most_configurations"]
        )
        state = await self._replica.resolve(request.state)
        response.state = state.used
        checker = self._checker(state, names)
        if not names:
            rows = checker.default[None, :]
        furthest = request.max_distance or np.inf
        for index, row in enumerate(rows):
            found = checker.clearances(row, request.pairs or 1, names=request.names, max_distance=furthest)
            for clearance in found:
                message = clearance_to_message(clearance)
                message.place = float(index)
                message.configuration = configuration_to_message(dict(zip(checker.variables, row, strict=True)))
                response.clearances.append(message)

    def _look(self) -> None:
        """The present state, for people who look."""
        if not self._replica.revision:
            return
        scene = self._replica.scene
        checker = CollisionChecker(scene.cell, self._replica.current_state(), engine=self.parameters["engine"])
        self._present = checker.report(max_pairs=self.parameters["most_pairs"])
        markers = MarkerArray(markers=[Marker(action=Marker.DELETEALL)])
        for pair in self._present.pairs:
            markers.markers.extend(_contact_markers(pair, len(markers.markers)))
        if len(markers.markers) > 1 or self._had_contacts:
            self._contacts.publish(markers)
        self._had_contacts = len(markers.markers) > 1

    _had_contacts = False

    def _check(self) -> tuple[bytes, str, dict[str, object]]:
        if self._present is None:
            return WARN, "no cell has come from the scene node yet", {"revision": self._replica.revision}
        values = {"revision": self._replica.revision, "pairs checked": self._present.pairs_checked}
        if self._present.in_collision:
            return ERROR, str(self._present), values
        return OK, "the present state is free of collision", values


def _refuse_steps(options: CollisionOptions) -> None:
    if options.steps:
        raise NotSupportedError("single steps cannot be asked for; all are done", subjects=("options.steps",))


def _between(
    rows: NDArray[np.float64], resolution: float, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points on the straight motions between rows, no joint moving further than `resolution`, and their places."""
    if not resolution:
        return rows, np.arange(len(rows), dtype=np.float64)
    parts, places = [rows[:1]], [np.zeros(1)]
    for index in range(len(rows) - 1):
        count = segments(rows[index], rows[index + 1], resolution)
        fractions = np.arange(1, count + 1) / count
        parts.append(rows[index] + fractions[:, None] * (rows[index + 1] - rows[index]))
        places.append(index + fractions)
        if sum(map(len, parts)) > most:
            numbers = (Value("configurations", sum(map(len, parts)), most),)
            raise LimitExceededError("the trajectory has too many steps of that resolution", values=numbers)
    return np.concatenate(parts), np.concatenate(places)


def _collisions(
    checker: CollisionChecker, points: NDArray[np.float64], find_all: bool
) -> tuple[list[tuple[int, CollisionPair]], int]:
    """Colliding pairs with the index of their point: all in order, or the first met in shuffled order."""
    if find_all:
        hits = np.flatnonzero(checker.in_collision_batch(points)).tolist()
        return [(index, pair) for index in hits for pair in checker.report(points[index]).pairs], len(points)
    order = np.random.default_rng(0).permutation(len(points)).tolist()
    for checked, index in enumerate(order, start=1):
        pair = checker.first_pair(points[index])
        if pair is not None:
            return [(index, pair)], checked
    return [], len(points)


def _contact_markers(pair: CollisionPair, first_id: int) -> list[Marker]:
    """A red arrow along the normal at each contact."""
    markers = []
    for offset, contact in enumerate(pair.contacts):
        marker = Marker(type=Marker.ARROW, action=Marker.ADD, id=first_id + offset, ns="contacts")
        marker.header.frame_id = WORLD
        tip = np.asarray(contact.point_first) + 0.1 * np.asarray(contact.normal)
        marker.points = [point_to_message(contact.point_first), point_to_message(tip)]
        marker.scale.x, marker.scale.y, marker.scale.z = 0.008, 0.016, 0.02
        marker.color.r, marker.color.a = 1.0, 1.0
        marker.text = str(pair)
        markers.append(marker)
    return markers


def main() -> None:
    """Entry point of the executable."""
    sys.exit(run(CollisionNode, "collision_node"))
