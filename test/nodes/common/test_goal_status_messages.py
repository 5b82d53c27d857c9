"""Statuses of goals are read from serialized messages as rclpy reads them, and no more of them than asked for."""

import struct

import numpy as np
import pytest
from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from builtin_interfaces.msg import Time
from rclpy.serialization import serialize_message
from unique_identifier_msgs.msg import UUID

from robot_cell_planner.nodes.common import goal_status_messages
from robot_cell_planner.nodes.common.goal_status_messages import RUNNING, running_goals
from robot_cell_planner.nodes.motion.left_goals import MAX_GOALS, GoalIds


def states_of(random, count):
    return [
        GoalStatus(
            goal_info=GoalInfo(
                goal_id=UUID(uuid=random.integers(0, 256, 16, dtype=np.uint8)),
                stamp=Time(sec=int(random.integers(2**31)), nanosec=int(random.integers(10**9))),
            ),
            status=int(random.integers(-1, 7)),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 50])
@pytest.mark.parametrize("max_goals", [1, 2, 7, 1000])
def test_running_goals_are_those_that_rclpy_reads(count, max_goals):
    for seed in range(5):
        states = states_of(np.random.default_rng(seed), count)
        data = serialize_message(GoalStatusArray(status_list=states))
        expected = [bytes(each.goal_info.goal_id.uuid) for each in states[-max_goals:] if each.status in RUNNING]
        assert running_goals(data, max_goals) == expected


def test_no_goal_of_a_long_message_is_converted_to_an_object(monkeypatch):
    states = states_of(np.random.default_rng(0), 3) * 20_000
    data = serialize_message(GoalStatusArray(status_list=states))
    monkeypatch.setattr(goal_status_messages, "deserialized", None)
    expected = [bytes(each.goal_info.goal_id.uuid) for each in states[-MAX_GOALS:] if each.status in RUNNING]
    assert running_goals(data, MAX_GOALS) == expected


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_truncated_message_is_an_error(count):
    data = serialize_message(GoalStatusArray(status_list=states_of(np.random.default_rng(0), count)))
    needed = 8 + 25 + 28 * (count - 1)
    for length in range(5, needed):
        with pytest.raises(struct.error):
            running_goals(data[:length], MAX_GOALS)
    running_goals(data[:needed], MAX_GOALS)


def test_goals_of_earlier_processes_of_a_node_are_recognized():
    earlier, own, other = GoalIds("/execution_node"), GoalIds("/execution_node"), GoalIds("/another_node")
    assert own.is_of_predecessor(bytes(earlier.new().uuid))
    assert not own.is_of_predecessor(bytes(own.new().uuid))
    assert not own.is_of_predecessor(bytes(other.new().uuid))
