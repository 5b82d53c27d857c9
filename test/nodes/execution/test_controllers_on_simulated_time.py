"""Motions of a controller in a simulation that is paused."""

import numpy as np
import pytest
from action_goals import execute
from action_msgs.msg import GoalStatus
from fake_robot import FakeValidator, swing
from simulated_time import SECOND, SimulatedRobot, SimulatedTime
from trajectory_controller import TrajectoryController

ARM = ("shoulder", "elbow")
START, END = np.zeros(2), np.array([1.0, -0.5])
LOST_AFTER = 1.0  # [s] of joint states
CYCLES = 500  # of the robot in which time stands: longer than LOST_AFTER


class SimulatedController(TrajectoryController):
    """A controller on simulated time, silent with its robot."""

    def now(self):
        return self.robot.simulated.now() / SECOND

    def _update(self):
        if not self.robot.silent:
            super()._update()


@pytest.fixture(scope="module")
def simulated(client):
    return SimulatedTime(client.node)


@pytest.fixture(scope="module")
def robot(client, simulated):
    return SimulatedRobot(client.node, simulated, ARM)


@pytest.fixture(scope="module", autouse=True)
def controller(start_node, client, robot):
    validator = FakeValidator(client.node, client._group)
    made = SimulatedController(client.node, client._group, "arm_controller", ARM, robot)
    start_node(
        "execution_node",
        use_sim_time=True,
        mode="controller",
        controller_actions="[arm_controller/follow_joint_trajectory]",
        joint_state_timeout=LOST_AFTER,
        joint_state_lost_after=LOST_AFTER,
        path_tolerance=5.0,
        goal_time=60.0,
    )
    yield made
    client.node.destroy_service(validator._service)


def test_a_motion_goes_on_after_a_pause(client, robot, simulated, controller):
    for _ in range(100):  # the nodes may not have found each other yet
        sent = execute(client, swing(ARM, START, END, 3.0))
        while not (sent.done.is_set() or robot.positions[ARM[0]] > 0.4):
            robot.run_for(1)
        if not sent.done.is_set():
            break
    simulated.run(0.0)
    robot.silent = True
    robot.run_for(CYCLES)
    assert not sent.done.is_set(), sent.result
    simulated.run(1.0)
    robot.silent = False
    assert sent.wait().status == GoalStatus.STATUS_SUCCEEDED, sent.result
    assert robot.positions[ARM[0]] == pytest.approx(END[0])
