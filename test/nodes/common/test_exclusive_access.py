"""Exclusive access to robots: no robot belongs to two clients, whatever they request and in whatever order they end."""

from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_cell_planner.errors import InvalidRequestError, MotionBusyError, StoppedError
from robot_cell_planner.nodes.common.cancellation import CancellationToken
from robot_cell_planner.nodes.common.exclusive_access import ExclusiveAccess
from robot_cell_planner.nodes.execution.parameters import independent_robots
from robot_cell_planner.nodes.motion.independent_robots import IndependentRobots

ROBOTS = IndependentRobots(("left/", "right/", "rail/"))
parts = st.frozensets(st.sampled_from(sorted(ROBOTS.all)), min_size=1, max_size=2)
steps = st.lists(
    st.tuples(st.sampled_from(["acquire", "widen", "hand over", "release"]), parts, st.integers(0, 5)), min_size=5
)


def _no():
    pass


def check(access):
    """Every robot has at most one claim."""
    owned = [part for claim in access.claims for part in claim.parts]
    assert len(owned) == len(set(owned))


@given(steps)
def test_no_robot_belongs_to_two_claims(steps):
    access = ExclusiveAccess("is executing a motion", _no)
    held = []  # (claim, its context)
    for number, (step, requested, which) in enumerate(steps):
        before = {claim: claim.parts for claim in access.claims}
        chosen = held[which % len(held)] if held else None
        claim = chosen[0] if chosen and chosen[0] in access.claims else None
        others = [other for other in access.claims if other is not claim or step == "acquire"]
        free = all(requested.isdisjoint(other.parts) for other in others)
        try:
            with ExitStack() as stack:
                if step == "acquire":
                    made = stack.enter_context(access.acquired_by(f"client {number}", CancellationToken(), requested))
                    held.append((made, stack.pop_all()))
                elif step == "widen" and claim:
                    access.widen(claim, requested)
                    assert requested <= claim.parts
                elif step == "hand over" and claim:
                    token = CancellationToken()
                    made = stack.enter_context(access.handed_over_to(claim.owner, token, (claim,), requested))
                    assert claim not in access.claims
                    assert made.parts == before[claim] | requested
                    held.append((made, stack.pop_all()))
                elif step == "release" and chosen:
                    held.remove(chosen)
                    chosen[1].close()
                    assert chosen[0] not in access.claims
        except MotionBusyError:
            assert not free
            assert {claim: claim.parts for claim in access.claims} == before
        check(access)
    for _, context in held:
        context.close()
    assert access.claims == ()


def test_the_error_names_each_robot_and_its_client():
    access = ExclusiveAccess("is executing a motion", _no)
    with (
        access.acquired_by("a", CancellationToken(), ROBOTS.of_joints(["left/elbow"])),
        access.acquired_by("b", CancellationToken(), ROBOTS.of_joints(["right/elbow"])),
        pytest.raises(MotionBusyError) as caught,
        access.acquired_by("c", CancellationToken(), ROBOTS.of_joints(["left/elbow", "right/elbow"])),
    ):
        pass
    text = "client 'a' is executing a motion of robot left; client 'b' is executing a motion of robot right"
    assert text in str(caught.value)
    assert caught.value.subjects == ("a", "left", "b", "right")


def test_without_independent_robots_there_is_one_client():
    robots, access = IndependentRobots(), ExclusiveAccess("is executing a motion", _no)
    with (
        access.acquired_by("a", CancellationToken(), robots.of_joints(["left/elbow"])),
        pytest.raises(MotionBusyError, match=r"client 'a' is executing a motion$") as caught,
        access.acquired_by("b", CancellationToken(), robots.of_group("right/manipulator")),
    ):
        pass
    assert caught.value.subjects == ("a",)


def test_all_are_cancelled_together():
    access, tokens = ExclusiveAccess("is executing a motion", _no), [CancellationToken(), CancellationToken()]
    error = StoppedError("stopped", stage="control motion")
    with access.acquired_by("a", tokens[0], frozenset({"left/"})), access.acquired_by("b", tokens[1], frozenset({""})):
        assert access.owner == "a, b"
        access.cancel(error)
    assert [token.error for token in tokens] == [error, error]
    assert access.owner == ""


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("left/manipulator", {"left/"}),
        ("left/manipulator+right/manipulator", {"left/", "right/"}),
        ("both", ROBOTS.all),
        ("left/manipulator+both", ROBOTS.all),
        ("", ROBOTS.all),
    ],
)
def test_robots_of_groups(group, expected):
    assert ROBOTS.of_group(group) == expected


def test_robots_of_joints():
    assert ROBOTS.of_joints(["left/elbow", "left_gripper/finger"]) == {"left/", ""}
    assert ROBOTS.of_joints([]) == ROBOTS.all  # any robot may move
    assert IndependentRobots(("left/", "left/rail/")).of_joint("left/rail/carriage") == "left/rail/"


@pytest.mark.parametrize("prefixes", [["left"], ["/left/"], ["left/", "left/"]])
def test_prefixes_that_do_not_fit_are_refused(prefixes):
    assert independent_robots({"independent_robots": [""]}) == IndependentRobots()
    with pytest.raises(InvalidRequestError, match="independent_robots"):
        independent_robots({"independent_robots": prefixes})


def test_access_that_was_handed_over_can_be_given_back():
    """Robots that the other claim did not have are free then."""
    changes = []
    access = ExclusiveAccess("is executing a motion", lambda: changes.append(access.owner))
    left, both = frozenset({"left/"}), frozenset({"left/", "right/"})
    with access.acquired_by("first", CancellationToken(), left) as first:
        with access.handed_over_to("second", CancellationToken(), [first], both) as second:
            assert access.claims == (second,)
            access.give_back(second, [first])
            assert access.claims == (first,)
            access.give_back(second, [first])
            assert access.claims == (first,)
            access.check_free({"right/"})
        assert access.claims == (first,)
    assert access.claims == ()
    assert changes == ["first", "second", "first", ""]


def test_a_stop_of_all_clients_applies_to_those_that_wait():
    access, error = ExclusiveAccess("moves the gripper", _no), StoppedError("the emergency stop is pressed")
    moving, waiting = CancellationToken(), CancellationToken()
    with access.acquired_by("first", moving), access.queued("second", waiting):
        access.cancel_all(error)
    assert (moving.error, waiting.error) == (error, error)
