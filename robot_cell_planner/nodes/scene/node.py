"""The scene node, which owns the cell and its state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Thread
from typing import TypeAlias

from robot_cell_planner import srv
from robot_cell_planner.msg import SceneUpdate, StateSnapshot

from ...collision.geometry.collision_geometry import prepare_geometry
from ...collision.pairs.pair_settings import unknown_names
from ...collision.state_warnings import collision_warnings
from ...errors import InvalidRequestError, RobotCellError
from ...io.cell_file.cell_file import load_cell, load_state, save_cell, save_state
from ...io.cell_file.changed_files import changed_files
from ...io.import_files import import_file
from ...io.mesh.body_sizes import doubtful_sizes
from ...io.scene_import.imported import Imported, moved
from ...kinematics.transforms import world_pose
from ...model.bodies import CollisionSettings
from ...model.cell_warnings import cell_warnings
from ...model.start_limits import states_beyond_limits
from ...scene.changes import Change, apply_changes
from ...scene.history import AcceptedChange, SceneHistory
from ...scene.journal import Journal
from ...scene.model_changes import Add, AddFrame, Replace
from ...scene.scene import Scene
from ...system.heap import keep_heap_small
from ..common.diagnostics import ERROR, OK, OVERSIZED, WARN
from ..common.external_frames import TRANSFORM_PARAMETERS, ExternalFrames
from ..common.frame_names import FRAME_PREFIX
from ..common.lifecycle import NODE_PARAMETERS, ManagedNode
from ..common.monitored_scene import JOINTS_RATE, MAX_CHANGES, MonitoredScene
from ..common.node import end, run
from ..common.parameters import Parameter
from ..common.resource_roots import RESOURCE_PARAMETERS, resource_roots
from ..common.threads import converted, in_thread
from ..common.waiting import InOrder, Slices
from ..conversions.basic import pose_from_message, time_from_message, timeout_from_message
from ..conversions.changes import update_to_message
from ..conversions.models import ModelReader, reads_files
from .change_warnings import change_warnings, unknown_names_text, unknown_names_warnings
from .frame_follower import FOLLOW_PARAMETERS, FrameFollower
from .geometry_check import GeometryCheck
from .measured_poses import MeasuredPoses
from .publisher import ScenePublisher
from .received_cell import received_cell

PARAMETERS = (
    Parameter("cell_file", "", "Cell file to load at start; empty: wait for scene/load_cell."),
    Parameter(
        "journal_file", "", "File to which every accepted change is written; empty: changes are lost at a restart."
    ),
    Parameter(
        "journal_fsync",
        False,
        "Whether every change is synchronised to disk (fsync), so that the journal survives a loss of power.",
    ),
    Parameter(
        "journal_repair",
        False,
        "Whether a damaged journal is resumed from its last intact revision; the damaged file is kept.",
    ),
    Parameter("revisions_kept", 200, "Number of earlier revisions kept for scene/undo and scene/get_state.", 1, 10_000),
    FRAME_PREFIX,
    Parameter("tf_rate", 100.0, "Maximum rate of /tf [Hz].", 0.1, 1000.0),
    Parameter("view_rate", 10.0, "Maximum rate of /tf_static, scene/markers and scene/state [Hz].", 0.1, 100.0),
    Parameter("wait_timeout", 5.0, "Default timeout of min_revision and min_joint_stamp [s].", 0.0, 600.0),
    Parameter("max_models", 20_000, "Maximum number of tools, bodies or frames in a message.", 1, 1_000_000),
    Parameter("max_shapes", 10_000, "Maximum number of shapes of a tool or body in a message.", 1, 1_000_000),
    Parameter("max_changes", MAX_CHANGES, "Maximum number of changes in a request.", 1, 1_000_000),
    *FOLLOW_PARAMETERS,
    *TRANSFORM_PARAMETERS,
    *RESOURCE_PARAMETERS,
    *NODE_PARAMETERS,
)

Reply: TypeAlias = srv.ApplyChanges.Response | srv.LoadState.Response


class SceneNode(ManagedNode):
    """Owns cell and state; every accepted change creates a revision, which is in the journal before the reply."""

    declared = PARAMETERS

    def __init__(self) -> None:
        super().__init__("scene_node")

    def configure(self) -> None:
        cell_file = self.parameters["cell_file"]
        self._roots = resource_roots(self.parameters, cell_file)
        self._models = ModelReader(self._roots, self.parameters["max_models"], self.parameters["max_shapes"])
        self._journal = self._open_journal()
        self._frames = ExternalFrames(self)
        # The publisher of /tf reads joint states, but less often at a low rate.
        rate = 0.0 if self.parameters["tf_rate"] >= JOINTS_RATE else JOINTS_RATE
        self._view = MonitoredScene(self, self._models, self.parameters["wait_timeout"], rate, self._frames)
        self._modifying = InOrder()  # what modifies the scene, also of lists that take long
        self._poses = MeasuredPoses(self._view)
        kept = self.parameters["revisions_kept"]
        self._history = SceneHistory(self._poses.world_pose, self._journal, retained=kept)
        self._publisher = ScenePublisher(self, self._history, self._view)
        self._follower = FrameFollower(self, self._frames, self._history, self._apply, self._modifying)
        self._geometry = GeometryCheck(self)
        self._unknown: tuple[str, ...] = ()
        self._start_state: Scene | None = None  # of the cell file, not checked yet
        self._serve_all()
        self._start(cell_file)

    async def _changed(self, changes: Sequence[Change], expected: int = 0, *, dry_run: bool = False) -> AcceptedChange:
        """Apply changes as `SceneHistory.apply`, all with the joints that are measured now. The node replies to other
        requests meanwhile; the caller has `_modifying`."""
        with self._poses.of_one_time():
            return await Slices(self).returned(self._history.apply_in_steps(changes, expected, dry_run=dry_run))

    def _serve_all(self) -> None:
        self.serve(srv.LoadCell, "scene/load_cell", self._load_cell)
        self.serve(srv.GetCell, "scene/get_cell", self._get_cell)
        self.serve(srv.GetState, "scene/get_state", self._get_state)
        self.serve(srv.ApplyChanges, "scene/apply_changes", self._apply_changes)
        self.serve(srv.SaveCell, "scene/save_cell", self._save_cell)
        self.serve(srv.LoadState, "scene/load_state", self._load_state)
        self.serve(srv.UndoChanges, "scene/undo", self._undo)
        self.serve(srv.WaitForState, "scene/wait_for_state", self._wait_for_state)
        self.serve(srv.FollowFrame, "scene/follow_frame", self._follow_frame)

    def _open_journal(self) -> Journal | None:
        given = self.parameters
        if not given["journal_file"]:
            return None
        journal = Journal(given["journal_file"], fsync=given["journal_fsync"], repair=given["journal_repair"])
        self.on_release(journal.close)
        if journal.warning:
            self.get_logger().warning(journal.warning)
        return journal

    def _start(self, cell_file: str) -> None:
        restored = self._journal.restored if self._journal is not None else None
        if restored is not None:
            self._history.restore(restored.scene, restored.revision, restored.cell_revision)
            self.get_logger().info(f"journal {self.parameters['journal_file']}: revision {restored.revision} restored")
        elif cell_file:
            cell, state = load_cell(cell_file, self._roots)
            self.get_logger().info(f"cell {cell.name}: building its collision geometry")
            prepare_geometry(cell)
            self._history.load(cell, state)
            self.get_logger().info(f"cell {cell.name} from {cell_file}: revision {self._history.revision}")
            self._start_state = Scene(cell, state)
        if self._history.revision:
            self._view.take(self._history.scene, self._history.revision)

    def activate(self) -> None:
        if self._history.revision:
            self._publish_all()
        if self._start_state is not None:
            # Other nodes do not wait for it: the first check compiles kernels, which can take a minute.
            check = Thread(target=self._check_start, args=(self._start_state,), name="start state", daemon=True)
            try:
                check.start()
            except RuntimeError as error:  # too many threads
                self.get_logger().warning(f"the start state is not checked for collisions: {error}")
            self._start_state = None

    def _check_start(self, scene: Scene) -> None:
        """Log warnings about a start state; runs in a thread."""
        try:
            texts = collision_warnings(scene.cell, scene.state, "the start state")
        except Exception as error:  # of a shape that cannot be checked
            texts = (f"the start state cannot be checked for collisions: {error}",)
        self.soon(lambda: [self.get_logger().warning(text) for text in texts])

    # Publishing.

    def _publish(self, change: AcceptedChange) -> SceneUpdate:
        """Set the revision of an accepted change, and publish it."""
        update = self._update(change)
        self._view.take(self._history.scene, self._history.revision)
        self._publisher.publish_update(update)
        if change.difference.changes_models:
            self._note_unknown_names()
        return update

    def _apply(self, changes: list[Change]) -> None:
        """Apply changes of the node itself, while no request modifies the scene."""
        if self.active:
            with self._poses.of_one_time():
                self._publish(self._history.apply(changes))

    def _publish_all(self) -> None:
        self._view.take(self._history.scene, self._history.revision)
        self._publisher.publish_all()
        self._note_unknown_names()

    def _update(self, change: AcceptedChange) -> SceneUpdate:
        update = update_to_message(change.difference, change.previous, change.revision, change.digest)
        update.header.stamp = self.get_clock().now().to_msg()
        update.history = self._publisher.number
        return update

    def _note_unknown_names(self) -> None:
        """Log names in collision settings that the cell does not contain (added later, or misspelt), if new."""
        cell = self._history.scene.cell
        unknown = () if cell.collision == CollisionSettings() else unknown_names(cell)
        if unknown and unknown != self._unknown:
            self.get_logger().warning(unknown_names_text(unknown))
        self._unknown = unknown

    def check(self) -> tuple[bytes, str, dict[str, object]]:
        if not self._history.revision:
            return WARN, "no cell is loaded", {}
        oldest = self._view.measured.oldest()
        age = (self.get_clock().now().nanoseconds - oldest) * 1e-9 if oldest else float("inf")
        values = {
            "revision": self._history.revision,
            "age of the oldest joint value [s]": f"{age:.3f}",
            "joint values skipped": self._view.measured.skipped,
            OVERSIZED: self._view.diagnostics[OVERSIZED],
            **self._follower.diagnostics,
        }
        if warnings := cell_warnings(self._history.scene.cell):
            values["warnings about the models"] = "; ".join(warnings[:10])
        if self._journal is not None and self._journal.broken:
            return ERROR, self._journal.broken, values
        if self._journal is not None and self._journal.warning:
            values["journal"] = self._journal.warning
        changed = changed_files(self._history.scene.cell, self._roots)
        if changed:
            values["files that have changed"] = ", ".join(changed[:10])
            return WARN, f"{len(changed)} files have changed; reload them with scene/load_cell", values
        if self._follower.problem:
            return WARN, self._follower.problem, values
        if self._unknown:
            return WARN, unknown_names_text(self._unknown), values
        return OK, "no joint states received yet" if not oldest else "follows joint_states", values

    # Services.

    async def _load_cell(self, request: srv.LoadCell.Request, response: srv.LoadCell.Response) -> None:
        response.revision = self._history.revision
        kinds = srv.LoadCell.Request
        if request.mode not in (kinds.REPLACE, kinds.MERGE):
            raise InvalidRequestError(f"unknown mode {request.mode}, expected 0 or 1", subjects=("mode",))
        found, related = await self._requested_cell(request)
        if request.mode == kinds.REPLACE and related:
            scene = apply_changes(Scene(found.cell, found.state), related, world_pose)
            found, related = Imported(scene.cell, scene.state), []
        read = found.cell
        response.names = [*read.robots, *read.tools, *read.bodies, *read.frames, *read.groups]
        response.names += [frame.name for frame in related]
        response.warnings = [
            *dict.fromkeys((*found.left_out, *doubtful_sizes(found.cell.bodies.values()))),
            *unknown_names_warnings(found.cell),
            *cell_warnings(found.cell),
            *states_beyond_limits(found.cell, found.state),
        ]
        await self._geometry.check(found.cell)
        async with self._modifying:
            if request.mode == kinds.MERGE:
                await self._merge(found, related, request)
            elif not request.dry_run:
                self._publish(self._history.load(found.cell, found.state, request.expected_revision))
                self._publish_all()
            else:
                found.cell.check_state(found.state)
            response.revision = self._history.revision
        if request.mode == kinds.REPLACE:
            response.warnings = [*response.warnings, *await self._collision_warnings(found)]

    async def _requested_cell(self, request: srv.LoadCell.Request) -> tuple[Imported, list[AddFrame]]:
        """Return the cell of a request, from its file or its message, and the frames of the message that are relative
        to others.

        Raises:
            InvalidRequestError: The request has neither a file nor a cell with any object.
            RobotCellError: The file or the message is malformed.
        """
        if request.uri:
            read_file = partial(import_file, request.uri, self._roots, prefix=request.prefix, confined=True)
            return await in_thread(self, "import", read_file), []
        read_message = partial(received_cell, request.cell, request.prefix, self._models, self._roots)
        found, related = await converted(self, reads_files(request.cell), read_message)
        cell = found.cell
        if not (related or cell.robots or cell.tools or cell.bodies or cell.frames or cell.groups):
            text = "either `uri` or a non-empty `cell` is required; to remove objects use scene/apply_changes"
            raise InvalidRequestError(text, subjects=("uri", "cell"))
        return found, related

    async def _merge(self, found: Imported, related: list[AddFrame], request: srv.LoadCell.Request) -> None:
        """Add a cell at the pose of a request to the present one."""
        origin = pose_from_message(request.pose, "pose")
        frame, cell = request.relative_to, self._history.scene.cell
        if frames := await self._view.poses_in_tf({"relative_to": frame}, request.stamp, cell):
            origin = frames["relative_to"] @ origin
        elif frame:
            present = self._history.scene
            with self._poses.of_one_time():
                origin = self._poses.world_pose(present.cell, present.state, frame) @ origin
        placed = moved(found, origin)
        changes: list[Change] = [Add(placed.cell, placed.state), *related]
        change = await self._changed(changes, request.expected_revision, dry_run=request.dry_run)
        if not request.dry_run:
            self._publish(change)

    async def _collision_warnings(self, found: Imported) -> tuple[str, ...]:
        """Return warnings about a state. Other requests are served meanwhile: the first check compiles kernels, which
        can take a minute."""
        try:
            return await in_thread(self, "state", partial(collision_warnings, found.cell, found.state))
        except RobotCellError as error:  # of a shape, or as the node is deactivated
            return (f"the state has not been checked for collisions: {error}",)

    async def _get_cell(self, request: srv.GetCell.Request, response: srv.GetCell.Response) -> None:
        response.scene = self._publisher.snapshot()

    async def _get_state(self, request: srv.GetState.Request, response: srv.GetState.Response) -> None:
        change = self._history.since(request.since_revision) if request.since_revision else None
        response.is_update = change is not None
        if change is None:
            response.state = self._publisher.state_snapshot()
        else:
            response.update = self._update(change)
            response.state = StateSnapshot(revision=change.revision, digest=change.digest)

    async def _apply_changes(self, request: srv.ApplyChanges.Request, response: srv.ApplyChanges.Response) -> None:
        response.revision = self._history.revision
        limit, cell = self.parameters["max_changes"], self._history.scene.cell
        changes = await self._view.changes(request.changes, "changes", limit, cell)
        models = [change.models for change in changes if isinstance(change, Add | Replace)]
        await self._geometry.check(*models)
        async with self._modifying:
            before, response.revision = self._history.scene, self._history.revision
            change = await self._changed(changes, request.expected_revision, dry_run=request.dry_run)
            self._fill(response, change, before, dry_run=request.dry_run)
        for text in response.warnings:
            self.get_logger().warning(f"scene/apply_changes: {text}")

    def _fill(self, response: Reply, change: AcceptedChange, before: Scene, dry_run: bool) -> None:
        """Publish an accepted change, and fill the reply. before: the scene before it."""
        response.update = self._update(change) if dry_run else self._publish(change)
        response.revision = self._history.revision
        response.warnings = change_warnings(before, change.difference)

    async def _save_cell(self, request: srv.SaveCell.Request, response: srv.SaveCell.Response) -> None:
        scene = Scene(self._history.scene.cell, self._view.current_state())
        kinds = srv.SaveCell.Request
        if request.content == kinds.STATE:
            response.text = _saved(save_state, request, scene.state, self._roots)
        elif request.content in (kinds.CELL, kinds.CELL_AND_STATE):
            state = scene.state if request.content == kinds.CELL_AND_STATE else None
            response.text = _saved(save_cell, request, scene.cell, state, self._roots)
        else:
            raise InvalidRequestError(f"unknown content {request.content}, expected 0 to 2", subjects=("content",))
        response.revision = self._history.revision

    async def _load_state(self, request: srv.LoadState.Request, response: srv.LoadState.Response) -> None:
        response.revision = self._history.revision
        state = load_state(request.uri, self._roots, confined=True)
        async with self._modifying:
            before = self._history.scene
            before.cell.check_state(state)
            change = self._history.load_state(state, request.expected_revision, dry_run=request.dry_run)
            self._fill(response, change, before, dry_run=request.dry_run)

    async def _undo(self, request: srv.UndoChanges.Request, response: srv.UndoChanges.Response) -> None:
        async with self._modifying:
            change = self._history.undo(request.steps or 1, request.expected_revision)
            response.update = self._publish(change)
            response.revision = self._history.revision

    async def _wait_for_state(self, request: srv.WaitForState.Request, response: srv.WaitForState.Response) -> None:
        stamp, timeout = time_from_message(request.min_joint_stamp), timeout_from_message(request.timeout, "timeout")
        if self._history.revision:
            self._view.measured.check(request.joint_names)
        await self._view.wait_for(request.min_revision, stamp, tuple(request.joint_names), timeout)
        response.state = self._publisher.state_snapshot()

    async def _follow_frame(self, request: srv.FollowFrame.Request, response: srv.FollowFrame.Response) -> None:
        pose = pose_from_message(request.pose, "pose")
        if request.frame:
            await self._follower.follow(request.name, request.frame, pose)
        else:
            self._follower.release(request.name)
        response.revision = self._history.revision


def _saved(save: Callable[..., str], request: srv.SaveCell.Request, *arguments: object) -> str:
    """Save to the request's file in an allowed folder; return the text if it has none."""
    text = save(request.uri, *arguments, overwrite=request.overwrite, confined=True)
    return "" if request.uri else text


def main() -> None:
    """Entry point of the executable."""
    keep_heap_small()
    end(run(SceneNode, "scene_node"))
