"""Processing of `joint_states`: names in any order and number, invalid values, clocks, several publishers."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loaded_cells import loaded

from robot_cell_planner.errors import StaleStateError, UnknownNameError
from robot_cell_planner.nodes.common.clock_monitor import CLOCK_STEP
from robot_cell_planner.nodes.common.joint_state_monitor import JointStateMonitor

CELL, STATE = loaded()
JOINTS = list(CELL.variables)
FINGER = "gripper/finger_joint"
SECOND = 1_000_000_000


@pytest.fixture
def measured():
    return JointStateMonitor(CELL)


def test_names_in_any_order_and_number(measured):
    values = {name: 0.1 * index for index, name in enumerate(JOINTS)}
    names = [*reversed(JOINTS), "conveyor", "finger_joint"]
    assert measured.update(names, [*(values[name] for name in reversed(JOINTS)), 9.0, 0.02], SECOND)
    assert dict(measured.values) == {**values, FINGER: 0.02}
    assert measured.update(JOINTS[2:3], [5.0], 2 * SECOND)
    assert dict(measured.values) == {**values, JOINTS[2]: 5.0, FINGER: 0.02}
    state = measured.applied_to(STATE)
    assert state.configuration[JOINTS[2]] == 5.0
    assert state.tools["gripper"].configuration["finger_joint"] == 0.02
    assert measured.skipped == 0


def test_messages_without_joints_of_the_cell_change_nothing(measured):
    assert not measured.update(["conveyor"], [1.0], SECOND)
    assert not measured.update([], [], SECOND)
    assert measured.applied_to(STATE) is STATE


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1e308, 1e308, 1.01e6])
def test_invalid_values_do_not_replace_the_last_ones(measured, value):
    measured.update(JOINTS[:2], [0.1, 0.2], SECOND)
    assert measured.update(JOINTS[:2], [value, 0.3], 2 * SECOND)
    assert measured.values[JOINTS[0]] == 0.1
    assert measured.values[JOINTS[1]] == 0.3
    assert measured.behind(JOINTS[:2], 2 * SECOND) == (JOINTS[0],)
    assert measured.skipped == 1
    assert JOINTS[0] in measured.take_problem()
    assert not measured.take_problem()


def test_an_error_of_old_joints_says_why_newer_ones_are_rejected(measured):
    first, second = JOINTS[:2]
    measured.update([first, second], [0.1, 0.2], SECOND)
    measured.update([first, second], [math.nan, 0.2], 2 * SECOND)
    error = measured.stale(JOINTS[:2], 2 * SECOND, 5.0)
    assert error.message == (
        f"joints {first}: the latest stamp is 1.000 s older than requested, after 5 s; "
        f"received joint_states are rejected: {first} is at nan"
    )
    assert "positions have to be finite" in error.remedy
    measured.update([first], [0.1], 2 * SECOND)
    later = measured.stale(JOINTS[:2], 3 * SECOND, 5.0)
    assert "rejected" not in later.message
    assert later.remedy == StaleStateError.remedy


def test_an_error_of_joints_without_any_value_says_why_they_are_rejected(measured):
    measured.update([JOINTS[0], "finger_joint"], [1e7, math.inf], SECOND)
    measured.update(JOINTS[1:3], [0.1], SECOND)
    text = str(measured.stale([*JOINTS[:2], FINGER], SECOND, 5.0))
    assert f"{JOINTS[0]} is at 1e+07, a message contains 2 names and 1 positions, {FINGER} is at inf" in text
    text = str(measured.unmeasured(set(JOINTS), set(), 5.0))
    assert "no valid position of a joint of the robots within 5 s; received joint_states are rejected: " in text
    assert f"{JOINTS[0]} is at 1e+07" in text
    error = measured.unmeasured(set(JOINTS), {JOINTS[0]}, 5.0)
    assert error.message.endswith(f"within 5 s; received joint_states are rejected: {JOINTS[0]} is at 1e+07")
    measured.set_cell(type(CELL)(CELL.name, CELL.robots))
    assert not measured.rejected([FINGER])


@pytest.mark.parametrize("positions", [[], [0.1], [0.1, 0.2, 0.3]])
def test_lists_of_other_lengths_are_skipped(measured, positions):
    """A message without positions, as from a publisher of efforts alone, changes nothing."""
    assert not measured.update(JOINTS[:2], positions, SECOND)
    assert not measured.values
    assert measured.skipped == 1


def test_late_messages_do_not_overtake(measured):
    measured.update(JOINTS[:1], [0.2], 2 * SECOND)
    assert not measured.update(JOINTS[:1], [0.1], 2 * SECOND - CLOCK_STEP)
    assert measured.values[JOINTS[0]] == 0.2
    assert measured.update(JOINTS[:1], [0.3], 2 * SECOND)


def test_a_clock_that_is_set_back_is_followed(measured):
    """As when a simulation is restarted."""
    measured.update(JOINTS[:1], [0.2], 1000 * SECOND)
    assert measured.update(JOINTS[:1], [0.1], SECOND)
    assert measured.values[JOINTS[0]] == 0.1
    assert measured.oldest(JOINTS[:1]) == SECOND
    assert measured.update(JOINTS[:1], [0.15], 2 * SECOND)


def test_several_publishers_each_with_joints_of_their_own(measured):
    measured.update(JOINTS[:3], [0.1, 0.2, 0.3], 5 * SECOND)
    measured.update(JOINTS[3:], [0.4] * len(JOINTS[3:]), 4 * SECOND)
    measured.update(["finger_joint"], [0.01], 3 * SECOND)
    assert (measured.oldest(), measured.newest()) == (3 * SECOND, 5 * SECOND)
    assert measured.oldest(JOINTS) == 4 * SECOND
    assert measured.behind(JOINTS, 5 * SECOND) == tuple(JOINTS[3:])
    assert measured.behind([FINGER], 3 * SECOND) == ()


def test_a_joint_named_twice_in_a_message(measured):
    measured.update([JOINTS[0], JOINTS[0]], [0.1, 0.2], SECOND)
    assert measured.values[JOINTS[0]] == 0.2


def test_another_cell_retains_the_common_joints(measured):
    measured.update([*JOINTS, "finger_joint"], [0.5] * (len(JOINTS) + 1), SECOND)
    robot_alone = type(CELL)(CELL.name, CELL.robots)
    measured.set_cell(robot_alone)
    assert sorted(measured.values) == sorted(JOINTS)
    assert measured.applied_to(robot_alone.default_state()).configuration[JOINTS[0]] == 0.5


def test_unknown_joints_are_refused_with_the_nearest(measured):
    measured.check([*JOINTS, FINGER, "finger_joint"])
    with pytest.raises(UnknownNameError, match="nearest: elbow_joint"):
        measured.check(["elbow_jont"])


numbers = st.sampled_from([0.0, 1.0, -2.5, math.nan, math.inf])
messages = st.tuples(
    st.lists(st.sampled_from([*JOINTS, "finger_joint", "conveyor"]), max_size=9),
    st.lists(numbers, max_size=9),
    st.integers(0, 5 * SECOND),
)


@settings(deadline=None)
@given(st.lists(messages, max_size=8))
def test_any_messages_give_values_of_the_cell(messages):
    """Whatever arrives, every value is finite, belongs to a joint of the cell, and is the last valid one."""
    measured, expected, stamps = JointStateMonitor(CELL), {}, {}
    for names, positions, stamp in messages:
        measured.update(names, positions, stamp)
        if len(names) == len(positions):
            for name, position in zip(names, positions, strict=True):
                name = FINGER if name == "finger_joint" else name
                last = stamps.get(name, -1)
                if name != "conveyor" and math.isfinite(position) and not last - CLOCK_STEP <= stamp < last:
                    expected[name], stamps[name] = position, stamp
    assert dict(measured.values) == expected
    CELL.check_state(measured.applied_to(STATE))
