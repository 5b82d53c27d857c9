"""Sphere approximations of collision geometries, computed once per shape, stored on disk and verified on load."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...errors import GeometryError, Value
from ...io.mesh.cache import Arrays, cached_or_computed, is_cached
from ...model.geometry import Capsule, Sphere
from ..geometry.collision_geometry import CollisionGeometry
from . import approximation_kernels as kernels
from .polytopes import Polytope, polytope_around

Floats = NDArray[np.float64]

STAGE = "sphere approximation"
PROTRUSION = 0.01  # [m]
FINE_PROTRUSION = 0.004  # [m], where objects are closer to each other than spheres of PROTRUSION resolve
VERSION = 3  # version of the algorithm; part of the key of stored approximations
KIND = "cover"
SLACK = 1e-9  # [m], tolerance by which a sphere contains a part, far above rounding errors
MAX_SPHERES = 4_000
PRUNING = 1_000_000  # maximum number of parts checked to find redundant spheres
MAX_CANDIDATES = 6_000  # maximum number of interior grid points that are candidates for centres
MAX_POINTS = 24_000  # maximum number of sample points for the selection of spheres


@dataclass(frozen=True, eq=False)
class SphereApproximation:
    """Spheres (n, 4) of centres and radii [m], in the frame of a geometry, that together contain it; read-only.

    Attributes:
        spheres: The spheres.
        protrusion: Maximum distance by which a sphere exceeds the convex polytope around the geometry, or the surface
            [m].
        pieces: Number of parts of the geometry in the proof, each of which lies within one sphere; 0 if proven by a
            formula.
    """

    spheres: Floats
    protrusion: float
    pieces: int

    def __post_init__(self) -> None:
        self.spheres.setflags(write=False)


@lru_cache(maxsize=4096)
def approximate(geometry: CollisionGeometry, protrusion: float = PROTRUSION) -> SphereApproximation:
    """Return spheres that contain a geometry and exceed it by at most `protrusion` [m].

    A sphere around an interior point exceeds a convex polytope by its radius minus the depth of its centre, so deep
    centres allow large spheres. Spheres are selected greedily from a grid. The proof divides the polytope into
    simplices and bisects them until each lies within one sphere; a sphere is added where this does not terminate.

    Raises:
        GeometryError: More than 4,000 spheres would be needed.
        ValueError: The protrusion is not within 0.1 mm to 1 m.
    """
    if not 1e-4 <= protrusion <= 1.0:
        raise ValueError(f"protrusion is {protrusion} m, expected 0.0001 to 1")
    if isinstance(geometry, Sphere):
        return SphereApproximation(np.array([[0.0, 0.0, 0.0, geometry.radius]]), 0.0, 0)
    if isinstance(geometry, Capsule):
        return _approximate_capsule(geometry, protrusion)
    return _approximate_polytope(polytope_around(geometry), protrusion)


def _approximate_capsule(capsule: Capsule, protrusion: float) -> SphereApproximation:
    """Return spheres along the axis of a capsule, the outermost around its ends.

    The nearest sphere centre is at most sqrt(radius² + (spacing / 2)²) from any point of the capsule.
    """
    largest = math.sqrt((capsule.radius + protrusion - SLACK) ** 2 - capsule.radius**2)
    count = max(2, 1 + math.ceil(capsule.length / (2.0 * largest)))
    half = 0.5 * capsule.length / (count - 1)
    radius = math.hypot(capsule.radius, half) + SLACK
    heights = np.linspace(-0.5 * capsule.length, 0.5 * capsule.length, count)
    spheres = np.column_stack((np.zeros((count, 2)), heights, np.full(count, radius)))
    return SphereApproximation(spheres, min(radius - capsule.radius, protrusion), 0)


def is_stored(geometry: CollisionGeometry, protrusion: float) -> bool:
    """Return whether the spheres of a geometry need not be computed; stored ones can still be invalid."""
    if isinstance(geometry, Sphere | Capsule):
        return True
    return is_cached(_digest(polytope_around(geometry), protrusion), KIND)


def _digest(polytope: Polytope, protrusion: float) -> str:
    text = f"{VERSION} {protrusion!r} {SLACK!r}".encode()
    return hashlib.sha256(text + polytope.simplices.tobytes() + polytope.planes.tobytes()).hexdigest()


def _approximate_polytope(polytope: Polytope, protrusion: float) -> SphereApproximation:
    digest = _digest(polytope, protrusion)

    def accept(arrays: Arrays) -> SphereApproximation | None:
        if len(arrays[0]) > 2 * MAX_SPHERES:
            return None
        spheres = _unpacked(arrays[0])
        pieces = prove(polytope, spheres, protrusion)
        return None if pieces is None else SphereApproximation(spheres, protrusion, pieces)

    def compute() -> tuple[SphereApproximation, Arrays]:
        spheres, pieces = compute_spheres(polytope, protrusion)
        arrays = _packed(spheres), np.empty((0, 3), dtype=np.int32)
        return SphereApproximation(spheres, protrusion, pieces), arrays

    return cached_or_computed(digest, KIND, accept, compute)


def _packed(spheres: Floats) -> Floats:
    """Return spheres (n, 4) as rows (2 n, 3): the centres, then the radii, each in a row of its own."""
    radii = np.column_stack((spheres[:, 3], np.zeros((len(spheres), 2))))
    return np.concatenate((spheres[:, :3], radii))


def _unpacked(rows: Floats) -> Floats:
    half = len(rows) // 2
    return np.ascontiguousarray(np.column_stack((rows[:half], rows[half:, 0])))


def prove(polytope: Polytope, spheres: Floats, protrusion: float) -> int | None:
    """Return the number of parts that prove that spheres (n, 4) contain a polytope; None if there is no proof.

    There is no proof, either, if a sphere exceeds the polytope by more than `protrusion` [m].
    """
    if not len(spheres) or not np.isfinite(spheres).all():
        return None
    if (spheres[:, 3] > _depths(polytope, spheres[:, :3]) + protrusion + SLACK).any():
        return None
    proven, pieces = _pieces(polytope, spheres, protrusion)
    return pieces if proven else None


def _sizes(protrusion: float) -> tuple[float, float, float]:
    """Return minimum edge length of parts that are bisected, slack and protrusion [m].

    The edge length is well below the radius of any sphere.
    """
    return 0.2 * protrusion, SLACK, protrusion


def _depths(polytope: Polytope, points: Floats) -> Floats:
    """Return the depth (n,) of points; 0 for a surface."""
    if polytope.is_surface:
        return np.zeros(len(points))
    return kernels.depths(polytope.planes, np.ascontiguousarray(points))


def compute_spheres(polytope: Polytope, protrusion: float) -> tuple[Floats, int]:
    """Compute spheres (n, 4) and the number of parts of the proof, without stored results.

    Errors are those of `approximate`.
    """
    spacing, points = _sample_points(polytope, protrusion)
    candidates = _candidates(polytope, protrusion, points)
    slack = 0.3 * spacing
    chosen = kernels.choose(candidates, slack, points).astype(np.intp)
    spheres = np.zeros((max(MAX_SPHERES, len(chosen)), 4))
    spheres[: len(chosen)] = candidates[chosen]
    count = kernels.completed(
        polytope.simplices, polytope.planes, spheres, len(chosen), _sizes(protrusion), np.zeros(1)
    )
    if not 0 <= count <= MAX_SPHERES:
        text = f"a shape needs more than {MAX_SPHERES} spheres at a protrusion of {1000.0 * protrusion:g} mm"
        raise GeometryError(
            text, stage=STAGE, values=(Value("spheres", max(len(chosen), MAX_SPHERES + 1), MAX_SPHERES),)
        )
    return _without_redundant(polytope, spheres[:count], protrusion)


def _without_redundant(polytope: Polytope, spheres: Floats, protrusion: float) -> tuple[Floats, int]:
    """Return the spheres, largest first, without redundant ones, and the number of parts of the proof.

    Small spheres are removed first, until the proofs have checked a million parts. Only simplices that a sphere may
    intersect are proven again without it.
    """
    retained = spheres[np.argsort(-spheres[:, 3], kind="stable")]
    lows, highs = polytope.simplices.min(axis=1), polytope.simplices.max(axis=1)
    spent = 0
    for place in range(len(retained) - 1, -1, -1):
        if spent > PRUNING:
            break
        centre, radius = retained[place, :3], retained[place, 3]
        beside = np.linalg.norm(np.maximum(np.maximum(lows - centre, centre - highs), 0.0), axis=1) <= radius
        fewer = np.delete(retained, place, axis=0)
        proven, checked = _pieces(polytope, fewer, protrusion, beside)
        spent += checked
        if proven and len(fewer):
            retained = fewer
    return retained, _pieces(polytope, retained, protrusion)[1]


def _pieces(
    polytope: Polytope, spheres: Floats, protrusion: float, chosen: NDArray[np.bool_] | None = None
) -> tuple[bool, int]:
    """Return whether spheres are proven to contain a polytope, or the chosen ones of its simplices (k,), and the number
    of parts checked."""
    counters = np.zeros(1)
    sizes = _sizes(protrusion)
    simplices = polytope.simplices if chosen is None else polytope.simplices[chosen]
    count = kernels.completed(simplices, polytope.planes, spheres.copy(), len(spheres), sizes, counters)
    return count == len(spheres), int(counters[0])


def _sample_points(polytope: Polytope, protrusion: float) -> tuple[float, Floats]:
    """Return the spacing [m] of surface sample points, and the points (n, 3)."""
    triangles = polytope.simplices[:, :3]
    edges = np.linalg.norm(triangles - np.roll(triangles, 1, axis=1), axis=2)
    area = 0.5 * np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    spacing = max(0.35 * protrusion, math.sqrt(float(area.sum()) / MAX_POINTS))
    longest = edges.max(axis=1)
    divided = longest > spacing
    divisions = np.ceil(longest[divided] / spacing).astype(np.intp)
    # Keep one point of those in the same grid cell.
    found = np.concatenate((polytope.corners, _divided(triangles[divided], divisions)))
    cells = np.floor(found / (0.5 * spacing)).astype(np.int64)
    cells -= cells.min(axis=0)
    _, first = np.unique(np.ravel_multi_index(tuple(cells.T), tuple(cells.max(axis=0) + 1)), return_index=True)
    found = found[np.sort(first)]
    if not polytope.is_surface:
        found = np.concatenate((found, _grid(polytope, 2_000)))
    return spacing, np.ascontiguousarray(found)


def _divided(triangles: Floats, divisions: NDArray[np.intp]) -> Floats:
    """Return the points (n, 3) of triangles (k, 3, 3) whose edges are divided into numbers (k,) of equal parts, those
    of the first triangle first."""
    ends = np.cumsum((divisions + 1) * (divisions + 2) // 2)
    points = np.empty((int(ends[-1]) if len(ends) else 0, 3))
    for count in np.unique(divisions).tolist():
        i, j = np.meshgrid(np.arange(count + 1), np.arange(count + 1))
        inside = i + j <= count
        a, b = (steps[inside][None, :, None] / count for steps in (i, j))
        of = np.flatnonzero(divisions == count)
        first, second, third = (triangles[of, corner][:, None] for corner in range(3))
        rows = ends[of][:, None] + np.arange(-a.size, 0)
        points[rows] = first + a * (second - first) + b * (third - first)
    return points


def _candidates(polytope: Polytope, protrusion: float, points: Floats) -> Floats:
    """Return candidate spheres (n, 4) around a grid of interior points, or around points of a surface."""
    if polytope.is_surface:
        step = max(1, len(points) // MAX_CANDIDATES)
        return np.column_stack((points[::step], np.full(len(points[::step]), protrusion)))
    centres = _grid(polytope, MAX_CANDIDATES)
    radii = kernels.depths(polytope.planes, centres) + protrusion
    return np.ascontiguousarray(np.column_stack((centres, radii)))


def _grid(polytope: Polytope, count: int) -> Floats:
    """Return the centre and about `count` interior points (n, 3) of a regular grid."""
    low, high = polytope.corners.min(axis=0), polytope.corners.max(axis=0)
    step = max(float((high - low).prod()) / count, 1e-18) ** (1.0 / 3.0)
    axes = []
    for lower, upper in zip(low.tolist(), high.tolist(), strict=True):
        steps = max(1, math.ceil((upper - lower) / step))
        axes.append(0.5 * (lower + upper) + step * (np.arange(steps) - 0.5 * (steps - 1)))
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    points = np.ascontiguousarray(np.concatenate((points, polytope.corners.mean(axis=0)[None])))
    return np.ascontiguousarray(points[kernels.depths(polytope.planes, points) >= 0.0])
