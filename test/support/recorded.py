"""What a stream of commands must be: on its path, within the limits of the joints, and at rest at its end."""

import numpy as np

TORN = 0.1  # [s] a busy machine can tear gaps into a stream; after longer ones it goes on from rest
LONGEST_GAP = 0.05  # [s] between commands that are compared
INEXACT = 0.005  # share by which a time that was worked out may be off
SLOWEST = 0.05  # share of the highest speed below which times are not worked out


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

    The time between two commands follows from their positions and velocities, so that it does not matter when they
    were sent: dt = dp / mean v, which is off by j dt^3 / 12 in dp at most. Only where the joint moves, and where that,
    and what follows from it for the jerk, is little, as it is not where a busy machine left commands out; limits: (v,
    a, j).
    """
    p, v = positions(commands, [joint])[:, 0], velocities(commands, [joint])[:, 0]
    assert np.abs(v).max() <= limits[0] * (1 + 1e-9)
    mean = 0.5 * (v[1:] + v[:-1])
    moving = (np.abs(mean) > SLOWEST * np.abs(v).max()) & (np.diff(stamps(commands)) < LONGEST_GAP)
    dt = np.divide(np.diff(p), mean, out=np.full(len(mean), np.nan), where=moving)
    dt[limits[2] * dt**2 / 12.0 > INEXACT * np.abs(mean)] = np.nan
    assert np.isfinite(dt).any()
    acceleration, off = np.diff(v) / dt, limits[2] * dt**2 / 12.0 / np.abs(mean)
    assert np.nanmax(np.abs(acceleration)) <= limits[1] * 1.02
    between, change = 0.5 * (dt[1:] + dt[:-1]), np.abs(acceleration) * off
    jerk = np.diff(acceleration) / between
    jerk[(change[1:] + change[:-1]) / between > 0.05 * limits[2]] = np.nan
    # None is known where commands are missing in the short stop of a slow motion.
    assert not (np.abs(jerk[np.isfinite(jerk)]) > limits[2] * 1.05).any()
    return p, v


def check_rest(commands, joint):
    """The last command is at rest, and what comes before it nearly so: it did not end by a jump. Where the stream was
    torn just there, the last command holds the one before it instead."""
    p, v = positions(commands, [joint])[:, 0], velocities(commands, [joint])[:, 0]
    assert abs(v[-1]) <= 1e-9
    if np.diff(stamps(commands))[-1] > TORN:
        assert p[-1] == p[-2]
    else:
        assert abs(v[-2]) <= 0.05 * np.abs(v).max()
