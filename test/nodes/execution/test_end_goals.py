"""Goals that arrive after the execution node was asked to end."""

import signal
import threading

import pytest
from running import RunningNode, wait_for_message
from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner.errors import RobotCellError, ServiceUnavailableError, StopRequestedError
from robot_cell_planner.msg import ExecutionStatus
from robot_cell_planner.nodes.client.client import CellClient
from robot_cell_planner.nodes.common.node import LATCHED


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_goals_that_are_sent_again_and_again_do_not_keep_the_node_from_ending(domain, number):
    """Each waits for joint states, with exclusive access to the robot, until it is stopped."""
    node = RunningNode("execution_node", domain, server_timeout=600.0)
    errors = []

    def send_goals(client):
        while True:
            try:
                client.execute(JointTrajectory(joint_names=["a"]))
            except ServiceUnavailableError:  # the node has ended
                return
            except RobotCellError as error:
                errors.append(error)

    try:
        with CellClient("test_client", discovery_timeout=60.0) as client:
            sender = threading.Thread(target=send_goals, args=(client,), daemon=True)
            sender.start()
            wait_for_message(client, ExecutionStatus, "execution/status", LATCHED, lambda status: status.owner)
            node.process.send_signal(number)
            assert node.wait(60) == 0
        sender.join(60)
    finally:
        node.process.kill()
    assert errors
    assert {type(error) for error in errors} == {StopRequestedError}
