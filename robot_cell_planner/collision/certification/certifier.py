"""Certified motions: proven free, colliding at a configuration that is named, or undecided at a resolution."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ...errors import JointLimitError
from ...kinematics.model import cell_model
from ...model.cell import RobotCell
from ...model.state import RobotCellState
from ..checker import CollisionChecker
from ..engines.base import TOUCHING, distance_error
from ..pairs.allowed_pairs import CheckedPair
from ..sphere_model.approximation import PROTRUSION
from ._kernels.arrays import HITS, Packed, work_space
from ._kernels.schedule import FREE, MOST_OPEN, SPACING, certify_straight, look_at_boxes, open_stretches
from .arguments import STAGE, check_margin, check_numbers, check_pieces
from .curves import JointCurve, StraightMotion, stretches
from .exact import ENOUGH, ExactCertifier
from .joint_tree import LIMIT_SLACK
from .scene import MotionScene

Floats = NDArray[np.float64]
COARSE = 1.0 / 1024.0  # [rad or m] at which balls give up
FINE = 1e-5  # [rad or m] at which exact distances do
KEPT = 8  # arrays for different margins, certifiers for different arrangements
MAX_LEVELS = 12
_of_thread = threading.local()


class Verdict(str, Enum):
    """What is known of a motion."""

    FREE = "free"
    COLLIDING = "colliding"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class MotionCertificate:
    """The verdict about a motion.

    clearance [m]: what everything is proven to keep all along, beyond the margins of the cell; NaN unless free. It is
    what was asked for: more may be there. place, configuration: where it collides, or where the first stretch lies
    that is undecided; 0 and empty if it is free. pair: who collides there, or may. distance [m]: of them there, less
    their margin. resolution [rad or m]: at which it is undecided. states: configurations looked at by balls, and
    exact_states by exact distances; exact_share: of the motion's parameter that these had to decide. warnings: of
    objects whose spheres are coarse, so that exact distances have to decide more.
    """

    verdict: Verdict
    clearance: float = math.nan
    place: float = 0.0
    configuration: tuple[float, ...] = ()
    pair: CheckedPair | None = None
    distance: float = math.nan
    resolution: float = FINE
    states: int = 0
    exact_states: int = 0
    exact_share: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def free(self) -> bool:
        return self.verdict is Verdict.FREE


class MotionCertifier:
    """Certificates for motions of the variables of a checker, in its cell and arrangement.

    Covers of what moves are made when they are not on disk yet, which takes a second or so for a new mesh; then making
    a certifier takes milliseconds. It belongs to the thread of its checker.

    Raises:
        GeometryError: a shape cannot be read.
    """

    def __init__(self, checker: CollisionChecker, *, protrusion: float = PROTRUSION) -> None:
        self.checker = checker
        self.scene = MotionScene(checker, protrusion)
        self.exact = ExactCertifier(checker)
        self.states = 0
        self.open_place = 0.5  # share of the motion last asked about where balls could not tell
        self._facts = np.zeros(3)
        self._packed: OrderedDict[float, tuple[Packed, Packed]] = OrderedDict()
        self._fixed_gap = self._smallest_fixed_gap()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Of objects whose spheres are coarser than requested: their names, the resolution in use, and why."""
        return self.scene.warnings

    def _smallest_fixed_gap(self) -> float:
        """The smallest gap beyond their margin of things that no variable moves against each other [m], but at most 1;
        balls do not look at them."""
        fixed = {frozenset(pair[:2]) for pair in self.scene.model.fixed_pairs}
        if not fixed:
            return 1.0
        near = self.checker.near_solids(self.checker.default, 1.0)
        gaps = [1.0]
        for pair, i, j, margin in near:
            if frozenset(pair) in fixed:
                distance = self.checker.distance_of_solids(i, j)
                gaps.append(distance - margin - distance_error(distance))
        return min(gaps)

    def packed(self, margin: float = 0.0) -> tuple[Packed, Packed]:
        """Arrays and work space of the kernels, with a margin added to all others [m]."""
        found = self._packed.get(margin)
        if found is None:
            arrays = self.scene.arrays(margin)
            found = Packed(arrays), Packed(work_space(arrays, len(self.checker.variables)))
            self._packed[margin] = found
            if len(self._packed) > KEPT:
                self._packed.popitem(last=False)
        return found

    def balls_serve(self, margin: float = 0.0) -> bool:
        """Whether balls can prove anything with a margin [m]: not where things collide that nothing moves."""
        return margin <= self._fixed_gap + TOUCHING

    def quickly_free(self, start: Floats, end: Floats, margin: float = 0.0) -> bool:
        """Whether balls alone prove a straight motion free; False means that they cannot tell, as where a slide is
        beyond its limits.

        Raises:
            InvalidRequestError: a shape is wrong, or a number is not finite or out of range.
        """
        start, end = self.checker.checked(start), self.checker.checked(end)
        check_margin(margin)
        self.open_place = 0.5
        if not self.balls_serve(margin) or not self.within_slides(start, end):
            return False
        scene, work = self.packed(margin)
        # What was hit before is no matter to verdicts, but to where a motion is said to be open.
        work.arrays[HITS].fill(0)
        facts = self._facts
        facts[0] = 0.0
        start, end = np.ascontiguousarray(start, dtype=np.float64), np.ascontiguousarray(end, dtype=np.float64)
        found = certify_straight(scene.address, work.address, start, end, COARSE, facts)
        self.states += int(facts[0])
        self.open_place = float(facts[1])
        return bool(found == FREE)

    def certify(
        self, start: Floats, end: Floats, margin: float = 0.0, *, resolution: float = FINE, enough: int = ENOUGH
    ) -> MotionCertificate:
        """Decide about the straight motion between two configurations (dof,) [rad or m].

        margin [m]: to keep in addition to the margins of the cell. resolution [rad or m]: stretches in which no joint
        moves by more than this are not cut any further. enough: configurations that exact distances may cost for each
        stretch that balls cannot tell about.

        Raises:
            InvalidRequestError: a shape is wrong, or a number is not finite or out of range.
            JointLimitError: a slide leaves its limits, beyond which nothing is known of what it carries.
        """
        check_numbers(margin, resolution)
        motion = StraightMotion(self.checker.checked(start).copy(), self.checker.checked(end).copy())
        self._check_slides(motion.start, motion.end)
        facts = np.zeros(3)
        left = np.array(((0.5, 0.5),))
        if self.balls_serve(margin):
            scene, work = self.packed(margin)
            left = open_stretches(scene.address, work.address, motion.start, motion.end, COARSE, facts)
        left, counts = _joined(left)
        return self._decided(motion, left, margin, resolution, int(facts[0]), enough * counts)

    def certify_curve(self, curve: JointCurve, margin: float = 0.0, *, resolution: float = FINE) -> MotionCertificate:
        """Decide about a curve; arguments and errors as in `certify`, places being the curve's parameters.

        Raises:
            InvalidRequestError: also for breaks that descend, and pieces that do not begin where the last one ends.
        """
        check_numbers(margin, resolution)
        check_pieces(curve)
        middles, halves = stretches(curve, 0.5 * SPACING)
        self.checker.require_configurations(np.array([curve.at(place) for place in middles.tolist()]))
        self._check_slides_along(curve, middles, halves)
        left, states = self._left_by_balls(curve, np.column_stack((middles, halves)), margin)
        return self._decided(curve, left, margin, resolution, states, np.full(len(left), ENOUGH))

    def open_intervals(self, curve: JointCurve) -> Floats:
        """Intervals (n, 2) of a curve, their middles and halves of their lengths in its parameter, that balls do not
        prove free; the curve takes no slide beyond its limits."""
        left, states = self._left_by_balls(curve, np.column_stack(stretches(curve, 0.5 * SPACING)), 0.0)
        self.states += states
        return _joined(left)[0]

    def _left_by_balls(self, curve: JointCurve, pending: Floats, margin: float) -> tuple[Floats, int]:
        return self._open_boxes(curve, pending, margin) if self.balls_serve(margin) else (pending, 0)

    def _open_boxes(self, curve: JointCurve, pending: Floats, margin: float) -> tuple[Floats, int]:
        """Stretches (n, 2) of a curve that balls do not prove free, and how many configurations they looked at."""
        scene, work = self.packed(margin)
        facts = np.zeros(3)
        left: list[Floats] = []
        for level in range(MAX_LEVELS):
            middles = np.array([curve.at(place) for place in pending[:, 0].tolist()])
            spreads = np.array([curve.spread(*row) for row in pending.tolist()])
            found = look_at_boxes(scene.address, work.address, middles, spreads, facts)
            narrow = spreads.max(axis=1) <= COARSE
            last = level == MAX_LEVELS - 1 or 2 * len(pending) > 8 * MOST_OPEN
            give_up = (found == 2.0) | ((found == 1.0) & (narrow | last))
            left.append(pending[give_up])
            again = pending[(found == 1.0) & ~give_up]
            if not len(again):
                break
            half = 0.5 * again[:, 1]
            pending = np.concatenate([np.column_stack((again[:, 0] + side * half, half)) for side in (-1.0, 1.0)])
        rows = np.concatenate(left)
        return rows[np.argsort(rows[:, 0], kind="stable")], int(facts[0])

    def _decided(
        self,
        curve: JointCurve,
        left: Floats,
        margin: float,
        resolution: float,
        states: int,
        enough: NDArray[np.intp],
    ) -> MotionCertificate:
        """The certificate of a curve of which the stretches `left` (n, 2) are still open. enough: configurations (n,)
        that each may cost."""
        before = self.exact.states
        self.states += states
        span = float(curve.pieces[-1] - curve.pieces[0])
        share = float(2.0 * left[:, 1].sum()) / span if span > 0.0 else float(len(left) > 0)
        undecided: MotionCertificate | None = None
        for (middle, half), most in zip(left.tolist(), enough.tolist(), strict=True):
            found = self.exact.certify(curve, middle, half, margin, resolution, most)
            if found.free:
                continue
            verdict = MotionCertificate(
                Verdict.COLLIDING if found.collides else Verdict.UNDECIDED,
                place=found.place,
                configuration=tuple(curve.at(found.place).tolist()),
                pair=self._pair(found.first, found.second),
                distance=found.distance + margin,
                resolution=resolution,
                states=states,
                exact_states=self.exact.states - before,
                exact_share=share,
                warnings=self.warnings,
            )
            if found.collides:
                return verdict
            undecided = undecided or verdict
        if undecided is not None:
            return undecided
        return MotionCertificate(
            Verdict.FREE,
            clearance=margin,
            resolution=resolution,
            states=states,
            exact_states=self.exact.states - before,
            exact_share=share,
            warnings=self.warnings,
        )

    def _pair(self, first: int, second: int) -> CheckedPair:
        book = self.checker.rule_book
        found = book.pair(book.owners[first].name, book.owners[second].name)
        assert isinstance(found, CheckedPair)
        return found

    def within_slides(self, start: Floats, end: Floats) -> bool:
        """Whether both configurations (dof,) are within the limits of all slides; beyond nothing is proven."""
        beyond = self.scene.model.slide_beyond
        return beyond(start) is None and beyond(end) is None

    def _check_slides_along(self, curve: JointCurve, middles: Floats, halves: Floats) -> None:
        """Refuse a curve that takes a slide beyond its limits, cutting intervals until their bounds tell."""
        model = self.scene.model
        pending = list(zip(middles.tolist(), halves.tolist(), strict=True))
        while pending:
            middle, half = pending.pop()
            q, spread = curve.at(middle), curve.spread(middle, half)
            if model.slide_beyond(q - spread) is None and model.slide_beyond(q + spread) is None:
                continue
            self._check_slides(q, q)
            # What remains is within the slack by which bounds are wider than the limits.
            if float(spread.max()) > LIMIT_SLACK:
                pending.extend((middle + side * 0.5 * half, 0.5 * half) for side in (-1.0, 1.0))

    def _check_slides(self, start: Floats, end: Floats) -> None:
        for q in (start, end):
            beyond = self.scene.model.slide_beyond(q)
            if beyond is not None:
                text = f"a motion takes joint {beyond.name} beyond its limits"
                raise JointLimitError(text, stage=STAGE, subjects=(beyond.name,), values=(beyond,))


def _joined(stretches: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Stretches (n, 2), middles and halves of their lengths, in order; those that touch are made one, since an exact
    distance mostly reaches farther than balls can tell. And how many became each."""
    if not len(stretches):
        return stretches, np.zeros(0, dtype=np.intp)
    begins, ends = stretches[:, 0] - stretches[:, 1], stretches[:, 0] + stretches[:, 1]
    firsts = np.concatenate(([0], np.flatnonzero(begins[1:] > ends[:-1] + 1e-12) + 1))
    counts = np.diff(np.append(firsts, len(stretches)))
    begins, ends = begins[firsts], ends[firsts + counts - 1]
    return np.column_stack((0.5 * (begins + ends), 0.5 * (ends - begins))), counts


def certifier_of(checker: CollisionChecker) -> MotionCertifier:
    """The certifier of a checker; the thread keeps it for others that check the same.

    Raises:
        GeometryError: a shape cannot be read.
    """
    kept: OrderedDict[tuple[object, ...], tuple[object, MotionCertifier]]
    kept = _of_thread.__dict__.setdefault("kept", OrderedDict())
    model = cell_model(checker.cell, checker.state)
    # Of the joints' values, those of the joints that are held matter alone.
    held = np.delete(model.configuration(checker.state), model.indices(checker.variables))
    key = (id(checker.rule_book), checker.variables, held.tobytes())
    found = kept.get(key)
    if found is None:
        # The book is held, so that its id comes to mean no other.
        found = kept[key] = (checker.rule_book, MotionCertifier(checker))
        if len(kept) > KEPT:
            kept.popitem(last=False)
    kept.move_to_end(key)
    return found[1]


def certify(
    cell: RobotCell,
    state: RobotCellState,
    start: Floats,
    end: Floats,
    margin: float = 0.0,
    *,
    variables: Sequence[str] | None = None,
) -> MotionCertificate:
    """Decide about one straight motion of variables (those of all robots, if none are given) from one configuration to
    another, everything else being as in the state. For many motions make a `MotionCertifier` once."""
    return MotionCertifier(CollisionChecker(cell, state, variables)).certify(start, end, margin)
