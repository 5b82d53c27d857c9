"""Waits for a time on a clock end in time at any rate of the clock, and do not spin while it stands."""

import pytest

from robot_cell_planner.nodes.motion.clock_pauses import SHORTEST, STANDING, ClockPauses

LONGEST = 0.1


@pytest.mark.parametrize("rate", [0.1, 1.0, 5.0, 100.0])
@pytest.mark.parametrize("duration", [1e-9, 0.01, 3.0])
def test_a_wait_is_late_by_the_shortest_pause_at_most(rate, duration):
    pauses, passed = ClockPauses(LONGEST), 0.0
    while passed < duration:
        pause = pauses.next(duration - passed, rate)
        assert SHORTEST <= pause <= LONGEST
        passed += rate * pause
    assert passed <= duration + rate * SHORTEST * (1.0 + 1e-9)


def test_pauses_become_longer_while_the_clock_stands_and_short_again_when_it_goes_on():
    pauses = ClockPauses(LONGEST)
    standing = [pauses.next(1e-9, 1.0) for _ in range(20)]
    assert standing == sorted(standing)
    assert (standing[0], standing[-1]) == (SHORTEST, STANDING)
    assert pauses.next(1e-10, 1.0) == SHORTEST
