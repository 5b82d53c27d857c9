"""Timers that may be early do not wake a node that wakes anyway."""

import time

from spinning import spin_until

from robot_cell_planner.nodes.common.wait_set import KeptWaitSet
from robot_cell_planner.nodes.common.waiting import steady_timer


class Calls:
    """A timer with the number of the wait before each of its calls, and their times since its creation [s]."""

    def __init__(self, node, period, waits, **options):
        self.waits, self.times = [], []
        self._count, self._created = waits, time.monotonic()
        self.timer = steady_timer(node, period, self._call, **options)

    def _call(self):
        self.waits.append(len(self._count))
        self.times.append(time.monotonic() - self._created)


def test_timers_that_may_be_early_are_called_in_the_waits_of_others_at_their_own_rate(node, executor, monkeypatch):
    """Their own times are between those of the shortest timer."""
    waits, wait, calls, count = [], KeptWaitSet.wait, {}, 12

    def counted(wait_set, timeout):
        waits.append(timeout)
        return wait(wait_set, timeout)

    def begin_later():
        node.destroy_timer(later)
        calls.update({period: Calls(node, period, waits, may_be_early=True) for period in (0.02, 0.05)})

    monkeypatch.setattr(KeptWaitSet, "wait", counted)
    shortest = Calls(node, 0.01, waits)
    later = steady_timer(node, 0.004, begin_later)
    spin_until(executor, lambda: calls and all(len(of.times) >= count for of in calls.values()))
    assert all(time >= 0.01 * number for number, time in enumerate(shortest.times, 1))
    for period, of in calls.items():
        assert set(of.waits) <= set(shortest.waits)
        assert all(time >= period * (number - 0.5) for number, time in enumerate(of.times, 1))
