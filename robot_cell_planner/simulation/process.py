"""A simulated cell that runs in a process of its own, in step with the clock.

The physics engine holds the interpreter while it computes, so nothing that others wait for may share its process.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from ..errors import InternalError, InvalidRequestError, RobotCellError, TimedOutError, Value, WorkerCrashedError
from ..model.cell import RobotCell
from ..model.pose import Pose
from ..model.state import RobotCellState
from .commands import JointCommand
from .contacts import ContactRecord
from .options import SimulationOptions

STAGE = "simulation"
WORKER = "robot_cell_planner.simulation.worker"
START_TIMEOUT = 120.0  # [s] to read meshes and to let things settle
END_TIMEOUT = 3.0  # [s]
SCHEDULE_BOUNDS = {
    "rate": (1.0, 1000.0),
    "report_rate": (0.1, 100.0),
    "real_time_factor": (0.01, 100.0),
    "delay": (0.0, 1.0),
}


@dataclass(frozen=True)
class Schedule:
    """How a simulation goes along with the clock.

    rate: samples of the joints in a second of simulated time. report_rate: reports in such a second. real_time_factor:
    simulated seconds in one of the clock. simulated_clock: moments are simulated time; otherwise they are those of
    `time.monotonic`. delay: how long the simulation waits, so that commands are there when their moment comes [s].

    Raises:
        InvalidRequestError: rates or a factor out of bounds.
    """

    rate: float = 250.0
    report_rate: float = 10.0
    real_time_factor: float = 1.0
    simulated_clock: bool = False
    delay: float = 0.0

    def __post_init__(self) -> None:
        for name, (lower, upper) in SCHEDULE_BOUNDS.items():
            value = getattr(self, name)
            if not lower <= value <= upper:
                text = f"{name} is {value}, expected {lower:g} to {upper:g}"
                raise InvalidRequestError(text, stage=STAGE, subjects=(name,), values=(Value(name, value),))


@dataclass(frozen=True)
class JointSample:
    """Joints at a moment [s], in the order of `SimulationProcess.joint_names`. lost: how much the simulation has fallen
    behind the clock in all and given up [s]."""

    moment: float
    positions: list[float]
    velocities: list[float]
    efforts: list[float]
    lost: float


@dataclass(frozen=True)
class Report:
    """Bodies and contacts at a moment [s]. bodies: world_T_body; contacts: begin and end are moments too."""

    moment: float
    bodies: dict[str, Pose]
    contacts: tuple[ContactRecord, ...]


@dataclass(frozen=True)
class Start:
    """What the worker is to simulate."""

    cell: RobotCell
    state: RobotCellState
    options: SimulationOptions
    schedule: Schedule


@dataclass(frozen=True)
class Ready:
    """What the worker says when it begins; see `SimulatedCell`."""

    joint_names: tuple[str, ...]
    driven_joints: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class TimedCommand:
    """A command and the moment that it is for [s]; None: when it arrives."""

    command: JointCommand
    moment: float | None


Upwards = Ready | RobotCellError | JointSample | Report
Downwards = Start | bool | TimedCommand | None
if TYPE_CHECKING:  # connections have no type parameters when they run
    ToWorker = Connection[Downwards, Upwards]
    ToParent = Connection[Upwards, Downwards]


class SimulationProcess:
    """A `SimulatedCell` in a process of its own. Callbacks run in a thread that waits for its messages. The step of the
    physics is made shorter where it does not fit a whole number of times into the period of the samples.

    joint_names, driven_joints, remarks: see `SimulatedCell`. dropped: commands that were not sent because the process
    was too far behind.

    Raises:
        RobotCellError: whatever `SimulatedCell` raises.
        TimedOutError: the cell was not ready in time.
        WorkerCrashedError: the process ended before it was ready.
    """

    def __init__(
        self,
        start: Start,
        on_sample: Callable[[JointSample], None],
        on_report: Callable[[Report], None],
        on_end: Callable[[RobotCellError], None],
    ) -> None:
        self._on_sample, self._on_report, self._on_end = on_sample, on_report, on_end
        self._closing = False
        self.dropped = 0
        self._connection, self._lifeline, self._process = _launch()
        try:
            ready = self._begin(start)
        except BaseException:
            self._process.kill()
            self._process.wait()
            self._connection.close()
            os.close(self._lifeline)
            raise
        self.joint_names = ready.joint_names
        self.driven_joints = ready.driven_joints
        self.remarks = ready.remarks
        self._thread = threading.Thread(target=self._listen, name="simulation", daemon=True)

    def run(self) -> None:
        """Begin to deliver samples and reports."""
        self._send(True)
        self._thread.start()

    def _begin(self, start: Start) -> Ready:
        try:
            self._connection.send(start)
            if not self._connection.poll(START_TIMEOUT):
                raise TimedOutError(f"the cell was not ready within {START_TIMEOUT:g} s", stage=STAGE)
            answer = self._connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            raise self._crash() from error
        if isinstance(answer, RobotCellError):
            raise answer
        if not isinstance(answer, Ready):
            raise TypeError(f"the worker says {type(answer).__name__} first")
        return answer

    def _crash(self) -> WorkerCrashedError:
        status = self._process.wait()
        return WorkerCrashedError(f"the process of the physics ended with status {status}", stage=STAGE)

    def _listen(self) -> None:
        try:
            while True:
                message = self._connection.recv()
                if isinstance(message, JointSample):
                    self._on_sample(message)
                elif isinstance(message, Report):
                    self._on_report(message)
                elif isinstance(message, RobotCellError):
                    self._on_end(message)
                    return
        except (EOFError, ConnectionResetError):
            if not self._closing:
                self._on_end(self._crash())
        except Exception as error:
            # A callback failed. Nobody would notice if this thread just ended.
            self._on_end(InternalError(f"{type(error).__name__}: {error}", stage=STAGE))

    def command(self, command: JointCommand, moment: float | None = None) -> None:
        """Command joints that are known, with finite numbers, for a moment [s]; None: as soon as it arrives."""
        if not self._send(TimedCommand(command, moment)):
            self.dropped += 1

    def _send(self, message: Downwards) -> bool:
        """Send a message unless that would have to wait; whether it was sent."""
        if self._connection.closed or not select.select((), (self._connection,), (), 0.0)[1]:
            return False
        try:
            self._connection.send(message)
        except (BrokenPipeError, ConnectionResetError):
            return False  # the process has ended, as the listening thread says
        return True

    def close(self) -> None:
        """End the process; nothing happens if that was done before."""
        self._closing = True
        self._send(None)
        try:
            self._process.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._thread.is_alive():
            self._thread.join()
        if not self._connection.closed:
            self._connection.close()
            os.close(self._lifeline)


def _launch() -> tuple[ToWorker, int, subprocess.Popen[bytes]]:
    """The connection, the end of a pipe whose closing ends the process, and the process."""
    ours, theirs = Pipe()
    watched, lifeline = os.pipe()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    command = [sys.executable, "-m", WORKER, str(theirs.fileno()), str(watched)]
    try:
        # In a session of its own it does not get a terminal's Ctrl-C: it ends when this process wants that, or is gone.
        process = subprocess.Popen(
            command, pass_fds=(theirs.fileno(), watched), env=environment, start_new_session=True
        )
    except OSError as error:
        ours.close()
        os.close(lifeline)
        raise WorkerCrashedError(f"the process of the physics cannot be started: {error}", stage=STAGE) from error
    finally:
        theirs.close()
        os.close(watched)
    return ours, lifeline, process
