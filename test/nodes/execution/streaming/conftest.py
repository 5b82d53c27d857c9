"""The execution node through its real interfaces, with a robot that follows its commands exactly."""

import pytest
from action_goals import EXECUTE, FOLLOW, MOVE, action_client
from control_msgs.action import FollowJointTrajectory
from fake_robot import JOINTS, EmergencyStop, FakePlanner, FakeRobot, FakeValidator
from streaming import here, run

from robot_cell_planner.action import ExecuteTrajectory, Move


@pytest.fixture(scope="module")
def robot(client):
    return FakeRobot(client.node)


@pytest.fixture(scope="module")
def validator(client):
    return FakeValidator(client.node, client._group)


@pytest.fixture(scope="module")
def planner(client, robot):
    return FakePlanner(client.node, robot, client._group)


@pytest.fixture(scope="module", autouse=True)
def execution_node(start_node, robot, validator, planner):
    return start_node(
        "execution_node",
        joints=f"[{', '.join(JOINTS)}]",
        command_fields="[position, velocity]",
        gripper_joint="finger",
        gripper_upper=0.04,
        # Wide enough for a robot whose process a busy machine holds up.
        joint_state_timeout=1.5,
        path_tolerance=5.0,
        # A motion ends when the robot has reached its exact end, so that its last command was received, too.
        goal_tolerance=1e-9,
        goal_time=20.0,
        gripper_goal_tolerance=1e-9,
        gripper_goal_time=30.0,
        gripper_start_timeout=5.0,
        stall_timeout=1.0,
    )


@pytest.fixture
def button(client):
    button = EmergencyStop(client.node)
    yield button
    button.end()


@pytest.fixture(autouse=True)
def at_rest(client, robot, validator):
    # Some time before they are used: the first feedback is lost while the node has not discovered its subscriber.
    for kind, name in ((ExecuteTrajectory, EXECUTE), (FollowJointTrajectory, FOLLOW), (Move, MOVE)):
        action_client(client, kind, name)
    robot.heal()
    validator.limit, validator.limits = 10.0, None
    run(client, robot, here(robot), duration=0.02)
    robot.forget_commands()
    validator.requests.clear()
