"""Covers of solids by balls: made once for each shape, kept on disk by content, and proven anew when they are read."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...errors import GeometryError, Value
from ...io.mesh.cache import read_cached, write_cached
from ...model.geometry import Capsule, Sphere
from ..geometry.collision_geometry import Solid
from . import approximation_kernels as kernels
from .polytopes import Polytope, polytope_around

Floats = NDArray[np.float64]

STAGE = "covering spheres"
PROTRUSION = 0.01  # [m]
VERSION = 2  # of the way in which covers are made; part of the key of what is on disk
KIND = "cover"
SLACK = 1e-9  # [m] by which a ball holds a part to spare, far above rounding
MAX_BALLS = 4_000
PRUNING = 1_000_000  # parts that may be looked at to find balls that are not needed
MAX_CANDIDATES = 6_000  # grid points inside a solid that may become centres
MAX_POINTS = 24_000  # sample points that the choice of balls has to hold


@dataclass(frozen=True, eq=False)
class SphereApproximation:
    """Balls (n, 4) of centres and radii [m], in the frame of a solid, that together hold it; read-only.

    protrusion: how far any ball sticks out of the convex polytope around the solid, or of the surface [m]. pieces: how
    many parts of the solid the proof looked at, each of which lies within one ball; 0 where a formula proves it.
    """

    balls: Floats
    protrusion: float
    pieces: int

    def __post_init__(self) -> None:
        self.balls.setflags(write=False)


@lru_cache(maxsize=4096)
def cover(solid: Solid, protrusion: float = PROTRUSION) -> SphereApproximation:
    """Balls that hold a solid and stick out of it by no more than `protrusion` [m].

    A ball around an inner point sticks out of a convex polytope by its radius less the depth of its centre, so that
    deep centres have large balls. They are chosen greedily from a grid; the proof cuts the polytope into simplices,
    and those in halves, until each lies within one ball. Where that does not come to an end a ball is added.

    Raises:
        GeometryError: more than 4,000 balls would be needed.
        ValueError: the protrusion is not within 0.1 mm to 1 m.
    """
    if not 1e-4 <= protrusion <= 1.0:
        raise ValueError(f"protrusion is {protrusion} m, expected 0.0001 to 1")
    if isinstance(solid, Sphere):
        return SphereApproximation(np.array([[0.0, 0.0, 0.0, solid.radius]]), 0.0, 0)
    if isinstance(solid, Capsule):
        return _capsule_cover(solid, protrusion)
    return _polytope_cover(polytope_around(solid), protrusion)


def _capsule_cover(capsule: Capsule, protrusion: float) -> SphereApproximation:
    """Balls along the axis, the outermost around its ends: the part of the capsule nearest to a centre on the axis is
    the farther from it by the square root of radius² + (spacing / 2)² at most."""
    largest = math.sqrt((capsule.radius + protrusion - SLACK) ** 2 - capsule.radius**2)
    count = max(2, 1 + math.ceil(capsule.length / (2.0 * largest)))
    half = 0.5 * capsule.length / (count - 1)
    radius = math.hypot(capsule.radius, half) + SLACK
    heights = np.linspace(-0.5 * capsule.length, 0.5 * capsule.length, count)
    balls = np.column_stack((np.zeros((count, 2)), heights, np.full(count, radius)))
    return SphereApproximation(balls, min(radius - capsule.radius, protrusion), 0)


def _polytope_cover(polytope: Polytope, protrusion: float) -> SphereApproximation:
    text = f"{VERSION} {protrusion!r} {SLACK!r}".encode()
    digest = hashlib.sha256(text + polytope.simplices.tobytes() + polytope.planes.tobytes()).hexdigest()
    cached = read_cached(digest, KIND)
    if cached is not None and len(cached[0]) <= 2 * MAX_BALLS:
        balls = _unpacked(cached[0])
        pieces = prove(polytope, balls, protrusion)
        if pieces is not None:
            return SphereApproximation(balls, protrusion, pieces)
    balls, pieces = made_anew(polytope, protrusion)
    write_cached(digest, KIND, _packed(balls), np.empty((0, 3), dtype=np.int32))
    return SphereApproximation(balls, protrusion, pieces)


def _packed(balls: Floats) -> Floats:
    """Balls (n, 4) as rows (2 n, 3): the centres, then the radii, each in a row of its own."""
    radii = np.column_stack((balls[:, 3], np.zeros((len(balls), 2))))
    return np.concatenate((balls[:, :3], radii))


def _unpacked(rows: Floats) -> Floats:
    half = len(rows) // 2
    return np.ascontiguousarray(np.column_stack((rows[:half], rows[half:, 0])))


def prove(polytope: Polytope, balls: Floats, protrusion: float) -> int | None:
    """How many parts of a polytope were looked at to prove that the balls (n, 4) hold it; None if they do not, or if
    one sticks out by more than `protrusion` [m]."""
    if not len(balls) or not np.isfinite(balls).all():
        return None
    if (balls[:, 3] > _depths(polytope, balls[:, :3]) + protrusion + SLACK).any():
        return None
    proven, pieces = _pieces(polytope, balls, protrusion)
    return pieces if proven else None


def _sizes(protrusion: float) -> tuple[float, float, float]:
    """Longest edge of a part that is not cut any further, well below the radius of any ball, the slack, and the
    protrusion [m]."""
    return 0.2 * protrusion, SLACK, protrusion


def _depths(polytope: Polytope, points: Floats) -> Floats:
    """Depth (n,) of points; on a surface there is none."""
    if polytope.is_surface:
        return np.zeros(len(points))
    return kernels.depths(polytope.planes, np.ascontiguousarray(points))


def made_anew(polytope: Polytope, protrusion: float) -> tuple[Floats, int]:
    """Balls (n, 4) of a cover and the pieces of its proof, whatever is kept of earlier ones; raises as `cover`."""
    spacing, points = _sample_points(polytope, protrusion)
    candidates = _candidates(polytope, protrusion, points)
    slack = 0.3 * spacing
    chosen = kernels.choose(candidates, slack, points).astype(np.intp)
    balls = np.zeros((max(MAX_BALLS, len(chosen)), 4))
    balls[: len(chosen)] = candidates[chosen]
    count = kernels.completed(polytope.simplices, polytope.planes, balls, len(chosen), _sizes(protrusion), np.zeros(1))
    if not 0 <= count <= MAX_BALLS:
        text = f"a shape needs more than {MAX_BALLS} balls that stick out by {1000.0 * protrusion:g} mm"
        raise GeometryError(text, stage=STAGE, values=(Value("balls", max(len(chosen), MAX_BALLS + 1), MAX_BALLS),))
    return _without_needless(polytope, balls[:count], protrusion)


def _without_needless(polytope: Polytope, balls: Floats, protrusion: float) -> tuple[Floats, int]:
    """The balls, largest first, less those that the proof can do without, with what it looked at. Smallest ones are
    tried first, until the proofs have looked at a million parts."""
    kept = balls[np.argsort(-balls[:, 3], kind="stable")]
    pieces = _pieces(polytope, kept, protrusion)[1]
    spent = 0
    for place in range(len(kept) - 1, -1, -1):
        if spent > PRUNING:
            break
        fewer = np.delete(kept, place, axis=0)
        proven, looked_at = _pieces(polytope, fewer, protrusion)
        spent += looked_at
        if proven and len(fewer):
            kept, pieces = fewer, looked_at
    return kept, pieces


def _pieces(polytope: Polytope, balls: Floats, protrusion: float) -> tuple[bool, int]:
    """Whether balls are proven to hold a polytope, and how many parts were looked at."""
    facts = np.zeros(1)
    sizes = _sizes(protrusion)
    held = kernels.completed(polytope.simplices, polytope.planes, balls.copy(), len(balls), sizes, facts)
    return held == len(balls), int(facts[0])


def _sample_points(polytope: Polytope, protrusion: float) -> tuple[float, Floats]:
    """Points (n, 3) of the surface, no farther apart than a spacing [m], which comes first."""
    triangles = polytope.simplices[:, :3]
    edges = np.linalg.norm(triangles - np.roll(triangles, 1, axis=1), axis=2)
    area = 0.5 * np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    spacing = max(0.35 * protrusion, math.sqrt(float(area.sum()) / MAX_POINTS))
    longest = edges.max(axis=1)
    points = [polytope.corners]
    for corners, size in zip(triangles[longest > spacing], longest[longest > spacing], strict=True):
        count = math.ceil(size / spacing)
        i, j = np.meshgrid(np.arange(count + 1), np.arange(count + 1))
        inside = i + j <= count
        a, b = i[inside] / count, j[inside] / count
        points.append(corners[0] + np.outer(a, corners[1] - corners[0]) + np.outer(b, corners[2] - corners[0]))
    # One of those that share a small cube stands for them.
    found = np.concatenate(points)
    _, first = np.unique(np.floor(found / (0.5 * spacing)).astype(np.int64), axis=0, return_index=True)
    found = found[np.sort(first)]
    if not polytope.is_surface:
        found = np.concatenate((found, _grid(polytope, 2_000)))
    return spacing, np.ascontiguousarray(found)


def _candidates(polytope: Polytope, protrusion: float, points: Floats) -> Floats:
    """Balls (n, 4) to choose from: around a grid of inner points, or around points of a surface."""
    if polytope.is_surface:
        stride = max(1, len(points) // MAX_CANDIDATES)
        return np.column_stack((points[::stride], np.full(len(points[::stride]), protrusion)))
    centres = _grid(polytope, MAX_CANDIDATES)
    radii = kernels.depths(polytope.planes, centres) + protrusion
    return np.ascontiguousarray(np.column_stack((centres, radii)))


def _grid(polytope: Polytope, count: int) -> Floats:
    """About `count` points (n, 3) of a regular grid that lie inside, and the middle."""
    low, high = polytope.corners.min(axis=0), polytope.corners.max(axis=0)
    step = max(float((high - low).prod()) / count, 1e-18) ** (1.0 / 3.0)
    axes = []
    for lower, upper in zip(low.tolist(), high.tolist(), strict=True):
        steps = max(1, math.ceil((upper - lower) / step))
        axes.append(0.5 * (lower + upper) + step * (np.arange(steps) - 0.5 * (steps - 1)))
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    points = np.ascontiguousarray(np.concatenate((points, polytope.corners.mean(axis=0)[None])))
    return np.ascontiguousarray(points[kernels.depths(polytope.planes, points) >= 0.0])
