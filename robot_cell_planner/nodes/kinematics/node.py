"""The kinematics node: forward, inverse and differential kinematics, and dynamics."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from robot_cell_planner import msg, srv

from ...collision.checker import CollisionChecker
from ...collision.pairs.allowed_pairs import CollisionOptions
from ...collision.report import CollisionPair
from ...errors import InvalidRequestError, RobotCellError
from ...kinematics.forward import all_link_poses, forward_batch, frame_matrix, scaled
from ...kinematics.ik.composite import composite_inverse_kinematics
from ...kinematics.ik.options import IkOptions
from ...kinematics.ik.solver import inverse_kinematics
from ...kinematics.ik.warm_up import warm_up
from ...kinematics.targets import FrameTarget, PointAxisTarget, TargetMode, target_frame
from ...kinematics.transforms import WorldTransforms
from ...model.cell import RobotCell
from ...model.joint_arrays import require_limits
from ...model.name_suggestions import listed, unknown_name
from ...model.state import RobotCellState
from ...model.value import WORLD
from ...scene.scene import Scene
from ...system.heap import keep_heap_small
from ..common.diagnostics import OK, READY, WARN
from ..common.external_frames import TRANSFORM_PARAMETERS, ExternalFrames
from ..common.lifecycle import NODE_PARAMETERS, ManagedNode
from ..common.monitored_scene import ResolvedState
from ..common.node import end, run
from ..common.parameters import Parameter
from ..common.resource_roots import RESOURCE_PARAMETERS, resource_roots
from ..common.scene_monitor import SceneMonitor
from ..conversions.arrays import check_scale, poses_to_messages
from ..conversions.basic import check_count, path_from_message, pose_to_message, timeout_from_message
from ..conversions.collisions import max_pairs_of, options_from_message
from ..conversions.frame_references import references_of_targets
from ..conversions.inverse import ORDERS, SOLVERS, failed_to_message, solved_to_message
from ..conversions.models import ModelReader
from ..conversions.targets import MODES, target_from_message
from .differential_services import RATE_PARAMETERS, KinematicRates

PARAMETERS = (
    Parameter(
        "ik_restarts",
        100,
        "Default number of restarts of the numerical solver.",
        0,
        100_000,
        running=True,
    ),
    Parameter("ik_solutions", 256, "Maximum number of solutions for a target.", 1, 100_000, running=True),
    Parameter(
        "ik_timeout",
        5.0,
        "Default time limit of inverse kinematics [s].",
        0.001,
        600.0,
        running=True,
    ),
    Parameter("engine", "coal", "Collision engine for avoid_collisions.", choices=("coal", "bullet"), running=True),
    Parameter("max_pairs", 100, "Maximum number of colliding pairs in a failure report.", 1, 1_000_000, running=True),
    Parameter("max_configurations", 100_000, "Maximum number of configurations in a request.", 1, 10_000_000),
    Parameter("max_targets", 10_000, "Maximum number of targets in a request.", 1, 1_000_000),
    Parameter("wait_timeout", 5.0, "Default timeout of min_revision and min_joint_stamp [s].", 0.0, 600.0),
    *RATE_PARAMETERS,
    *TRANSFORM_PARAMETERS,
    *RESOURCE_PARAMETERS,
    *NODE_PARAMETERS,
)


class KinematicsNode(ManagedNode):
    """Forward, inverse and differential kinematics and dynamics, for the scene's state or that of the request."""

    declared = PARAMETERS

    def __init__(self) -> None:
        super().__init__("kinematics_node")
        # Compiled in advance rather than at the first request; requests meanwhile wait only for what they need.
        try:
            threading.Thread(target=warm_up, name="warm up", daemon=True).start()
        except RuntimeError as error:  # too many threads
            self.get_logger().warning(f"compiled functions are not loaded in advance: {error}")

    def configure(self) -> None:
        models = ModelReader(resource_roots(self.parameters))
        timeout = self.parameters["wait_timeout"]
        self._scene_monitor = SceneMonitor(self, models, timeout, frames=ExternalFrames(self))
        self.serve(srv.ForwardKinematics, "kinematics/forward_kinematics", self._forward)
        self.serve(srv.InverseKinematics, "kinematics/inverse_kinematics", self._inverse)
        self.serve(srv.LookupTransforms, "kinematics/lookup_transforms", self._lookup)
        self._rates = KinematicRates(self, self._scene_monitor)

    async def _forward(self, request: srv.ForwardKinematics.Request, response: srv.ForwardKinematics.Response) -> None:
        names, rows = path_from_message(request.configurations, "configurations", self.parameters["max_configurations"])
        if request.mode not in MODES:
            raise InvalidRequestError(f"unknown mode {request.mode}, expected 0 to 3", subjects=("mode",))
        state = await self._scene_monitor.resolve(request.state)
        response.state = state.used
        response.frames = self._frames(request, state)
        cell, values = state.scene.cell, state.scene.state
        frames = {"reference_frame": request.reference_frame}
        in_tf = await self._scene_monitor.poses_in_tf(frames, request.stamp, cell)
        reference = WORLD if in_tf else request.reference_frame or WORLD
        if names:
            blocks = [forward_batch(cell, values, frame, names, rows, reference) for frame in response.frames]
        else:
            blocks = [frame_matrix(cell, values, frame, reference)[None] for frame in response.frames]
        if request.check_limits:
            checked = names or tuple(cell.variables)
            own = np.array([[values.configuration[name] for name in checked]]) if not names else rows
            require_limits([cell.variables[name] for name in checked], own)
        poses = np.stack(blocks, axis=1).reshape(-1, 4, 4)
        if in_tf:
            poses = in_tf["reference_frame"].inverse().matrix @ poses
        response.poses = poses_to_messages(poses, request.native_scale)

    def _frames(self, request: srv.ForwardKinematics.Request, state: ResolvedState) -> list[str]:
        cell, values = state.scene.cell, state.scene.state
        mode = MODES[request.mode]
        frames = []
        if mode is not TargetMode.FRAME:
            frames = [target_frame(cell, values, part, mode) for part in cell.target_groups(request.group)]
        frames.extend(request.frames)
        if request.all_links:
            frames.extend(all_link_poses(cell, values))
        if not frames:
            raise InvalidRequestError("frames is empty", subjects=("frames",))
        return list(dict.fromkeys(frames))

    async def _inverse(self, request: srv.InverseKinematics.Request, response: srv.InverseKinematics.Response) -> None:
        options = self._ik_options(request.options)
        collision_options = options_from_message(request.collision, "collision")
        limit = self.parameters["max_targets"]
        if not request.targets:
            raise InvalidRequestError("targets is empty", subjects=("targets",))
        check_count(len(request.targets), limit, "targets", "entries")
        seed_names, seeds = path_from_message(request.seeds, "seeds", limit)
        state = await self._scene_monitor.resolve(request.state)
        response.state = state.used
        cell = state.scene.cell
        parts = cell.target_groups(request.group)
        count = _number_of_results(request, parts, len(seeds))
        missing = await self._scene_monitor.rewrite_each(references_of_targets(request.targets, "targets"), cell)
        variables = tuple(request.joints) or cell.group(request.group).variables
        whole = cell.variables if request.options.whole_configurations else ()
        response.joint_names = list(whole or variables)
        for index in range(count):
            block = range(index * len(parts), (index + 1) * len(parts))
            targets = [target_from_message(request.targets[number], f"targets[{number}]") for number in block]
            values = state.scene.state
            if len(seeds):
                row = seeds[min(index, len(seeds) - 1)].tolist()
                values = values.with_configuration(dict(zip(seed_names, row, strict=True)))
                cell.check_state(values)
            others = {name: values.configuration[name] for name in whole}
            collisions = self._collisions(request, Scene(cell, values), variables, collision_options)
            errors = [error for number in block if (error := missing.get(number)) is not None]
            if errors:
                result = failed_to_message(errors[0], others=others)
            else:
                by_group = dict(zip(parts, targets, strict=True))
                result = _solve(cell, values, by_group, request, options, collisions, others)
            response.results.append(result)
            if result.error.code and not response.error.code:
                response.error = result.error

    def _collisions(
        self,
        request: srv.InverseKinematics.Request,
        scene: Scene,
        variables: tuple[str, ...],
        options: CollisionOptions,
    ) -> _Collisions | None:
        """Return the collision checks of solutions; None if the request does not avoid collisions."""
        if not request.options.avoid_collisions:
            return None
        checker = CollisionChecker(
            scene.cell, scene.state, variables, engine=self.parameters["engine"], options=options
        )
        max_pairs = max_pairs_of(request.collision, self.parameters["max_pairs"])
        return _Collisions(checker, max_pairs, request.collision.contacts)

    def _ik_options(self, message: msg.IkOptions) -> IkOptions:
        if message.order not in ORDERS:
            text = f"options.order is {message.order}, expected 0 to {max(ORDERS)}"
            raise InvalidRequestError(text, subjects=("options.order",))
        if message.solver not in SOLVERS:
            text = unknown_name(f"options.solver: solver {message.solver!r}", message.solver, filter(None, SOLVERS))
            raise InvalidRequestError(text, subjects=("options.solver",))
        limit = self.parameters["ik_solutions"]
        try:
            return IkOptions(
                max_solutions=min(message.max_solutions or limit, limit) if message.return_all else 1,
                order=ORDERS[message.order],
                solver=SOLVERS[message.solver],
                seed=message.seed,
                max_restarts=message.max_restarts or self.parameters["ik_restarts"],
                sweep=message.sweep or IkOptions().sweep,
                all_turns=message.all_turns,
                timeout=timeout_from_message(message.timeout, "options.timeout") or self.parameters["ik_timeout"],
            )
        except ValueError as error:
            raise InvalidRequestError(f"options: {error}", subjects=("options",)) from error

    async def _lookup(self, request: srv.LookupTransforms.Request, response: srv.LookupTransforms.Response) -> None:
        references = list(request.reference_frames) or [WORLD]
        if len(references) not in (1, len(request.frames)):
            text = f"{len(references)} reference frames for {len(request.frames)} frames, expected one or as many"
            raise InvalidRequestError(text, subjects=("reference_frames",))
        check_count(len(request.frames), self.parameters["max_targets"], "frames", "entries")
        check_scale(request.native_scale)
        if len(references) == 1:
            references *= len(request.frames)
        state = await self._scene_monitor.resolve(request.state)
        response.state = state.used
        transforms = WorldTransforms(state.scene.cell, state.scene.state)
        named = {f"frames[{index}]": frame for index, frame in enumerate(request.frames)}
        named |= {f"reference_frames[{index}]": frame for index, frame in enumerate(references)}
        in_tf = await self._scene_monitor.poses_in_tf(named, request.stamp, state.scene.cell)
        for index, (frame, reference) in enumerate(zip(request.frames, references, strict=True)):
            pose = in_tf.get(f"frames[{index}]") or transforms.pose(frame, WORLD)
            if reference not in ("", WORLD):
                base = in_tf.get(f"reference_frames[{index}]") or transforms.pose(reference, WORLD)
                pose = base.inverse() @ pose
            response.poses.append(pose_to_message(scaled(pose, request.native_scale)))

    def check(self) -> tuple[bytes, str, dict[str, object]]:
        values = self._scene_monitor.diagnostics
        return (OK, READY, values) if self._scene_monitor.revision else (WARN, "no cell received yet", values)


@dataclass
class _Collisions:
    """Validity of solutions.

    pairs: colliding pairs of the reported solution, at most `limit`. contacts: whether they are reported with contacts.
    """

    checker: CollisionChecker
    limit: int
    contacts: bool
    pairs: tuple[CollisionPair, ...] = field(default=())

    def allow(self, q: NDArray[np.float64]) -> bool:
        return not self.checker.in_collision(q)

    def explain(self, q: NDArray[np.float64]) -> tuple[str, ...]:
        self.pairs = self.checker.report(q, max_pairs=self.limit).pairs
        return tuple(f"{pair.first} - {pair.second}" for pair in self.pairs)


def _number_of_results(request: srv.InverseKinematics.Request, groups: Sequence[str], seeds: int) -> int:
    """Return the number of results of a request with one target for each group of a result.

    Raises:
        InvalidRequestError: A target is missing, or the seeds are neither one for each result nor one for all.
    """
    count, left = divmod(len(request.targets), len(groups))
    if left:
        text = f"{len(request.targets)} targets for group {request.group}, expected one for each of {listed(groups)}"
        raise InvalidRequestError(text, subjects=("targets",))
    if seeds not in (0, 1, count):
        text = f"{seeds} seeds for {count} results, expected one for each or one for all"
        raise InvalidRequestError(text, subjects=("seeds",))
    return count


def _solve(
    cell: RobotCell,
    values: RobotCellState,
    targets: dict[str, FrameTarget | PointAxisTarget],
    request: srv.InverseKinematics.Request,
    options: IkOptions,
    collisions: _Collisions | None,
    others: dict[str, float],
) -> msg.IkResult:
    allow, explain = (None, None) if collisions is None else (collisions.allow, collisions.explain)
    joints = tuple(request.joints)
    try:
        if len(targets) > 1:
            found = composite_inverse_kinematics(cell, values, targets, request.group, options, allow, explain, joints)
        else:
            (target,) = targets.values()
            found = inverse_kinematics(cell, values, target, request.group, options, allow, explain, joints)
    except RobotCellError as error:
        if collisions is None:
            return failed_to_message(error, others=others)
        return failed_to_message(error, collisions.pairs, others, contacts=collisions.contacts)
    return solved_to_message(found, others)


def main() -> None:
    """Entry point of the executable."""
    keep_heap_small()
    end(run(KinematicsNode, "kinematics_node"))
