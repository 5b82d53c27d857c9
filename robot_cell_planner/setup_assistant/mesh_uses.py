"""Drafts of the collision representation of each mesh: its hull, unless that fills in too much, or collides
where the mesh does not; its triangles where its pieces collide nearly always and the mesh does not."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ..errors import GeometryError
from ..io.mesh.concavity import Concavity, closed_volume_fraction, concavity
from ..model.geometry import Mesh, MeshUse
from ..model.mechanism import Mechanism
from ..system.physics import MAX_LINKS
from . import surfaces
from .pair_search import Pair
from .pieces import SAMPLES, collisions_of_hulls, pair_collisions, with_pieces

MAX_FILLED = 0.1  # of the volume of a hull; a mesh whose hull fills in more is decomposed
OFTEN = SAMPLES // 100  # collisions of a hull at random states that matter
OF_TRIANGLES = "as {}, {} and {} collide at {} of {} random states, by their triangles at {}"
REASON = "its hull collides {} times at {} random states, its {} convex pieces do not"


@dataclass(frozen=True)
class MeshDraft:
    """Collision representation of a mesh.

    Attributes:
        uri: URI in the description.
        use: The representation.
        reason: Why, with numbers.
        pieces: Number of convex geometries, in the simulation if it is checked by its triangles.
        gain: Volume that the pieces leave free in the hull [m3].
    """

    uri: str
    use: MeshUse
    reason: str
    pieces: int = 1
    gain: float = 0.0


def draft_mesh_uses(
    mechanism: Mechanism, max_links: int = MAX_LINKS, disabled: Iterable[Pair] = ()
) -> tuple[MeshDraft, ...]:
    """Choose the collision representation of each mesh that a description has and that is checked as its hull.

    A mesh is decomposed if its hull is filled by convex pieces to less than 90 %, or collides at 1 % of random states
    at which its pieces do not. A mesh that is scaled differently in several places is judged by the first. If all links
    have more than `max_links` pieces, those meshes are decomposed first whose hulls collide at most random states at
    which their pieces do not; of several that collide equally often, such as never, those that gain the most volume.
    Meshes of two links that then collide at most states, and by their triangles at fewer, are checked by these. Pairs
    of links that are `disabled` do not count there.

    Raises:
        GeometryError: There are too many pieces, and a mesh cannot be read.
    """
    meshes: dict[str, Mesh] = {}
    for _, mesh in _collision_meshes(mechanism):
        meshes.setdefault(mesh.uri, mesh)
    # V-HACD runs in processes of its own.
    with ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="mesh drafts") as threads:
        drafts = dict(zip(meshes, threads.map(_draft, meshes.values()), strict=True))
        decomposed = {draft.uri for draft in drafts.values() if draft.pieces > 1}
        links = set[str]().union(*_links_of(mechanism, decomposed).values())
        drafted = with_pieces(mechanism, links, uris=decomposed)
        counts = pair_collisions(drafted)
        drafts |= _colliding(mechanism, drafted, meshes, drafts, counts, threads)
    found = {draft.uri: draft for draft in _within(mechanism, drafts, max_links)}
    ignored = {frozenset(pair) for pair in disabled}
    pairs = [pair for pair in surfaces.pairs_that_collide_at_most(counts, SAMPLES) if frozenset(pair) not in ignored]
    by_triangles = found | _by_triangles(mechanism, meshes, found, pairs)
    return tuple((by_triangles if simulated_links(mechanism, by_triangles.values()) <= max_links else found).values())


def _by_triangles(
    mechanism: Mechanism, meshes: Mapping[str, Mesh], drafts: Mapping[str, MeshDraft], pairs: Iterable[Pair]
) -> dict[str, MeshDraft]:
    """Return the drafts of meshes that are checked by their triangles, see `surfaces`."""
    uses = {uri: draft.use for uri, draft in drafts.items()}
    found: dict[str, MeshDraft] = {}
    for uri, (pair, given, exact) in surfaces.colliding_pieces(mechanism, uses, pairs).items():
        if uri in drafts:
            reason = OF_TRIANGLES.format(drafts[uri].use.value, *pair, given, surfaces.SAMPLES, exact)
            concave = _pieces(meshes[uri])
            pieces, gain = (1, 0.0) if concave is None else (concave.pieces, concave.gain)
            found[uri] = MeshDraft(uri, MeshUse.EXACT, reason, pieces, gain)
    return found


def _colliding(
    mechanism: Mechanism,
    drafted: Mechanism,
    meshes: Mapping[str, Mesh],
    drafts: Mapping[str, MeshDraft],
    counts: Counter[Pair],
    threads: ThreadPoolExecutor,
) -> dict[str, MeshDraft]:
    """Return decompositions of meshes that are drafted as hulls, whose hulls collide where their pieces do not.

    drafted: The mechanism with these drafts; counts: its collisions at random states.
    """
    others = _links_of(mechanism, {uri for uri in meshes if drafts[uri].pieces == 1})
    by_link = Counter[str]()
    for pair, count in counts.items():
        by_link.update(dict.fromkeys(pair, count))
    often = {name for name, count in by_link.items() if count >= OFTEN}
    asked = {uri for uri, names in others.items() if not often.isdisjoint(names)}
    found = {uri: each for uri, each in zip(asked, threads.map(_pieces, map(meshes.get, asked)), strict=True) if each}
    names = set[str]().union(*(others[uri] for uri in found))
    of_hulls = collisions_of_hulls(drafted, names, found) if names else Counter[str]()
    return {
        uri: MeshDraft(uri, MeshUse.DECOMPOSITION, REASON.format(number, SAMPLES, each.pieces), each.pieces, each.gain)
        for uri, each in found.items()
        if (number := sum(of_hulls[name] for name in others[uri])) >= OFTEN
    }


def _pieces(mesh: Mesh) -> Concavity | None:
    """Return the concavity of a mesh that has more than one convex piece, else None."""
    try:
        found = concavity(mesh)
    except GeometryError:
        return None
    return found if found.pieces > 1 else None


def _links_of(mechanism: Mechanism, uris: Set[str]) -> dict[str, set[str]]:
    """Return the names of the links that have each of some meshes, by its URI."""
    links = {uri: set[str]() for uri in sorted(uris)}
    for name, mesh in _collision_meshes(mechanism):
        if mesh.uri in links:
            links[mesh.uri].add(name)
    return links


def _within(mechanism: Mechanism, drafts: Mapping[str, MeshDraft], max_links: int) -> tuple[MeshDraft, ...]:
    """Return drafts with as many pieces as are allowed; the others have hulls, with this reason."""
    if simulated_links(mechanism, drafts.values()) <= max_links:
        return tuple(drafts.values())
    found = dict(drafts)
    for draft in drafts.values():
        if draft.pieces > 1:
            found[draft.uri] = MeshDraft(draft.uri, MeshUse.HULL, draft.reason)
    for draft in _by_importance(mechanism, drafts):
        if (count := simulated_links(mechanism, [*found.values(), draft])) <= max_links:
            found[draft.uri] = draft
        else:
            text = f"{draft.reason}, too many with those of the other links (together {count}, expected at most"
            found[draft.uri] = MeshDraft(draft.uri, MeshUse.HULL, f"{text} {max_links})")
    return tuple(found.values())


def _by_importance(mechanism: Mechanism, drafts: Mapping[str, MeshDraft]) -> list[MeshDraft]:
    """Return the drafts of decomposed meshes, those first that matter most."""
    decomposed = [draft for draft in drafts.values() if draft.pieces > 1]
    links = _links_of(mechanism, {draft.uri for draft in decomposed})
    counts = collisions_of_hulls(mechanism, set[str]().union(*links.values()), links)

    def importance(draft: MeshDraft) -> tuple[int, float]:
        return sum(counts[name] for name in links[draft.uri]), draft.gain

    return sorted(decomposed, key=importance, reverse=True)


def simulated_links(mechanism: Mechanism, drafts: Iterable[MeshDraft]) -> int:
    """Return the number of links that PyBullet simulates: each convex geometry is one, at least one for each link."""
    pieces_of = {draft.uri: draft.pieces for draft in drafts}
    count = 0
    for link in mechanism.links.values():
        meshes = [shape.geometry for shape in link.collisions if isinstance(shape.geometry, Mesh)]
        pieces = sum(pieces_of.get(mesh.uri, 1) for mesh in meshes)
        count += max(1, pieces + (len(meshes) < len(link.collisions)))
    return count


def _collision_meshes(mechanism: Mechanism) -> Iterator[tuple[str, Mesh]]:
    """Yield the meshes that are checked as their hulls, with the names of their links."""
    for name, link in mechanism.links.items():
        for shape in link.collisions:
            if isinstance(shape.geometry, Mesh) and shape.geometry.use is MeshUse.HULL:
                yield name, shape.geometry


def _draft(mesh: Mesh) -> MeshDraft:
    try:
        fraction = closed_volume_fraction(mesh)
        if fraction is not None and fraction >= 1.0 - MAX_FILLED:
            return MeshDraft(mesh.uri, MeshUse.HULL, f"its hull fills in {max(1.0 - fraction, 0.0):.0%}")
        found = concavity(mesh)
    except GeometryError as error:
        return MeshDraft(mesh.uri, MeshUse.HULL, f"it cannot be decomposed: {error.message}")
    pieces = "1 convex piece" if found.pieces == 1 else f"{found.pieces} convex pieces"
    if found.filled < MAX_FILLED:
        return MeshDraft(mesh.uri, MeshUse.HULL, f"{pieces}, would leave {found.filled:.0%} of the hull free")
    reason = f"its hull would fill in {found.filled:.0%}; {pieces}"
    return MeshDraft(mesh.uri, MeshUse.DECOMPOSITION, reason, found.pieces, found.gain)
