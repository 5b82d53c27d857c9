"""The start of a session of servo: compiled functions are loaded beside the executor, on which other motions depend,
and the robot has to be at rest."""

import asyncio
import threading
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from loaded_cells import loaded

from robot_cell_planner.errors import StopRequestedError
from robot_cell_planner.msg import ServoOptions
from robot_cell_planner.nodes.common.exclusive_access import ExclusiveAccess
from robot_cell_planner.nodes.motion.independent_robots import IndependentRobots
from robot_cell_planner.nodes.servo import servo
from robot_cell_planner.srv import SetServo
from robot_cell_planner.trajectory.limits import MotionLimits
from robot_cell_planner.trajectory.servo_frames import FrameServo, FrameServoOptions


def test_compiled_functions_are_loaded_once_in_a_thread(monkeypatch):
    cell, state = loaded()
    variables = cell.group().variables
    limits = MotionLimits.of([cell.variables[name] for name in variables])
    settings = SimpleNamespace(frames=FrameServoOptions())
    task = SimpleNamespace(
        cell=cell, state=state, frame=cell.tip_link(""), limits=limits, settings=settings, joints=variables
    )
    calls, command = [], FrameServo.command

    def record(frames, positions, twist):
        calls.append(threading.current_thread().name)
        return command(frames, positions, twist)

    async def in_thread(node, name, work):
        return await asyncio.to_thread(work)

    monkeypatch.setattr(FrameServo, "command", record)
    monkeypatch.setattr(servo, "in_thread", in_thread)
    server = servo.ServoServer(*(MagicMock() for _ in range(8)))
    for _ in range(2):
        asyncio.run(server._load(task))
    assert len(calls) == 1
    assert calls[0] != threading.current_thread().name


@pytest.mark.parametrize("stopped", [False, True])
def test_a_session_waits_for_the_robot_to_rest_and_does_not_begin_if_it_is_stopped_meanwhile(monkeypatch, stopped):
    """A robot that still brakes would be led back to where it was measured."""
    calls, access = [], ExclusiveAccess("is executing a motion", lambda: None)
    runner, robots = MagicMock(), IndependentRobots(())
    server = servo.ServoServer(*(MagicMock() for _ in range(5)), runner, access, robots)

    async def done(*_):
        return MagicMock()

    async def settled(joints, token):
        calls.append(joints)
        if stopped:
            access.cancel_all(StopRequestedError("stopped"))

    runner.ready, runner.settled, server._load = done, settled, done
    server._feedback.unknown.return_value = None
    monkeypatch.setattr(servo, "servo_settings", lambda *_: None)
    monkeypatch.setattr(server, "_scene", lambda: SimpleNamespace(resolve=done))
    monkeypatch.setattr(server, "_task", lambda *_: SimpleNamespace(joints=("elbow",), others=frozenset()))
    monkeypatch.setattr(server, "_begin", lambda *_: calls.append("begins"))
    request = SetServo.Request(enabled=True, options=ServoOptions(check_collision=False))
    work = server._set_servo(request, SimpleNamespace())
    if stopped:
        with pytest.raises(StopRequestedError):
            asyncio.run(work)
    else:
        asyncio.run(work)
    assert calls == [("elbow",), *([] if stopped else ["begins"])]
