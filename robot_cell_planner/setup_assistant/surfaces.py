"""Meshes that are checked by their triangles, because their convex pieces collide where the meshes do not: the pieces
of a gear wheel fill the gaps between its teeth, so that those of wheels that mesh overlap in all states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from frozendict import frozendict
from msgspec.structs import replace
from numpy.typing import NDArray

from ..collision.checker import CollisionChecker
from ..collision.enclosed_objects import enclosed_objects
from ..errors import GeometryError
from ..io.mesh.loading import load_mesh
from ..model.geometry import Mesh, MeshUse, Shape
from ..model.mechanism import Link, Mechanism
from ..model.random_configurations import random_configurations
from ..model.robot import Robot
from .pair_search import Pair, bare_checker

SAMPLES, SEED = 100, 1  # random states at which pieces and triangles are compared
MOST = 0.5  # of the states; pairs of links whose pieces collide at fewer are left as they are
FREED = 0.1  # of the states, at which the triangles of a pair do not collide, and its pieces do
MAX_FACES = 50_000  # of a mesh that is checked by its triangles


def colliding_pieces(
    mechanism: Mechanism, uses: Mapping[str, MeshUse], pairs: Iterable[Pair]
) -> dict[str, tuple[Pair, int, int]]:
    """Find the meshes to check by their triangles: those of pairs of links that collide at most random states, and by
    their triangles at fewer by a tenth of the states, without one being inside the other.

    Args:
        mechanism: Of a robot or tool.
        uses: Collision representation of its meshes, by URI.
        pairs: Of links, that are checked.

    Returns: By URI, a pair of links with the mesh, and the number of `SAMPLES` states at which this pair collides as it
        is, and by triangles.
    """
    found: dict[str, tuple[Pair, int, int]] = {}
    for pair in pairs:
        meshes = [mesh for name in pair for mesh in _meshes(mechanism.links[name])]
        try:
            if not meshes or any(len(load_mesh(mesh).faces) > MAX_FACES for mesh in meshes):
                continue
            given, exact = (_collisions(mechanism, pair, each) for each in (uses, dict.fromkeys(uses, MeshUse.EXACT)))
        except GeometryError:
            continue
        if given >= MOST * SAMPLES and given - exact >= FREED * SAMPLES:
            found |= {mesh.uri: (pair, given, exact) for mesh in meshes if mesh.uri not in found}
    return found


def pairs_that_collide_at_most(counts: Counter[Pair], samples: int) -> list[Pair]:
    """Return the pairs that collide at most of some states."""
    return [pair for pair, count in sorted(counts.items()) if count >= MOST * samples]


def _meshes(link: Link) -> Iterator[Mesh]:
    return (shape.geometry for shape in link.collisions if isinstance(shape.geometry, Mesh))


def _collisions(mechanism: Mechanism, pair: Pair, uses: Mapping[str, MeshUse]) -> int:
    """Return at how many of `SAMPLES` random states two links collide, or one is inside the other."""
    links = {
        name: replace(link, collisions=_with_uses(link.collisions, uses) if name in pair else ())
        for name, link in mechanism.links.items()
    }
    robot = Robot("robot", replace(mechanism, links=frozendict(links)))
    checker = bare_checker(robot)
    states = random_configurations(robot.variables.values(), SAMPLES, SEED)
    return sum(checker.in_collision(q) or _encloses(checker, q) for q in states)


def _encloses(checker: CollisionChecker, q: NDArray[np.float64]) -> bool:
    """Return whether a link is inside a surface of triangles at a configuration (dof,)."""
    state = checker.state.with_configuration(dict(zip(checker.variables, q.tolist(), strict=True)))
    return any(enclosed_objects(checker.cell, state, checker.allowed_pairs))


def _with_uses(shapes: tuple[Shape, ...], uses: Mapping[str, MeshUse]) -> tuple[Shape, ...]:
    return tuple(
        replace(shape, geometry=replace(shape.geometry, use=uses.get(shape.geometry.uri, shape.geometry.use)))
        if isinstance(shape.geometry, Mesh)
        else shape
        for shape in shapes
    )
