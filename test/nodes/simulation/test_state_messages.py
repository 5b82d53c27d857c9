"""Serialized messages of the state of a simulation, compared with those that rclpy writes."""

import pytest
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Header

from robot_cell_planner.model.pose import Pose
from robot_cell_planner.msg import NamedPose, SimulationContact, SimulationState
from robot_cell_planner.nodes.conversions.basic import pose_to_message
from robot_cell_planner.nodes.simulation import state_messages
from robot_cell_planner.nodes.simulation.state_messages import SimulationStateWriter

STAMP = Time(sec=12, nanosec=345)
NAMES = ("", "a", "ab", "abc", "abcd", "tray 7", "werkstück", "parts/bin_1")
CONTACT = SimulationContact(name_a="ab", name_b="tray 7", first=STAMP, steps=2**40, max_depth=1e-4, max_force=3.0)


def pose(k):
    return Pose.from_rpy((0.1 * k, -1.0, 1e-9), (0.0, 0.1 * k, 3.0))


def of_rclpy(bodies, contacts):
    poses = [NamedPose(name=name, pose=pose_to_message(each)) for name, each in bodies.items()]
    return SimulationState(header=Header(stamp=STAMP, frame_id="world"), bodies=poses, contacts=contacts)


def same(data, message):
    """Compare a serialized message with what rclpy makes of an object; the values of bytes between fields vary."""
    assert len(data) == len(serialize_message(message))
    assert deserialize_message(data, SimulationState) == message


@pytest.mark.parametrize("count", range(len(NAMES) + 1))
@pytest.mark.parametrize("contacts", [[], [CONTACT], [CONTACT, CONTACT]])
def test_messages_are_those_that_rclpy_writes(count, contacts):
    bodies = {name: pose(k) for k, name in enumerate(NAMES[:count])}
    same(SimulationStateWriter().write(STAMP, bodies, contacts), of_rclpy(bodies, contacts))


def test_bodies_that_move_appear_and_vanish_are_written_as_they_are():
    writer = SimulationStateWriter()
    first = {name: pose(k) for k, name in enumerate(NAMES)}
    moved = first | {"abc": pose(20)}
    replaced = {name: each for name, each in moved.items() if name != "a"} | {"new": pose(3)}
    for bodies in (first, moved, replaced, first):
        same(writer.write(STAMP, bodies, []), of_rclpy(bodies, []))


def test_bodies_that_do_not_move_are_not_converted_again(monkeypatch):
    converted = []
    monkeypatch.setattr(state_messages, "pose_to_message", lambda each: converted.append(each) or pose_to_message(each))
    writer = SimulationStateWriter()
    bodies = {name: pose(k) for k, name in enumerate(NAMES)}
    writer.write(STAMP, bodies, [])
    converted.clear()
    moved = pose(20)
    writer.write(STAMP, bodies | {"abc": moved}, [])
    assert converted == [moved]
