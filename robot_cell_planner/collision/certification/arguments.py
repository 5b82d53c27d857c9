"""Validation of the arguments of certificates."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidRequestError, Value
from ..pairs.allowed_pairs import MAX_EXTRA_MARGIN
from .curves import JointCurve

Floats = NDArray[np.float64]
STAGE = "certificate"
MAX_JUMP = 1e-6  # [rad or m], maximum rounding error between consecutive pieces of a curve


def check_pieces(curve: JointCurve) -> None:
    """Check that a curve has ascending parameters and continuous, finite pieces.

    Raises:
        InvalidRequestError: The curve is malformed; the message names the parameter.
    """
    pieces = np.asarray(curve.pieces, dtype=np.float64)
    require_ascending(pieces)
    for low, high in pairwise(pieces.tolist()):
        half = 0.5 * (high - low)
        if not np.isfinite(curve.deviation_bound(low + half, half)).all():
            raise InvalidRequestError(f"the curve is not finite between {low:g} and {high:g}", stage=STAGE)
    for place in pieces[1:-1].tolist():
        require_no_jump(curve.at(math.nextafter(place, -math.inf)), curve.at(place), place)


def require_ascending(breaks: Floats) -> None:
    """Check that the parameters between pieces of a curve are at least two finite, ascending numbers.

    Raises:
        InvalidRequestError: They are not.
    """
    if breaks.ndim != 1 or len(breaks) < 2 or not np.isfinite(breaks).all() or (np.diff(breaks) < 0.0).any():
        text = "the parameters between the pieces of a curve are not at least two finite numbers that ascend"
        raise InvalidRequestError(text, stage=STAGE)


def require_no_jump(before: Floats, after: Floats, place: float) -> None:
    """Check that a piece of a curve begins where the previous one ends, within `MAX_JUMP`.

    Raises:
        InvalidRequestError: The curve jumps; the error has the parameter and the size of the jump.
    """
    jump = float(np.abs(np.subtract(after, before)).max(initial=0.0))
    if not jump <= MAX_JUMP:
        text = f"the curve jumps at {place:g}"
        raise InvalidRequestError(text, stage=STAGE, values=(Value("jump", jump, MAX_JUMP, "rad or m"),))


def check_margin(margin: float) -> None:
    """Check that a margin [m] is within 0 and MAX_EXTRA_MARGIN; raise InvalidRequestError otherwise."""
    if not 0.0 <= margin <= MAX_EXTRA_MARGIN:
        raise InvalidRequestError(f"margin is {margin} m, expected 0 to {MAX_EXTRA_MARGIN:g}", stage=STAGE)


def check_numbers(margin: float, resolution: float) -> None:
    """Check the range of a margin [m] and a resolution [rad or m]; raise InvalidRequestError if outside."""
    check_margin(margin)
    if not 1e-9 <= resolution <= 1.0:
        raise InvalidRequestError(f"resolution is {resolution}, expected 1e-9 to 1", stage=STAGE)
