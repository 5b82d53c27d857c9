"""Compiled kernels that certify whole motions: bisection schedule of the evaluated configurations.

A motion is evaluated at LANES path parameters at once, spread over the whole motion, each representing an interval
around it. Intervals that are not proven free are bisected and evaluated again, LANES at a time, until all are free, a
configuration is hit, or the intervals are shorter than the resolution. Candidates that were excluded in a whole
interval are excluded in its halves, which are therefore only checked against the listed candidates.
"""

from __future__ import annotations

import math

import numpy as np

from .arrays import (
    ALONG,
    BITS,
    DISPLACEMENTS,
    EVALUATED,
    HIT,
    JOINTS,
    LANES,
    LISTED,
    MAX_CANDIDATES,
    MAX_OPEN,
    PENDING,
    UNCERTAIN,
    UNDECIDED_HALF,
    UNDECIDED_MIDDLE,
    UNLISTED,
    Double,
    Q,
)
from .certificate import begin, evaluate
from .fields import multiplier_of, variable_of
from .hits import hit_again
from .listed_candidates import evaluate_listed, retain_marked
from .simd import double, load_double, number, rows, set_double, set_number, set_real, store_double, vectorised
from .velocities import set_box, set_interval

SPACING = 0.125  # [rad or m], initial step of the fastest joint
FREE, BLOCKED, OPEN = 0, 1, 2  # result for a motion: proven free; a configuration is hit; neither


@vectorised
def evaluate_along(
    scene: int, work: int, start: Double, end: Double, half: float, stop_at_hit: bool, listed_only: bool
) -> None:
    """Evaluate the LANES path parameters of the work space on a straight motion, see `evaluate`.

    half: half length of their intervals, as a fraction of the motion.
    stop_at_hit: end the evaluation at the first hit, and check candidates first that are likely to hit.
    listed_only: evaluate the listed candidates only.
    """
    along = load_double(work, ALONG, 0)
    for variable in range(start.shape[0]):
        store_double(work, Q, variable, along * (end[variable] - start[variable]) + start[variable])
    begin(scene, work)
    # Most hits are remembered ones, which do not depend on displacements.
    if stop_at_hit and not listed_only and hit_again(scene, work):
        return
    set_interval(scene, work, start, end, half)
    if listed_only:
        evaluate_listed(scene, work)
    else:
        evaluate(scene, work, stop_at_hit)


@vectorised
def spread(work: int, batch: int, batches: int) -> None:
    """Set the path parameters to middles of equal intervals of a motion, such that each batch of LANES of them is
    spread over all of it."""
    for lane in range(LANES):
        set_double(work, ALONG, lane, (batch + batches * lane + 0.5) / (batches * LANES))


@vectorised
def take_pending(work: int, level: int, first: int, count: int) -> None:
    """Set the path parameters to middles of pending intervals of a level from index `first` on; the last one is
    repeated if there are fewer than LANES."""
    for lane in range(LANES):
        set_double(work, ALONG, lane, double(work, PENDING, level % 2 * MAX_OPEN + min(first + lane, count - 1)))


@vectorised
def batches_of(longest: float) -> int:
    """Return the number of batches of LANES intervals into which a motion is divided at first.

    longest: maximum displacement of any joint [rad or m].
    """
    return max(1, math.ceil(longest / (SPACING * LANES)))


@vectorised
def next_level(work: int, listed_only: bool) -> bool:
    """Prepare the list of candidates for the next level; return whether the next level may use the list only."""
    if listed_only:
        retain_marked(work)
        return True
    if number(work, BITS, LISTED) <= MAX_CANDIDATES:
        return True
    set_number(work, BITS, LISTED, 0)
    return False


@vectorised
def fastest(scene: int, start: Double, end: Double) -> float:
    """Return the maximum displacement of any joint [rad or m]."""
    longest = 0.0
    for j in range(rows(scene, JOINTS)):
        variable = variable_of(scene, j)
        longest = max(longest, abs(multiplier_of(scene, j) * (end[variable] - start[variable])))
    return longest


@vectorised
def middle_of(bits: int) -> int:
    """Return the middle lane of those whose bits are set: among hit configurations the one most likely in collision."""
    count, before = 0, 0
    for lane in range(LANES):
        count += bits >> lane & 1
    for lane in range(LANES):
        before += bits >> lane & 1
        if 2 * before > count:
            return lane
    return 0


@vectorised
def certify_straight(scene: int, work: int, start: Double, end: Double, resolution: float, counters: Double) -> int:
    """Return whether a straight motion between configurations (variables,) is FREE, BLOCKED or OPEN.

    The evaluation ends at the first interval that is not free.

    resolution: intervals in which no joint moves by more than this to either side are not bisected [rad or m].
    counters: (3,); the number of configurations evaluated is added, and the interval that is not free is set.
    """
    longest = fastest(scene, start, end)
    batches = batches_of(longest)
    count, level, listed_only = batches * LANES if longest > 0.0 else 1, 0, False
    half = 0.5 / count
    set_number(work, BITS, LISTED, 0)
    while True:
        opened = 0
        for first in range(0, count, LANES):
            if level == 0:
                spread(work, first // LANES, batches)
                if count == 1:
                    set_double(work, ALONG, 0, 0.5)
            else:
                take_pending(work, level, first, count)
            evaluate_along(scene, work, start, end, half, True, listed_only)
            uncertain, hits = number(work, BITS, UNCERTAIN), number(work, BITS, HIT)
            size = min(LANES, count - first)
            counters[EVALUATED] += size
            if hits != 0:
                lane = min(middle_of(hits), size - 1)
                counters[UNDECIDED_MIDDLE], counters[UNDECIDED_HALF] = double(work, ALONG, lane), half
                return BLOCKED
            for lane in range(size if uncertain != 0 else 0):
                if uncertain >> lane & 1 == 0:
                    continue
                middle = double(work, ALONG, lane)
                counters[UNDECIDED_MIDDLE], counters[UNDECIDED_HALF] = middle, half
                if opened + 2 > MAX_OPEN or half * longest <= resolution:
                    return OPEN
                row = (level + 1) % 2 * MAX_OPEN + opened
                set_double(work, PENDING, row, middle - 0.5 * half)
                set_double(work, PENDING, row + 1, middle + 0.5 * half)
                opened += 2
        if opened == 0:
            return FREE
        count, half, level = opened, 0.5 * half, level + 1
        listed_only = next_level(work, listed_only)


@vectorised
def undecided_intervals(
    scene: int, work: int, start: Double, end: Double, resolution: float, counters: Double
) -> Double:
    """Return all intervals (n, 2) of a straight motion that are not proven free, as ascending middles and half lengths.

    An interval with a hit is not bisected further. Arguments are as in `certify_straight`.
    """
    longest = fastest(scene, start, end)
    pieces = batches_of(longest) * LANES if longest > 0.0 else 1
    parameters, half = (np.arange(pieces) + 0.5) / pieces, 0.5 / pieces
    left = np.empty((2 * MAX_OPEN + LANES, 2))
    set_number(work, BITS, LISTED, 0)
    listed_only = False
    finished = 0
    while parameters.shape[0] > 0:
        open_parameters = np.empty(2 * parameters.shape[0])
        count = 0
        final = half * longest <= resolution or 2 * parameters.shape[0] > MAX_OPEN
        for first in range(0, parameters.shape[0], LANES):
            size = min(LANES, parameters.shape[0] - first)
            counters[EVALUATED] += size
            for lane in range(LANES):
                set_double(work, ALONG, lane, parameters[first + min(lane, size - 1)])
            evaluate_along(scene, work, start, end, half, False, listed_only)
            uncertain, hits = number(work, BITS, UNCERTAIN), number(work, BITS, HIT)
            for lane in range(size if uncertain != 0 else 0):
                if uncertain >> lane & 1 == 0:
                    continue
                if hits >> lane & 1 != 0 or final or finished + count >= MAX_OPEN:
                    if finished >= left.shape[0]:
                        # Too many intervals: report the whole motion as undecided.
                        return np.array(((0.5, 0.5),))
                    left[finished, 0], left[finished, 1] = parameters[first + lane], half
                    finished += 1
                else:
                    open_parameters[count] = parameters[first + lane] - 0.5 * half
                    open_parameters[count + 1] = parameters[first + lane] + 0.5 * half
                    count += 2
        parameters, half = open_parameters[:count].copy(), 0.5 * half
        listed_only = next_level(work, listed_only)
    found = left[:finished]
    return found[np.argsort(found[:, 0])]


@vectorised
def check_boxes(scene: int, work: int, middles: Double, deviations: Double, counters: Double) -> Double:
    """Return verdicts (n,) of boxes in joint space: 0 free, 1 undecided, 2 hit.

    middles: (n, variables). deviations: (n, variables) maximum deviation of the configurations of a box from its
    middle; LANES boxes share the maximum.
    """
    count = middles.shape[0]
    found = np.zeros(count)
    set_box(work)
    set_number(work, BITS, UNLISTED, 1)
    for first in range(0, count, LANES):
        size = min(LANES, count - first)
        counters[EVALUATED] += size
        for j in range(rows(scene, JOINTS)):
            variable, widest = variable_of(scene, j), 0.0
            for lane in range(size):
                widest = max(widest, deviations[first + lane, variable])
            displacement = abs(multiplier_of(scene, j)) * widest
            set_real(work, DISPLACEMENTS, j, np.float32(displacement * (1.0 + 1e-6) + 1e-9))
        for lane in range(LANES):
            for variable in range(middles.shape[1]):
                set_double(work, Q, variable * LANES + lane, middles[first + min(lane, size - 1), variable])
        set_number(work, BITS, LISTED, 0)  # candidates listed for other boxes would end the evaluation early
        begin(scene, work)
        evaluate(scene, work, False)
        uncertain, hits = number(work, BITS, UNCERTAIN), number(work, BITS, HIT)
        for lane in range(size):
            found[first + lane] = (uncertain >> lane & 1) + (hits >> lane & 1)
    set_number(work, BITS, UNLISTED, 0)
    return found
