"""The execution of robots that move independently, without a planning node."""

import numpy as np
from action_goals import EXECUTE, FOLLOW, action_client, execute
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from fake_robot import swing

from robot_cell_planner.action import ExecuteTrajectory


def start_execution(start_node, *robots):
    """Start the execution node for robots whose joints have the prefixes `<robot>/`."""
    return start_node(
        "execution_node",
        independent_robots=f"[{', '.join(f'{robot}/' for robot in robots)}]",
        command_fields="[position, velocity]",
        # Wide enough for a robot whose process a busy machine holds up.
        joint_state_timeout=1.5,
        joint_state_lost_after=3.0,
        path_tolerance=5.0,
        goal_tolerance=1e-9,
        goal_time=120.0,
        validation_timeout=120.0,
    )


def wait_for_actions(client):
    """Wait until the execution node offers its actions."""
    for kind, name in ((ExecuteTrajectory, EXECUTE), (FollowJointTrajectory, FOLLOW)):
        action_client(client, kind, name)


def bring_to_zero(client, robot, joints):
    """Bring joints of a robot to zero, and forget the commands."""
    for _ in range(100):  # commands and states of the motion before may still be on their way
        robot.forget_commands()
        sent = execute(
            client, swing(joints, [robot.positions[joint] for joint in joints], np.zeros(len(joints)))
        ).wait()
        if sent.status == GoalStatus.STATUS_SUCCEEDED:
            break
    else:
        raise AssertionError(sent.result.error.message)
    robot.forget_commands()
