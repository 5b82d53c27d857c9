"""Compiled search for geometries whose bounding boxes come near each other."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...system.borrowed_arrays import borrowed, keep
from ...system.compiled import compiled

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
CONSECUTIVE = 4  # placements of a motion whose boxes are compared together first


@compiled
def world_bounds(box: Floats, pose: Floats, bounds: Floats) -> None:
    """Compute the lower and upper corner (6,) in the world frame of a box (6,) placed at pose (4, 4)."""
    for axis in range(3):
        middle, half = pose[axis, 3], 0.0
        for k in range(3):
            middle += pose[axis, k] * box[k]
            half += abs(pose[axis, k]) * box[3 + k]
        bounds[axis], bounds[3 + axis] = middle - half, middle + half


@compiled
def place_boxes(moving: Floats, boxes: Floats, poses: Floats, bounds: Floats) -> None:
    """Copy the poses (m, 4, 4) of the moving geometries and update their axis-aligned boxes in the world frame.

    boxes: (n, 6), centre and half size of each geometry in its own frame. bounds: lower and upper corners (m, 6).
    """
    moving, boxes, bounds = borrowed((moving, boxes, bounds))
    for i in range(moving.shape[0]):
        for row in range(4):
            for column in range(4):
                poses[i, row, column] = moving[i, row, column]
        world_bounds(boxes[i], moving[i], bounds[i])


@compiled
def enclose(bounds: Floats, around: Floats) -> None:
    """Enlarge a box (6,), in place, so that it contains another."""
    for axis in range(3):
        around[axis] = min(around[axis], bounds[axis])
        around[3 + axis] = max(around[3 + axis], bounds[3 + axis])


@compiled
def gap_of_bounds(first: Floats, second: Floats, limit: float) -> float:
    """Return the distance of two axis-aligned boxes (6,), or infinity if it exceeds the limit."""
    square = 0.0
    for axis in range(3):
        apart = max(first[axis] - second[3 + axis], second[axis] - first[3 + axis])
        if apart > limit:
            return math.inf
        if apart > 0.0:
            square += apart * apart
    gap = math.sqrt(square)
    return gap if gap <= limit else math.inf


@compiled
def gap_of_turned(box: Floats, pose: Floats, other_box: Floats, other_pose: Floats) -> float:
    """Return the maximum separation of two oriented boxes along their face normals; negative if they overlap on all
    six.

    The axes between edges are omitted (Gottschalk, Lin and Manocha, OBBTree, 1996).
    """
    x, y, z = other_pose[0, 3] - pose[0, 3], other_pose[1, 3] - pose[1, 3], other_pose[2, 3] - pose[2, 3]
    for k in range(3):
        x += other_pose[0, k] * other_box[k] - pose[0, k] * box[k]
        y += other_pose[1, k] * other_box[k] - pose[1, k] * box[k]
        z += other_pose[2, k] * other_box[k] - pose[2, k] * box[k]
    widest = -math.inf
    for i in range(3):
        span, other_span = box[3 + i], other_box[3 + i]
        for j in range(3):
            cosine = pose[0, i] * other_pose[0, j] + pose[1, i] * other_pose[1, j] + pose[2, i] * other_pose[2, j]
            span += abs(cosine) * other_box[3 + j]
            cosine = pose[0, j] * other_pose[0, i] + pose[1, j] * other_pose[1, i] + pose[2, j] * other_pose[2, i]
            other_span += abs(cosine) * box[3 + j]
        along = abs(pose[0, i] * x + pose[1, i] * y + pose[2, i] * z) - span
        other_along = abs(other_pose[0, i] * x + other_pose[1, i] * y + other_pose[2, i] * z) - other_span
        widest = max(widest, along, other_along)
    return widest


@compiled
def near_listed(
    moving: Floats,
    boxes: Floats,
    poses: Floats,
    bounds: Floats,
    pairs: Indices,
    margins: Floats,
    reach: float,
    found: Indices,
    gaps: Floats,
) -> int:
    """Find the near listed pairs for a placement (m, 4, 4) of the moving geometries, in their order.

    Row (found) and box distances (gaps) are written up to their capacity; the result is the number of near pairs.
    """
    boxes, poses, bounds = borrowed((boxes, poses, bounds))
    count, room = 0, gaps.shape[0]
    place_boxes(moving, boxes, poses, bounds)
    for index in range(pairs.shape[0]):
        i, j, limit = pairs[index, 0], pairs[index, 1], margins[index] + reach
        gap = gap_of_bounds(bounds[i], bounds[j], limit)
        if gap <= limit:
            gap = max(gap, gap_of_turned(boxes[i], poses[i], boxes[j], poses[j]))
            if gap <= limit:
                if count < room:
                    found[count], gaps[count] = index, gap
                count += 1
    return count


@compiled
def place_objects(
    moving: Floats,
    rows: Indices,
    objects: Indices,
    object_boxes: Floats,
    begin: int,
    end: int,
    placed: Floats,
    around: Floats,
) -> None:
    """Compute the boxes of moving objects in the world at configurations from `begin` to `end`, and boxes around these.

    moving, rows, objects, object_boxes: As for `near_listed_along`. placed, around: (end - begin, o, 6) and (o, 6),
    lower and upper corners.
    """
    moving, object_boxes, placed, around = borrowed((moving, object_boxes, placed, around))
    for o in range(objects.shape[0]):
        if objects[o] < rows.shape[0]:
            for state in range(begin, end):
                world_bounds(object_boxes[o], moving[state, rows[objects[o]]], placed[state - begin, o])
                if state == begin:
                    around[o] = placed[0, o]
                else:
                    enclose(placed[state - begin, o], around[o])


@compiled
def near_listed_along(
    moving: Floats,
    rows: Indices,
    boxes: Floats,
    poses: Floats,
    bounds: Floats,
    objects: Indices,
    object_boxes: Floats,
    runs: Indices,
    pairs: Indices,
    margins: Floats,
    reach: float,
    states: Indices,
    found: Indices,
    gaps: Floats,
) -> int:
    """`near_listed` at each of n configurations, with the configuration of each pair in `states`.

    Most pairs stay apart in all configurations of a part of a motion: first the boxes around whole collision objects in
    all of them are compared, then those at each configuration, then those of geometries.

    moving, rows: (n, p, 4, 4) and (m,), different placements of moving geometries, and the row of each. objects,
    object_boxes: (o,) and (o, 6), first geometry of each object, and box of the object in its frame. runs:
    (r, 4) first and end row of pairs of the same two objects, and these.
    """
    count, room, total, moves, size = 0, gaps.shape[0], moving.shape[0], rows.shape[0], objects.shape[0]
    moving, boxes, poses, object_boxes = borrowed((moving, boxes, poses, object_boxes))
    work = np.empty((CONSECUTIVE, size, 6)), np.empty((size, 6)), bounds.copy()
    placed, around, own = borrowed(work)
    placed_at = np.full(bounds.shape[0], -1)
    near_runs = np.empty(runs.shape[0], dtype=np.intp)
    for o in range(size):
        if objects[o] >= moves:
            for k in range(CONSECUTIVE):
                world_bounds(object_boxes[o], poses[objects[o]], placed[k, o])
            around[o] = placed[0, o]
    for begin in range(0, total, CONSECUTIVE):
        end = min(begin + CONSECUTIVE, total)
        place_objects(moving, rows, objects, object_boxes, begin, end, placed, around)
        left = 0
        for run in range(runs.shape[0]):
            limit = margins[runs[run, 0]] + reach
            if gap_of_bounds(around[runs[run, 2]], around[runs[run, 3]], limit) <= limit:
                near_runs[left] = run
                left += 1
        for state in range(begin, end):
            at = placed[state - begin]
            for place in range(left):
                run = near_runs[place]
                o, p, limit = runs[run, 2], runs[run, 3], margins[runs[run, 0]] + reach
                if gap_of_bounds(at[o], at[p], limit) > limit:
                    continue
                pose = moving[state, rows[objects[o]]] if objects[o] < moves else poses[objects[o]]
                other = moving[state, rows[objects[p]]] if objects[p] < moves else poses[objects[p]]
                if gap_of_turned(object_boxes[o], pose, object_boxes[p], other) > limit:
                    continue
                for index in range(runs[run, 0], runs[run, 1]):
                    i, j = pairs[index, 0], pairs[index, 1]
                    for geometry in (i, j):
                        if geometry < moves and placed_at[geometry] != state:
                            world_bounds(boxes[geometry], moving[state, rows[geometry]], own[geometry])
                            placed_at[geometry] = state
                    gap = gap_of_bounds(own[i], own[j], limit)
                    if gap <= limit:
                        pose = moving[state, rows[i]] if i < moves else poses[i]
                        other = moving[state, rows[j]] if j < moves else poses[j]
                        gap = max(gap, gap_of_turned(boxes[i], pose, boxes[j], other))
                        if gap <= limit:
                            if count < room:
                                states[count], found[count], gaps[count] = state, index, gap
                            count += 1
    keep(work)
    return count


@compiled
def near_block(
    boxes: Floats,
    poses: Floats,
    bounds: Floats,
    moving: Indices,
    margins: Floats,
    static: Indices,
    reach: float,
    rows: Indices,
    columns: Indices,
    gaps: Floats,
) -> int:
    """Find the near pairs of moving (rows) and stationary (columns) geometries of a block, up to the capacity.

    The result is the number of near pairs. Geometries that are not near the box around all moving geometries are
    excluded at once.
    """
    boxes, poses, bounds = borrowed((boxes, poses, bounds))
    lowest, highest, widest = np.full(3, math.inf), np.full(3, -math.inf), 0.0
    for row in range(moving.shape[0]):
        widest = max(widest, margins[row])
        for axis in range(3):
            lowest[axis] = min(lowest[axis], bounds[moving[row], axis])
            highest[axis] = max(highest[axis], bounds[moving[row], 3 + axis])
    count, room = 0, gaps.shape[0]
    widest += reach
    for column in range(static.shape[0]):
        j = static[column]
        far = False
        for axis in range(3):
            far = far or bounds[j, axis] > highest[axis] + widest or bounds[j, 3 + axis] < lowest[axis] - widest
        if far:
            continue
        for row in range(moving.shape[0]):
            i, limit = moving[row], margins[row] + reach
            gap = gap_of_bounds(bounds[i], bounds[j], limit)
            if gap <= limit:
                gap = max(gap, gap_of_turned(boxes[i], poses[i], boxes[j], poses[j]))
                if gap <= limit:
                    if count < room:
                        rows[count], columns[count], gaps[count] = row, column, gap
                    count += 1
    return count
