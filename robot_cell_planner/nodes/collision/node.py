"""The collision node: collision checks, distances between objects, and certified motions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

from robot_cell_planner import srv

from ...collision.certification.certificate import FINE
from ...collision.certification.certifier import certifier_of
from ...collision.certification.paths import certify_path_in_steps, certify_trajectory_in_steps
from ...collision.checker import CollisionChecker
from ...collision.pairs.allowed_pairs import DEFAULT_OPTIONS, CollisionOptions
from ...collision.paths import check_path_in_steps, path_at
from ...collision.report import CollisionPair, CollisionReport
from ...collision.targets import TargetChecker
from ...errors import InvalidRequestError
from ...model.cell_warnings import unchecked_warnings
from ...model.value import WORLD
from ...system.heap import keep_heap_small
from ..common.diagnostics import ERROR, OK, WARN
from ..common.external_frames import TRANSFORM_PARAMETERS, ExternalFrames
from ..common.lifecycle import NODE_PARAMETERS, ManagedNode
from ..common.monitored_scene import ResolvedState
from ..common.node import LATCHED, end, run
from ..common.parameters import Parameter
from ..common.resource_roots import RESOURCE_PARAMETERS, resource_roots
from ..common.scene_monitor import SceneMonitor
from ..common.shared_answers import SharedAnswers
from ..common.sphere_preparation import SpherePreparation
from ..common.waiting import Slices, steady_timer
from ..conversions.basic import (
    check_count,
    configuration_to_message,
    duration_from_message,
    duration_to_message,
    path_from_message,
    point_to_message,
)
from ..conversions.certificates import VERDICTS, path_certificate_to_message
from ..conversions.collisions import (
    clearance_to_message,
    max_pairs_of,
    options_from_message,
    path_collision_to_message,
    report_to_message,
)
from ..conversions.frame_references import references_of_targets
from ..conversions.models import ModelReader
from ..conversions.targets import target_from_message
from ..conversions.trajectories import REMEDY_OF_NO_POINTS, rows_from_points, trajectory_from_message

PARAMETERS = (
    Parameter("engine", "coal", "Collision engine.", choices=("coal", "bullet"), running=True),
    Parameter("max_configurations", 10_000, "Maximum number of configurations in a request.", 1, 10_000_000),
    Parameter("max_pairs", 1000, "Maximum number of pairs in a report.", 1, 1_000_000, running=True),
    Parameter(
        "contacts_period", 0.5, "Time between checks of the present state, for markers and diagnostics [s].", 0.02, 60.0
    ),
    Parameter("wait_timeout", 5.0, "Default timeout of min_revision and min_joint_stamp [s].", 0.0, 600.0),
    *TRANSFORM_PARAMETERS,
    *RESOURCE_PARAMETERS,
    *NODE_PARAMETERS,
)
VERDICTS_AT_ONCE = 100  # configurations, some milliseconds


class CollisionNode(ManagedNode):
    """Collision services for the scene's state or that of the request; publishes contacts of the present state."""

    declared = PARAMETERS

    def __init__(self) -> None:
        super().__init__("collision_node")

    def configure(self) -> None:
        models = ModelReader(resource_roots(self.parameters))
        timeout = self.parameters["wait_timeout"]
        self._scene_monitor = SceneMonitor(self, models, timeout, frames=ExternalFrames(self))
        self._spheres = SpherePreparation(self, self._scene_monitor, loads_first=True)
        self._present: CollisionReport | None = None
        self._checked_state: tuple[object, ...] = ()
        self._has_contacts = False
        self._contacts = self.create_publisher(MarkerArray, "collision/contacts", LATCHED)
        shared = SharedAnswers(self._scene_monitor).shared
        self.serve(srv.CheckStates, "collision/check_states", shared(self._check_states))
        self.serve(srv.CheckTrajectory, "collision/check_trajectory", shared(self._check_trajectory))
        self.serve(srv.CheckTargets, "collision/check_targets", shared(self._check_targets))
        self.serve(srv.ComputeClearance, "collision/compute_clearance", shared(self._compute_clearance))
        self.serve(srv.CertifyMotion, "collision/certify_motion", self._certify_motion)
        steady_timer(self, self.parameters["contacts_period"], self._check_present_state, may_be_early=True)

    def activate(self) -> None:
        self._checked_state = ()  # published results may have changed

    def _checker(
        self, state: ResolvedState, names: tuple[str, ...], options: CollisionOptions = DEFAULT_OPTIONS
    ) -> CollisionChecker:
        cell, values = state.scene.cell, state.scene.state
        return CollisionChecker(cell, values, names or None, engine=self.parameters["engine"], options=options)

    async def _check_states(self, request: srv.CheckStates.Request, response: srv.CheckStates.Response) -> None:
        options = request.options
        collision_options = options_from_message(options, "options")
        names, rows = self._configurations(request)
        state = await self._scene_monitor.resolve(request.state)
        response.state = state.used
        checker = self._checker(state, names, collision_options)
        if not names:
            rows = checker.default[None, :]
        slices = Slices(self)
        checker.require_configurations(rows)
        if request.verdicts_only:
            verdicts: list[bool] = []
            for first in range(0, len(rows), VERDICTS_AT_ONCE):
                await slices.turn()
                verdicts += checker.in_collision_batch(rows[first : first + VERDICTS_AT_ONCE]).tolist()
            response.in_collision = verdicts
            return
        max_pairs = max_pairs_of(options, self.parameters["max_pairs"])
        for row in rows:
            await slices.turn()
            report = checker.report(row, max_pairs=_and_one_more(max_pairs), verbose=options.verbose)
            message = report_to_message(report, checker.allowed_pairs, max_pairs, contacts=options.contacts)
            response.reports.append(message)
        response.in_collision = [report.in_collision for report in response.reports]

    def _configurations(
        self, request: srv.CheckStates.Request | srv.ComputeClearance.Request
    ) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        return path_from_message(request.configurations, "configurations", self.parameters["max_configurations"])

    async def _check_trajectory(
        self, request: srv.CheckTrajectory.Request, response: srv.CheckTrajectory.Response
    ) -> None:
        options = request.options
        collision_options = options_from_message(options, "options")
        names, rows, times = self._path(request.trajectory)
        state = await self._scene_monitor.resolve(request.state)
        response.state = state.used
        checker = self._checker(state, names, collision_options)
        limit = int(self.parameters["max_pairs"])
        steps = check_path_in_steps(
            checker,
            rows,
            times,
            find_all=request.find_all,
            resolution=request.resolution,
            clearance=request.clearance,
            max_collisions=min(options.max_pairs or limit, limit),
            max_states=self.parameters["max_configurations"],
        )
        found = await Slices(self).returned(steps)
        response.valid, response.truncated, response.states_checked = found.valid, found.truncated, found.states_checked
        response.collisions = [
            path_collision_to_message(collision, contacts=options.contacts) for collision in found.collisions
        ]
        if found.smallest is not None:
            closest = clearance_to_message(found.smallest.clearance)
            closest.place, closest.time = found.smallest.place, duration_to_message(found.smallest.time)
            values = dict(zip(names, path_at(rows, found.smallest.place).tolist(), strict=True))
            closest.configuration = configuration_to_message(values)
            response.smallest_clearance = closest

    def _path(self, trajectory: JointTrajectory) -> tuple[tuple[str, ...], NDArray[np.float64], list[float]]:
        """Return joint names, positions (n, dof) and times (n,) [s] of a trajectory; times may be missing."""
        points, limit = trajectory.points, self.parameters["max_configurations"]
        check_count(len(points), limit, "trajectory", "points")
        rows = rows_from_points(trajectory, "positions", "trajectory")
        if rows is None:
            text, remedy = "trajectory has no points, no joints or no positions", "" if points else REMEDY_OF_NO_POINTS
            raise InvalidRequestError(text, subjects=("trajectory",), remedy=remedy)
        return tuple(trajectory.joint_names), rows, [duration_from_message(point.time_from_start) for point in points]

    async def _certify_motion(self, request: srv.CertifyMotion.Request, response: srv.CertifyMotion.Response) -> None:
        """Certify a path, or a trajectory without one; always with distances of coal."""
        limit = int(self.parameters["max_configurations"])
        margin, resolution = float(request.extra_margin), float(request.resolution) or FINE
        trajectory = None
        names, rows = path_from_message(request.path, "path", limit)
        if len(rows) == 0:
            trajectory = trajectory_from_message(request.trajectory, "trajectory", limit)
            names = trajectory.variables
        state = await self._scene_monitor.resolve(request.state)
        response.state = state.used
        while not await self._spheres.wait(computed=True):
            self.get_logger().debug("a certificate waits for the sphere models of new geometry")
        checker = CollisionChecker(state.scene.cell, state.scene.state, names)
        certifier = certifier_of(checker)
        times = None
        if trajectory is None:
            steps = certify_path_in_steps(certifier, rows, margin, resolution)
        else:
            curve, times = trajectory.curve, trajectory.times.tolist()
            steps = certify_trajectory_in_steps(certifier, curve.breaks, curve.coefficients, margin, resolution)
        found = await Slices(self).returned(steps)
        response.certificate = path_certificate_to_message(found, checker, times)
        response.segments = bytes(VERDICTS[verdict] for verdict in found.segments)
        response.warnings = [*found.warnings, *unchecked_warnings(state.scene.cell, names)]

    async def _check_targets(self, request: srv.CheckTargets.Request, response: srv.CheckTargets.Response) -> None:
        options = request.options
        collision_options = options_from_message(options, "options")
        limit = self.parameters["max_configurations"]
        if not request.targets:
            raise InvalidRequestError("targets is empty", subjects=("targets",))
        check_count(len(request.targets), limit, "targets", "entries")
        state = await self._scene_monitor.resolve(request.state)
        response.state = state.used
        cell, values = state.scene.cell, state.scene.state
        await self._scene_monitor.rewrite(references_of_targets(request.targets, "targets"), cell)
        targets = [target_from_message(target, f"targets[{index}]") for index, target in enumerate(request.targets)]
        checker = TargetChecker(
            cell, values, request.group, engine=self.parameters["engine"], options=collision_options
        )
        max_pairs, slices = max_pairs_of(options, self.parameters["max_pairs"]), Slices(self)
        for target in targets:
            await slices.turn()
            report = checker.report_target(target, _and_one_more(max_pairs), verbose=options.verbose)
            message = report_to_message(report, checker.allowed_pairs, max_pairs, contacts=options.contacts)
            response.reports.append(message)

    async def _compute_clearance(
        self, request: srv.ComputeClearance.Request, response: srv.ComputeClearance.Response
    ) -> None:
        names, rows = self._configurations(request)
        if not (math.isfinite(request.max_distance) and request.max_distance >= 0.0):
            text = f"max_distance is {request.max_distance} m, expected a finite number of at least 0"
            raise InvalidRequestError(text, subjects=("max_distance",))
        state = await self._scene_monitor.resolve(request.state)
        response.state = state.used
        checker = self._checker(state, names)
        if not names:
            rows = checker.default[None, :]
        furthest, slices = request.max_distance or math.inf, Slices(self)
        for index, row in enumerate(rows):
            await slices.turn()
            found = checker.clearances(row, request.pairs or 1, names=request.names, max_distance=furthest)
            for clearance in found:
                message = clearance_to_message(clearance)
                message.place = float(index)
                message.configuration = configuration_to_message(dict(zip(checker.variables, row, strict=True)))
                response.clearances.append(message)

    def _check_present_state(self) -> None:
        """Check the present state for markers and diagnostics, if it has changed."""
        if not self._scene_monitor.revision:
            return
        state = self._scene_monitor.current_state()
        fingers = tuple(tool.configuration for tool in state.tools.values())
        seen = (self._scene_monitor.revision, self.parameters["engine"], state.configuration, fingers)
        if seen == self._checked_state:
            return
        self._checked_state = seen
        checker = CollisionChecker(self._scene_monitor.scene.cell, state, engine=self.parameters["engine"])
        self._present = checker.report(max_pairs=self.parameters["max_pairs"])
        markers = MarkerArray(markers=[Marker(action=Marker.DELETEALL)])
        for pair in self._present.pairs:
            markers.markers.extend(_contact_markers(pair, len(markers.markers)))
        if len(markers.markers) > 1 or self._has_contacts:
            self._contacts.publish(markers)
        self._has_contacts = len(markers.markers) > 1

    def check(self) -> tuple[bytes, str, dict[str, object]]:
        if self._present is None:
            return WARN, "no cell received yet", self._scene_monitor.diagnostics
        values = {**self._scene_monitor.diagnostics, "pairs checked": self._present.pairs_checked}
        if self._present.in_collision:
            return ERROR, str(self._present), values
        return OK, "the present state is free of collision", values


def _and_one_more(max_pairs: int) -> int:
    """Return the maximum number of pairs to search: one more than requested, to detect truncation."""
    return max_pairs + 1 if max_pairs > 1 else 1


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
    keep_heap_small()
    end(run(CollisionNode, "collision_node"))
