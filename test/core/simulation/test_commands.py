"""Joint command messages: any order, any subset of the joints, and only finite numbers."""

import math

import pytest

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.simulation.commands import CommandLimits, read_command

KNOWN = ("a", "b", "c")


def test_names_may_be_in_any_order_and_include_unknown_joints():
    command, problems = read_command(["c", "stranger", "a"], [3.0, 9.0, 1.0], [0.3, 0.9, 0.1], [], KNOWN)
    assert command.positions == {"c": 3.0, "a": 1.0}
    assert command.velocities == {"c": 0.3, "a": 0.1}
    assert command.efforts == {}
    assert problems == ()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_bad_position_commands_nothing_for_its_joint(bad):
    command, problems = read_command(["a", "b"], [bad, 2.0], [0.1, 0.2], [1.0, 2.0], KNOWN)
    assert (command.positions, command.velocities, command.efforts) == ({"b": 2.0}, {"b": 0.2}, {"b": 2.0})
    assert problems == (f"position of joint a is {bad}",)


def test_a_bad_velocity_leaves_the_position():
    command, problems = read_command(["a"], [1.0], [math.nan], [], KNOWN)
    assert (command.positions, command.velocities) == ({"a": 1.0}, {})
    assert problems == ("velocity of joint a is nan",)


def test_joints_that_wait_for_their_first_command_may_have_none():
    command, problems = read_command(["a", "b"], [math.nan, math.nan], [], [], KNOWN, KNOWN)
    assert command.is_empty
    assert problems == ()
    command, problems = read_command(["a", "b"], [1.0, math.nan], [], [], KNOWN, {"b"})
    assert (command.positions, problems) == ({"a": 1.0}, ())
    command, problems = read_command(["a", "b"], [math.nan, math.inf], [], [], KNOWN, {"b"})
    assert problems == ("position of joint a is nan", "position of joint b is inf")


LIMITS = {name: CommandLimits(-1.0, 2.0, 3.0, 40.0) for name in KNOWN}


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        (([2.5, 0.0], [], []), "position of joint a is 2.5, beyond its limit 2.001"),
        (([-1.5, 0.0], [0.1, 0.1], [1.0, 1.0]), "position of joint a is -1.5, beyond its limit -1.001"),
        (([], [-3.5, 0.0], []), "velocity of joint a is -3.5, beyond its limit -3"),
        (([], [], [41.0, 0.0]), "effort of joint a is 41, beyond its limit 40"),
    ],
)
def test_values_beyond_limits_command_nothing_for_their_joint(lists, words):
    command, problems = read_command(["a", "b"], *lists, KNOWN, (), LIMITS)
    assert problems == (words,)
    for values in (command.positions, command.velocities, command.efforts):
        assert "a" not in values
    assert "b" in {**command.positions, **command.velocities, **command.efforts}


def test_limits_are_inclusive_and_apply_to_commands_only():
    command, problems = read_command(["a", "b"], [2.0, -1.0005], [3.0, -3.0], [500.0, 500.0], KNOWN, (), LIMITS)
    assert problems == ()
    assert command.positions == {"a": 2.0, "b": -1.0005}
    assert command.velocities == {"a": 3.0, "b": -3.0}
    assert command.efforts == {"a": 500.0, "b": 500.0}


def test_a_velocity_beyond_its_limit_leaves_the_position():
    command, problems = read_command(["a", "b"], [1.0, 1.0], [9.0, -3.0], [], KNOWN, (), LIMITS)
    assert problems == ("velocity of joint a is 9, beyond its limit 3",)
    assert (command.positions, command.velocities) == ({"a": 1.0, "b": 1.0}, {"b": -3.0})


def test_velocities_of_trajectories_at_their_limits_may_be_rounded():
    command, problems = read_command(["a", "b"], [1.0, 1.0], [3.0 + 1e-9, -3.0 - 1e-9], [], KNOWN, (), LIMITS)
    assert problems == ()
    assert len(command.velocities) == 2


def test_values_of_unknown_joints_are_ignored():
    command, problems = read_command(["stranger"], [math.nan], [], [], KNOWN)
    assert command.is_empty
    assert problems == ()


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        ((["a", "b"], [1.0], [], []), "2 names and 1 values of position"),
        ((["a"], [1.0], [1.0, 2.0], []), "1 names and 2 values of velocity"),
        ((["a"], [], [], [1.0, 2.0]), "1 names and 2 values of effort"),
        (([], [1.0], [], []), "0 names and 1 values of position"),
        ((["a", "a"], [1.0, 2.0], [], []), "a is named more than once"),
    ],
)
def test_lists_that_do_not_fit_are_refused(lists, words):
    with pytest.raises(InvalidRequestError, match=words):
        read_command(*lists, KNOWN)
