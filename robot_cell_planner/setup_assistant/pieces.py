"""Mechanisms whose meshes are checked as convex pieces or by triangles, to compare them with coarser geometry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from frozendict import frozendict
from msgspec.structs import replace

from ..model.geometry import Mesh, MeshUse, Shape, Triangles
from ..model.mechanism import Mechanism
from ..model.random_configurations import random_configurations
from ..model.robot import Robot
from .pair_search import Pair, bare_checker

SAMPLES, SEED = 500, 1  # random states at which hulls and pieces are compared


# Representations that are coarser than each.
COARSER = {MeshUse.DECOMPOSITION: (MeshUse.HULL,), MeshUse.EXACT: (MeshUse.HULL, MeshUse.DECOMPOSITION)}


def with_pieces(
    mechanism: Mechanism,
    names: Collection[str],
    prefix: str = "",
    uris: Collection[str] | None = None,
    use: MeshUse = MeshUse.DECOMPOSITION,
) -> Mechanism:
    """Return a mechanism with decompositions of the meshes of some links in place of their hulls.

    names: of the links, with a prefix; uris: of the meshes, None: all of these links; use: EXACT for the triangles of
    the meshes in place of hulls and decompositions.
    """
    links = {
        name: replace(link, collisions=pieces(link.collisions, uris, use)) if prefix + name in names else link
        for name, link in mechanism.links.items()
    }
    return replace(mechanism, links=frozendict(links))


def pieces(
    shapes: tuple[Shape, ...], uris: Collection[str] | None = None, use: MeshUse = MeshUse.DECOMPOSITION
) -> tuple[Shape, ...]:
    """Return shapes with decompositions of meshes in place of their hulls, of those with these URIs unless None. use:
    As of `with_pieces`."""
    return tuple(
        replace(shape, geometry=replace(shape.geometry, use=use))
        if isinstance(shape.geometry, Mesh | Triangles)
        and shape.geometry.use in COARSER[use]
        and (uris is None or (isinstance(shape.geometry, Mesh) and shape.geometry.uri in uris))
        else shape
        for shape in shapes
    )


def collisions_of_hulls(mechanism: Mechanism, names: Collection[str], uris: Collection[str]) -> Counter[str]:
    """Count by link how often its hull, but not its convex pieces, collides with other links at random states.

    Each state and other link counts. names: of the links; uris: of the meshes of them that can be decomposed.

    Raises:
        GeometryError: A mesh cannot be read.
    """
    hulls, decomposed = pair_collisions(mechanism), pair_collisions(with_pieces(mechanism, names, uris=uris))
    found = Counter[str]()
    for pair, count in (hulls - decomposed).items():
        found.update({link: count for link in pair if link in names})
    return found


def pair_collisions(mechanism: Mechanism) -> Counter[Pair]:
    """Count the collisions of each pair of links that are not adjacent at `SAMPLES` random states.

    Raises:
        GeometryError: A mesh cannot be read.
    """
    robot = Robot("robot", mechanism)
    found = Counter[Pair]()
    if not robot.variables:
        return found
    checker = bare_checker(robot)
    # Reports need no trees of all pairs, which take longer to build than all of these where there are many pieces.
    for q in random_configurations(robot.variables.values(), SAMPLES, SEED):
        found.update((pair.first, pair.second) for pair in checker.report(q).pairs)
    return found
