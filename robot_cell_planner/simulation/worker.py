"""Worker process of a simulation: steps the physics in real time, receives commands, sends samples and reports."""

from __future__ import annotations

import importlib
import math
import os
import sys
import time
from collections import deque
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from ..errors import RobotCellError
from ..system.lifeline import end_when_closed
from .options import BOUNDS, SimulationOptions
from .process import JointSample, Ready, Report, Schedule, Start, TimedCommand

if TYPE_CHECKING:
    from .process import ToParent
    from .simulated_cell import SimulatedCell

MAX_WAITING = 2000  # commands; the oldest are discarded
MAX_LAG = 1.0  # [s] max delay of the simulation behind the clock before it skips the difference


class Pace:
    """Schedule of the simulation periods, and conversion between simulated time and timestamps.

    lost: Time of the clock that was skipped because the simulation could not keep up [s].
    """

    def __init__(self, schedule: Schedule) -> None:
        self.period = 1.0 / schedule.rate
        self._factor = schedule.real_time_factor
        self._simulated_clock = schedule.simulated_clock
        self._delay = schedule.delay
        self._origin = time.monotonic()
        self.lost = 0.0

    def wait(self, end: float) -> None:
        """Wait until the simulated time `end` [s] is due."""
        left = self._origin + end / self._factor + self._delay - time.monotonic()
        if left > 0.0:
            time.sleep(left)
        elif left < -MAX_LAG:
            self._origin -= left
            self.lost -= left

    def moment(self, simulated: float) -> float:
        """Return the timestamp of a simulated time."""
        return simulated if self._simulated_clock else self._origin + simulated / self._factor

    def simulated(self, moment: float) -> float:
        """Return the simulated time of a timestamp."""
        return moment if self._simulated_clock else (moment - self._origin) * self._factor


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
    _import_quietly("pybullet")
    from .simulated_cell import SimulatedCell

    try:
        with SimulatedCell(start.cell, start.state, _options(start)) as simulated:
            connection.send(Ready(simulated.joint_names, simulated.driven_joints, simulated.warnings))
            if connection.recv() is not None:
                _run(simulated, start.schedule, connection)
    except RobotCellError as error:
        connection.send(error)


def _options(start: Start) -> SimulationOptions:
    """Return the options, with a time step that divides the sample period evenly."""
    period, shortest = 1.0 / start.schedule.rate, BOUNDS["time_step"][0]
    steps = min(math.ceil(period / start.options.time_step - 1e-9), math.floor(period / shortest + 1e-9))
    return replace(start.options, time_step=max(period / steps, shortest))


def _run(simulated: SimulatedCell, schedule: Schedule, connection: ToParent) -> None:
    pace = Pace(schedule)
    waiting: deque[TimedCommand] = deque(maxlen=MAX_WAITING)
    periods = 0
    periods_a_report = max(1, round(schedule.rate / schedule.report_rate))
    while True:
        end = (periods + 1) * pace.period
        pace.wait(end)
        while connection.poll():
            message = connection.recv()
            if not isinstance(message, TimedCommand):
                return
            waiting.append(message)
        _carry_out(waiting, simulated, pace, end)
        simulated.step_to(end)
        connection.send(_sample(simulated, pace))
        if periods % periods_a_report == 0:
            connection.send(_report(simulated, pace))
        periods += 1


def _carry_out(waiting: deque[TimedCommand], simulated: SimulatedCell, pace: Pace, end: float) -> None:
    """Simulate from one command's time to the next, until the end of a period; later commands remain queued.

    A simulation that has fallen behind therefore processes commands as if it had not.
    """
    while waiting:
        moment = waiting[0].moment
        time = simulated.time if moment is None else pace.simulated(moment)
        if time > end:
            return
        simulated.step_to(time)
        simulated.command(waiting.popleft().command, time)


def _sample(simulated: SimulatedCell, pace: Pace) -> JointSample:
    states = simulated.joint_states()
    moment = pace.moment(simulated.time)
    return JointSample(
        moment, states.positions.tolist(), states.velocities.tolist(), states.efforts.tolist(), pace.lost
    )


def _report(simulated: SimulatedCell, pace: Pace) -> Report:
    contacts = tuple(
        replace(record, begin=pace.moment(record.begin), end=pace.moment(record.end))
        for record in simulated.contact_log
    )
    return Report(pace.moment(simulated.time), simulated.body_poses(), contacts)


def _import_quietly(name: str) -> None:
    """Import a module that writes to the standard streams while it is loaded, as PyBullet does with its build time."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        importlib.import_module(name)
    finally:
        for descriptor, stream in zip(saved, (1, 2), strict=True):
            os.dup2(descriptor, stream)
            os.close(descriptor)
        os.close(nowhere)


if __name__ == "__main__":
    main()
