"""Motions, curves and plans that the library certifies as free, as numbers for the auditor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_cell_planner.collision.certification.certificate import MotionCertificate
from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.certification.curves import PolynomialMotion
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.pairs.allowed_pairs import CollisionOptions
from robot_cell_planner.errors import JointLimitError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.mesh.decomposition import convex_pieces
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Mesh, MeshUse
from robot_cell_planner.model.state import RobotCellState

from .cells import CellFile
from .description import Description, read_cell
from .motion import Motion, Polynomials, Straight

Floats = NDArray[np.float64]
WIDEST = 2.8  # [rad] to either side from which joints without narrower limits are drawn
MARGINS = (0.0, 0.0, 0.0, 0.005, 0.02)
STATE_BISECTIONS = 40
SHORT = (1e-5, 1e-4, 1e-3, 1e-2)  # fractions of a motion into an obstacle that are left out of it
ENOUGH = 500  # exact distances may cost as many states for each open part of a motion
TOUCHING = 1e-5  # [m] below a margin at which pairs collide
BEFORE_CONTACT = (1.0, 1.1, 1.5, 2.0)  # times that more of a gap, where motions begin in contact
TRIES = 60
KINDS = ("random", "planted", "curve", "contact", "planted", "planted curve", "quick", "contact")


@dataclass(frozen=True, eq=False)
class Case:
    """A motion that the library certifies as free with a margin [m]. kind: how it was drawn."""

    kind: str
    motion: Motion
    margin: float
    exact_states: int = 0


class Generator:
    """Draws motions in a cell, and certifies them with the library."""

    def __init__(self, file: CellFile, seed: int) -> None:
        self.file = file
        self.cell, self.state = load_cell(file.path, file.roots)
        group = self.cell.group(file.group).variables
        self.names = (*group, *file.others)
        self.checker = CollisionChecker(self.cell, self.state, self.names)
        self.certifier = MotionCertifier(self.checker)
        self.lower, self.upper = limits(self.cell, self.names)
        self._rng = np.random.default_rng(seed)
        self.undecided = self.asked = 0

    def cases(self, count: int) -> Iterator[Case]:
        """Up to `count` motions, the kinds in turn."""
        makers: dict[str, Callable[[float], Case | None]] = {
            "random": self._random,
            "planted": self._planted,
            "curve": self._curve,
            "planted curve": self._planted_curve,
            "quick": self._quick,
            "contact": self._contact,
        }
        made = tried = 0
        while made < count and tried < 20 * count:
            kind = KINDS[tried % len(KINDS)]
            tried += 1
            case = makers[kind](MARGINS[int(self._rng.integers(len(MARGINS)))])
            if case is not None:
                made += 1
                yield case

    def free_state(self) -> Floats:
        """A configuration (dof,) in which nothing collides; any where none was found."""
        for _ in range(TRIES):
            q = self._rng.uniform(self.lower, self.upper)
            if not self.checker.in_collision(q):
                break
        return q

    def ends(self, kind: str) -> tuple[Floats, Floats]:
        """A start and a goal (dof,) for a plan of a kind of `plans.OPTIONS`."""
        start, goal = self.free_state(), self.free_state()
        if kind == "to the start":
            return start, start
        if kind == "along a line":
            return start, start + 0.15 * (goal - start)
        if kind in ("escape", "to a contact", "from a contact"):
            free, blocked = self._into_something()
            touching = self._touching(free, blocked, self.checker)
            if kind != "escape":
                return (free, touching) if kind == "to a contact" else (touching, free)
            way = blocked - free
            return touching + way * (0.01 / float(np.abs(way).max())), goal
        return start, goal

    def _far(self, start: Floats) -> Floats:
        """A configuration within limits, up to 1.5 rad from another."""
        step = self._rng.normal(size=len(start)) * (self.upper - self.lower)
        step *= self._rng.uniform(0.05, 1.5) / np.abs(step).max()
        return np.clip(start + step, self.lower, self.upper)

    def _certified(self, start: Floats, end: Floats, margin: float) -> MotionCertificate:
        self.asked += 1
        found = self.certifier.certify(start, end, margin, enough=ENOUGH)
        self.undecided += not found.free and found.verdict.value == "undecided"
        return found

    def _random(self, margin: float) -> Case | None:
        start = self.free_state()
        end = self._far(start)
        found = self._certified(start, end, margin)
        return Case("random", Straight(start, end), margin, found.exact_states) if found.free else None

    def _quick(self, margin: float) -> Case | None:
        start = self.free_state()
        end = self._far(start)
        free = self.certifier.quickly_free(start, end, margin)
        return Case("quick", Straight(start, end), margin) if free else None

    def _planted(self, margin: float) -> Case | None:
        """A motion into an obstacle, up to the last end that is certified."""
        start, end = self._into_something()
        if not self.checker.in_collision(end):
            return None
        bare = self._touching(start, end, self.checker)
        for short in SHORT:
            last = start + (1.0 - short) * (bare - start)
            found = self._certified(start, last, margin)
            if found.free:
                return Case("planted", Straight(start, last), margin, found.exact_states)
            if found.place > 0.0:  # an obstacle is on the path before, or nearer than the margin
                bare = start + min(1.0, found.place / (1.0 - short)) * (bare - start)
        return None

    def _into_something(self) -> tuple[Floats, Floats]:
        """Two configurations, the second mostly in collision."""
        for _ in range(TRIES):
            start = self.free_state()
            end = self._far(start)
            if self.checker.in_collision(end):
                break
        return start, end

    def _touching(self, start: Floats, end: Floats, checker: CollisionChecker) -> Floats:
        """A configuration between two, in which nothing collides yet, to the last digits."""
        low, high = 0.0, 1.0
        for _ in range(STATE_BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if checker.in_collision(start + middle * (end - start)) else (middle, high)
        return start + low * (end - start)

    def _contact(self, margin: float) -> Case | None:
        """A motion that begins where a pair is 0 to 10 um apart, and moves away."""
        nearly = CollisionOptions(extra_margin=TOUCHING * float(self._rng.choice(BEFORE_CONTACT)))
        checker = CollisionChecker(self.cell, self.state, self.names, options=nearly)
        start, end = self._into_something()
        if not checker.in_collision(end):
            return None
        touching = self._touching(start, end, checker)
        away = start if self._rng.random() < 0.5 else touching + 0.2 * (self._far(touching) - touching)
        found = self._certified(touching, away, 0.0)
        return Case("contact", Straight(touching, away), 0.0, found.exact_states) if found.free else None

    def _curve(self, margin: float) -> Case | None:
        breaks, coefficients = self._polynomials()
        return self._certified_curve("curve", breaks, coefficients, margin)

    def _planted_curve(self, margin: float) -> Case | None:
        """A curve of one piece up to the last end that is certified."""
        breaks, coefficients = self._polynomials(1)
        whole = Polynomials(breaks, coefficients)
        times = np.linspace(0.0, breaks[-1], 200)
        hits = np.flatnonzero(self.checker.in_collision_batch(whole.at(times)))
        if not len(hits) or hits[0] == 0:
            return None
        low, high = times[hits[0] - 1], times[hits[0]]
        for _ in range(STATE_BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.checker.in_collision(whole.at(np.array([middle]))[0]) else (middle, high)
        for short in SHORT[::2]:
            ends = np.array((0.0, (1.0 - short) * low))
            found = self._certified_curve("planted curve", ends, coefficients, margin)
            if found is not None:
                return found
        return None

    def _certified_curve(self, kind: str, breaks: Floats, coefficients: Floats, margin: float) -> Case | None:
        self.asked += 1
        try:
            found = self.certifier.certify_curve(PolynomialMotion(breaks, coefficients), margin)
        except JointLimitError:  # of a slide
            return None
        self.undecided += found.verdict.value == "undecided"
        return Case(kind, Polynomials(breaks, coefficients), margin, found.exact_states) if found.free else None

    def _polynomials(self, pieces: int = 0) -> tuple[Floats, Floats]:
        """Breaks and coefficients of cubics or quintics through configurations, whose ends meet."""
        pieces = pieces or int(self._rng.integers(1, 4))
        degree = 3 if self._rng.random() < 0.5 else 5
        breaks = np.concatenate(((0.0,), np.cumsum(self._rng.uniform(0.3, 2.0, pieces))))
        at, speed = self.free_state(), np.zeros(len(self.names))
        rows = []
        for span in np.diff(breaks).tolist():
            to, next_speed = self._far(at), self._rng.normal(size=len(at)) * 0.3
            rows.append(_hermite(at, speed, to, next_speed, span, degree))
            at, speed = to, next_speed
        return breaks, np.array(rows)


def _hermite(a: Floats, va: Floats, b: Floats, vb: Floats, span: float, degree: int) -> Floats:
    """Coefficients (degree + 1, dof) of the cubic between two configurations with speeds, or of the quintic without
    acceleration at its ends."""
    t, d = span, b - a
    if degree == 3:
        return np.array((a, va, 3.0 * d / t**2 - (2.0 * va + vb) / t, -2.0 * d / t**3 + (va + vb) / t**2))
    return np.array(
        (
            a,
            va,
            np.zeros_like(a),
            10.0 * d / t**3 - (6.0 * va + 4.0 * vb) / t**2,
            -15.0 * d / t**4 + (8.0 * va + 7.0 * vb) / t**3,
            6.0 * d / t**5 - 3.0 * (va + vb) / t**4,
        )
    )


def limits(cell: RobotCell, names: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Ends (dof,) of the ranges from which values are drawn."""
    found = [cell.variables[name].limits for name in names]
    lower = np.array([max(entry.lower, -WIDEST) for entry in found])
    upper = np.array([min(entry.upper, WIDEST) for entry in found])
    return lower, upper


def described(file: CellFile, cell: RobotCell, state: RobotCellState) -> Description:
    """The cell as the auditor reads it from the file. The convex pieces of decomposed meshes, which are in no file, are
    those of the library: by its documentation, such a mesh counts as its pieces."""
    found = read_cell(file.path)
    for obj in CollisionChecker(cell, state).allowed_pairs.objects:
        for shape in obj.shapes:
            mesh = shape.geometry
            if isinstance(mesh, Mesh) and mesh.use is MeshUse.DECOMPOSITION:
                found.pieces[mesh.path, tuple(mesh.scale)] = [piece.vertices for piece in convex_pieces(mesh)]
    return found
