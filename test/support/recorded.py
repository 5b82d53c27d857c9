"""Checks of a stream of commands: on its path, within the limits of the joints, and at rest at its end."""

import numpy as np

TORN = 0.1  # [s] a busy machine can cause gaps in a stream; after longer ones it continues from rest
LONGEST_GAP = 0.05  # [s] between commands that are compared
SLACK = 1.001  # for numbers that are rounded


def positions(commands, joints):
    """Commanded positions (n, dof)."""
    return np.array([[command[joint] for joint in joints] for command, _ in commands])


def velocities(commands, joints):
    """Commanded velocities (n, dof)."""
    columns = [dict(zip(message.name, message.velocity, strict=True)) for _, message in commands]
    return np.array([[velocity[joint] for joint in joints] for velocity in columns])


def stamps(commands):
    """When the commands were sent (n,) [s]."""
    headers = [message.header.stamp for _, message in commands]
    return np.array([stamp.sec + 1e-9 * stamp.nanosec for stamp in headers])


def check_limits(commands, joint, limits):
    """Velocity, acceleration and jerk of a joint that moves alone, from commanded positions and velocities.

    When they were sent does not matter: the time between two commands follows from their positions and velocities, up
    to what the limit of the jerk leaves open. A limit is exceeded if it is for every possible time; limits: (v, a, j).
    """
    p, v = positions(commands, [joint])[:, 0], velocities(commands, [joint])[:, 0]
    assert np.abs(v).max() <= limits[0] * (1 + 1e-9)
    shortest, longest = times_between(p, v, limits[2])
    longest[np.diff(stamps(commands)) >= LONGEST_GAP] = np.nan
    assert np.isfinite(longest).any()
    change = np.diff(v)
    assert not (np.abs(change) / longest > limits[1] * SLACK).any()
    lower, upper = np.minimum(change / longest, change / shortest), np.maximum(change / longest, change / shortest)
    between = 0.5 * (longest[1:] + longest[:-1])
    step = np.maximum(lower[1:] - upper[:-1], lower[:-1] - upper[1:])
    assert not (step / between > limits[2] * SLACK).any()
    return p, v


def times_between(p, v, jerk):
    """The shortest and the longest time (n - 1,) [s] between points of a motion whose jerk is limited; NaN where they
    are not known.

    p: positions (n,) [rad]. v: velocities (n,) [rad/s]. With the mean m of two velocities, dp = m dt is off by
    jerk dt^3 / 12 at most (the error of the trapezoidal rule), so that dt is between the roots of two cubic equations.
    """
    step, mean = np.diff(p), 0.5 * (v[1:] + v[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.sqrt(4.0 * np.abs(mean) / jerk)
        ratio = 6.0 * np.abs(step) / jerk / scale**3
        known = (step * mean > 0.0) & (ratio <= 1.0)
        shortest = 2.0 * scale * np.sinh(np.arcsinh(ratio) / 3.0)
        longest = 2.0 * scale * np.sin(np.arcsin(ratio) / 3.0)
    return np.where(known, shortest, np.nan), np.where(known, longest, np.nan)


def check_rest(commands, joint):
    """The last command is at rest, and the one before it nearly so: the motion did not end by a jump. If there is a gap
    between them, the last command holds the one before it instead."""
    p, v = positions(commands, [joint])[:, 0], velocities(commands, [joint])[:, 0]
    assert abs(v[-1]) <= 1e-9
    if np.diff(stamps(commands))[-1] > TORN:
        assert p[-1] == p[-2]
    else:
        assert abs(v[-2]) <= 0.05 * np.abs(v).max()
