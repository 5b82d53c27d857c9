"""Collision checker for single states, batches of states and straight joint-space motions."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError, NotSupportedError
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.joint_arrays import check_distinct, checked_configurations
from ..model.state import RobotCellState
from ..model.value import MAX_JOINT_VALUE
from .attachment_topology import topology_of
from .clearance import SAME, ClosestSearch, closest_pairs
from .contact_results import colliding_pairs
from .engines.base import DistanceResult
from .geometry.broad_phase import Candidates
from .joint_columns import joint_columns
from .motion_sampling import halving_order, segments
from .pairs.allowed_pairs import DEFAULT_OPTIONS, CollisionOptions, SkippedPair
from .report import Clearance, CollisionPair, CollisionReport

Floats = NDArray[np.float64]
MAX_SKIPPED = 100_000
STATES_AT_ONCE = 256


class NearGeometries(NamedTuple):
    """Two collision geometries that are near each other.

    Attributes:
        objects: Indices of both collision objects in `AllowedPairs.objects`.
        first, second: Indices of the geometries.
        margin: Margin of the pair [m].
        min_distance: Lower bound of the distance [m], by bounding boxes; minus infinity if they overlap.
    """

    objects: tuple[int, int]
    first: int
    second: int
    margin: float
    min_distance: float


class CollisionChecker:
    """Collision and distance queries for a cell with the attachment topology of a given state.

    Two objects collide if their distance is below their margin by more than `engines.base.TOUCHING` (10 micrometres). A
    triangle surface (a mesh of use "exact") has no interior: an object that lies entirely inside it does not collide.

    Data that depends only on the attachment topology is cached per thread, so a second checker for the same topology
    takes microseconds to create. A checker may only be used in the thread that created it.

    Attributes:
        variables: Names of the joint variables of each q (dof,) [rad or m], in this order; all other joints keep the
            values of the state.
        engine: Name of the collision engine.
        fixed_values: Values of the joints that are not variables, for keys of caches.
        allowed_pairs: Allowed pairs (`AllowedPairs`): which pairs are checked, and at what margin.
        decomposed: Names of the objects that are checked as a convex decomposition.
    """

    @public
    def __init__(
        self,
        cell: RobotCell,
        state: RobotCellState,
        variables: Sequence[str] | None = None,
        *,
        group: str | None = None,
        engine: str = "coal",
        options: CollisionOptions = DEFAULT_OPTIONS,
    ) -> None:
        """Create a checker for the joint variables `variables`.

        Args:
            cell: Models of robots, tools and bodies.
            state: State that defines attachments, poses and the values of all joints that are not in `variables`.
            variables: Joint variables of the configurations to check; None: those of `group`, or those of all robots if
                `group` is None, too.
            group: Planning group that provides the variables; "": the main group.
            engine: Name of the collision engine.
            options: Extra margin and steps of the check.

        Raises:
            UnknownNameError: A variable, the group or the engine does not exist.
            InvalidRequestError: A variable is listed twice.
            GeometryError: A collision shape cannot be built.
        """
        if variables is None:
            variables = tuple(cell.variables) if group is None else cell.group(group).variables
        self.cell = cell
        self.state = state
        self.variables = tuple(variables)
        self.engine = engine
        self.options = options
        check_distinct(self.variables, "collision")
        model, self._topology = topology_of(cell, state, engine, options)
        self.allowed_pairs = self._topology.allowed_pairs
        self.decomposed = self._topology.decomposed
        self._engine = self._topology.engine
        self.geometry_model = self._topology.geometry_model
        self._thread = threading.get_ident()
        columns = joint_columns(model, self.variables)
        values = model.configuration(state)
        self._shape = (len(self.variables),)
        self.default = values[columns.indices]
        self.default.setflags(write=False)
        self.fixed_values = values[columns.others].tobytes()
        self._base = model.expand(values).copy()
        self._place, self._matrix = columns.place, columns.matrix
        if self._matrix is not None:
            self._base -= self._matrix @ self.default

    @property
    def decomposed_by_engine(self) -> tuple[str, ...]:
        """Names of the objects of which only the engine requires a convex decomposition."""
        return self._engine.decomposed

    def with_engine(self, engine: str) -> CollisionChecker:
        """Return a checker for the same cell, state, variables and options with another engine; itself if it has that
        engine."""
        if engine == self.engine:
            return self
        return CollisionChecker(self.cell, self.state, self.variables, engine=engine, options=self.options)

    def with_extra_margin(self, extra_margin: float) -> CollisionChecker:
        """Return a checker for the same cell, state, variables and engine with another extra margin [m]."""
        options = replace(self.options, extra_margin=extra_margin)
        return CollisionChecker(self.cell, self.state, self.variables, engine=self.engine, options=options)

    def __reduce__(self) -> tuple[object, ...]:
        raise NotSupportedError("a collision checker belongs to its thread; send the cell and the state instead")

    def in_collision(self, q: Floats) -> bool:
        """Return whether any checked pair collides at configuration q (dof,).

        Raises:
            InvalidRequestError: q has the wrong shape or is not finite.
        """
        return self._engine.collides(self._expand(q))

    def in_collision_batch(self, configurations: Floats) -> NDArray[np.bool_]:
        """Return for each of n configurations (n, dof) whether any checked pair collides, (n,).

        Raises:
            InvalidRequestError: The array has the wrong shape or is not finite.
        """
        full = self._expand_batch(configurations)
        collides = self._engine.collides
        return np.fromiter((collides(q) for q in full), dtype=np.bool_, count=len(full))

    def motion_in_collision(self, start: Floats, end: Floats, step: float) -> bool:
        """Return whether any checked pair collides on the straight motion between two configurations (dof,).

        The motion is sampled at both ends and in between, so that no variable changes by more than `step` [rad or m]
        from one sample to the next. For a proof about the continuous motion see `certification`.

        Raises:
            InvalidRequestError: A shape is wrong, a value is not finite, or the step is not above zero or too small.
        """
        return self.first_collision_on_motion(start, end, step) is not None

    def first_collision_on_motion(self, start: Floats, end: Floats, step: float) -> float | None:
        """Return the fraction (0 to 1) of a straight motion at which a collision was found, or None.

        This is the first collision found, not the first along the motion: both ends are checked first, then the middle,
        the quarters and so on (bisection order). Sampling and errors are as in `motion_in_collision`.
        """
        first, last = self._expand(start), self._expand(end)
        samples = segments(start, end, step)
        collides = self._engine.collides
        for fraction in halving_order(samples):
            # Use both ends exactly, so that interpolation adds no rounding there.
            q = first if fraction == 0.0 else last if fraction == 1.0 else first + fraction * (last - first)
            if collides(q):
                return fraction
        return None

    def first_pair(self, q: Floats) -> CollisionPair | None:
        """Return the first colliding pair at q (dof,), ordered by step and then by names; None if nothing collides."""
        found = colliding_pairs(self.geometry_model, self._engine, self._expand(q), 1)
        return found[0] if found else None

    def report(self, q: Floats | None = None, *, max_pairs: int = 0, verbose: bool = False) -> CollisionReport:
        """Report all colliding pairs at q (dof,), or at the state of the checker if q is None.

        Args:
            q: Configuration (dof,) [rad or m].
            max_pairs: Stop after this number of colliding pairs; 0: report all.
            verbose: Also list all checked pairs and all skipped pairs with the reason (the first 100,000 of each).
        """
        full = self._expand(self.default if q is None else q)
        found = colliding_pairs(self.geometry_model, self._engine, full, max_pairs)
        checked = self.allowed_pairs.checked() if verbose else []
        skipped = tuple(islice(self.allowed_pairs.skipped(), MAX_SKIPPED)) if verbose else ()
        return CollisionReport(
            found,
            self.allowed_pairs.pair_count,
            self.engine,
            self.decomposed,
            tuple(checked[:MAX_SKIPPED]),
            skipped,
            self.allowed_pairs.skipped_count,
        )

    def check(self, q: Floats | None = None) -> None:
        """Raise an error if a configuration is in collision.

        Raises:
            CollisionCheckError: At least one pair collides; the full report is in `partial`.
        """
        self.report(q).raise_if_colliding()

    def distance(self, q: Floats | None = None, max_distance: float = math.inf) -> Clearance:
        """Return the smallest distance of all checked pairs at q (dof,), or at the state of the checker if q is None.

        Penetration counts as negative distance. Pairs farther apart than `max_distance` [m] are not searched.
        """
        found = self.clearances(q, 1, max_distance=max_distance)
        return found[0] if found else Clearance(math.inf)

    def closest_of(
        self, configurations: Floats, max_distance: float = math.inf, bodies: NDArray[np.intp] | None = None
    ) -> tuple[int, Clearance] | None:
        """Return the index of the configuration with the smallest distance of all checked pairs, and that distance.

        Distances that differ by less than a micrometre count as equal: any may be returned, the first of equal
        configurations. None if no pair is within `max_distance` [m] or is checked. bodies: As of `ClosestSearch`.

        Raises:
            InvalidRequestError: The array (n, dof) has the wrong shape or is not finite.
        """
        found, search = None, self.closest_search(bodies)
        for first in range(0, len(configurations), STATES_AT_ONCE):
            part = configurations[first : first + STATES_AT_ONCE]
            nearer = search.closest_of(part, max_distance if found is None else found[1].distance - SAME)
            if nearer is not None:
                found = first + nearer[0], nearer[1]
        return found

    def closest_search(self, bodies: NDArray[np.intp] | None = None) -> ClosestSearch:
        """Return a search whose calls along one path use what earlier ones found. bodies: As of `ClosestSearch`."""
        return ClosestSearch(self.geometry_model, self._engine, self._expand_batch, bodies=bodies)

    def search_of_pair(self, first: str, second: str) -> ClosestSearch:
        """Return a search for one pair of collision objects, given by name, in unrelated configurations.

        Raises:
            KeyError: One of the names has no collision shape.
            InvalidRequestError: The pair is not checked.
        """
        pair = self.allowed_pairs.pair(first, second)
        if isinstance(pair, SkippedPair):
            raise InvalidRequestError(f"{first} and {second} are not checked: {pair.reason}", stage="collision")
        one, other = sorted(self.allowed_pairs.by_name[name].index for name in (first, second))
        found = self.of_pair(one, other, pair.margin)
        return ClosestSearch(found.geometry_model, found._engine, self._expand_batch, max_planes=0)

    def of_pair(self, first: int, second: int, margin: float) -> CollisionChecker:
        """Return a checker of one pair of collision objects, given by index in `AllowedPairs.objects`, for searches of
        distances. Geometries have other indices in its `geometry_model`."""
        found = object.__new__(CollisionChecker)
        vars(found).update(vars(self))
        found.geometry_model, rows = self.geometry_model.of_pair(first, second, margin)
        found._engine = self._engine.of_geometries(found.geometry_model, rows)
        return found

    def clearances(
        self,
        q: Floats | None = None,
        count: int = 1,
        *,
        names: Iterable[str] = (),
        max_distance: float = math.inf,
    ) -> tuple[Clearance, ...]:
        """Return the closest checked pairs, closest first, at most `count`.

        Args:
            q: Configuration (dof,) [rad or m]; None: the state of the checker.
            count: Maximum number of pairs.
            names: Robots, links, tools, tool links or bodies; one object of each pair must be among them. Empty: any
                pair.
            max_distance: Pairs farther apart than this [m] are not searched.

        Raises:
            InvalidRequestError: q is malformed, the count is below one, or `max_distance` is not a number.
            UnknownNameError: A name does not exist.
        """
        if count < 1:
            raise InvalidRequestError(f"count is {count}, expected at least 1", stage="collision")
        full = self._expand(self.default if q is None else q)
        return closest_pairs(self.geometry_model, self._engine, full, count, tuple(names), max_distance)

    def _expand(self, q: Floats) -> Floats:
        """Validate q (dof,) and expand it to the configuration (nq,) of the kinematic model."""
        self._check_thread()
        q = self.checked(q)
        if self._matrix is not None:
            return np.asarray(self._matrix @ q + self._base)
        full = self._base.copy()
        full[self._place] = q
        return full

    def _check_thread(self) -> None:
        if threading.get_ident() != self._thread:
            text = "a collision checker can be used only in the thread that created it"
            raise NotSupportedError(text, stage="collision")

    def checked(self, q: Floats) -> Floats:
        """Return a configuration (dof,) as float64 after checking that its values are within `MAX_JOINT_VALUE`.

        Raises:
            InvalidRequestError: The shape is wrong, or a value is not finite or too large.
        """
        try:
            q = np.asarray(q, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidRequestError(f"a configuration is no row of numbers: {error}", stage="collision") from error
        if q.shape != self._shape:
            expected = f"expected ({self._shape[0]},)"
            raise InvalidRequestError(f"a configuration has shape {q.shape}, {expected}", stage="collision")
        # The comparison is false for NaN and infinity as well, and hypot does not overflow for large values.
        if not math.hypot(*q.tolist()) <= MAX_JOINT_VALUE:
            checked_configurations(q[np.newaxis], self.variables, stage="collision")
        return q

    def near_geometries(self, q: Floats, reach: float) -> list[NearGeometries]:
        """Return pairs of collision geometries whose bounding boxes come within their margin plus `reach` [m] at q
        (dof,). The engine keeps the placements of q."""
        return self.described(self.near_candidates(q, reach))

    def near_candidates(self, q: Floats, reach: float) -> Candidates:
        """As `near_geometries`, as arrays."""
        return self.geometry_model.candidates(self._engine.place(self._expand(q)), reach)

    def near_candidates_along(
        self, configurations: Floats, reach: float
    ) -> tuple[NDArray[np.intp], Candidates, Floats]:
        """As `near_candidates` for configurations (n, dof): the configuration of each pair, in ascending order, the
        pairs, and the different placements of moving geometries (n, p, 4, 4)."""
        poses = self._engine.poses(self._expand_batch(configurations))
        return *self.geometry_model.candidates_along(poses, reach), poses

    def place_at(self, poses: Floats) -> None:
        """Place the moving geometries at (p, 4, 4) of those of `near_candidates_along`, for `geometry_distance`."""
        self._engine.place_at(poses[self.geometry_model.placement_rows])

    def described(self, near: Candidates) -> list[NearGeometries]:
        """Return candidates with their collision objects."""
        objects = self.geometry_model.object_indices
        firsts, seconds = near.first.tolist(), near.second.tolist()
        nearest = near.min_distances.tolist()
        pairs = zip(objects[near.first].tolist(), objects[near.second].tolist(), strict=True)
        return [*map(NearGeometries, pairs, firsts, seconds, near.margins.tolist(), nearest)]

    def geometry_distance(self, first: int, second: int) -> float:
        """Return the distance [m] of two collision geometries at the placements of the last `near_geometries` call.

        The indices are those that `near_geometries` returned. Penetration is negative.
        """
        return self.geometry_separation(first, second)[0]

    def geometry_separation(self, first: int, second: int, poses: Floats | None = None) -> tuple[float, Floats | None]:
        """As `geometry_distance`, or at placements (p, 4, 4), with a normal, see `CollisionEngine.separation`."""
        return self._engine.separation(first, second, poses)

    def nearest_points(self, first: int, second: int) -> DistanceResult:
        """As `geometry_distance`, with the closest points in the world frame and the direction between them."""
        return self._engine.distance(first, second)

    def require_configurations(self, configurations: Floats) -> None:
        """Raise an error if configurations are malformed.

        Raises:
            InvalidRequestError: The shape is not (n, dof), or a value is not finite.
        """
        self._checked_batch(configurations)

    def _checked_batch(self, configurations: Floats) -> Floats:
        batch = checked_configurations(configurations, self.variables, stage="collision")
        self._check_thread()
        return batch

    def _expand_batch(self, configurations: Floats) -> Floats:
        batch = self._checked_batch(configurations)
        if self._matrix is not None:
            return np.asarray(batch @ self._matrix.T + self._base)
        full = np.empty((len(batch), len(self._base)))
        full[:] = self._base
        full[:, self._place] = batch
        return full
