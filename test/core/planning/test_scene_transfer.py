"""Scenes between processes: what the receiver has is not sent again, and what did not change remains one object."""

import pickle

import msgspec
from frozendict import frozendict
from hypothesis import given, settings
from hypothesis import strategies as st
from planning_cells import wall_with_gap
from reference import box

from robot_cell_planner.model.bodies import CollisionSettings, NamedFrame, RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState, RobotCellState, ToolState
from robot_cell_planner.planning.workers.scene_transfer import (
    MAX_CELLS,
    MAX_PARTS,
    PARTS,
    ReceivedCells,
    ReceivedStates,
    RecentStates,
    SentCells,
    SentStates,
)

STATE = wall_with_gap()[1]
BODY = next(iter(STATE.bodies))


def sent(state):
    return pickle.loads(pickle.dumps(state))


def test_states_that_arrive_one_by_one_share_equal_parts():
    states = RecentStates()
    first = states.shared(sent(STATE))
    again = states.shared(sent(STATE.with_configuration({"x": 0.5})))
    assert again == STATE.with_configuration({"x": 0.5})
    assert again.bodies is first.bodies
    assert again.base_poses is first.base_poses
    moved = STATE.with_body(BODY, BodyState(Pose((0.0, 0.0, 9.0))))
    other = states.shared(sent(moved))
    assert other == moved
    assert other.bodies is not first.bodies
    assert states.shared(sent(STATE)).bodies is first.bodies


def numbered(number):
    """Parts of which a state is composed: those of equal numbers are equal, and one in two is another object."""
    height = float(number // 2)
    return {
        "base_poses": frozendict(arm=Pose((0.0, 0.0, height))),
        "tools": frozendict(hand=ToolState(Pose((0.0, height, 0.0)))),
        "bodies": frozendict({name: BodyState(Pose((height, 0.0, 0.0))) for name in ("part", "box")[number % 3 :]}),
    }


OBJECTS = [numbered(number) for number in range(4 * MAX_PARTS)]
numbers = st.integers(0, len(OBJECTS) - 1)
states = st.tuples(st.floats(-3.0, 3.0), st.tuples(*[numbers] * len(PARTS)), st.booleans())


@settings(max_examples=200, deadline=None)
@given(st.lists(states, max_size=40))
def test_every_state_arrives_whatever_was_sent_before(given_states):
    sender, receiver = SentStates(), ReceivedStates()
    for x, chosen, is_sent in given_states:
        parts = {name: OBJECTS[number][name] for name, number in zip(PARTS, chosen, strict=True)}
        state = RobotCellState(configuration=frozendict(x=x), **parts)
        message = sender.message(state)
        if is_sent:  # others are too long to be sent at once
            sender.note(state, message)
            assert receiver.state(sent(message)) == state


def test_parts_are_sent_once_and_retained_as_long_as_they_are_used():
    sender, receiver = SentStates(), ReceivedStates()

    def arrived(state):
        message = sender.message(state)
        sender.note(state, message)
        return message, receiver.state(sent(message))

    bodies = frozendict({f"body{i}": BodyState(Pose((0.1 * i, 0.0, 0.0))) for i in range(1000)})
    state = RobotCellState(configuration=frozendict(x=0.0), bodies=bodies)
    first = arrived(state)[1]
    for number in range(2 * MAX_PARTS):
        other = state.with_body("body0", BodyState(Pose((0.0, 0.0, 1.0 + number))))
        message, moved = arrived(other)
        assert moved == other
        assert [name for name in bodies if moved.bodies[name] is not first.bodies[name]] == ["body0"]
        assert len(pickle.dumps(message)) < 1000
        message, again = arrived(state.with_configuration({"x": float(number)}))
        assert again.bodies is first.bodies
        assert len(pickle.dumps(message)) < 1000
    equal = sent(state)
    assert arrived(equal)[1].bodies is first.bodies


def cells():
    """Cells of which each differs from others in bodies, frames, margins or its name, in no particular order."""
    names = st.sampled_from("abcdef")
    body = st.builds(lambda name, size: RigidBody(name, (box(size),)), names, st.sampled_from((0.1, 0.2)))
    frame = st.builds(
        lambda name, place: NamedFrame(f"{name} frame", pose=Pose((place, 0.0, 0.0))), names, st.floats(0.0, 1.0)
    )
    return st.builds(
        lambda name, bodies, frames, margin: RobotCell(
            name,
            bodies=frozendict({each.name: each for each in bodies}),
            frames=frozendict({each.name: each for each in frames}),
            collision=CollisionSettings(margins=frozendict({"*": margin})),
        ),
        st.sampled_from(("one", "two")),
        st.lists(body, max_size=4),
        st.lists(frame, max_size=2),
        st.sampled_from((0.0, 0.01)),
    )


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(cells(), st.booleans()), max_size=12))
def test_every_cell_arrives_whatever_was_sent_before(given_cells):
    sender, receiver = SentCells(), ReceivedCells()
    for cell, is_sent in given_cells:
        message = sender.message(cell.digest_with_places(), cell)
        if is_sent:  # others are too long to be sent at once
            sender.note(cell.digest_with_places(), cell)
            found = receiver.cell(cell.digest_with_places(), sent(message))
            assert found == cell
            assert found.digest_with_places() == cell.digest_with_places()
            assert [*found.bodies] == [*cell.bodies]


def test_of_a_cell_only_what_changed_is_sent():
    sender, receiver = SentCells(), ReceivedCells()

    def arrived(cell):
        message = sender.message(cell.digest_with_places(), cell)
        sender.note(cell.digest_with_places(), cell)
        return len(pickle.dumps(message)), receiver.cell(cell.digest_with_places(), sent(message))

    robots = wall_with_gap()[0].robots
    bodies = {f"body{i}": RigidBody(f"body{i}", (box(),)) for i in range(1000)}
    cell = RobotCell(robots=robots, bodies=frozendict(bodies))
    first = arrived(cell)[1]
    assert arrived(cell) == (len(pickle.dumps(None)), first)
    for number in range(2 * MAX_CELLS):
        new = RigidBody("new", (box(0.01 * (number + 1)),))
        other = msgspec.structs.replace(cell, bodies=frozendict({**bodies, "new": new}))
        size, found = arrived(other)
        assert found == other
        assert size < 1000
        assert found.robots is first.robots
        assert all(found.bodies[name] is first.bodies[name] for name in bodies)
