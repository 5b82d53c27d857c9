"""The part of the panel by which people act: drag a target, plan, preview, execute, stop, and edit the scene."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from html import escape

from ...errors import RobotCellError
from ...model.geometry import Box, Cylinder, Geometry, Sphere
from ...model.pose import Pose
from ..overlays import COLLIDING
from ..tool_paths import tool_frame
from .acts import Acts
from .handles import DragHandle
from .server import LocalServer
from .text import block, coloured
from .view import LiveView

NONE = "\N{EN DASH}"  # of a dropdown without entries
SHAPES: dict[str, Callable[[tuple[float, float, float]], Geometry]] = {
    "box": Box,
    "sphere": lambda size: Sphere(size[0] / 2.0),
    "cylinder": lambda size: Cylinder(size[0] / 2.0, size[2]),
}
PLAN_TIMEOUT = 10.0  # [s] for a plan to be shown after the answer to its request
Work = Callable[[], str]


class ActPanel:
    """Calls the acts for people. Errors of the nodes are shown as they are.

    One plan or motion is requested at a time, and one change of the scene. Stop has a thread of its own: those of the
    server may all wait for nodes. What is previewed and executed is the plan that is shown, so a request to plan ends
    when its plan is. plan_timeout: how long that is waited for [s].
    """

    def __init__(self, server: LocalServer, view: LiveView, acts: Acts, plan_timeout: float = PLAN_TIMEOUT) -> None:
        self._server = server
        self._view = view
        self._acts = acts
        self._plan_timeout = plan_timeout
        self._busy = threading.Lock()
        self._editing = threading.Lock()
        self._solving = threading.Lock()
        self._solutions: tuple[Mapping[str, float], ...] = ()
        self._solved_for: tuple[str, Pose] | None = None
        self._known: tuple[object, ...] = ()
        with server.gui.add_folder("Move the robot"):
            self._make_motion()
        with server.gui.add_folder("Edit the scene", expand_by_default=False):
            self._make_scene()
        self._message = server.gui.add_html("")

    # Motions.

    def _make_motion(self) -> None:
        gui = self._server.gui
        self._group = gui.add_dropdown("group", (NONE,))
        self._drag = gui.add_checkbox("drag a target", False, hint="a handle at the tool; solutions follow it")
        self._found = gui.add_html("")
        self._choice = gui.add_dropdown("solution", ("any",))
        self._named = gui.add_dropdown("named state", (NONE,))
        self._handle = DragHandle(self._server, "/target")
        for label, work, hint in (
            ("Plan to the target", self._plan_to_target, "planning/plan_motion"),
            ("Plan to the named state", self._plan_to_named, "planning/plan_motion"),
        ):
            gui.add_button(label, hint=hint).on_click(_ignoring_event(partial(self._run, self._busy, label, work)))
        gui.add_button("Preview").on_click(lambda _: self._run_now("Preview", self._preview))
        execute = gui.add_button("Execute", color="green", hint="execution/execute_trajectory")
        execute.on_click(lambda _: self._run(self._busy, "Execute", self._execute))
        stop = gui.add_button("Stop", color="red", hint="execution/control_motion")
        stop.on_click(self._stop)
        show_handle = _ignoring_event(partial(self._try, "drag a target", self._show_handle))
        self._drag.on_update(show_handle)
        self._group.on_update(show_handle)
        self._handle.on_drag(partial(self._try, "drag a target", self._follow_handle))
        self._choice.on_update(_ignoring_event(partial(self._try, "solution", self._show_choice)))

    async def _stop(self, _: object) -> None:
        """Stop the motion. A coroutine is run by the server's event loop, and not by its threads."""
        arguments = "Stop", self._acts.stop
        try:
            threading.Thread(target=self._run_now, args=arguments, name="stop", daemon=True).start()
        except RuntimeError:  # too many threads: the page waits for the node meanwhile
            self._run_now(*arguments)

    def _group_name(self) -> str:
        return "" if self._group.value == NONE else self._group.value

    def _show_handle(self) -> None:
        """Put the handle at the tool of the group, or hide it."""
        self._handle.show(lambda: self._group_name() if self._drag.value else None, self._tool_pose)
        if not self._drag.value:
            self._view.show_solutions(())
            self._found.content = ""

    def _tool_pose(self, group: str) -> Pose | None:
        with self._view.lock:
            cell, state = self._view.cell, self._view.state
        frame = "" if cell is None or state is None else tool_frame(cell, state, group)
        return self._view.frame_pose(frame) if frame else None

    def _follow_handle(self) -> None:
        """Solve for the pose of the handle; while one is being solved, only the latest is solved next."""
        while self._solving.acquire(blocking=False):
            try:
                target = self._handle.pose
                if target is None:
                    return
                self._solve(target)
            finally:
                self._solving.release()
            if self._handle.pose == target:
                return

    def _solve(self, target: Pose) -> None:
        group = self._group_name()
        try:
            self._solutions = self._acts.solve(group, target)
            text = escape(f"{len(self._solutions)} solutions without collision")
        except RobotCellError as error:
            self._solutions = ()
            text = coloured(str(error), COLLIDING)
        self._solved_for = group, target
        self._found.content = block(text)
        self._choice.options = ("any", *(str(index + 1) for index in range(len(self._solutions))))
        self._show_choice()

    def _chosen(self) -> Mapping[str, float] | None:
        choice = str(self._choice.value)
        index = int(choice) - 1 if choice.isdecimal() else -1
        return self._solutions[index] if 0 <= index < len(self._solutions) else None

    def _show_choice(self) -> None:
        chosen = self._chosen()
        self._view.show_solutions(self._solutions if chosen is None else (chosen,))

    def _plan_to_target(self) -> str:
        group, target, chosen = self._group_name(), self._handle.pose, self._chosen()
        if target is None:
            return "drag a target first"
        if chosen is not None and self._solved_for == (group, target):
            return self._until_shown(partial(self._acts.plan_to_joints, group, chosen))
        return self._until_shown(partial(self._acts.plan_to_pose, group, target))

    def _until_shown(self, plan: Work) -> str:
        """Plan, and wait until the plan is shown: until then, the previous one would be executed."""
        with self._view.lock:
            previous = self._view.plan
        text = plan()
        return text if self._view.wait_for_plan(previous, self._plan_timeout) else f"{text}, not shown yet"

    def _plan_to_named(self) -> str:
        if self._named.value == NONE:
            return "choose a named state first, if the group has any"
        return self._until_shown(partial(self._acts.plan_to_named_state, self._group_name(), self._named.value))

    def _preview(self) -> str:
        return "the preview is running" if self._view.preview() else "there is no timed plan to preview"

    def _execute(self) -> str:
        with self._view.lock:
            shown = self._view.plan
        if shown is None or shown.plan.trajectory is None:
            return "there is no timed plan to execute"
        return self._acts.execute(shown.plan.trajectory)

    # The scene.

    def _make_scene(self) -> None:
        gui = self._server.gui
        self._body = gui.add_dropdown("body", (NONE,))
        self._move = gui.add_checkbox("drag the body", False)
        self._body_handle = DragHandle(self._server, "/body_target")
        self._parent = gui.add_dropdown("attach to", (NONE,))
        for label, act in (
            ("Attach", lambda body: self._acts.attach(body, self._parent.value)),
            ("Detach", lambda body: self._acts.detach(body)),
            ("Hide", lambda body: self._acts.set_hidden(body, hidden=True)),
            ("Show", lambda body: self._acts.set_hidden(body, hidden=False)),
            ("Remove", lambda body: self._acts.remove(body)),
        ):
            button = gui.add_button(label, hint="scene/apply_changes")
            button.on_click(_ignoring_event(partial(self._edit, label, partial(self._with_body, act))))
        show_handle = _ignoring_event(partial(self._try, "drag the body", self._show_body_handle))
        self._move.on_update(show_handle)
        self._body.on_update(show_handle)
        self._body_handle.on_release(partial(self._edit, "Move", self._move_body))
        self._name = gui.add_text("new body", "box")
        self._shape = gui.add_dropdown("shape", tuple(SHAPES))
        self._size = gui.add_vector3("size [m]", (0.1, 0.1, 0.1), min=(0.001,) * 3, step=0.01)
        self._place = gui.add_vector3("position [m]", (0.5, 0.0, 0.5), step=0.01)
        gui.add_button("Add", hint="scene/apply_changes").on_click(lambda _: self._edit("Add", self._add))

    def _with_body(self, act: Callable[[str], str]) -> str:
        """Act on the body that is chosen."""
        return "choose a body first" if self._body.value == NONE else act(self._body.value)

    def _edit(self, label: str, work: Work) -> None:
        self._run(self._editing, label, work)

    def _show_body_handle(self) -> None:
        self._body_handle.show(self._body_to_move, self._view.frame_pose)

    def _body_to_move(self) -> str | None:
        name = str(self._body.value)
        return name if self._move.value and name != NONE else None

    def _move_body(self) -> str:
        pose = self._body_handle.pose
        return self._acts.move(self._body.value, pose) if pose is not None else "the handle is hidden"

    def _add(self) -> str:
        x, y, z = (float(value) for value in self._size.value)
        px, py, pz = (float(value) for value in self._place.value)
        geometry = SHAPES[str(self._shape.value)]((x, y, z))
        return self._acts.add(self._name.value, geometry, Pose((px, py, pz)))

    # Common.

    def refresh(self) -> None:
        """Renew the entries of the dropdowns after the cell has changed."""
        with self._view.lock:
            cell = self._view.cell
        if cell is None:
            return
        groups = tuple(
            name for robot in cell.robots.values() for name, group in robot.groups.items() if group.variables
        )
        chosen = f"{self._group.value}/"
        states = tuple(
            name.removeprefix(chosen)
            for robot in cell.robots.values()
            for name in robot.named_states
            if name.startswith(chosen)
        )
        parents = (*(link for robot in cell.robots.values() for link in robot.mechanism.links), *cell.tools)
        known = (groups, states, tuple(cell.bodies), parents)
        if known == self._known:
            return
        is_first, self._known = not self._known, known
        for dropdown, options in zip((self._group, self._named, self._body, self._parent), known, strict=True):
            # Without its entry, a dropdown would select the first of the others, and an act that of another object.
            keeps_value = is_first or dropdown.value in options
            dropdown.options = (options or (NONE,)) if keeps_value else (NONE, *options)

    def _run(self, lock: threading.Lock, label: str, work: Work) -> None:
        """Run what must not run twice at once."""
        if not lock.acquire(blocking=False):
            self._say(coloured(f"{label}: wait for the end of the previous request", COLLIDING))
            return
        try:
            self._say(escape(f"{label} \N{HORIZONTAL ELLIPSIS}"))
            self._run_now(label, work)
        finally:
            lock.release()

    def _run_now(self, label: str, work: Work) -> None:
        self._try(label, lambda: self._say(escape(f"{label}: {work()}")))

    def _try(self, label: str, work: Callable[[], None]) -> None:
        """Do something; an error of the library is shown on the page."""
        try:
            work()
        except RobotCellError as error:
            self._say(coloured(f"{label}: {error}", COLLIDING))

    def _say(self, content: str) -> None:
        self._message.content = block(content)


def _ignoring_event(work: Callable[[], None]) -> Callable[[object], None]:
    """Return a function without arguments as a callback of an event."""
    return lambda _: work()
