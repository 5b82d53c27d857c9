"""The live view of a cell: what the page shows, as plain values that anyone may set from any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import RobotCellError
from ...kinematics.transforms import WorldTransforms
from ...model.cell import RobotCell
from ...model.pose import Pose
from ...model.state import RobotCellState
from ...planning.problem.plan import Plan, percent
from ...trajectory.trajectory import Trajectory
from ..appearance import VisibleObject
from ..overlays import COLLIDING, GHOST, millimetres
from ..state_checks import StateChecks, check_state, near_objects
from ..tool_paths import certified_path, group_of, plan_path, tool_frame, trajectory_path
from ..triangles import sphere_rows
from .ghosts import Ghosts
from .marks import CLOSEST, CONTACTS, RUNNING, SPEED, Marks
from .meshes import CellMeshes
from .server import LocalServer

PREVIEW_COLOUR = (0, 114, 178)


@dataclass(frozen=True)
class PlanShown:
    """A plan with the cell and the state that it starts from."""

    cell: RobotCell
    state: RobotCellState
    plan: Plan

    def state_at(self, moment: float) -> RobotCellState:
        """Return the state at a time along the trajectory [s]."""
        assert self.plan.trajectory is not None
        row = self.plan.trajectory.at([moment])[0].tolist()
        return self.state.with_configuration(dict(zip(self.plan.variables, row, strict=True)))


class LiveView:
    """Draws a cell that changes; its methods may be called from any thread.

    Attributes:
        status: Rows of the panel about execution and servo.
        checks: Latest checks of the state; their number in `checks_changed`.
        plan, failure: Latest plan, and why the latest request failed, "" if it did not; their number in `plan_changed`.
        progress: What is being computed for the page, "" for nothing.
        picked: Frame of the object that was clicked, "" for none, with its closest pairs in `near_picked`.
    """

    def __init__(self, server: LocalServer) -> None:
        self.lock = threading.RLock()
        self._plan_shown = threading.Condition(self.lock)
        self.cell: RobotCell | None = None
        self.state: RobotCellState | None = None
        self.revision = 0
        self.status: dict[str, str] = {}
        self.checks_changed = self.plan_changed = 0  # counters
        self.plan: PlanShown | None = None
        self.failure = ""
        self.progress = ""
        self.picked = ""
        self.near_picked: tuple[str, ...] = ()
        scene = server.scene
        scene.configure_default_lights()
        scene.add_grid("/grid", 4.0, 4.0, cell_size=0.1, section_size=1.0, position=(0.0, 0.0, -0.001))
        server.initial_camera.position = (1.8, -1.8, 1.5)
        server.initial_camera.look_at = (0.0, 0.0, 0.4)
        self.meshes = CellMeshes(scene, self.pick)
        self.marks = Marks(scene)
        self.solutions = Ghosts(scene, "solutions", GHOST)
        self._preview_ghost = Ghosts(scene, "preview", PREVIEW_COLOUR)
        self._preview_since = 0.0
        self._computes_spheres = False
        self._checked: tuple[RobotCell, RobotCellState, str] | None = None
        self.checks: StateChecks | None = None

    # The cell.

    @property
    def problems(self) -> tuple[str, ...]:
        """Shapes of the present cell that could not be drawn, and why."""
        return self.meshes.problems

    def show(self, cell: RobotCell, state: RobotCellState, revision: int) -> None:
        """Show a cell and its state."""
        with self.lock:
            self.revision = revision
            if self.cell is not cell:
                self.meshes.set_cell(cell)
                self._start_spheres()
            elif self.state == state:
                return
            self.cell, self.state = cell, state
            transforms = WorldTransforms(cell, state)
            owners = self.meshes.owners()
            for frame in self.meshes.frames:
                self.meshes.place(frame, transforms.pose(frame), is_hidden(state, owners[frame]))

    def show_layer(self, layer: str, visible: bool) -> None:
        """Show or hide a layer of the objects. Spheres appear one object after another, as they are computed."""
        with self.lock:
            self.meshes.show(layer, visible)
            self._start_spheres()

    def _start_spheres(self) -> None:
        """Draw missing spheres in a thread: those that are not stored take seconds. Call it with the lock."""
        if not self._computes_spheres and self.meshes.without_spheres():
            try:
                threading.Thread(target=self._draw_spheres, name="spheres", daemon=True).start()
            except RuntimeError as error:  # too many threads; the next change of the layers or the cell tries again
                self.progress = f"spheres are not computed: {error}"
            else:
                self._computes_spheres = True

    def _draw_spheres(self) -> None:
        while True:
            with self.lock:
                missing = self.meshes.without_spheres()
                if not missing:
                    self._computes_spheres, self.progress = False, ""
                    return
                self.progress = f"computing the spheres of {missing[0].frame}, {len(missing)} left"
            rows = _spheres_or_error(missing[0])
            with self.lock:
                self.meshes.draw_spheres(missing[0], rows)

    def check(self) -> None:
        """Check the state that is shown, if it has changed; call it in one thread always.

        Raises:
            RobotCellError: The state cannot be checked; earlier checks are not shown any longer.
        """
        with self.lock:
            if self.picked not in self.meshes.frames:
                self.picked = ""
            cell, state, picked = self.cell, self.state, self.picked
        if cell is None or state is None or self._checked == (cell, state, picked):
            return
        self._checked = None
        try:
            checks = check_state(cell, state)
            near = near_objects(cell, state, picked) if picked else ()
        except RobotCellError:
            self._show_no_checks()
            raise
        self._checked = (cell, state, picked)
        with self.lock:
            self.checks = checks
            self.near_picked = tuple(mark.label for mark in near)
            self.checks_changed += 1
            self.meshes.highlight(checks.frames, COLLIDING)
            self.marks.show_pairs(CONTACTS, checks.collisions)
            closest = () if checks.closest is None or checks.collisions else (checks.closest,)
            self.marks.show_pairs(CLOSEST, closest)

    def _show_no_checks(self) -> None:
        """Show nothing of earlier checks: they are of another state."""
        with self.lock:
            self.checks, self.near_picked = None, ()
            self.checks_changed += 1
            self.meshes.highlight((), COLLIDING)
            self.marks.show_pairs(CONTACTS, ())
            self.marks.show_pairs(CLOSEST, ())

    def pick(self, frame: str) -> None:
        """Select an object, by its frame, or deselect it."""
        with self.lock:
            self.picked = "" if self.picked == frame else frame

    # Plans and motions.

    def show_plan(self, shown: PlanShown) -> None:
        """Show a plan instead of the previous one, without its certificate (`certify`). Only a plan with a group has a
        path of a tool."""
        path = plan_path(shown.cell, shown.state, shown.plan) if shown.plan.group else None
        with self.lock:
            self.plan, self.failure = shown, ""
            self.plan_changed += 1
            self._preview_since = 0.0
            self._preview_ghost.clear()
            self.marks.show_path(SPEED, path)
            self.marks.show_certificate(None)
            self._plan_shown.notify_all()

    def wait_for_plan(self, previous: PlanShown | None, timeout: float) -> bool:
        """Wait until another plan is shown than a previous one, for up to `timeout` [s]; return whether one is."""
        with self._plan_shown:
            return self._plan_shown.wait_for(lambda: self.plan is not previous, timeout)

    def certify(self, shown: PlanShown) -> None:
        """Certify a plan line by line, and show that unless another plan was shown meanwhile."""
        if not shown.plan.group:
            return
        found = certified_path(shown.cell, shown.state, shown.plan)
        with self.lock:
            if self.plan is shown:
                self.marks.show_certificate(found)

    def show_failure(self, text: str) -> None:
        """Show why a request has failed."""
        with self.lock:
            self.failure = text
            self.plan_changed += 1

    def show_running(self, trajectory: Trajectory | None) -> None:
        """Show the path of the tool along the motion that is running; None: no motion."""
        with self.lock:
            cell, state = self.cell, self.state
        path = None
        if trajectory is not None and cell is not None and state is not None:
            group = group_of(cell, trajectory.variables)
            frame = tool_frame(cell, state, group) if group else ""
            path = trajectory_path(cell, state, frame, trajectory) if frame else None
        with self.lock:
            self.marks.show_path(RUNNING, path)

    def preview(self) -> bool:
        """Begin to play the plan that is shown as a ghost. Returns whether there is a timed plan."""
        with self.lock:
            if self.plan is None or self.plan.plan.trajectory is None:
                return False
            self._preview_since = time.monotonic()
            return True

    def step_preview(self) -> None:
        """Move the ghost of a preview to where it is now."""
        with self.lock:
            if not self._preview_since or self.plan is None:
                return
            moment = time.monotonic() - self._preview_since
            if moment > self.plan.plan.duration + 1.0:
                self._preview_since = 0.0
                self._preview_ghost.clear()
                return
            self._preview_ghost.show(self.plan.cell, [self.plan.state_at(moment)])

    def show_solutions(self, configurations: Sequence[Mapping[str, float]]) -> None:
        """Show configurations as ghosts; none to hide them."""
        with self.lock:
            if self.cell is None or self.state is None or not configurations:
                self.solutions.clear()
                return
            self.solutions.show(self.cell, [self.state.with_configuration(values) for values in configurations])

    def frame_pose(self, frame: str) -> Pose | None:
        """Return the pose of a frame in the world; None without a cell."""
        with self.lock:
            if self.cell is None or self.state is None:
                return None
            return WorldTransforms(self.cell, self.state).pose(frame)

    def plan_rows(self) -> dict[str, str]:
        """Return the main figures of the plan that is shown."""
        with self.lock:
            if self.plan is None:
                return {}
            plan = self.plan.plan
        found = {
            "planner": f"{plan.planner}, seed {plan.seed}",
            "waypoints": f"{len(plan.path)}, {plan.path_length:.2f} rad",
            "duration": f"{plan.duration:.2f} s" if plan.trajectory is not None else "not timed",
            "certified": f"{percent(plan.certified_fraction)} %",
        }
        if plan.clearance is not None:
            closest = plan.clearance.closest
            found["clearance"] = f"{millimetres(closest.distance)}, {closest.first} \N{EN DASH} {closest.second}"
        if plan.warnings:
            found["warnings"] = "; ".join(plan.warnings)
        return found


def _spheres_or_error(item: VisibleObject) -> NDArray[np.float64] | RobotCellError:
    """Return the spheres (n, 4) of an object [m], or why they cannot be computed."""
    try:
        return sphere_rows(item.collisions)
    except RobotCellError as error:
        return error


def is_hidden(state: RobotCellState, object_name: str) -> bool:
    """Return whether a tool or body is hidden; robots never are."""
    scene_object = state.tools.get(object_name) or state.bodies.get(object_name)
    return scene_object is not None and scene_object.hidden
