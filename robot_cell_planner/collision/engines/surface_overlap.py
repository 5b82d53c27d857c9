"""Overlaps of triangle surfaces: the depths of their triangles, and directions that separate surfaces that touch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice
from typing import Any

import coal
import numpy as np
from numpy.typing import NDArray

from ...io.mesh.loading import MeshData
from ...system.compiled import compiled
from .base import DistanceResult, Floats

SHORTEST = 1e-12  # [m2] cross product of two edges that defines an axis
MAX_DIRECTIONS = 6  # that are tried to separate surfaces
DECIMALS = 3  # of components of directions that count as equal
AT_ONCE = 2048  # pairs of triangles whose motions are computed together, so that little memory is needed


@dataclass(frozen=True, eq=False)
class SurfaceOverlaps:
    """Overlaps of the triangles of two surfaces in contact.

    Attributes:
        contacts: Contacts of coal (k,).
        first, second: Corners of their triangles (k, 3, 3) [m].
        depths, directions: As of `triangle_overlaps`.
    """

    contacts: list[Any]
    first: Floats
    second: Floats
    depths: Floats
    directions: Floats

    @classmethod
    def of(
        cls, result: Any, first: tuple[MeshData, Any], second: tuple[MeshData, Any], max_count: int
    ) -> SurfaceOverlaps:
        """Return the overlaps of at most some contacts of a result of coal that has overlaps.

        first, second: mesh and placement of each surface.
        """
        all_contacts = map(result.getContact, range(result.numContacts()))
        contacts = list(islice((found for found in all_contacts if found.penetration_depth < 0.0), max_count))
        pairs = np.array([(contact.b1, contact.b2) for contact in contacts], dtype=np.intp)
        corners = _corners(pairs[:, 0], *first), _corners(pairs[:, 1], *second)
        return cls(contacts, *corners, *triangle_overlaps(*corners))

    @property
    def depth(self) -> float:
        """Depth of the deepest overlap [m]."""
        return float(self.depths.max())

    @property
    def deepest(self) -> DistanceResult:
        """The deepest overlap."""
        row = int(self.depths.argmax())
        contact = self.contacts[row]
        vectors = (contact.getNearestPoint1(), contact.getNearestPoint2(), self.directions[row])
        return DistanceResult(-self.depth, *(tuple(vector.tolist()) for vector in vectors))

    def separating_directions(self, depth: float) -> list[Floats]:
        """Return unit vectors along which a motion of the first surface by about a depth [m] may separate both: the sum
        of few directions that separate all pairs of triangles, and each direction that separates many of them."""
        rows, vectors = _directions_within(self.first, self.second, depth)
        unique, numbers = np.unique(np.round(vectors, DECIMALS), axis=0, return_inverse=True)
        separates = np.zeros((len(unique), len(self.depths)), dtype=np.bool_)
        separates[numbers.ravel(), rows] = True
        order = np.argsort(-separates.sum(axis=1), kind="stable")[:MAX_DIRECTIONS]
        chosen, left = list[Floats](), np.ones(len(self.depths), dtype=np.bool_)
        while len(chosen) < MAX_DIRECTIONS and (counts := (separates & left).sum(axis=1)).any():
            best = int(counts.argmax())
            chosen.append(unique[best])
            left &= ~separates[best]
        found = [np.sum(chosen, axis=0), *unique[order]]
        lengths = [float(np.linalg.norm(vector)) for vector in found]
        return [vector / length for vector, length in zip(found, lengths, strict=True) if length > 0.5]


@compiled
def triangle_overlaps(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the length (k,) [m] and direction (k, 3) of the shortest motion of the first of two triangles that
    separates them. For triangles that are apart, the length is minus a lower bound of their distance.

    The motion is along a normal of one of them, or along the cross product of two edges (separating axis theorem;
    Gottschalk, Lin and Manocha, OBBTree, 1996). Without any such axis, for parallel triangles without an area, it is 0.

    first, second: corners of the triangles (k, 3, 3) [m].
    """
    depths, directions = np.full(len(first), math.inf), np.zeros((len(first), 3))
    for k in range(len(first)):
        one, other = first[k] - second[k, 0], second[k] - second[k, 0]  # against rounding
        for number in range(11):
            if number == 9:
                axis = cross(one[1] - one[0], one[2] - one[0])
            elif number == 10:
                axis = cross(other[1] - other[0], other[2] - other[0])
            else:
                i, j = number // 3, number % 3
                axis = cross(one[(i + 1) % 3] - one[i], other[(j + 1) % 3] - other[j])
            length = math.sqrt(axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2)
            if length <= SHORTEST:
                continue
            low, high, other_low, other_high = math.inf, -math.inf, math.inf, -math.inf
            for corner in range(3):
                along = (one[corner, 0] * axis[0] + one[corner, 1] * axis[1] + one[corner, 2] * axis[2]) / length
                low, high = min(low, along), max(high, along)
                along = (other[corner, 0] * axis[0] + other[corner, 1] * axis[1] + other[corner, 2] * axis[2]) / length
                other_low, other_high = min(other_low, along), max(other_high, along)
            forwards, backwards = other_high - low, high - other_low
            if min(forwards, backwards) < depths[k]:
                depths[k] = min(forwards, backwards)
                directions[k] = axis / length if forwards <= backwards else -axis / length
        if depths[k] == math.inf:
            depths[k] = 0.0
    return depths, directions


@compiled
def cross(first: Floats, second: Floats) -> Floats:
    """Return the cross product of two vectors (3,); numba's takes longer."""
    found = np.empty(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        found[i] = first[j] * second[k] - first[k] * second[j]
    return found


def _directions_within(first: Floats, second: Floats, depth: float) -> tuple[NDArray[np.intp], Floats]:
    """Return the rows (n,) of pairs of triangles, and unit vectors (n, 3) along the axes of `triangle_overlaps` along
    which motions of the first one that are no longer than a depth [m] separate each pair."""
    rows, vectors = [np.empty(0, dtype=np.intp)], [np.empty((0, 3))]
    for begin in range(0, len(first), AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        axes, lengths = _motions(first[part], second[part])
        row, axis = np.nonzero(lengths <= depth)
        rows.append(begin + row)
        vectors.append(axes[row, axis])
    return np.concatenate(rows), np.concatenate(vectors)


def _motions(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return unit vectors (k, 22, 3) and the lengths (k, 22) [m] of motions of the first of two triangles along them
    that separate both; infinite for axes that are not defined."""
    origin = second[:, :1]
    first, second = first - origin, second - origin
    edges, others = (np.roll(corners, -1, axis=1) - corners for corners in (first, second))
    normals = [np.cross(sides[:, :1], sides[:, 1:2]) for sides in (edges, others)]
    between = np.cross(edges[:, :, None], others[:, None]).reshape(-1, 9, 3)
    axes = np.concatenate((*normals, between), axis=1)
    lengths = np.linalg.norm(axes, axis=2)
    usable = lengths > SHORTEST
    axes = axes / np.where(usable, lengths, 1.0)[..., None]
    one, other = (np.einsum("kax,kcx->kac", axes, corners) for corners in (first, second))
    forwards = np.where(usable, other.max(axis=2) - one.min(axis=2), np.inf)
    backwards = np.where(usable, one.max(axis=2) - other.min(axis=2), np.inf)
    return np.concatenate((axes, -axes), axis=1), np.concatenate((forwards, backwards), axis=1)


def _corners(triangles: NDArray[np.intp], mesh: MeshData, pose: Any) -> Floats:
    """Return the corners (k, 3, 3) of triangles of a mesh in the world frame."""
    corners = mesh.vertices[mesh.faces[triangles]]
    return np.asarray(corners @ pose.getRotation().T + pose.getTranslation())


def moved(pose: Any, by: Floats) -> Any:
    """Return a transform of coal moved by a vector (3,) [m]."""
    return coal.Transform3s(pose.getRotation(), pose.getTranslation() + by)
