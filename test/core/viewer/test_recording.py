"""Recordings: ordered times, and thinning."""

from __future__ import annotations

import math

import pytest
from recordings import ATTACHED_AT, MOMENTS, STEP, demo_cell, small_recording, state_at

from robot_cell_planner.errors import InvalidValueError
from robot_cell_planner.viewer import Moment, RecordedSegment, Recorder, Recording
from robot_cell_planner.viewer.page import page


def test_time_never_goes_back():
    _, state = demo_cell()
    with pytest.raises(ValueError, match=r"moment 1 is at 0\.5 s"):
        Recording((Moment(1.0, state), Moment(0.5, state)))
    with pytest.raises(ValueError, match="moment 0 is at nan"):
        Recording((Moment(math.nan, state),))
    with pytest.raises(ValueError, match="at least one moment"):
        Recorder().recording()
    with pytest.raises(ValueError, match=r"'reach' goes from 2\.0 to 1\.0 s"):
        RecordedSegment("reach", 2.0, 1.0)


def test_thinning_keeps_the_ends_and_both_sides_of_every_change():
    _, state = demo_cell()
    whole = small_recording(state)
    thin = whole.thinned(5.0)
    assert thin.moments[0] is whole.moments[0]
    assert thin.moments[-1] is whole.moments[-1]
    assert whole.moments[ATTACHED_AT - 1] in thin.moments
    assert whole.moments[ATTACHED_AT] in thin.moments
    gaps = [b.time - a.time for a, b in zip(thin.moments, thin.moments[1:], strict=False)]
    assert max(gaps) <= 0.2 + 1e-9
    assert len(thin.moments) <= MOMENTS * STEP * 5.0 + 4
    assert thin.segments == whole.segments


def test_thinning_at_the_rate_of_the_recording_keeps_all():
    _, state = demo_cell()
    assert small_recording(state).thinned(1.0 / STEP).moments == tuple(
        Moment(3.0 + STEP * index, state_at(state, index)) for index in range(MOMENTS)
    )


def test_states_long_before_the_first_segment_are_left_out():
    _, state = demo_cell()
    whole = small_recording(state)
    late = Recording(whole.moments, (RecordedSegment("carry", 3.55, 4.0),), whole.summary)
    short = late.from_first_segment(0.25)
    assert short.moments[0] == Moment(pytest.approx(3.3), state_at(state, 14))
    assert short.moments[1:] == whole.moments[15:]
    assert short.segments == late.segments
    assert late.from_first_segment(1.0) == late
    assert Recording(whole.moments).from_first_segment(0.25).moments == whole.moments


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan])
def test_a_rate_that_is_not_positive_is_refused(rate):
    cell, state = demo_cell()
    for recording in (small_recording(state), Recording((Moment(0.0, state),))):
        with pytest.raises(InvalidValueError, match=r"the rate of moments is \S+ Hz, expected a positive number"):
            page(cell, recording, rate=rate)
