"""The collision checker: what every layer above asks about states, batches and motions."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequestError, NotSupportedError
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.state import RobotCellState
from ..model.value import MAX_JOINT_VALUE
from .attachment_topology import arrangement
from .clearance import closest_of, closest_pairs
from .contact_results import colliding_pairs
from .pairs.allowed_pairs import DEFAULT_OPTIONS, CollisionOptions
from .report import Clearance, CollisionPair, CollisionReport

Floats = NDArray[np.float64]
MAX_SKIPPED = 100_000
MAX_SAMPLES = 10_000_000
STATES_AT_ONCE = 256


class CollisionChecker:
    """Collision checks of a cell in the arrangement of a state.

    variables: those that each q (dof,) [rad or m] gives, in this order; every other joint stays as the state
    has it. Attributes: `variables`, `engine` (its name), `rule_book`, `decomposed` (things checked by a
    convex decomposition).

    Two things collide where their gap is below their margin by more than `engine.TOUCHING`, 10 micrometres. A
    surface of triangles (meshes of use "exact") has no inside: what lies wholly within it does not collide.

    What is built for an arrangement is kept by the thread, so that a second checker of it costs microseconds.
    A checker serves the thread that made it, and no other.
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
        """variables: if not given, those of `group` ("": the main one), or without it those of all robots.

        Raises:
            UnknownNameError: no such variable, group or engine.
            InvalidRequestError: a variable is listed twice.
            GeometryError: a shape cannot be built.
        """
        if variables is None:
            variables = tuple(cell.variables) if group is None else cell.group(group).variables
        self.cell = cell
        self.state = state
        self.variables = tuple(variables)
        self.engine = engine
        self.options = options
        if len(set(self.variables)) != len(self.variables):
            raise InvalidRequestError("a joint is listed twice", stage="collision", subjects=self.variables)
        model, self._arrangement = arrangement(cell, state, engine, options)
        self.rule_book = self._arrangement.book
        self.decomposed = self._arrangement.decomposed
        self._engine = self._arrangement.engine
        self._table = self._arrangement.table
        self._thread = threading.get_ident()
        indices = model.indices(self.variables)
        self._shape = (len(self.variables),)
        self.default = model.configuration(state)[indices]
        self._base = model.expand(model.configuration(state)).copy()
        self._matrix: Floats | None = None
        places: NDArray[np.intp] | None = indices
        if model.expansion is not None:
            matrix = np.ascontiguousarray(model.expansion[0][:, indices])
            places = _own_joints(matrix)
            if places is None:
                self._matrix = matrix
                self._base -= matrix @ self.default
        if places is not None:
            self._place = _as_slice(places)

    def __reduce__(self) -> tuple[object, ...]:
        raise NotSupportedError("a collision checker belongs to its thread; send the cell and the state instead")

    def in_collision(self, q: Floats) -> bool:
        """Whether anything collides at q (dof,).

        Raises:
            InvalidRequestError: q has another length, or is not finite.
        """
        return self._engine.collides(self._expand(q))

    def in_collision_batch(self, configurations: Floats) -> NDArray[np.bool_]:
        """Whether anything collides, (n,), at each of n configurations (n, dof).

        Raises:
            InvalidRequestError: another shape, or not finite.
        """
        full = self._expand_batch(configurations)
        collides = self._engine.collides
        return np.fromiter((collides(q) for q in full), dtype=np.bool_, count=len(full))

    def motion_in_collision(self, start: Floats, end: Floats, step: float) -> bool:
        """Whether anything collides on the straight motion between two configurations, checked at both ends
        and in between so that no variable changes by more than `step` [rad or m] from one sample to the next.

        Raises:
            InvalidRequestError: a shape is wrong, a value is not finite, or the step is not above zero or too
            small.
        """
        return self.first_collision_on_motion(start, end, step) is not None

    def first_collision_on_motion(self, start: Floats, end: Floats, step: float) -> float | None:
        """The fraction of the motion, 0 to 1, at which a collision was met, or None.

        It is the first one met, not the first on the way: the ends are tried first, then the middle, the
        quarters and so on, each finer comb filling the gaps of the last.
        """
        first, last = self._expand(start), self._expand(end)
        samples = segments(start, end, step)
        collides = self._engine.collides
        for fraction in halving_order(samples):
            # The ends exactly, whatever rounding does in between.
            q = first if fraction == 0.0 else last if fraction == 1.0 else first + fraction * (last - first)
            if collides(q):
                return fraction
        return None

    def first_pair(self, q: Floats) -> CollisionPair | None:
        """The first colliding pair at q (dof,), by step, then by names; None if nothing collides."""
        found = colliding_pairs(self._table, self._engine, self._expand(q), 1)
        return found[0] if found else None

    def report(self, q: Floats | None = None, *, max_pairs: int = 0, verbose: bool = False) -> CollisionReport:
        """All that collides at q (dof,), or at the state itself.

        max_pairs: stop after so many colliding pairs; 0: all. verbose: list also every pair that is checked
        or skipped, with the reason (the first 100,000 of each).
        """
        full = self._expand(self.default if q is None else q)
        found = colliding_pairs(self._table, self._engine, full, max_pairs)
        checked = self.rule_book.checked() if verbose else []
        skipped = tuple(islice(self.rule_book.skipped(), MAX_SKIPPED)) if verbose else ()
        return CollisionReport(
            found,
            self.rule_book.pair_count,
            self.engine,
            self.decomposed,
            tuple(checked[:MAX_SKIPPED]),
            skipped,
            self.rule_book.skipped_count,
        )

    def check(self, q: Floats | None = None) -> None:
        """Refuse a configuration in collision.

        Raises:
            CollisionCheckError: something collides; the full report is in `partial`.
        """
        self.report(q).raise_if_colliding()

    def distance(self, q: Floats | None = None, max_distance: float = math.inf) -> Clearance:
        """The closest approach of any two things that are checked, at q (dof,) or at the state itself.

        An overlap counts as negative distance. Beyond max_distance [m] nothing is searched.
        """
        found = self.clearances(q, 1, max_distance=max_distance)
        return found[0] if found else Clearance(math.inf)

    def closest_of(self, configurations: Floats, max_distance: float = math.inf) -> tuple[int, Clearance] | None:
        """Which of n configurations (n, dof) brings any two things closest that are checked, and how close they come.

        Where several are equal to a nanometre it is the first. None: nothing comes within max_distance [m], or there
        is nothing to check.

        Raises:
            InvalidRequestError: another shape, or not finite.
        """
        found: tuple[int, Clearance] | None = None
        for first in range(0, len(configurations), STATES_AT_ONCE):
            part = self._expand_batch(configurations[first : first + STATES_AT_ONCE])
            nearer = closest_of(self._table, self._engine, part, max_distance)
            if nearer is not None and (found is None or nearer[1].distance < found[1].distance):
                found = first + nearer[0], nearer[1]
                max_distance = nearer[1].distance
        return found

    def clearances(
        self,
        q: Floats | None = None,
        count: int = 1,
        *,
        names: Iterable[str] = (),
        max_distance: float = math.inf,
    ) -> tuple[Clearance, ...]:
        """The closest pairs, closest first; at most `count`.

        names: robots, links, tools, tool links or bodies that one side must be among; none: any.

        Raises:
            InvalidRequestError: q is malformed, or the count is below one.
            UnknownNameError: nothing is named so.
        """
        if count < 1:
            raise InvalidRequestError(f"count is {count}, expected at least 1", stage="collision")
        full = self._expand(self.default if q is None else q)
        return closest_pairs(self._table, self._engine, full, count, tuple(names), max_distance)

    def _expand(self, q: Floats) -> Floats:
        """All joints of the model at q, which is checked."""
        if threading.get_ident() != self._thread:
            text = "a collision checker serves the thread that made it, and no other"
            raise NotSupportedError(text, stage="collision")
        q = self.checked(q)
        if self._matrix is not None:
            return np.asarray(self._matrix @ q + self._base)
        full = self._base.copy()
        full[self._place] = q
        return full

    def checked(self, q: Floats) -> Floats:
        """A configuration (dof,) of numbers within `cell.value.MAX_JOINT_VALUE`, as doubles.

        Raises:
            InvalidRequestError: it has another shape, or is not finite or larger.
        """
        try:
            q = np.asarray(q, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidRequestError(f"a configuration is no row of numbers: {error}", stage="collision") from error
        if q.shape != self._shape:
            expected = f"expected ({self._shape[0]},)"
            raise InvalidRequestError(f"a configuration has shape {q.shape}, {expected}", stage="collision")
        # NaN and infinity are not below either, and the length of what is huge does not overflow.
        if not math.hypot(*q.tolist()) <= MAX_JOINT_VALUE and not (np.abs(q) <= MAX_JOINT_VALUE).all():
            raise InvalidRequestError(f"a configuration is {_out_of_bounds(self.variables, q)}", stage="collision")
        return q

    def near_solids(self, q: Floats, reach: float) -> list[tuple[tuple[int, int], int, int, float]]:
        """Pairs of solids whose boxes come within their margin and `reach` [m] of each other at q (dof,), where
        everything stays placed: both owners, by index in the rule book, both solids, and the margin [m]."""
        near = self._table.candidates(self._engine.place(self._expand(q)), reach)
        owners = self._table.owners
        pairs = zip(near.first.tolist(), near.second.tolist(), near.margins.tolist(), strict=True)
        return [((int(owners[i]), int(owners[j])), i, j, margin) for i, j, margin in pairs]

    def distance_of_solids(self, first: int, second: int) -> float:
        """Distance of two solids [m], by the numbers that `near_solids` gave, where it placed them; negative for an
        overlap."""
        return self._engine.distance(first, second).distance

    def require_configurations(self, configurations: Floats) -> None:
        """Refuse configurations that no check could take.

        Raises:
            InvalidRequestError: their shape is not (n, dof), or a value is not finite.
        """
        self._expand_batch(configurations)

    def _expand_batch(self, configurations: Floats) -> Floats:
        try:
            batch = np.asarray(configurations, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidRequestError(f"configurations are no table of numbers: {error}", stage="collision") from error
        if batch.ndim != 2 or batch.shape[1:] != self._shape:
            expected = f"expected (n, {self._shape[0]})"
            raise InvalidRequestError(f"configurations have shape {batch.shape}, {expected}", stage="collision")
        bad = np.flatnonzero(~(np.abs(batch) <= MAX_JOINT_VALUE).all(axis=1))
        if len(bad):
            text = f"configuration {bad[0]} is {_out_of_bounds(self.variables, batch[bad[0]])}"
            raise InvalidRequestError(text, stage="collision")
        if len(batch):
            self._expand(batch[0])
        if self._matrix is not None:
            return np.asarray(batch @ self._matrix.T + self._base)
        full = np.tile(self._base, (len(batch), 1))
        full[:, self._place] = batch
        return full


def _out_of_bounds(variables: tuple[str, ...], q: Floats) -> str:
    column = int(np.flatnonzero(~(np.abs(q) <= MAX_JOINT_VALUE))[0])
    what = "out of bounds" if math.isfinite(q[column]) else "not finite"
    return f"{what}: joint {variables[column]} is {q[column]:g}, expected a number within {MAX_JOINT_VALUE:g}"


def _own_joints(matrix: Floats) -> NDArray[np.intp] | None:
    """The joint (n,) that each variable drives, where each drives one alone and as it is; matrix: (joints, n)."""
    if np.array_equal(np.count_nonzero(matrix, axis=0), np.ones(matrix.shape[1])) and (matrix.max(axis=0) == 1.0).all():
        return np.asarray(matrix.argmax(axis=0), dtype=np.intp)
    return None


def _as_slice(indices: NDArray[np.intp]) -> slice | NDArray[np.intp]:
    """The indices as a slice where they are consecutive, which numpy assigns to faster."""
    if len(indices) and np.array_equal(indices, np.arange(indices[0], indices[0] + len(indices))):
        return slice(int(indices[0]), int(indices[0]) + len(indices))
    return indices


def segments(start: Floats, end: Floats, step: float) -> int:
    """Into how many equal parts a straight motion is cut so that no variable changes by more than `step` in
    one.

    Raises:
        InvalidRequestError: the step is not above zero, or so small that there would be too many.
    """
    if not step > 0.0:
        raise InvalidRequestError(f"step is {step}, expected above 0", stage="collision")
    length = float(np.abs(np.subtract(end, start)).max(initial=0.0))
    if length / step > MAX_SAMPLES:
        raise InvalidRequestError(f"step {step:g} cuts a motion of {length:g} too finely", stage="collision")
    return max(1, math.ceil(length / step - 1e-9))


def halving_order(count: int) -> Iterable[float]:
    """The fractions 0, 1/count, ... 1, both ends first, then by ever finer halving; each once."""
    yield 0.0
    yield 1.0
    stride = 1 << max(0, (count - 1).bit_length())
    while stride > 1:
        half = stride // 2
        for index in range(half, count, stride):
            yield index / count
        stride = half
