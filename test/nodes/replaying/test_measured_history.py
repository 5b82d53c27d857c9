"""The states of joints over the time of a record: any of them is found again, and what is not kept is reported."""

import math
import random

import pytest
from sensor_msgs.msg import JointState

from robot_cell_planner.errors import FileError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.msg import SceneSnapshot, StateRef, StateUsed
from robot_cell_planner.nodes.conversions.basic import time_to_message
from robot_cell_planner.nodes.conversions.model_messages import cell_to_message
from robot_cell_planner.nodes.conversions.models import ModelReader
from robot_cell_planner.nodes.conversions.states import state_to_message
from robot_cell_planner.nodes.replaying import history
from robot_cell_planner.nodes.replaying.history import SceneHistory
from robot_cell_planner.nodes.replaying.measured_history import BLOCK, MeasuredHistory
from robot_cell_planner.scene.scene import joint_names

JOINT = "elbow_joint"
RATE = 1000  # messages in a second, as of four robots at 250 Hz


def bits(states):
    return [{name: value.hex() for name, value in state.items()} for state in states]


def test_any_states_are_found_as_they_were_added():
    """Joints appear and disappear, values repeat, and stamps may go back."""
    numbers = random.Random(1)
    measured, states, values = MeasuredHistory(10**6), [], {}
    for _ in range(5 * BLOCK // 2):
        for name in numbers.sample("abcdef", numbers.randrange(3)):
            values[name] = numbers.choice((0.0, -0.0, 1.0, numbers.random()))
        for name in numbers.sample("abcdef", numbers.randrange(20) == 0):
            values.pop(name, None)
        states.append((numbers.randrange(40), dict(values)))
        measured.add(*states[-1])
    assert len(measured) == len(states)
    for stamp in range(41):
        expected = [state for each, state in states if each == stamp]
        for count in (1, 3, 1000):
            assert bits(measured.matching(stamp, count)) == bits(expected[-count:])


def test_the_latest_states_are_kept_and_the_stamps_of_others_are_known():
    measured, limit = MeasuredHistory(3 * BLOCK), 3 * BLOCK
    assert measured.dropped == -1
    for stamp in range(10 * BLOCK + 7):
        measured.add(stamp, {"joint": float(stamp)})
        assert len(measured) <= limit + BLOCK
    last = 10 * BLOCK + 6
    assert measured.matching(last - limit + 1, 5) == [{"joint": float(last - limit + 1)}]
    assert last - limit - BLOCK <= measured.dropped <= last - limit
    assert measured.matching(measured.dropped, 5) == []
    assert len(measured.matching(measured.dropped + 1, 5)) == 1


@pytest.fixture(scope="module")
def scene(request):
    cell, state = load_cell(request.config.rootpath / "config" / "demo" / "cell.yaml")
    message = SceneSnapshot(cell=cell_to_message(cell))
    message.state.state, message.state.revision = state_to_message(state), 1
    return state, message, cell


def recorded(scene, count):
    """A history in which a joint moves, with `count` messages."""
    found = SceneHistory(ModelReader(NO_ROOTS))
    found.take_snapshot(scene[1])
    for number in range(1, count + 1):
        message = JointState(name=[JOINT], position=[math.sin(number / RATE)])
        message.header.stamp = time_to_message(number * 10**9 // RATE)
        found.take_joints(message)
    return found


def used(scene, number):
    """The state that a reply names, with the joint states of a message."""
    state = scene[0].with_configuration({JOINT: math.sin(number / RATE)})
    stamp = time_to_message(number * 10**9 // RATE)
    return StateUsed(revision=1, joint_stamp=stamp, state_digest=state.digest())


def test_the_state_of_a_request_that_took_a_minute_is_found(scene):
    """Its reply is recorded after 60,000 joint states of four robots at 250 Hz."""
    resolved = recorded(scene, 60_000).scenes_of(StateRef(), used(scene, 5))[1]
    assert resolved.state.configuration[JOINT] == math.sin(5 / RATE)


def test_the_error_says_why_a_state_is_missing(scene, monkeypatch):
    monkeypatch.setattr(history, "MAX_JOINT_STATES", BLOCK)
    found = recorded(scene, 3 * BLOCK)
    with pytest.raises(FileError, match=f"its joint states were followed by more than {BLOCK}"):
        found.scenes_of(StateRef(), used(scene, 5))
    with pytest.raises(FileError, match=r"no recorded joint states at 60\.000 s have it"):
        found.scenes_of(StateRef(), used(scene, 60_000))
    with pytest.raises(FileError, match="also record joint_states"):
        recorded(scene, 0).scenes_of(StateRef(), used(scene, 5))


def test_joint_states_of_a_robot_that_the_cell_does_not_have_are_ignored(scene):
    """Their names may be those of other joints of the cell."""
    (finger,) = [name for name, tool in joint_names(scene[2]).items() if tool][:1]
    found = SceneHistory(ModelReader(NO_ROOTS))
    found.take_snapshot(scene[1])
    for robot, name, position in (("left/", finger, 0.01), ("", JOINT, math.sin(1 / RATE))):
        message = JointState(name=[name], position=[position])
        message.header.stamp = time_to_message(10**9 // RATE)
        found.take_joints(message, robot)
    resolved = found.scenes_of(StateRef(), used(scene, 1))[1]
    assert resolved.state.configuration[JOINT] == math.sin(1 / RATE)
