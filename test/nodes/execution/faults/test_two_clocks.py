"""Two publishers of /clock with different times: motions end, and none begins until one of them has ended."""

import pytest
from action_goals import execute
from action_msgs.msg import GoalStatus
from fake_robot import swing
from motion_faults import (
    ARM,
    EXECUTION,
    FAR,
    HOME,
    begin,
    check_error,
    check_stop,
    execute_at_rest,
    scale_client,
    start_at,
    was_torn,
)
from rclpy.duration import Duration
from rosgraph_msgs.msg import Clock
from running import wait_until_answered

from robot_cell_planner import srv

pytestmark = pytest.mark.alone


class Publisher:
    """Publishes /clock: the time of the computer, ahead by some time [s]."""

    def __init__(self, node, ahead=0.0):
        self._node, self._ahead = node, Duration(seconds=ahead)
        self._publisher = node.create_publisher(Clock, "/clock", 10)
        self._timer = node.create_timer(0.007, self._publish)

    def _publish(self):
        self._publisher.publish(Clock(clock=(self._node.get_clock().now() + self._ahead).to_msg()))

    def end(self):
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)


@pytest.fixture
def second(client, world, start_node):
    """Makes a second publisher, ahead of that on whose time an execution node runs in place of the other one."""
    publishers = [Publisher(client.node)]
    world.nodes["execution_node"].stop()
    node = start_node("execution_node", use_sim_time=True, **EXECUTION)
    wait_until_answered(scale_client(client), srv.SetSpeedScale.Request(scale=1.0))

    def make(ahead):
        publishers.append(Publisher(client.node, ahead))
        return publishers[-1]

    yield make
    node.stop()
    for publisher in publishers:
        publisher.end()


@pytest.mark.parametrize("ahead", [0.6, -0.6])
def test_two_publishers_of_simulated_time(client, robot, second, ahead):
    """By less than what a jump of the clock is reported for."""
    sent = begin(client, robot)
    other = second(ahead)
    error = check_error(sent.wait(), "StoppedError", "clock", "/clock has 2 publishers with different times")
    assert error.values[0].value == pytest.approx(0.6, abs=0.1)
    check_stop(robot, torn=was_torn(sent))
    here = list(robot.positions.values())[: len(ARM)]
    refused = execute(client, swing(ARM, here, FAR, duration=3.0, samples=31))
    check_error(refused.wait(), "StoppedError", "publishers with different times")
    assert robot.taken() == []
    other.end()
    for _ in range(200):
        robot.run_for(50)
        if execute_at_rest(client, here).status == GoalStatus.STATUS_SUCCEEDED:
            break
    start_at(client, robot)
    assert execute_at_rest(client, HOME).status == GoalStatus.STATUS_SUCCEEDED
