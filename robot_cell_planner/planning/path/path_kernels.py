"""Compiled sampling of paths, and grouping of their samples."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...system.borrowed_arrays import borrowed
from ...system.compiled import compiled

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
MAX_PASSED = 64  # waypoints between two selected ones


@compiled
def place_points(path: Floats, counts: Floats, points: Floats, parameters: Floats) -> None:
    """Divide each motion of a path (n, dof) into equal steps.

    Args:
        path: Waypoints (n, dof).
        counts: Number of steps of each motion (n - 1,).
        points: Set to the points, including the waypoints (1 + sum of counts, dof).
        parameters: Set to their path parameters in waypoints (1 + sum of counts,).
    """
    path, points = borrowed((path, points))
    points[0], parameters[0] = path[0], 0.0
    row = 1
    for motion in range(len(path) - 1):
        count = int(counts[motion])
        for number in range(1, count + 1):
            fraction = number / count
            for joint in range(path.shape[1]):
                step = path[motion + 1, joint] - path[motion, joint]
                points[row, joint] = path[motion, joint] + fraction * step
            parameters[row] = motion + fraction
            row += 1
        points[row - 1] = path[motion + 1]


@compiled
def place_around(
    points: Floats, middles: Floats, offsets: Floats, width: float, places: Floats, configurations: Floats
) -> None:
    """Place points on a path (n, dof) of at least two points around some of its places, which count in points.

    Args:
        points: Path (n, dof).
        middles, offsets, width: The places are those of `middles` (m,) plus the offsets (k,) times the width, within
            the path.
        places: Set to the places (m k,).
        configurations: Set to the points there (m k, dof).
    """
    row = 0
    for middle in middles:
        for offset in offsets:
            place = min(max(middle + width * offset, 0.0), points.shape[0] - 1.0)
            whole = min(int(place), points.shape[0] - 2)
            for joint in range(points.shape[1]):
                step = points[whole + 1, joint] - points[whole, joint]
                configurations[row, joint] = points[whole, joint] + (place - whole) * step
            places[row] = place
            row += 1


@compiled
def select_waypoints(path: Floats, step: float, deviation: float, selected: Indices) -> int:
    """Select waypoints of a path (n, dof) so that the straight motions between them follow it; return their number.

    Args:
        path: Waypoints (n, dof).
        step: Max step of a joint between selected waypoints, unless they follow each other [rad or m].
        deviation: Max distance of a joint between a waypoint that is not selected and the motion past it [rad or m].
        selected: Set to their indices, including both ends, room for (n,).
    """
    count, last = 1, 0
    selected[0] = 0
    for index in range(1, len(path) - 1):
        if index - last >= MAX_PASSED or not _passes(path, last, index, step, deviation):
            selected[count] = last = index
            count += 1
    if len(path) > 1:
        selected[count] = len(path) - 1
        count += 1
    return count


@compiled
def _passes(path: Floats, last: int, index: int, step: float, deviation: float) -> bool:
    """Return whether the motion from a waypoint to the one after `index` is short, and near those between them."""
    square, longest = 0.0, 0.0
    for joint in range(path.shape[1]):
        difference = path[index + 1, joint] - path[last, joint]
        square += difference * difference
        longest = max(longest, abs(difference))
    if longest > step:
        return False
    for between in range(last + 1, index + 1):
        product = 0.0
        for joint in range(path.shape[1]):
            away = path[between, joint] - path[last, joint]
            product += away * (path[index + 1, joint] - path[last, joint])
        fraction = min(max(product / square, 0.0), 1.0) if square > 0.0 else 0.0
        for joint in range(path.shape[1]):
            on_motion = path[last, joint] + fraction * (path[index + 1, joint] - path[last, joint])
            if abs(path[between, joint] - on_motion) > deviation:
                return False
    return True


@compiled
def group_states(
    configurations: Floats, left: Indices, width: float, lowest: Floats, highest: Floats, groups: Indices
) -> int:
    """Group some of consecutive configurations (n, dof), and return the number of groups.

    A group ends where the sum of the largest joint steps, from the first configuration on, passes a multiple of the
    width.

    Args:
        configurations: All configurations (n, dof) [rad or m].
        left: Ascending indices of those to group (k,).
        width: [rad or m].
        lowest, highest: Set to the smallest and largest joint values of each group, room for (k, dof).
        groups: Set to the group of each configuration (k,).
    """
    configurations, lowest, highest = borrowed((configurations, lowest, highest))
    count, way, last, reached = 0, 0.0, -1.0, 0
    for place in range(len(left)):
        index = left[place]
        while reached < index:
            longest = 0.0
            for joint in range(configurations.shape[1]):
                longest = max(longest, abs(configurations[reached + 1, joint] - configurations[reached, joint]))
            way += longest
            reached += 1
        number = math.floor(way / width)
        if number != last:
            lowest[count], highest[count] = configurations[index], configurations[index]
            count += 1
            last = number
        for joint in range(configurations.shape[1]):
            lowest[count - 1, joint] = min(lowest[count - 1, joint], configurations[index, joint])
            highest[count - 1, joint] = max(highest[count - 1, joint], configurations[index, joint])
        groups[place] = count - 1
    return count


@compiled
def find_on_motions(
    path: Floats, chosen: Indices, states: Floats, tolerance: float, look_ahead: int, found: Indices
) -> None:
    """Find the states that lie on chosen motions of a path.

    Args:
        path: Waypoints (n, dof).
        chosen: 1 for each chosen motion, 0 for others (n - 1,).
        states: States in the order in which they pass the path (k, dof).
        tolerance: Largest distance of a joint from the motion [rad or m].
        look_ahead: Number of motions after that of the last state on the path, on which a state may lie.
        found: Set to 1 for each state on a chosen motion, and 0 for others (k,).
    """
    reached = 0
    for index in range(len(states)):
        found[index] = 0
        for motion in range(reached, min(reached + look_ahead + 1, len(path) - 1)):
            square, product = 0.0, 0.0
            for joint in range(path.shape[1]):
                step = path[motion + 1, joint] - path[motion, joint]
                square += step * step
                product += step * (states[index, joint] - path[motion, joint])
            along = min(max(product / square, 0.0), 1.0) if square > 0.0 else 0.0
            off = 0.0
            for joint in range(path.shape[1]):
                step = path[motion + 1, joint] - path[motion, joint]
                off = max(off, abs(path[motion, joint] + along * step - states[index, joint]))
            if off <= tolerance:
                reached = motion
                if chosen[motion] == 1:
                    found[index] = 1
                    break
