"""Case files of failed requests and motions, in a folder that keeps the latest ones."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from std_msgs.msg import UInt8MultiArray

from ...cases import save_case
from ...cases.case import EXECUTION, Answer, Request, method_of
from ...errors import CancelledError, CollisionAheadError, RobotCellError
from ...kinematics.transforms import world_pose
from ...planning.path.look_ahead import LookAheadRequest
from ...scene.changes import apply_changes
from ...scene.scene import Scene
from ...scene.state_changes import SetJoints
from ...trajectory.tracking import Check
from ...trajectory.validation import TrajectoryReport
from ..common.node import CellNode, reliable
from ..common.parameters import Parameter
from ..common.scene_monitor import SceneMonitor
from ..conversions.motion_faults import DEPTH, TOPIC, MotionFault, fault_from_message

SUFFIX = ".case"
MAX_PENDING = 4  # cases that are being written or wait for that
MAX_SCENES = 16  # of the latest validations, for motions that fail later
MAX_AHEAD = 64  # latest look-aheads that have found something, for motions that stop for it later
SAME_TIME = 1e-6  # [s] within which times of messages are the same
TIMES_AHEAD = ("time of the collision", "time of the violation")  # in errors of motions that were stopped for it
CASE_PARAMETERS = (
    Parameter(
        "case_folder",
        "",
        "Folder for case files of failed requests and motions (robot_cell reproduce); empty: none.",
    ),
    Parameter("cases_kept", 20, "Number of case files that are kept in case_folder.", 1, 10_000),
)
Contents: TypeAlias = tuple[Scene, Request, Answer]
LookAhead: TypeAlias = tuple[Scene, LookAheadRequest, TrajectoryReport]


class FailureCases:
    """Writes failed requests, and motions of the execution node that end with an error, to case files: in threads, one
    after the other; for a node with CASE_PARAMETERS."""

    def __init__(self, node: CellNode, scene_monitor: SceneMonitor) -> None:
        folder = node.parameters["case_folder"]
        self._folder = Path(folder) if folder else None
        self._retained = int(node.parameters["cases_kept"])
        self._log = node.get_logger()
        self._writing = threading.Lock()
        self._pending = threading.BoundedSemaphore(MAX_PENDING)
        self._scene_monitor = scene_monitor
        self._validated: OrderedDict[tuple[str, str], Scene] = OrderedDict()
        self._ahead: deque[LookAhead] = deque(maxlen=MAX_AHEAD)
        self._written: deque[TrajectoryReport] = deque(maxlen=MAX_AHEAD)  # of look-aheads, while a case is written
        if self._folder is not None:
            node.create_subscription(UInt8MultiArray, TOPIC, self._on_fault, reliable(DEPTH))

    def answered(self, scene: Scene, request: Any, answer: Any) -> None:
        """Write a request if its answer is an error, other than a cancellation, or a trajectory that is not valid;
        unless too many others wait, or there are no cases of such requests. request: as it was served.

        What a look-ahead finds is kept until a motion stops for it: most of it is ignored, such as what is behind the
        robot, or a contact that the motion leaves. Of violations, only those of limits that have changed since a
        validation can stop one: predicted paths of other robots are sampled too coarsely for the limits they keep to.
        """
        if isinstance(request, LookAheadRequest) and isinstance(answer, TrajectoryReport):
            if self._folder is not None and (answer.collisions or self._beyond_changed_limits(scene, answer)):
                self._ahead.append((scene, request, answer))
            return
        if isinstance(answer, TrajectoryReport):
            failed = not answer.valid
        else:
            failed = isinstance(answer, RobotCellError) and not isinstance(answer, CancelledError)
        if failed and isinstance(request, Request):
            self._start(method_of(request), lambda: (scene, request, answer))

    def _beyond_changed_limits(self, scene: Scene, answer: TrajectoryReport) -> bool:
        """Return whether a trajectory violates a limit that differs from that of a remembered scene."""
        names = {found.variable for found in answer.violations}
        cells = [known.cell for known in tuple(self._validated.values())]
        return any(
            cell.variables[name].limits != scene.cell.variables[name].limits
            for name in names
            for cell in cells
            if name in cell.variables
        )

    def remember(self, scene: Scene) -> None:
        """Keep the scene that a trajectory was validated in, for a case in which its motion fails."""
        if self._folder is None:
            return
        self._validated[scene.cell.digest(), scene.state.digest()] = scene
        while len(self._validated) > MAX_SCENES:
            self._validated.popitem(last=False)

    def _on_fault(self, message: UInt8MultiArray) -> None:
        """Write a motion that ended with an error, and the look-ahead that it was stopped for."""
        known, present, ahead = dict(self._validated), self._scene_monitor.scene, tuple(self._ahead)

        def make() -> Contents:
            fault = fault_from_message(message)
            self._write_look_ahead(fault.error.error, ahead)
            return self._fault_case(fault, known, present)

        self._start(EXECUTION, make)

    def _write_look_ahead(self, error: RobotCellError, ahead: tuple[LookAhead, ...]) -> None:
        """Write the latest look-ahead that a motion with an error was stopped for, once if several motions were."""
        found = next((each for each in reversed(ahead) if _has_stopped(each[2], error)), None)
        if found is not None and not any(found[2] is report for report in self._written):
            self._written.append(found[2])
            self._start(method_of(found[1]), lambda: found)

    def _fault_case(self, fault: MotionFault, known: dict[tuple[str, str], Scene], present: Scene) -> Contents:
        """Return the case of a fault: the scene at its start, what was seen, and the error."""
        scene = known.get((fault.cell_digest, fault.state_digest))
        if scene is None:
            if fault.cell_digest:
                self._log.warning("the scene in which a motion was validated is not kept; its case has the present one")
            scene = apply_changes(present, [SetJoints(_start_of(fault))], world_pose)
        return scene, fault.motion, fault.error.error

    def _start(self, method: str, make: Callable[[], Contents]) -> None:
        if self._folder is None:
            return
        if not self._pending.acquire(blocking=False):
            self._log.warning(f"a case is not saved: {MAX_PENDING} others are being written")
            return
        seconds, nanoseconds = divmod(time.time_ns(), 10**9)
        moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(seconds))
        file = self._folder / f"{moment}-{nanoseconds:09d}-{method}{SUFFIX}"
        thread = threading.Thread(target=self._write, args=(file, make), name="case", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # too many threads: the request still gets its own error
            self._pending.release()
            self._log.warning(f"a case is not saved: {error}")

    def _write(self, file: Path, make: Callable[[], Contents]) -> None:
        try:
            with self._writing:
                scene, request, answer = make()
                save_case(file, scene.cell, scene.state, request, answer)
                files = sorted(file.parent.glob(f"*{SUFFIX}"))
                for old in files[: -self._retained]:
                    old.unlink(missing_ok=True)
            self._log.info(f"the failure is saved: robot_cell reproduce {file}")
        except (RobotCellError, OSError) as error:
            self._log.warning(f"a case is not saved: {error}")
        finally:
            self._pending.release()


def _has_stopped(report: TrajectoryReport, error: RobotCellError) -> bool:
    """Return whether a motion that ended with an error was stopped for what the report of a look-ahead contains."""
    if error.stage != CollisionAheadError.default_stage:
        return False
    times = [value.value for value in error.values if value.name in TIMES_AHEAD]
    found = [({each.first, each.second}, each.time) for each in report.collisions]
    found += [({each.variable}, each.time) for each in report.violations]
    return any(names == set(error.subjects) and abs(time - at) <= SAME_TIME for names, at in found for time in times)


def _start_of(fault: MotionFault) -> dict[str, float]:
    """Return the joints at the start of a motion [rad or m]: measured, if it did not begin there."""
    motion = fault.motion
    begins_elsewhere = motion.checks[:1] == (Check.START,)
    row = motion.actual[0] if begins_elsewhere else motion.trajectory.positions[0]
    return dict(zip(motion.trajectory.variables, row.tolist(), strict=True))
