"""Worker process of a simulation: steps the physics in real time, receives commands, sends samples and reports."""

from __future__ import annotations

import math
import pickle
import sys
import time
from bisect import insort
from dataclasses import replace
from multiprocessing.connection import Connection
from operator import itemgetter
from random import Random
from typing import TYPE_CHECKING

import msgspec

from ..errors import RobotCellError, SimulationError
from ..model.pose import Pose
from ..system.lifeline import end_when_closed
from ..system.physics import has_physics, load_pybullet
from ..system.readiness import wait_readable
from .contacts import ContactRecord, ContactStamps
from .disturbances import DisturbanceKind
from .engines.names import BULLET
from .operations import (
    AddBody,
    Continue,
    Disturb,
    Operation,
    Pause,
    RemoveBody,
    Request,
    Reset,
    SetController,
    SetTimeFactor,
    Step,
)
from .options import BOUNDS, SimulationOptions
from .pace import Pace
from .process import Answer, Ready, Report, Schedule, Settling, Start, TimedCommand
from .quotas import Quotas
from .repetition import JointSample, Repeats

if TYPE_CHECKING:
    from .measuring import Measuring
    from .process import ToParent
    from .simulated_cell import SimulatedCell

SETTLING_PERIOD = 1.0  # [s] between reports that objects come to rest
SEED = 0  # of lost commands
PAUSE_POLL = 0.05  # [s] between checks for messages while paused
# Commands of each joint; the earliest are discarded. Those of the longest latency and delay, at 1 kHz.
MAX_WAITING = 12_000


def main() -> None:
    """Serve the connection whose file descriptor is a command line argument.

    Ends when the other end closes the connection, or when the pipe named after it is closed.
    """
    end_when_closed(int(sys.argv[2]))
    connection: ToParent = Connection(int(sys.argv[1]))
    try:
        _serve(connection)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the other end is closed; nobody to report to


def _serve(connection: ToParent) -> None:
    start = connection.recv()
    if not isinstance(start, Start):
        return
    if start.options.engine == BULLET and has_physics():
        load_pybullet()
    from .measuring import Measuring
    from .simulated_cell import SimulatedCell

    try:
        reports = _SettlingReports(connection)
        with SimulatedCell(start.cell, start.state, _options(start), on_settling=reports.take) as simulated:
            connection.send(_ready(simulated))
            if connection.recv() is not None:
                measuring = Measuring(simulated, start.options.robot.sensors, start.schedule.rate)
                _Run(simulated, start.schedule, connection, measuring).go()
    except RobotCellError as error:
        connection.send(error)


class _SettlingReports:
    """Reports that objects come to rest, so that the other end waits on."""

    def __init__(self, connection: ToParent) -> None:
        self._connection = connection
        self._sent_at = time.monotonic()

    def take(self, settled: float) -> None:
        """Take the time for which they have been coming to rest [s]."""
        now = time.monotonic()
        if now - self._sent_at >= SETTLING_PERIOD:
            self._sent_at = now
            self._connection.send(Settling(settled))


def _ready(simulated: SimulatedCell) -> Ready:
    return Ready(simulated.names_of_joints, simulated.warnings, simulated.command_limits)


def _options(start: Start) -> SimulationOptions:
    """Return the options, with a time step that divides the sample period evenly."""
    period, shortest = 1.0 / start.schedule.rate, BOUNDS["time_step"][0]
    steps = min(math.ceil(period / start.options.time_step - 1e-9), math.floor(period / shortest + 1e-9))
    return replace(start.options, time_step=max(period / steps, shortest))


class _Run:
    """A simulation in real time, and the requests to it.

    Attributes:
        periods: Sample periods that have been simulated.
        paused: Whether time is paused.
        steps: Sample periods that are to be simulated while time is paused.
    """

    def __init__(
        self, simulated: SimulatedCell, schedule: Schedule, connection: ToParent, measuring: Measuring
    ) -> None:
        self._simulated, self._connection, self._measuring = simulated, connection, measuring
        self._pace = Pace(schedule)
        self._contact_stamps = ContactStamps(self._pace.moment)
        # Commands in the order of their times, or of their arrival for those without one, which are the first items.
        self._waiting: list[tuple[float, TimedCommand]] = []
        self._quotas = Quotas(self._waiting, MAX_WAITING, _joints_of, _without)
        self._reported: dict[str, Pose] = {}  # bodies of the last report
        self._commanded: dict[str, float] = {}  # latest positions that were carried out; NaN after other commands
        self._periods_a_report = max(1, round(schedule.rate / schedule.report_rate))
        self._random = Random(SEED)
        self._received = 2  # messages: the configuration, and the one to begin
        self._rests = False  # samples are repeated by the other end
        self.periods = 0
        self.paused = False
        self.steps = 0

    def go(self) -> None:
        """Simulate until the other end requests the end."""
        while True:
            if self._rests:
                if not self._rest():
                    return
                continue
            end = (self.periods + 1) * self._pace.period
            halted = self.paused and self.steps == 0
            if not halted:
                if self._pace.falls_behind(end, moving=False):
                    if not self._receive_all():  # also the latest commands
                        return
                    if self._pace.falls_behind(end, self._is_moving()):
                        self._stamped_contacts()
                        self._pace.catch_up(end)
                self._pace.wait(end)
            if not self._receive_all(PAUSE_POLL if halted else 0.0):
                return
            if self.paused and self.steps == 0:
                continue
            self.steps = max(self.steps - 1, 0)
            self._carry_out(end)
            self._finish_period(end)
            if self._can_rest():
                self._rests = True
                self._connection.send(self._repeats())

    def _finish_period(self, end: float) -> None:
        """Simulate until the end of a period [s], and send what is due; no sample while the other end repeats it."""
        self._simulated.step_to(end)
        if not self._rests:
            self._connection.send_bytes(pickle.dumps(_sample(self._simulated, self._pace)))  # faster than `send`
        if self.periods % self._periods_a_report == 0:
            report = self._report()
            self._connection.send(report.changes_since(self._reported))
            self._reported = report.bodies
        for message in self._measuring.messages(self.periods, self._pace.moment(self._simulated.time)):
            self._connection.send(message)
        self.periods += 1

    def _report(self) -> Report:
        simulated, contacts = self._simulated, self._stamped_contacts()
        moment, dropped = self._pace.moment(simulated.time), self._quotas.thinned
        return Report(moment, simulated.body_poses(), contacts, simulated.disturbances, dropped)

    def _stamped_contacts(self) -> tuple[ContactRecord, ...]:
        """Return the records of contacts with timestamps. Past contacts keep theirs when the pace is changed later."""
        records = self._simulated.contact_log
        return tuple(
            msgspec.structs.replace(record, begin=begin, end=end)
            for record, (begin, end) in zip(records, self._contact_stamps.of(records), strict=True)
        )

    def _restart(self) -> None:
        """Let the time of the simulation be now, after a pause."""
        self._stamped_contacts()
        self._pace.restart(self.periods * self._pace.period)

    def _can_rest(self) -> bool:
        """Return whether all further samples are equal, until a message comes, and their stamps are known."""
        if self._waiting or self.paused or self._pace.simulated_clock or self._measuring.measures:
            return False
        return self._simulated.is_at_rest

    def _repeats(self, last: float = math.inf) -> Repeats:
        """Return the message for a rest from the next sample on. last: simulated time of its last sample [s]."""
        pace = self._pace
        return Repeats(pace.moment((self.periods + 1) * pace.period), pace.interval, self._received, pace.moment(last))

    def _rest(self) -> bool:
        """Wait until a report is due, or a message ends the rest; return whether to continue."""
        report = math.ceil(self.periods / self._periods_a_report) * self._periods_a_report
        now = time.monotonic()
        left = max(-self._pace.lag((report + 1) * self._pace.period, now), 0.0)
        if not wait_readable(self._connection, left):
            self._pass_periods(now + left)
            return True
        messages = []
        while True:
            now = time.monotonic()
            if not wait_readable(self._connection, 0.0):
                break
            messages.append(self._connection.recv())
        # A process that was not scheduled for a while carries out its commands in time.
        commands = (each.moment for each in messages if isinstance(each, TimedCommand) and each.moment is not None)
        self._pass_periods(now, min(commands, default=math.inf))
        self._connection.send(self._repeats(self.periods * self._pace.period))
        self._rests = False
        return all(map(self._receive, messages))

    def _pass_periods(self, now: float, before: float = math.inf) -> None:
        """Finish the periods that end before a timestamp [s] and are due, whose samples the other end has repeated. Of
        more than MAX_LAG, as after a suspension of this process, only the last ones are simulated.

        now: time of `time.monotonic` at which no further message was there. Commands in later ones are for later
            periods, so that it does not matter how long this process stands still between that check and the periods.
        """
        skipped = self._pace.periods_to_skip((self.periods + 1) * self._pace.period, min(now, before))
        if skipped > 0:
            self._stamped_contacts()
            self._pace.skip(skipped)
        while True:
            end = (self.periods + 1) * self._pace.period
            if self._pace.lag(end, now) < 0.0 or self._pace.moment(end) >= before:
                return
            self._finish_period(end)

    def _receive_all(self, timeout: float = 0.0) -> bool:
        """Process all messages, and wait for the first [s]; return whether to continue."""
        # What `Connection.poll` does, at a tenth of its processor time.
        while wait_readable(self._connection, timeout):
            if not self._receive(self._connection.recv()):
                return False
            timeout = 0.0
        return True

    def _is_moving(self) -> bool:
        """Return whether a command waits that differs from the latest one that was carried out, or an effort, which may
        move a joint even if it is zero."""
        return any(
            any(self._commanded.get(name) != position for name, position in each.command.positions.items())
            or any(each.command.velocities.values())
            or not each.command.efforts.keys() <= {*each.command.positions, *each.command.velocities}
            for _, each in self._waiting
        )

    def _receive(self, message: object) -> bool:
        """Process a message; return whether to continue."""
        self._received += 1
        if isinstance(message, TimedCommand):
            self._take(message)
        elif isinstance(message, Request):
            self._connection.send(self._answer(message))
        else:
            return False
        return True

    def _take(self, command: TimedCommand) -> None:
        """Queue a command, unless a disturbance loses it."""
        lost, late = (
            max((each.value for each in self._simulated.disturbances if each.kind is kind), default=0.0)
            for kind in (DisturbanceKind.COMMAND_LOSS, DisturbanceKind.COMMAND_LATENCY)
        )
        if lost > 0.0 and self._random.random() < lost:
            return
        if late > 0.0:
            moment = self._pace.moment(self._simulated.time) if command.moment is None else command.moment
            command = replace(command, moment=moment + late)
        # Clients stamp their commands differently: one for a later time does not hold up those of others.
        entry = self._time_of(command), command
        insort(self._waiting, entry, key=itemgetter(0))
        self._quotas.added(entry)

    def _time_of(self, command: TimedCommand) -> float:
        """Return the timestamp of a command that arrives [s]; that of its arrival if it has none, so that it follows
        the earlier commands that wait because of the delay."""
        if command.moment is not None:
            return command.moment
        return self._simulated.time if self._pace.simulated_clock else time.monotonic()

    def _answer(self, request: Request) -> Answer:
        try:
            names = self._carry_out_operation(request.operation)
        except RobotCellError as error:
            return Answer(request.number, error=error)
        time, active = self._simulated.time, self._simulated.disturbances
        return Answer(request.number, names, time=time, paused=self.paused, disturbances=active)

    def _carry_out_operation(self, operation: Operation) -> tuple[str, ...]:
        match operation:
            case SetController(names, controller):
                return self._simulated.set_controller(controller, *names)
            case AddBody(body, at):
                self._simulated.add_body(body, at)
            case RemoveBody(name):
                self._simulated.remove_body(name)
            case Disturb(disturbances, clear):
                self._simulated.disturb(*disturbances, clear=clear)
            case Pause():
                self.paused, self.steps = True, 0
            case Continue():
                self._continue()
            case Step(periods):
                if not self.paused:
                    raise SimulationError("steps need a simulation that is paused", subjects=("steps",))
                if self.steps == 0:
                    self._restart()
                self.steps += periods
            case Reset():
                self._waiting.clear()
                self._quotas.clear()
                self._commanded.clear()
                self.steps = 0
                self._simulated.reset()
            case SetTimeFactor(factor):
                self._pace.set_factor(factor, self.periods * self._pace.period)
        return ()

    def _continue(self) -> None:
        if self.paused:
            self.paused, self.steps = False, 0
            self._restart()

    def _carry_out(self, end: float) -> None:
        """Simulate from one command's time to the next, until the end of a period; later commands remain queued.

        A simulation that has fallen behind therefore processes commands as if it had not.
        """
        waiting, simulated = self._waiting, self._simulated
        while waiting:
            moment = waiting[0][1].moment
            time = simulated.time if moment is None else self._pace.simulated(moment)
            if time > end:
                return
            simulated.step_to(time)
            entry = waiting.pop(0)
            self._quotas.removed(entry)
            command = entry[1].command
            for joint in command.joints:
                self._commanded[joint] = command.positions.get(joint, math.nan)
            simulated.command(command, time)


def _joints_of(entry: tuple[float, TimedCommand]) -> frozenset[str]:
    return entry[1].command.joints


def _without(entry: tuple[float, TimedCommand], joints: frozenset[str]) -> tuple[float, TimedCommand]:
    return entry[0], entry[1].without(joints)


def _sample(simulated: SimulatedCell, pace: Pace) -> JointSample:
    states = simulated.joint_states()
    moment = pace.moment(simulated.time)
    return JointSample(
        moment, states.positions.tolist(), states.velocities.tolist(), states.efforts.tolist(), pace.lost
    )


if __name__ == "__main__":
    main()
