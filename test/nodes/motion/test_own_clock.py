"""Stamps of joint_states that jump because the clock of this computer was set, or the computer was suspended."""

import pytest

from robot_cell_planner.nodes.motion.joint_feedback import CLOCKS, OWN_CLOCK, JointFeedback

SECOND = 1_000_000_000
START = 1000 * SECOND
PERIOD = 0.004


class Computer:
    """A node and a robot, each with an offset of its clock [s]; now: steady clock [s]."""

    def __init__(self):
        self.feedback, self.now, self.own, self.robots = JointFeedback(jump=0.5), 0.0, 0.0, 0.0
        for _ in range(100):
            self.receive()

    def receive(self):
        self.now += PERIOD
        self.feedback.start_poll(self.now)
        stamp = START + round((self.now + self.robots) * SECOND)
        received = START + round((self.now + self.own) * SECOND)
        self.feedback.update(["elbow"], [0.0], [], [], stamp, self.now, received)

    def fault(self):
        (error,) = self.feedback.take_faults()
        return error


@pytest.mark.parametrize("jump", [3.35, -3.35, 40.0])
def test_the_error_says_that_the_clock_of_the_node_was_set_as_well(jump):
    computer = Computer()
    computer.own = computer.robots = jump
    computer.receive()
    fault = computer.fault()
    assert fault.message == (
        f"the clock of joint_states was set {'ahead' if jump > 0 else 'back'}, as that of this node, seen at elbow"
    )
    assert fault.values[0].value == pytest.approx(abs(jump), abs=0.01)
    assert fault.remedy == OWN_CLOCK


def test_a_message_that_waited_meanwhile_does_not_hide_it():
    computer = Computer()
    computer.own = 3.35
    for _ in range(20):
        computer.receive()
    computer.robots = 3.35
    computer.receive()
    assert computer.fault().remedy == OWN_CLOCK


@pytest.mark.parametrize(("own", "robots"), [(0.0, 3.35), (30.0, 3.35), (-3.35, 3.35)])
def test_a_clock_of_the_robot_that_was_set_differently_is_another_one(own, robots):
    computer = Computer()
    computer.own, computer.robots = own, robots
    computer.receive()
    fault = computer.fault()
    assert fault.message == "the clock of joint_states was set ahead, seen at elbow"
    assert fault.remedy == CLOCKS


def test_a_clock_of_the_robot_that_is_set_long_afterwards_is_another_one():
    computer = Computer()
    computer.own = 3.35
    for _ in range(300):
        computer.receive()
    computer.robots = 3.35
    computer.receive()
    assert computer.fault().remedy == CLOCKS
