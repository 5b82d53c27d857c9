"""The process of a simulation: steps the physics in time with the clock, takes commands, sends samples and reports."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from ..errors import RobotCellError
from .process import JointSample, Ready, Report, Schedule, Start, TimedCommand

if TYPE_CHECKING:
    from .process import ToParent
    from .simulated_cell import SimulatedCell

MOST_LAG = 0.2  # [s] of the clock that the simulation may be behind before it gives that up


class Pace:
    """When each period of a simulation is due, and what its moments are.

    lost: time of the clock that was given up because the simulation could not keep up [s].
    """

    def __init__(self, schedule: Schedule) -> None:
        self.period = 1.0 / schedule.rate
        self._factor = schedule.real_time_factor
        self._simulated_clock = schedule.simulated_clock
        self._origin = time.monotonic()
        self.lost = 0.0

    def wait(self, end: float) -> None:
        """Wait until the simulated time `end` [s] is due."""
        left = self._origin + end / self._factor - time.monotonic()
        if left > 0.0:
            time.sleep(left)
        elif left < -MOST_LAG:
            self._origin -= left
            self.lost -= left

    def moment(self, simulated: float) -> float:
        """The moment of a simulated time."""
        return simulated if self._simulated_clock else self._origin + simulated / self._factor

    def simulated(self, moment: float) -> float:
        """The simulated time of a moment."""
        return moment if self._simulated_clock else (moment - self._origin) * self._factor


def main() -> None:
    """Serve the connection whose file descriptor the command line names, until its other end wants no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process at the other end
    connection: ToParent = Connection(int(sys.argv[1]))
    try:
        _serve(connection)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the other end is gone, with nobody left to tell


def _serve(connection: ToParent) -> None:
    start = connection.recv()
    if not isinstance(start, Start):
        return
    _import_quietly("pybullet")
    from .simulated_cell import SimulatedCell

    try:
        with SimulatedCell(start.cell, start.state, start.options) as simulated:
            connection.send(Ready(simulated.joint_names, simulated.driven_joints, simulated.remarks))
            if connection.recv() is not None:
                _run(simulated, start.schedule, connection)
    except RobotCellError as error:
        connection.send(error)


def _run(simulated: SimulatedCell, schedule: Schedule, connection: ToParent) -> None:
    pace = Pace(schedule)
    periods = 0
    periods_a_report = max(1, round(schedule.rate / schedule.report_rate))
    while True:
        pace.wait((periods + 1) * pace.period)
        while connection.poll():
            message = connection.recv()
            if not isinstance(message, TimedCommand):
                return
            time = None if message.moment is None else pace.simulated(message.moment)
            simulated.command(message.command, time)
        simulated.step(pace.period)
        connection.send(_sample(simulated, pace))
        if periods % periods_a_report == 0:
            connection.send(_report(simulated, pace))
        periods += 1


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
    kept = os.dup(1), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        importlib.import_module(name)
    finally:
        for descriptor, stream in zip(kept, (1, 2), strict=True):
            os.dup2(descriptor, stream)
            os.close(descriptor)
        os.close(nowhere)


if __name__ == "__main__":
    main()
