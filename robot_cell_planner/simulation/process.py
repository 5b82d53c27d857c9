"""Simulated cell in its own process, synchronised with the clock.

The physics engine holds the interpreter lock while it computes, so it cannot share a process with time-critical code.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from ..errors import InternalError, InvalidRequestError, RobotCellError, TimedOutError, Value, WorkerCrashedError
from ..model.cell import RobotCell
from ..model.pose import Pose
from ..model.state import RobotCellState
from ..system.worker_process import disconnect, ended_on_error, start_worker, wait_or_kill
from .commands import CommandLimits, JointCommand
from .contacts import ContactRecord
from .disturbances import Disturbance
from .joint_names import JointNames
from .measurements import ImagesDue, Measurement
from .operations import Operation, Request
from .options import SimulationOptions
from .outbox import Outbox
from .repetition import JointSample, Repeats, Repetition

STAGE = "simulation"
WORKER = "robot_cell_planner.simulation.worker"
START_TIMEOUT = 120.0  # [s] for reading meshes, and between two messages while objects come to rest
END_TIMEOUT = 3.0  # [s]
MAX_UNSENT = 2000  # commands of each joint, and requests, that a process that is behind has not taken
SCHEDULE_BOUNDS = {
    "rate": (1.0, 1000.0),
    "report_rate": (0.1, 100.0),
    "real_time_factor": (0.01, 100.0),
    "delay": (0.0, 1.0),
}


@dataclass(frozen=True)
class Schedule:
    """Timing of a simulation.

    Attributes:
        rate: Joint samples per second of simulated time.
        report_rate: Reports per second of simulated time.
        real_time_factor: Simulated seconds per second of the clock.
        simulated_clock: Whether timestamps are simulated time; otherwise they are times of `time.monotonic`.
        delay: Delay of the simulation, so that commands arrive before their time [s].

    Raises:
        InvalidRequestError: A rate or the factor is out of range.
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
class Report:
    """Bodies, contacts and disturbances at a time [s].

    `bodies`: world_T_body; begin and end of `contacts` are timestamps too. `dropped`: number of commands that were
    discarded, in whole or for some joints, because too many waited for their times. `is_whole`: whether
    `bodies` has all bodies; between the processes, it has those that moved since the last report, as long as none is
    added or removed.
    """

    moment: float
    bodies: dict[str, Pose]
    contacts: tuple[ContactRecord, ...]
    disturbances: tuple[Disturbance, ...] = ()
    dropped: int = 0
    is_whole: bool = True

    def changes_since(self, before: Mapping[str, Pose]) -> Report:
        """Return the report without the bodies that are where an earlier whole report has them, as it is sent."""
        if self.bodies.keys() != before.keys():
            return self
        moved = {name: pose for name, pose in self.bodies.items() if pose is not before[name] and pose != before[name]}
        return replace(self, bodies=moved, is_whole=False)

    def completed(self, before: Mapping[str, Pose]) -> Report:
        """Return the whole report of one that was sent. Poses of bodies that did not move are the same objects."""
        return self if self.is_whole else replace(self, bodies={**before, **self.bodies}, is_whole=True)


@dataclass(frozen=True)
class Start:
    """Configuration of the worker."""

    cell: RobotCell
    state: RobotCellState
    options: SimulationOptions
    schedule: Schedule


@dataclass(frozen=True)
class Settling:
    """Message of the worker while objects come to rest, which may take long; settled: simulated time so far [s]."""

    settled: float


@dataclass(frozen=True)
class Ready:
    """First message of the worker besides `Settling`; see `SimulatedCell`."""

    names_of_joints: JointNames
    warnings: tuple[str, ...]
    command_limits: dict[str, CommandLimits]


@dataclass(frozen=True)
class TimedCommand:
    """Command with the time that it is for [s]; None for the time of its arrival."""

    command: JointCommand
    moment: float | None

    def without(self, joints: Collection[str]) -> TimedCommand:
        """Return the command of the other joints."""
        return TimedCommand(self.command.without(joints), self.moment)


@dataclass(frozen=True)
class Answer:
    """Outcome of a request.

    Attributes:
        number: Number of the request.
        names: Names of the joints that it is about.
        error: Error, or None.
        time: Simulated time [s].
        paused: Whether time is paused.
        disturbances: Disturbances in force.
    """

    number: int
    names: tuple[str, ...] = ()
    error: RobotCellError | None = None
    time: float = 0.0
    paused: bool = False
    disturbances: tuple[Disturbance, ...] = ()


Upwards = Settling | Ready | RobotCellError | JointSample | Repeats | Report | Measurement | ImagesDue | Answer
Downwards = Start | bool | TimedCommand | Request | None
if TYPE_CHECKING:  # connections are not generic at run time
    ToWorker = Connection[Downwards, Upwards]
    ToParent = Connection[Upwards, Downwards]


def joints_of(message: Downwards) -> frozenset[str]:
    """Return the joints of a command; none of other messages."""
    return message.command.joints if isinstance(message, TimedCommand) else frozenset()


def without(message: Downwards, joints: frozenset[str]) -> Downwards:
    return message.without(joints) if isinstance(message, TimedCommand) else message


def _ignore(_: Measurement | ImagesDue) -> None:
    """Ignore a measurement."""


class SimulationProcess:
    """`SimulatedCell` in its own process. Callbacks run in a thread that receives its messages;
    `on_measurement` receives what sensors measure.

    The physics time step is shortened if necessary, so that the sample period is a multiple of it.

    Attributes:
        joint_names, driven_joints, names_of_joints, warnings, command_limits: See `SimulatedCell`.

    Raises:
        RobotCellError: Any error of `SimulatedCell`.
        TimedOutError: The cell was not ready in time.
        WorkerCrashedError: The process ended before it was ready.
    """

    def __init__(
        self,
        start: Start,
        on_sample: Callable[[JointSample], None],
        on_report: Callable[[Report], None],
        on_end: Callable[[RobotCellError], None],
        on_measurement: Callable[[Measurement | ImagesDue], None] = _ignore,
    ) -> None:
        self._on_report, self._on_end = on_report, on_end
        self._on_measurement = on_measurement
        self._closing = False
        self._answers_end = False
        self._dropped = 0
        self._bodies: dict[str, Pose] = {}  # of the last report
        self._answers: dict[int, Callable[[Answer], None]] = {}
        self._requests = itertools.count()
        self._connection, self._lifeline, self._process = start_worker(WORKER, STAGE)
        with ended_on_error(self._connection, self._lifeline, self._process) as on_error:
            self._outbox: Outbox[Downwards] = Outbox(self._connection, MAX_UNSENT, joints_of, without)
            on_error.callback(self._outbox.close)
            on_error.callback(disconnect, self._connection)
            ready = self._begin(start)
        self.names_of_joints = ready.names_of_joints
        self.joint_names, self.driven_joints = self.names_of_joints.all, self.names_of_joints.driven
        self.warnings = ready.warnings
        self.command_limits = ready.command_limits
        self._samples = Repetition(start.schedule.delay, lambda: self._outbox.accepted, on_sample)
        self._thread = threading.Thread(target=self._listen, name="simulation", daemon=True)

    def run(self) -> None:
        """Start delivering samples and reports."""
        self._outbox.put(True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """Number of commands that were discarded, in whole or for some joints, because the process was too far behind,
        or too many of them waited for their times, as of the latest report."""
        return self._outbox.discarded + self._dropped

    def _begin(self, start: Start) -> Ready:
        self._outbox.put(start)
        try:
            answer: Upwards = Settling(0.0)
            while isinstance(answer, Settling):
                if not self._connection.poll(START_TIMEOUT):
                    text = f"the cell was not ready within {START_TIMEOUT:g} s"
                    since = f" after {answer.settled:g} s of `settle_time`" if answer.settled else ""
                    raise TimedOutError(text + since, stage=STAGE)
                answer = self._connection.recv()
        except (EOFError, ConnectionResetError) as error:
            raise self._crash() from error
        if isinstance(answer, RobotCellError):
            raise answer
        if not isinstance(answer, Ready):
            raise TypeError(f"the worker sent {type(answer).__name__} first")
        return answer

    def _crash(self) -> WorkerCrashedError:
        how = wait_or_kill(self._process, END_TIMEOUT)
        return WorkerCrashedError(f"the process of the physics {how}", stage=STAGE)

    def _listen(self) -> None:
        try:
            while True:
                self._samples.wait(self._connection)
                message = self._connection.recv()
                if isinstance(message, JointSample | Repeats):
                    self._samples.take(message)
                elif isinstance(message, Report):
                    self._dropped = message.dropped
                    report = message.completed(self._bodies)
                    self._bodies = report.bodies
                    self._on_report(report)
                elif isinstance(message, Measurement | ImagesDue):
                    self._on_measurement(message)
                elif isinstance(message, Answer):
                    self._answers.pop(message.number)(message)
                elif isinstance(message, RobotCellError):
                    self._on_end(message)
                    return
        except (EOFError, ConnectionResetError):
            if not self._closing:
                self._on_end(self._crash())
        except Exception as error:
            # A callback failed; without a report the thread would end unnoticed.
            self._on_end(InternalError(f"{type(error).__name__}: {error}", stage=STAGE))
        finally:
            self._end_requests()

    def _end_requests(self) -> None:
        """Answer the requests whose answers nobody will read any more, and let later ones be refused."""
        self._answers_end = True
        error = WorkerCrashedError("the process of the physics has ended", stage=STAGE)
        for number in list(self._answers):
            on_answer = self._answers.pop(number, None)
            if on_answer is not None:  # `request` has not taken it back meanwhile
                on_answer(Answer(number, error=error))

    def command(self, command: JointCommand, moment: float | None = None) -> None:
        """Command existing joints with finite values for a time [s]; None for the time of arrival."""
        self._outbox.put(TimedCommand(command, moment))

    def request(self, operation: Operation, on_answer: Callable[[Answer], None]) -> None:
        """Ask for an operation. `on_answer` is called in the thread that receives messages.

        Raises:
            WorkerCrashedError: The process has ended, or is too far behind to take a request.
        """
        number = next(self._requests)
        self._answers[number] = on_answer
        accepted = self._outbox.put(Request(number, operation)) and not self._answers_end
        if not accepted and self._answers.pop(number, None) is not None:
            raise WorkerCrashedError("the process of the physics does not take requests", stage=STAGE)

    def close(self) -> None:
        """End the process. Has no effect if it already ended."""
        self._closing = True
        self._outbox.put(None)
        wait_or_kill(self._process, END_TIMEOUT)
        if self._connection.closed:
            return
        disconnect(self._connection)
        if self._thread.is_alive():
            self._thread.join()
        self._outbox.close()
        self._connection.close()
        os.close(self._lifeline)
