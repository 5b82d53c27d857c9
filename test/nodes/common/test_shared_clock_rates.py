"""Joints share estimates of the rates of clocks, and each has the rate that an estimate of its own would give."""

from hypothesis import given
from hypothesis import strategies as st

from robot_cell_planner.nodes.common import clock_rate
from robot_cell_planner.nodes.common.clock_rate import ClockRate, ClockRates

JOINTS = "abcde"
MESSAGES = st.lists(
    st.tuples(
        st.one_of(st.just(list(JOINTS)), st.lists(st.sampled_from(JOINTS), unique=True)),
        st.integers(0, 3_000_000_000),  # [ns] of the clock since the last message
        st.sampled_from([0.0, 0.004, 0.02, 0.3]),  # [s] of the steady clock
        st.sampled_from(["", "", "", *JOINTS]),  # forgotten before the message
    ),
    max_size=60,
)


@given(MESSAGES)
def test_rates_are_those_of_separate_estimates(messages):
    rates, separate = ClockRates(), {}
    stamp, now = 0, 0.0
    for joints, passed, elapsed, forgotten in messages:
        rates.forget(forgotten)
        separate.pop(forgotten, None)
        stamp, now = stamp + passed, now + elapsed
        rates.note(joints, stamp, now)
        for joint in joints:
            separate.setdefault(joint, ClockRate()).note(stamp, now)
        assert {joint: rates.value(joint) for joint in separate} == {name: own.value for name, own in separate.items()}


def test_the_joints_of_a_message_have_one_estimate(monkeypatch):
    noted = []
    monkeypatch.setattr(clock_rate.ClockRate, "note", lambda rate, stamp, now: noted.append(rate))
    rates = ClockRates()
    for count in range(5):
        rates.note(JOINTS, count, 0.01 * count)
    assert len(noted) == 5
    assert len(set(noted)) == 1
    rates.note("ab", 5, 0.05)
    rates.note(JOINTS, 6, 0.06)
    assert len(noted) == 5 + 1 + 2
