"""Motions of the arm of the fake robot, and their commands."""

import numpy as np
from fake_robot import JOINTS, swing

from robot_cell_planner import srv
from robot_cell_planner.errors import FeedbackLostError, ServiceUnavailableError, TrajectoryStartError

ARM = JOINTS[:2]


def on_line(commands, start, end):
    """Whether all commands lie between two configurations, in order; returns them as fractions of the path."""
    path = np.asarray(end) - np.asarray(start)
    fractions = (rows(commands) - start) @ path / (path @ path)
    np.testing.assert_allclose(rows(commands), np.asarray(start) + fractions[:, None] * path, atol=1e-9)
    assert (np.diff(fractions) >= -1e-12).all()
    return fractions


def here(robot):
    return [robot.positions[name] for name in ARM]


def eventually(error, action, attempts=100):
    """Repeat an action that fails while a message is still on its way to the node."""
    for _ in range(attempts - 1):
        try:
            return action()
        except error:
            continue
    return action()


def put(client, robot, **positions):
    """Move the robot by hand; round trips let late commands arrive before, and the node receive the new position."""
    while True:
        client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.0))
        robot.put(**positions)
        client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.0))
        if all(robot.positions[name] == value for name, value in positions.items()):
            break
    robot.taken()


def run(client, robot, end, duration=0.5, **keywords):
    """Move, from wherever the robot is, once the node has received its position."""
    return eventually(
        (TrajectoryStartError, FeedbackLostError, ServiceUnavailableError),
        lambda: client.execute(swing(ARM, here(robot), end, duration), **keywords),
    )


def rows(commands):
    return np.array([[command[name] for name in ARM] for command, _ in commands])
