"""The kinematics node: where frames are, and which joint values bring them somewhere."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from robot_cell_planner import msg, srv

from ..collision.checker import CollisionChecker
from ..errors import InvalidRequestError, LimitExceededError, RobotCellError, Value
from ..kinematics.forward import all_link_poses, forward_batch, scaled
from ..kinematics.ik_failure import IkFailure, IkFailureReason
from ..kinematics.ik_options import IkOptions, IkOrder, IkResult, IkSolver
from ..kinematics.inverse import inverse_kinematics
from ..kinematics.targets import TargetMode, target_frame
from ..kinematics.transforms import WorldTransforms, pose_of
from .conversions.basic import (
    duration_from_message,
    error_to_message,
    path_from_message,
    pose_to_message,
)
from .conversions.models import ModelReader
from .conversions.targets import MODES, target_from_message
from .diagnostics import DIAGNOSTIC_PARAMETERS, OK, WARN, Diagnostics
from .node import CellNode, run
from .parameters import Parameter
from .replica import SceneReplica
from .resource_roots import RESOURCE_PARAMETERS, resource_roots
from .scene_view import ResolvedState

PARAMETERS = (
    Parameter(
        "ik_restarts", 100, "Restarts of a numeric search for requests that name none.", 0, 100_000, running=True
    ),
    Parameter("ik_solutions", 256, "Most solutions for a target.", 1, 100_000, running=True),
    Parameter(
        "ik_timeout",
        5.0,
        "Time limit of inverse kinematics for requests that name none [s].",
        0.001,
        600.0,
        running=True,
    ),
    Parameter("engine", "coal", "Collision engine for avoid_collisions.", choices=("coal", "bullet"), running=True),
    Parameter("most_configurations", 100_000, "Largest number of configurations in a request.", 1, 10_000_000),
    Parameter("most_targets", 10_000, "Largest number of targets in a request.", 1, 1_000_000),
    Parameter(
        "wait_timeout", 5.0, "How long requests wait for a newer state that name no time themselves [s].", 0.0, 600.0
    ),
    *RESOURCE_PARAMETERS,
    *DIAGNOSTIC_PARAMETERS,
)
ORDERS = {
    msg.IkOptions.NEAREST_TO_SEED: IkOrder.NEAREST_TO_SEED,
    msg.IkOptions.FARTHEST_FROM_LIMITS: IkOrder.FARTHEST_FROM_LIMITS,
    msg.IkOptions.MOST_MANIPULABLE: IkOrder.MOST_MANIPULABLE,
}
SOLVERS = {"": IkSolver.AUTO, "analytic": IkSolver.ANALYTIC, "numeric": IkSolver.NUMERIC}
REASONS = {reason: getattr(msg.IkFailure, reason.name) for reason in IkFailureReason}


class KinematicsNode(CellNode):
    """Forward and inverse kinematics for the scene's state or for one that the request brings."""

    declared = PARAMETERS

    def __init__(self) -> None:
        super().__init__("kinematics_node")
        models = ModelReader(resource_roots(self.parameters))
        self._replica = SceneReplica(self, models, self.parameters["wait_timeout"])
        self.serve(srv.ForwardKinematics, "kinematics/forward_kinematics", self._forward)
        self.serve(srv.InverseKinematics, "kinematics/inverse_kinematics", self._inverse)
        self.serve(srv.LookupTransforms, "kinematics/lookup_transforms", self._lookup)
        self._diagnostics = Diagnostics(self, "kinematics", self._check)

    async def _forward(self, request: Any, response: Any) -> None:
        names, rows = path_from_message(
            request.configurations, "configurations", self.parameters["most_configurations"]
        )
        if request.mode not in MODES:
            raise InvalidRequestError(f"mode {request.mode} is none of 0 to 3", subjects=("mode",))
        state = await self._replica.resolve(request.state)
        response.state = state.used
        response.frames = self._frames(request, state)
        reference = request.reference_frame or "world"
        cell, values = state.scene.cell, state.scene.state
        if not names:
            transforms = WorldTransforms(cell, values)
            poses = [[transforms.pose(frame, reference) for frame in response.frames]]
        else:
            blocks = [forward_batch(cell, values, frame, names, rows, reference) for frame in response.frames]
            poses = [[pose_of(block[index]) for block in blocks] for index in range(len(rows))]
        response.poses = [pose_to_message(scaled(pose, request.native_scale)) for row in poses for pose in row]

    def _frames(self, request: Any, state: ResolvedState) -> list[str]:
        cell, values = state.scene.cell, state.scene.state
        mode = MODES[request.mode]
        frames = [] if mode is TargetMode.FRAME else [target_frame(cell, values, request.group, mode)]
        frames.extend(request.frames)
        if request.all_links:
            frames.extend(all_link_poses(cell, values))
        if not frames:
            raise InvalidRequestError("no frame is asked for", subjects=("frames",))
        return list(dict.fromkeys(frames))

    async def _inverse(self, request: Any, response: Any) -> None:
        options = self._ik_options(request.options)
        most = self.parameters["most_targets"]
        if not request.targets:
            raise InvalidRequestError("no target is given", subjects=("targets",))
        if len(request.targets) > most:
            numbers = (Value("targets", len(request.targets), most),)
            raise LimitExceededError("too many targets", subjects=("targets",), values=numbers)
        seed_names, seeds = path_from_message(request.seeds, "seeds", most)
        if len(seeds) not in (0, 1, len(request.targets)):
            text = f"{len(seeds)} seeds for {len(request.targets)} targets, expected one for each or one for all"
            raise InvalidRequestError(text, subjects=("seeds",))
        state = await self._replica.resolve(request.state)
        response.state = state.used
        for index, message in enumerate(request.targets):
            target = target_from_message(message, f"targets[{index}]")
            values = state.scene.state
            if len(seeds):
                row = seeds[min(index, len(seeds) - 1)].tolist()
                values = values.with_configuration(dict(zip(seed_names, row, strict=True)))
                state.scene.cell.check_state(values)
            result = self._solve(state, values, target, request, options, response)
            response.results.append(result)
            if result.error.code and not response.error.code:
                response.error = result.error

    def _solve(
        self, state: ResolvedState, values: Any, target: Any, request: Any, options: IkOptions, response: Any
    ) -> Any:
        cell = state.scene.cell
        variables = tuple(request.joints) or cell.group(request.group).variables
        response.joint_names = list(variables)
        is_valid = explain = None
        if request.options.avoid_collisions:
            checker = CollisionChecker(cell, values, variables, engine=self.parameters["engine"])
            is_valid = lambda q: not checker.in_collision(q)  # noqa: E731 - one line says it
            explain = lambda q: tuple(f"{p.first} - {p.second}" for p in checker.report(q).pairs)  # noqa: E731
        try:
            found = inverse_kinematics(
                cell, values, target, request.group, options, is_valid, explain, tuple(request.joints)
            )
        except RobotCellError as error:
            return _failed(error)
        return _solved(found)

    def _ik_options(self, message: Any) -> IkOptions:
        if message.order not in ORDERS or message.solver not in SOLVERS:
            text = f'order {message.order} or solver "{message.solver}" is unknown'
            raise InvalidRequestError(text, subjects=("options",))
        limit = self.parameters["ik_solutions"]
        try:
            return IkOptions(
                max_solutions=min(message.max_solutions or limit, limit) if message.return_all else 1,
                order=ORDERS[message.order],
                solver=SOLVERS[message.solver],
                seed=message.seed,
                max_restarts=message.max_restarts or self.parameters["ik_restarts"],
                all_turns=message.all_turns,
                timeout=duration_from_message(message.timeout) or self.parameters["ik_timeout"],
            )
        except ValueError as error:
            raise InvalidRequestError(f"options: {error}", subjects=("options",)) from error

    async def _lookup(self, request: Any, response: Any) -> None:
        references = list(request.reference_frames) or ["world"]
        if len(references) not in (1, len(request.frames)):
            text = f"{len(references)} reference frames for {len(request.frames)} frames, expected one or as many"
            raise InvalidRequestError(text, subjects=("reference_frames",))
        if len(request.frames) > self.parameters["most_targets"]:
            raise LimitExceededError(f"{len(request.frames)} frames are asked for", subjects=("frames",))
        if len(references) == 1:
            references *= len(request.frames)
        state = await self._replica.resolve(request.state)
        response.state = state.used
        transforms = WorldTransforms(state.scene.cell, state.scene.state)
        for frame, reference in zip(request.frames, references, strict=True):
            pose = transforms.pose(frame, reference or "world")
            response.poses.append(pose_to_message(scaled(pose, request.native_scale)))

    def _check(self) -> tuple[bytes, str, dict[str, object]]:
        values = {"revision": self._replica.revision}
        return (OK, "ready", values) if self._replica.revision else (WARN, "no cell has come yet", values)


def _solved(found: IkResult) -> msg.IkResult:
    limits, manipulabilities = found.limit_distances(), found.manipulabilities()
    solutions = [
        msg.IkSolution(
            positions=found.solutions[index].tolist(),
            position_residual=float(found.residuals[index, 0]),
            orientation_residual=float(found.residuals[index, 1]),
            limit_distance=float(limits[index]),
            manipulability=float(manipulabilities[index]),
        )
        for index in range(len(found))
    ]
    return msg.IkResult(solutions=solutions, complete=found.complete, solver=found.solver)


def _failed(error: RobotCellError) -> msg.IkResult:
    result = msg.IkResult(error=error_to_message(error))
    failure = error.partial
    if not isinstance(failure, IkFailure):
        return result
    result.failure = msg.IkFailure(
        reason=REASONS[failure.reason],
        excess=failure.excess,
        joints=list(failure.joints),
        joint_excess=[float(value) for value in failure.joint_excess],
    )
    closest = failure.closest
    if closest is not None:
        result.failure.closest = msg.IkSolution(
            positions=np.asarray(closest.positions).tolist(),
            position_residual=float(closest.distance),
            orientation_residual=float(closest.angle),
            limit_distance=float(closest.limit_distance),
            manipulability=float(closest.manipulability),
        )
    return result


def main() -> None:
    """Entry point of the executable."""
    sys.exit(run(KinematicsNode, "kinematics_node"))
