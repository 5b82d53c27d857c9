"""The TF buffer is cleared when simulated time is set back, as in tf2_ros; static transforms are retained. Transforms
that it ignores are reported."""

import time
from types import SimpleNamespace

import pytest
from geometry_msgs.msg import TransformStamped
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from rclpy.time import Time
from tf2_msgs.msg import TFMessage

from robot_cell_planner.errors import TransformError
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.nodes.common import transform_listener
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.nodes.common.transform_listener import TransformListener
from robot_cell_planner.nodes.conversions.basic import transform_to_message

TIMEOUT = 120.0  # [s]
SECOND = 10**9


def lookup_until_there(listener, frame):
    until = time.monotonic() + TIMEOUT
    while True:
        try:
            return listener.lookup("world", frame)
        except TransformError:
            assert time.monotonic() < until


def transform(child, x, second=0):
    entry = TransformStamped(child_frame_id=child, transform=transform_to_message(Pose((x, 0.0, 0.0))))
    entry.header.frame_id, entry.header.stamp.sec = "world", second
    return entry


def test_a_jump_back_of_simulated_time_clears_the_buffer(node):
    listener = TransformListener(node)
    static = node.create_publisher(TFMessage, "/tf_static", reliable(1, latched=True))
    moving = node.create_publisher(TFMessage, "/tf", reliable(10, latched=True))
    node.set_parameters([Parameter("use_sim_time", value=True)])
    clock = node.get_clock()
    clock.set_ros_time_override(Time(nanoseconds=100 * SECOND))
    static.publish(TFMessage(transforms=[transform("camera", 1.0)]))
    moving.publish(TFMessage(transforms=[transform("part", 2.0, second=100)]))
    assert lookup_until_there(listener, "camera").pose.position[0] == 1.0
    assert lookup_until_there(listener, "part").pose.position[0] == 2.0
    clock.set_ros_time_override(Time(nanoseconds=200 * SECOND))
    assert listener.lookup("world", "part").stamp == 100 * SECOND
    clock.set_ros_time_override(Time(nanoseconds=200 * SECOND - 1000))
    with pytest.raises(TransformError):
        listener.lookup("world", "part")
    assert listener.lookup("world", "camera").pose.position[0] == 1.0


def test_transforms_that_are_much_older_than_the_latest_are_reported(node, monkeypatch):
    """Such as those after a publisher whose clock was ahead."""
    warnings = []
    logger = SimpleNamespace(warning=lambda text, **_: warnings.append(text))
    monkeypatch.setattr(node, "get_logger", lambda: logger)
    buffer = transform_listener._OwnBuffer(node)
    for second in (1000, 995, 100):
        buffer.insert(serialize_message(TFMessage(transforms=[transform("part", 1.0, second)])), static=False)
    (warning,) = warnings
    assert "part" in warning
    assert "more than 10 s older" in warning
    assert buffer.lookup("world", "part", 0).stamp == 1000 * SECOND
