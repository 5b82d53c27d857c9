"""Motions of the demo robot that end by faults, and checks of their commands."""

from itertools import pairwise

import numpy as np
from action_goals import execute
from action_msgs.msg import GoalStatus
from fake_robot import swing
from geometry_msgs.msg import Point, Pose
from loaded_cells import loaded
from recorded import LONGEST_GAP, check_limits, check_rest, positions, velocities
from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner import srv
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.msg import BodyModel, Geometry, SceneChange, Shape
from robot_cell_planner.nodes.conversions.basic import duration_from_message, duration_to_message

CELL, STATE = loaded()
ARM = CELL.group().variables
FINGER = "finger_joint"
PAN = ARM[0]
HOME = [STATE.configuration[joint] for joint in ARM]
ELSEWHERE = [HOME[0] - 0.3, *HOME[1:]]
FAR = [-2.6, *HOME[1:]]  # the first joint turned away from the table
LIMITS = [getattr(CELL.variables[PAN].limits, name) for name in ("velocity", "acceleration", "jerk")]
EXECUTION = {
    "joints": f"[{', '.join(ARM)}]",
    "command_fields": "[position, velocity, effort]",
    "allow_partial_joints_goal": False,
    "motion_modes": "[automatic]",
    # Wide enough for a robot, and for nodes, whose processes a busy machine holds up.
    "joint_state_timeout": 1.5,
    "monitor_timeout": 4.0,
    "path_tolerance": 5.0,
    "goal_tolerance": 1e-9,
    "goal_time": 20.0,
}

# The obstructed part: the last part of a slow motion from home to the far place.
SLOW = 20.0
BLOCKED_AT = -2.3


def scale_client(client):
    name = "execution/set_speed_scale"
    if name not in client._clients:
        client._clients[name] = client.node.create_client(srv.SetSpeedScale, name, callback_group=client._group)
    return client._clients[name]


def start_at(client, robot, configuration=HOME):
    """Move the robot by hand, and wait until the nodes have received that: a goal that does nothing succeeds."""
    robot.forget_commands()  # of a motion before, which would move it back
    for _ in range(200):
        robot.put(**dict(zip(ARM, configuration, strict=True)))
        sent = execute_at_rest(client, configuration)
        if sent.status == GoalStatus.STATUS_SUCCEEDED:
            robot.forget_commands()
            return
    raise AssertionError(sent.result.error.message)


def execute_at_rest(client, configuration=HOME, **options):
    """The end of a goal that does nothing."""
    return execute(client, swing(ARM, configuration, configuration, duration=0.1, samples=3), **options).wait()


def to_and_fro(times=10, duration=2.2):
    """From home to the far place and back, again and again, at a good part of the joint's limits."""
    trajectory = JointTrajectory(joint_names=list(ARM))
    for index in range(times):
        ends = (HOME, FAR) if index % 2 == 0 else (FAR, HOME)
        part = swing(ARM, *ends, duration=duration, samples=111)
        for point in part.points[1 if index else 0 :]:
            point.time_from_start = duration_to_message(duration_from_message(point.time_from_start) + index * duration)
            trajectory.points.append(point)
    return trajectory


def begin(client, robot, send=execute, **options):
    """A motion that is in its fast part."""
    start_at(client, robot)
    sent = send(client, to_and_fro(), **options)
    wait_for(robot, sent, lambda command: command[PAN] < -1.7)
    return sent


def wait_for(robot, sent, condition):
    """Wait until a command of a goal fulfils a condition; if the goal ends before, report why."""
    first_new = 0
    while not any(condition(command) for command, _ in robot.commands[first_new:]):
        first_new = max(len(robot.commands) - 1, 0)
        assert not sent.done.is_set(), sent.result
        robot.run_for(1)


def was_torn(sent):
    """Whether the stream of a motion had a gap, by the steady clock; stamps of a simulated clock do not show one."""
    return sent.result.record.longest_interval > LONGEST_GAP


def between_gaps(commands):
    """Commands split at gaps: after a gap they continue from rest, at the position of the last command before it."""
    p, v = positions(commands, [PAN])[:, 0], velocities(commands, [PAN])[:, 0]
    resumed = np.flatnonzero((np.diff(p) == 0.0) & (v[1:] == 0.0) & (v[:-1] != 0.0)) + 1
    bounds = [0, *resumed.tolist(), len(commands)]
    return [commands[begin:end] for begin, end in pairwise(bounds) if v[begin:end].any()]


def check_stop(robot, ended_early=True, lowest=FAR[0], torn=False):
    """The commands that were recorded keep to the path and to the limits, and end at rest. torn: the parts before and
    after a gap are checked against the limits separately."""
    if ended_early:
        robot.wait_for_rest(ARM)
    commands = robot.taken()
    assert np.array_equal(positions(commands, ARM[1:]), np.tile(HOME[1:], (len(commands), 1)))
    assert not velocities(commands, ARM[1:]).any()
    for part in between_gaps(commands) if torn else [commands]:
        check_limits(part, PAN, LIMITS)
    p = positions(commands, [PAN])[:, 0]
    assert lowest - 1e-9 <= p.min() <= p.max() <= HOME[0] + 1e-9
    if ended_early:
        check_rest(commands, PAN)
    return p


def check_error(sent, name, *words):
    assert sent.status == GoalStatus.STATUS_ABORTED
    error = sent.result.error
    assert error.name == name, (error.name, error.message)
    for word in words:
        assert word in f"{error.stage} {error.message} {' '.join(error.subjects)}"
    return error


def in_the_way(beyond=0.0, at=(BLOCKED_AT, *HOME[1:]), outwards=0.0):
    """Where the tool, or a point beyond its tip, or further from the first axis, is at a configuration."""
    state = STATE.with_configuration(dict(zip(ARM, at, strict=True)))
    point = (world_pose(CELL, state, "gripper/tcp").matrix @ [0.0, 0.0, beyond, 1.0])[:3]
    point[:2] *= 1.0 + outwards / np.linalg.norm(point[:2])
    return Pose(position=Point(x=point[0], y=point[1], z=point[2]))


def obstacle(size=0.1):
    change = SceneChange(operation=SceneChange.ADD)
    shape = Shape(geometry=Geometry(type=Geometry.BOX, dimensions=[size] * 3))
    change.models.bodies = [BodyModel(name="box", collision=[shape])]
    return change


def put(name, pose):
    return SceneChange(operation=SceneChange.MOVE, name=name, pose=pose)
