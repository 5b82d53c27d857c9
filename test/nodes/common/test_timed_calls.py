"""Functions that are called at a time, in order, and once."""

import math
import threading

from hypothesis import given
from hypothesis import strategies as st

from robot_cell_planner.nodes.common.timed_calls import MIN_CANCELLED, TimedCall, TimedCalls

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 20)),
        st.tuples(st.just("cancel"), st.integers(0, 50)),
        st.tuples(st.just("pop"), st.integers(0, 20)),
    ),
    max_size=60,
)


@given(steps=STEPS)
def test_calls_are_those_of_a_sorted_list(steps):
    calls, model, made = TimedCalls(), [], []
    for kind, value in steps:
        if kind == "add":
            index = len(made)
            call = TimedCall(value, lambda index=index: index)
            made.append(call)
            model.append((value, index))
            calls.add(call)
        elif kind == "cancel" and made:
            index = value % len(made)
            made[index].cancel()
            model = [entry for entry in model if entry[1] != index]
        elif kind == "pop":
            due = sorted(entry for entry in model if entry[0] <= value)
            model = [entry for entry in model if entry[0] > value]
            assert [function() for function in calls.pop_due(value)] == [index for _, index in due]
        assert calls.next_time() == min((when for when, _ in model), default=math.inf)


def test_cancelled_calls_do_not_pile_up():
    calls = TimedCalls()
    calls.add(TimedCall(1.0, int))
    for number in range(100 * MIN_CANCELLED):
        call = TimedCall(60.0 + number, int)
        calls.add(call)
        call.cancel()
    assert len(calls._heap) <= 2 * MIN_CANCELLED + 2
    assert calls.next_time() == 1.0


def test_calls_of_several_threads_are_all_made():
    calls, count = TimedCalls(), 2000

    def add():
        for number in range(count):
            calls.add(TimedCall(float(number % 7), int))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    found = 0
    while any(thread.is_alive() for thread in threads):
        found += len(calls.pop_due(3.0))
    assert found + len(calls.pop_due(math.inf)) == 4 * count
