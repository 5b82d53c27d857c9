"""Recordings: ordered times, and thinning."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import pytest
from recordings import ATTACHED_AT, MOMENTS, STEP, demo_cell, small_recording, state_at

from robot_cell_planner import Goals, MotionRequest, plan_motion
from robot_cell_planner.errors import InvalidRequestError, InvalidValueError
from robot_cell_planner.viewer import Moment, RecordedSegment, Recorder, Recording
from robot_cell_planner.viewer import page as replay_page
from robot_cell_planner.viewer.page import page
from robot_cell_planner.viewer.plans import plan_recording


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


def test_a_recording_that_is_longer_than_a_clock_counts_is_refused():
    """Such a page would have infinite times: they are numbers of 32 bits."""
    _, state = demo_cell()
    for begin, end in ((0.0, 1e300), (-1.7e308, 1.7e308), (0.0, 1.8e9)):
        with pytest.raises(InvalidValueError, match="expected at most 1e\\+09 s"):
            Recording((Moment(begin, state), Moment(end, state)))


def test_a_page_of_too_many_changes_is_refused(monkeypatch):
    """Moments next to changes are kept at any rate."""
    monkeypatch.setattr(replay_page, "MAX_MOMENTS", 5)
    cell, state = demo_cell()
    (name, body), *_ = state.bodies.items()
    hidden = msgspec.structs.replace(body, hidden=not body.hidden)
    other = msgspec.structs.replace(state, bodies=state.bodies | {name: hidden})
    flashing = Recording(tuple(Moment(0.01 * k, other if k % 2 else state) for k in range(11)))
    with pytest.raises(InvalidValueError, match=r"11 moments next to changes .* more than a page shows \(10\)"):
        page(cell, flashing)
    still = Recording(tuple(Moment(0.01 * k, state) for k in range(1000)))
    assert page(cell, still)


def test_a_plan_without_a_path_has_no_recording():
    cell, state = demo_cell()
    plan = plan_motion(cell, state, MotionRequest(Goals(named_states=("home",)), timing=None))
    plan = replace(plan, path=plan.path[:0])
    with pytest.raises(InvalidRequestError, match="the plan has no path"):
        plan_recording(state, plan)
