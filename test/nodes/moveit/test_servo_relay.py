"""Requests to start servo succeed without a new session only while the execution node runs one."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from rclpy.time import Time
from std_srvs.srv import Trigger

from robot_cell_planner.msg import ExecutionStatus
from robot_cell_planner.nodes.common.server_monitor import STATUS_TIMEOUT
from robot_cell_planner.nodes.moveit import servo_relay
from robot_cell_planner.nodes.moveit.servo_relay import ServoRelay


async def current():
    return SimpleNamespace(scene=MagicMock())


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=50.0)
    monkeypatch.setattr(servo_relay, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@pytest.fixture
def sessions(monkeypatch):
    """Sessions that the execution node was requested to begin."""
    begun = []

    async def call(request):
        begun.append(request)

    monkeypatch.setattr(servo_relay, "RemoteService", lambda *_: call)
    return begun


def start(relay):
    """Request to start servo; nothing that it waits for is pending."""
    response = Trigger.Response()
    with pytest.raises(StopIteration):
        relay._start(Trigger.Request(), response).send(None)
    assert response.success


def test_servo_of_a_node_that_has_ended_is_begun_again(clock, sessions):
    node = MagicMock()
    node.get_clock.return_value.now.return_value = Time()
    relay = ServoRelay(node, SimpleNamespace(current=current), "adapter")
    start(relay)
    start(relay)
    assert len(sessions) == 1
    for _ in range(3):
        clock.now += STATUS_TIMEOUT
        relay._on_status(ExecutionStatus(state=ExecutionStatus.SERVOING, owner="adapter"))
    clock.now += STATUS_TIMEOUT
    start(relay)
    assert len(sessions) == 1, "its status was received in time"
    clock.now += 0.1
    start(relay)
    assert len(sessions) == 2
