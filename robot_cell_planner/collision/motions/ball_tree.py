"""Trees of balls, three levels deep: one ball that holds all of an owner, clusters, and the balls of its cover."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
STEPS = 200  # towards the smallest ball that holds others
MORE = 1.0 + 1e-6  # radii in single precision are rounded up by this


@dataclass(frozen=True, eq=False)
class BallTree:
    """root (4,), clusters (c, 4), leaves (n, 4) of centres and radii; leaves of cluster i: starts[i] to starts[i+1]."""

    root: Floats
    clusters: Floats
    leaves: Floats
    starts: tuple[int, ...]


def ball_tree(balls: Floats) -> BallTree:
    """The tree of an owner's balls (n, 4), in clusters of about the square root of their number."""
    return _made(np.ascontiguousarray(balls, dtype=np.float64).tobytes())


@lru_cache(maxsize=1024)
def _made(content: bytes) -> BallTree:
    balls = np.frombuffer(content).reshape(-1, 4)
    groups = _clusters(balls, max(1, round(math.sqrt(len(balls)))))
    leaves = np.concatenate([balls[group] for group in groups])
    starts = tuple(np.concatenate(([0], np.cumsum([len(group) for group in groups]))).tolist())
    return BallTree(ball_around(balls), np.array([ball_around(balls[group]) for group in groups]), leaves, starts)


def ball_around(balls: Floats) -> Floats:
    """A ball (4,) that holds all balls (n, 4), close to the smallest (after Badoiu and Clarkson, 2003)."""
    if len(balls) == 1:
        return np.array(balls[0])
    centre = balls[:, :3].mean(axis=0)
    best = np.array((*centre, math.inf))
    for step in range(1, STEPS):
        away = np.linalg.norm(balls[:, :3] - centre, axis=1) + balls[:, 3]
        farthest = int(np.argmax(away))
        if away[farthest] < best[3]:
            best = np.array((*centre, away[farthest] * MORE))
        towards = balls[farthest, :3] - centre
        length = float(np.linalg.norm(towards))
        if length > 0.0:
            # The farthest point of that ball, not its centre, is what the middle has to come nearer to.
            centre = centre + (towards * (1.0 + balls[farthest, 3] / length)) / (step + 1)
    return best


def _clusters(balls: Floats, count: int) -> list[NDArray[np.intp]]:
    """Indices of balls in `count` groups at most, near ones together (Lloyd's algorithm from farthest points)."""
    points = balls[:, :3]
    centres = [points[0]]
    for _ in range(1, count):
        distances = np.min([np.linalg.norm(points - centre, axis=1) for centre in centres], axis=0)
        centres.append(points[int(np.argmax(distances))])
    middles = np.array(centres)
    for _ in range(12):
        nearest = np.argmin(np.linalg.norm(points[:, None] - middles[None], axis=2), axis=1)
        middles = np.array(
            [points[nearest == i].mean(axis=0) if (nearest == i).any() else middles[i] for i in range(len(middles))]
        )
    nearest = np.argmin(np.linalg.norm(points[:, None] - middles[None], axis=2), axis=1)
    return [np.flatnonzero(nearest == i) for i in range(len(middles)) if (nearest == i).any()]
