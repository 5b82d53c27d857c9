"""Certificates of whole motions: piecewise linear paths and piecewise polynomial trajectories."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidRequestError
from ...model.arguments import public
from ...system.steps import returned
from .arguments import require_ascending, require_no_jump
from .certificate import FINE, MotionCertificate, Verdict
from .certifier import MotionCertifier
from .curves import PolynomialMotion

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PathCertificate:
    """Certificate of a motion of several segments.

    Attributes:
        verdict: COLLIDING if a segment collides, else UNDECIDED if one is undecided, else FREE.
        segments: Verdict of each segment; None for segments after the first collision, which are not evaluated.
        certified_fraction: See the function `certified_fraction`.
        clearance: Proven minimum clearance along the motion [m]; NaN unless free.
        first_open: Certificate of the first segment that determines the verdict; None if all are free.
        place: Path parameter of that result, counted in waypoints.
        states, exact_states: Numbers of configurations evaluated with spheres and with exact distances.
        resolution: Resolution of the exact distance test [rad or m].
        digest: SHA-256 of all numbers that the proof by spheres depends on.
        warnings: As in `MotionCertificate`.
    """

    verdict: Verdict
    segments: tuple[Verdict | None, ...]
    certified_fraction: float
    clearance: float
    first_open: MotionCertificate | None
    place: float
    states: int
    exact_states: int
    resolution: float
    digest: str
    warnings: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """Test that decided: "spheres", "exact" or "spheres and exact"."""
        if not self.exact_states:
            return "spheres"
        return "spheres and exact" if self.states else "exact"


Steps: TypeAlias = Generator[None, None, PathCertificate]


@public
def certify_path(
    certifier: MotionCertifier, path: Floats, margin: float = 0.0, resolution: float = FINE
) -> PathCertificate:
    """Certify the straight motions between the rows of a path (n, dof) of the certifier's variables.

    Arguments and errors are as in `MotionCertifier.certify`.
    """
    return returned(certify_path_in_steps(certifier, path, margin, resolution))


def certify_path_in_steps(
    certifier: MotionCertifier, path: Floats, margin: float = 0.0, resolution: float = FINE
) -> Steps:
    """As `certify_path`, with a step for each segment."""
    if len(path) == 0:
        raise InvalidRequestError("the path has no waypoints", stage="certificate")
    rows = path if len(path) > 1 else np.concatenate((path, path))

    def segment(index: int) -> tuple[MotionCertificate, float]:
        found = certifier.certify(rows[index], rows[index + 1], margin, resolution=resolution)
        return found, found.place

    return (yield from _of_segments(certifier, rows, segment, margin, resolution))


@public
def certify_trajectory(
    certifier: MotionCertifier,
    breaks: Floats,
    coefficients: Floats,
    margin: float = 0.0,
    resolution: float = FINE,
) -> PathCertificate:
    """Certify a piecewise polynomial trajectory, given as in `curves.PolynomialMotion`.

    Arguments and errors are as in `MotionCertifier.certify_curve`.
    """
    return returned(certify_trajectory_in_steps(certifier, breaks, coefficients, margin, resolution))


def certify_trajectory_in_steps(
    certifier: MotionCertifier,
    breaks: Floats,
    coefficients: Floats,
    margin: float = 0.0,
    resolution: float = FINE,
) -> Steps:
    """As `certify_trajectory`, with a step for each piece."""
    require_ascending(breaks)
    spans = np.diff(breaks)
    if coefficients.ndim != 3 or len(coefficients) != len(spans) or not len(spans):
        text = f"there are {len(breaks)} breaks for coefficients of shape {coefficients.shape}"
        raise InvalidRequestError(text, stage="certificate")
    powers = spans[:, None] ** np.arange(coefficients.shape[1])
    ends = np.einsum("ijk,ij->ik", coefficients, powers)
    rows = np.concatenate((coefficients[:1, 0], ends))
    for index in range(1, len(spans)):
        require_no_jump(ends[index - 1], coefficients[index, 0], float(breaks[index]))

    def segment(index: int) -> tuple[MotionCertificate, float]:
        piece = PolynomialMotion(np.array((0.0, spans[index])), coefficients[index : index + 1])
        found = certifier.certify_curve(piece, margin, resolution=resolution)
        return found, found.place / float(spans[index]) if spans[index] > 0.0 else 0.0

    return (yield from _of_segments(certifier, rows, segment, margin, resolution))


def certified_fraction(path: Floats, certified: Sequence[bool]) -> float:
    """Return the fraction of a path (n, dof), by Euclidean length in joint space, whose segments are certified free.

    The result is NaN for a path of length zero. certified: for each of the n - 1 segments, whether it is certified
    free.
    """
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    total = float(lengths.sum())
    return float(lengths[np.array(certified, dtype=bool)].sum()) / total if total > 0.0 else math.nan


def _of_segments(
    certifier: MotionCertifier,
    rows: Floats,
    segment: Callable[[int], tuple[MotionCertificate, float]],
    margin: float,
    resolution: float,
) -> Steps:
    verdicts: list[Verdict | None] = [None] * (len(rows) - 1)
    first: MotionCertificate | None = None
    place, states, exact_states = 0.0, 0, 0
    for index in range(len(verdicts)):
        yield
        found, fraction = segment(index)
        verdicts[index] = found.verdict
        states, exact_states = states + found.states, exact_states + found.exact_states
        collides = found.verdict is Verdict.COLLIDING
        if collides or (first is None and not found.free):
            first, place = found, index + fraction
        if collides:
            break
    return PathCertificate(
        verdict=Verdict.FREE if first is None else first.verdict,
        segments=tuple(verdicts),
        certified_fraction=certified_fraction(rows, [verdict is Verdict.FREE for verdict in verdicts]),
        clearance=margin if first is None else math.nan,
        first_open=first,
        place=place,
        states=states,
        exact_states=exact_states,
        resolution=resolution,
        digest=_digest(certifier, margin),
        warnings=certifier.warnings,
    )


def _digest(certifier: MotionCertifier, margin: float) -> str:
    """Return the digest of the spheres, joints, obstacles and margins that the kernels read."""
    arrays, _ = certifier.packed(margin)
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays.arrays)).hexdigest()
