"""Faults of motions are unchanged after conversion to a message and back; other bytes are refused."""

import array
import math
from contextlib import suppress

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from std_msgs.msg import UInt8MultiArray

from robot_cell_planner.errors import LimitExceededError, RobotCellError, TrackingError
from robot_cell_planner.model.json_values import to_json
from robot_cell_planner.nodes.conversions import motion_faults
from robot_cell_planner.nodes.conversions.motion_faults import MotionFault, fault_from_message, fault_to_message
from robot_cell_planner.trajectory.tracking import (
    Check,
    FaultRecord,
    Tolerances,
    TrackingRow,
    supervise,
    supervised,
)
from robot_cell_planner.trajectory.trajectory import Trajectory


def fault(*errors):
    one, unknown = np.ones(2), np.full(2, math.nan)
    rows = [TrackingRow(Check.PATH, time, time, 0.0, one, 0.0 * one, one + error, unknown) for time, error in errors]
    trajectory = Trajectory(("a", "tool/b"), np.array([0.0, 0.1]), np.array([[0.0, 1.0], [0.1, 1.0 / 3.0]]))
    tolerances = Tolerances(0.1, 0.1 * one, math.inf * one, 0.1 * one, 0.1 * one, 2.0)
    motion = supervised(trajectory, ("a", "b"), tolerances, rows, silence=0.2, lost_after=0.5)
    return MotionFault(motion, FaultRecord.of(TrackingError("off", subjects=("a",))), "c" * 16, "s" * 16)


@pytest.mark.parametrize("rows", [(), ((0.1, 0.0), (0.2, 1.0 / 7.0))])
def test_a_fault_is_unchanged_after_conversion(rows):
    before = fault(*rows)
    after = fault_from_message(fault_to_message(before))
    assert to_json(after) == to_json(before)
    assert np.array_equal(after.motion.tolerances.path_velocity, [math.inf, math.inf])
    assert after.error.error.subjects == ("a",)
    if rows:
        with pytest.raises(TrackingError, match=r"position error of a is 0\.1429"):
            supervise(after.motion)


def message(data):
    return UInt8MultiArray(data=array.array("B", data))


@given(st.binary(max_size=200))
def test_other_bytes_are_refused(data):
    with pytest.raises(RobotCellError):
        fault_from_message(message(data))


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_changed_byte_gives_a_fault_or_is_refused(place, value):
    data = bytearray(fault_to_message(fault((0.1, 0.0))).data)
    data[place % len(data)] = value
    with suppress(RobotCellError):
        assert len(fault_from_message(message(data)).motion) <= 1


def test_deep_and_large_messages_are_refused(monkeypatch):
    with pytest.raises(RobotCellError):
        fault_from_message(message(b"\x91" * 100_000))
    extension = msgspec.msgpack.encode(msgspec.msgpack.Ext(7, b"12345678"))
    with pytest.raises(RobotCellError, match="extension 7"):
        fault_from_message(message(extension))
    monkeypatch.setattr(motion_faults, "MAX_BYTES", 100)
    with pytest.raises(LimitExceededError, match="bytes"):
        fault_to_message(fault())
    with pytest.raises(LimitExceededError, match="101 bytes"):
        fault_from_message(message(b"a" * 101))
