"""The first session of servo loads its compiled functions beside the executor, on which other motions depend."""

import asyncio
import threading
from types import SimpleNamespace
from unittest.mock import MagicMock

from loaded_cells import loaded

from robot_cell_planner.nodes.servo import servo
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
