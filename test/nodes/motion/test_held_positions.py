"""Joints are held only at known positions: not at an old measurement, and not beside another publisher of commands."""

import math
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.time import Time

from robot_cell_planner.errors import ExecutionError, FeedbackLostError
from robot_cell_planner.nodes.motion import held_positions
from robot_cell_planner.nodes.motion.channels import Channel
from robot_cell_planner.nodes.motion.command_stream import CommandStream
from robot_cell_planner.nodes.motion.held_positions import HeldPositions
from robot_cell_planner.nodes.motion.independent_robots import robot_finder
from robot_cell_planner.nodes.motion.joint_feedback import STOOD, JointFeedback
from robot_cell_planner.nodes.motion.motion_clock import SteadyClock
from robot_cell_planner.nodes.motion.path_return import FeedbackTimeouts
from robot_cell_planner.nodes.motion.streamed_motion import StreamDrive
from robot_cell_planner.nodes.motion.wraparound import TURN
from robot_cell_planner.trajectory.sampler import SamplerOptions, rest_at

OTHER = "right/elbow"
JOINTS = ("left/elbow", OTHER)
SILENCE, LOST_AFTER = 0.25, 2.0  # [s]
TIMEOUTS = FeedbackTimeouts(SILENCE, LOST_AFTER, 2.0)
TOLERANCE = 0.01
ALONE = "joint_commands has other publishers"


class Clock:
    """A steady clock that a test advances."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


class Output:
    """Accepts commands."""

    topic_names = ()

    def __init__(self):
        self.names = []
        self.efforts = ()  # of the last command

    def publish(self, values):
        self.efforts = values.efforts
        self.names.append(values.names)

    def sent(self):
        """The joints of the next command; none if no command is sent."""
        count = len(self.names)
        for _ in range(1000):
            if len(self.names) > count + 1:
                return self.names[-1]
            threading.Event().wait(0.001)
        return ()


class Case:
    """A command stream, with measurements of the test."""

    def __init__(self, hold=False, passive=(), robots=(), joints=JOINTS, fields=("position",)):
        self.clock, self.feedback, self.warnings = Clock(), JointFeedback(jump=10.0), []
        self.errors = []  # of the thread
        log = SimpleNamespace(
            warning=lambda text, **_: self.warnings.append(text), error=lambda text, **_: self.errors.append(text)
        )
        node = SimpleNamespace(
            get_clock=lambda: SimpleNamespace(now=lambda: Time(nanoseconds=time.time_ns())), get_logger=lambda: log
        )
        self.output, robot_of = Output(), robot_finder(robots, lambda _: "")
        self.stream = CommandStream(
            node,
            self.output,
            rate=250.0,
            clock=SteadyClock(node),
            fields=fields,
            joints=joints,
            hold=hold,
            robot_of=robot_of,
            passive=passive,
        )
        self.held = HeldPositions(node, self.stream, self.feedback, TOLERANCE, passive, TIMEOUTS)
        self.drive = StreamDrive(node, self.stream, SamplerOptions(), self.held)
        self._stamp = 0

    def wait(self, seconds):
        """Let time pass in which this process polls, but nothing is measured."""
        for _ in range(round(seconds / 0.02)):
            self.clock.now += 0.02
            self.feedback.start_poll(self.clock.now)

    def measure(self, **positions):
        """Measure joints at rest, where they have stood for long."""
        self.measure_moving(**positions)
        for name, position in positions.items():
            self.feedback._anchors[name.replace("_", "/")] = position, -math.inf

    def measure_moving(self, **positions):
        """Measure joints; one that is elsewhere than before has moved."""
        self._stamp += 1
        self.feedback.start_poll(self.clock.now)
        names = [name.replace("_", "/") for name in positions]
        self.feedback.update(names, list(positions.values()), [], [], self._stamp, self.clock.now)

    def begin(self):
        """Begin a motion of the left robot, and drop it."""
        self.stream.drop(self.start())

    def start(self):
        """Start a motion of the left robot, which lasts until it is dropped."""
        joints = JOINTS[:1]
        channel = Channel(joints, "owner", rest_at(joints, np.zeros(1)), 1.0, SamplerOptions(), lambda: None)
        channel.has_come_to_its_end = lambda now: False
        self.drive.begin(channel)
        return channel

    def find_other_publisher(self, monkeypatch):
        def check_alone():
            raise ExecutionError(ALONE)

        monkeypatch.setattr(self.stream, "check_alone", check_alone)


@pytest.fixture
def make(monkeypatch):
    made = []

    def make(**options):
        case = Case(**options)
        made.append(case)
        monkeypatch.setattr(held_positions, "time", case.clock)
        return case

    yield make
    for case in made:
        case.stream.close()
        assert case.errors == []


def test_joints_of_other_robots_are_held_where_they_were_just_measured(make):
    case = make()
    case.measure(left_elbow=0.0, right_elbow=0.5)
    case.wait(SILENCE - 0.05)
    case.begin()
    assert case.stream.commanded == {JOINTS[0]: 0.0, OTHER: 0.5}


def test_no_motion_begins_while_the_position_of_another_robot_is_old(make):
    case = make()
    case.measure(left_elbow=0.0, right_elbow=0.5)
    case.wait(60.0)
    case.measure(left_elbow=0.0)
    with pytest.raises(ExecutionError, match=rf"{OTHER}.*too old: age of {OTHER} = 60 s \(limit 0.25 s\)") as found:
        case.begin()
    assert found.value.subjects == (OTHER,)
    assert [(value.name, value.limit) for value in found.value.values] == [(f"age of {OTHER}", SILENCE)]
    assert case.stream.commanded == {}
    case.measure(right_elbow=0.7)
    case.begin()
    assert case.stream.commanded[OTHER] == 0.7


@pytest.mark.parametrize("measured", [0.5, 0.9])
def test_an_earlier_command_is_not_repeated_to_a_robot_that_has_not_been_measured_since(make, measured):
    """Neither the command nor the last measurement is its position: its driver was down, and it may have been moved."""
    case = make()
    case.measure(left_elbow=0.0, right_elbow=0.5)
    case.begin()
    case.measure(left_elbow=0.0, right_elbow=measured)
    case.wait(1.0)
    case.measure(left_elbow=0.0)
    with pytest.raises(ExecutionError, match=OTHER):
        case.begin()


@pytest.mark.parametrize("turns", [1, -1, 2])
def test_no_motion_begins_while_a_joint_that_it_holds_is_measured_turns_from_its_command(make, turns):
    """The driver wraps: held where it is measured, the joint would turn by these turns at once."""
    case = make()
    case.measure(left_elbow=0.0, right_elbow=3.3)
    case.begin()
    case.measure(left_elbow=0.0, right_elbow=3.3 + turns * TURN)
    count = "one turn" if abs(turns) == 1 else f"{abs(turns)} turns"
    with pytest.raises(FeedbackLostError, match=f"{OTHER} is measured {count} from its last command") as found:
        case.begin()
    assert "angle_wraparound" in found.value.remedy
    assert case.stream.commanded[OTHER] == 3.3
    case.stream.forget([OTHER])  # as an emergency stop does
    case.begin()
    assert case.stream.commanded[OTHER] == 3.3 + turns * TURN


def test_a_robot_with_a_joint_a_turn_from_its_command_gets_no_commands_while_another_one_moves(make):
    case = make(robots=("left/", "right/"), joints=(*JOINTS, "right/wrist"))
    case.measure(left_elbow=0.0, right_elbow=3.3, right_wrist=0.1)
    case.stream.hold_at({OTHER: 3.3, "right/wrist": 0.1})
    case.measure(left_elbow=0.0, right_elbow=3.3 - TURN)
    channel = case.start()
    assert case.output.sent() == JOINTS[:1]
    assert case.stream.commanded[OTHER] == 3.3  # its own motions are refused for it
    assert f"no commands: execution: {OTHER} is measured one turn from its last command" in case.warnings[0]
    case.stream.drop(channel)
    with pytest.raises(FeedbackLostError, match=OTHER):
        case.held.withheld(["right/wrist"])
    case.measure(right_elbow=3.3)
    channel = case.start()
    assert set(case.output.sent()) == {*JOINTS, "right/wrist"}
    case.stream.drop(channel)


def test_a_robot_that_gets_no_commands_is_held_again_after_an_emergency_stop(make):
    case = make(hold=True, robots=("left/", "right/"))
    case.measure(left_elbow=0.0, right_elbow=3.3)
    case.held.hold_between_motions(JOINTS)
    case.measure(left_elbow=0.0, right_elbow=3.3 - TURN)
    case.begin()
    assert case.output.sent() == JOINTS[:1]
    case.drive.forget_commands()
    case.held.hold_between_motions(JOINTS)
    assert set(case.output.sent()) == set(JOINTS)
    assert case.stream.commanded[OTHER] == 3.3 - TURN


def test_a_joint_that_is_measured_on_both_sides_of_its_wrap_keeps_no_other_robot_waiting(make):
    case = make(robots=("left/", "right/"))
    case.measure(left_elbow=0.0, right_elbow=math.pi)
    case.stream.hold_at({OTHER: math.pi})
    for at in (-math.pi, math.pi, -math.pi):
        case.wait(0.02)
        case.measure_moving(left_elbow=0.0, right_elbow=at)
        assert not case.drive.others_are_unsettled


def test_a_gripper_keeps_its_command(make):
    case = make(passive=(OTHER,))
    case.measure(left_elbow=0.0, right_elbow=0.5)
    case.begin()
    case.measure(right_elbow=0.4)
    case.begin()
    case.wait(1.0)
    case.begin()
    assert case.stream.commanded[OTHER] == 0.5


GRIPPER = "hand/finger"


def grip(case, position, effort):
    """Command the gripper; its motion ends at once."""
    joints = (GRIPPER,)
    trajectory, efforts = rest_at(joints, np.full(1, position)), np.full(1, effort)
    channel = Channel(joints, "gripper", trajectory, 1.0, SamplerOptions(), lambda: None, efforts)
    case.drive.begin(channel)
    assert GRIPPER in case.output.sent()
    case.stream.drop(channel)


@pytest.fixture
def gripping(make):
    """A gripper that is commanded to 0.1, with an effort of 5, and holds an object at 0.3."""
    case = make(passive=(GRIPPER,), fields=("position", "effort"), joints=(*JOINTS, GRIPPER))
    case.measure(left_elbow=0.0, right_elbow=0.5, hand_finger=0.3)
    grip(case, 0.1, 5.0)
    assert case.stream.commanded[GRIPPER] == 0.1
    return case


def effort_sent(case):
    """The effort of the gripper while the left robot moves."""
    channel = case.start()
    names = case.output.sent()
    effort = case.output.efforts[names.index(GRIPPER)]
    case.stream.drop(channel)
    return effort


def forget(case):
    case.held.forget()
    assert case.stream.commanded == {}


def forget_twice(case):
    """A second emergency stop, before the next command."""
    forget(case)
    forget(case)


def forget_by_the_stream(case):
    """An emergency stop, which the stream reads first."""
    case.stream._halt(None)
    forget(case)


def lose(case):
    case.wait(LOST_AFTER + 0.1)
    case.stream.hold_at({OTHER: 0.5, JOINTS[0]: 0.0})
    case.held.release_lost()
    assert case.stream.commanded == {}


@pytest.mark.parametrize("end", [forget, forget_twice, forget_by_the_stream, lose])
def test_a_gripper_presses_again_on_what_it_holds(gripping, end):
    """It would let the object fall if it was held where it is measured."""
    end(gripping)
    gripping.measure(left_elbow=0.0, right_elbow=0.5, hand_finger=0.3 - 0.9 * TOLERANCE)
    assert gripping.drive.commanded == {GRIPPER: 0.1}  # where its next motion begins
    assert effort_sent(gripping) == 5.0
    assert gripping.stream.commanded[GRIPPER] == 0.1


@pytest.mark.parametrize("end", [forget, forget_twice, forget_by_the_stream, lose])
def test_a_gripper_that_was_moved_meanwhile_does_not_close(gripping, end):
    end(gripping)
    gripping.measure(left_elbow=0.0, right_elbow=0.5, hand_finger=0.3 + 1.1 * TOLERANCE)
    assert gripping.drive.commanded == {}
    assert effort_sent(gripping) == 0.0
    assert gripping.stream.commanded[GRIPPER] == 0.3 + 1.1 * TOLERANCE


def test_a_gripper_that_was_moved_between_two_emergency_stops_does_not_close(gripping):
    forget(gripping)
    gripping.measure(left_elbow=0.0, right_elbow=0.5, hand_finger=0.4)
    forget(gripping)
    assert effort_sent(gripping) == 0.0
    assert gripping.stream.commanded[GRIPPER] == 0.4


def test_a_gripper_returns_to_its_last_command(gripping):
    forget(gripping)
    grip(gripping, 0.2, 7.0)
    gripping.measure(left_elbow=0.0, right_elbow=0.5, hand_finger=0.25)
    forget(gripping)
    assert effort_sent(gripping) == 7.0
    assert gripping.stream.commanded[GRIPPER] == 0.2


@pytest.mark.parametrize("joints", [(*JOINTS, GRIPPER), ()])
@pytest.mark.parametrize("finger, held_at, effort", [(0.3, 0.1, 5.0), (0.4, 0.4, 0.0)])
def test_between_motions_a_gripper_is_held_in_the_same_way(make, joints, finger, held_at, effort):
    case = make(hold=True, passive=(GRIPPER,), fields=("position", "effort"), joints=joints)
    case.measure(left_elbow=0.0, right_elbow=0.5, hand_finger=0.3)
    grip(case, 0.1, 5.0)
    forget(case)
    assert case.output.sent() == ()
    case.measure(left_elbow=0.0, right_elbow=0.5, hand_finger=finger)
    case.held.hold_between_motions(joints)
    names = case.output.sent()
    assert case.stream.commanded == {JOINTS[0]: 0.0, OTHER: 0.5, GRIPPER: held_at}
    assert case.output.efforts[names.index(GRIPPER)] == effort


def test_a_gripper_that_is_not_among_the_joints_of_every_command_is_left_alone(make):
    """It presses on, as its last command says."""
    case = make(passive=(GRIPPER,))
    case.measure(left_elbow=0.0, right_elbow=0.5, hand_finger=0.3)
    grip(case, 0.1, 0.0)
    forget(case)
    channel = case.start()
    assert case.output.sent() == JOINTS
    case.stream.drop(channel)


@pytest.mark.parametrize("known", [{}, {"left_elbow": 0.1}])
def test_between_motions_only_a_robot_is_held_whose_joints_are_all_measured_now(make, known):
    """After an emergency stop whose release has not reached the driver of the robot yet."""
    case = make(hold=True)
    case.measure(left_elbow=0.0, right_elbow=0.5)
    case.wait(60.0)
    case.measure(**known)
    case.held.hold_between_motions(JOINTS)
    assert case.stream.commanded == {}
    assert "not held" in case.warnings[0]
    assert OTHER in case.warnings[0]
    case.measure(left_elbow=0.2, right_elbow=0.7)
    case.held.hold_between_motions(JOINTS)
    assert case.stream.commanded == {JOINTS[0]: 0.2, OTHER: 0.7}


def test_the_joints_of_a_robot_that_are_not_listed_are_held_too(make):
    case = make(hold=True)
    case.held.hold_between_motions(())
    assert case.stream.commanded == {}
    assert not case.warnings
    case.measure(left_elbow=0.2, right_elbow=0.7)
    case.held.hold_between_motions(())
    assert case.stream.commanded == {JOINTS[0]: 0.2, OTHER: 0.7}


def positions_while_braking(case, steps, joints=JOINTS):
    """Measure a robot that brakes in steps of 0.02 s, and then stands; returns where it is held."""
    for position in (*steps, *[steps[-1]] * round(2.0 * STOOD / 0.02)):
        assert case.stream.commanded == {}
        case.wait(0.02)
        case.measure_moving(left_elbow=position, right_elbow=0.7)
        case.held.hold_between_motions(joints)
        if case.stream.commanded:
            break
    return case.stream.commanded


@pytest.mark.parametrize("joints", [JOINTS, ()])
def test_a_robot_that_still_moves_is_held_where_it_comes_to_rest(make, joints):
    """After an emergency stop that was released at once, it would be led back to where it was measured."""
    case = make(hold=True, joints=joints)
    steps = [0.1, 0.13, 0.15, 0.16, 0.165]
    assert positions_while_braking(case, steps, joints) == {JOINTS[0]: 0.165, OTHER: 0.7}


def test_a_gripper_that_moves_does_not_keep_its_robot_from_being_held(make):
    case = make(hold=True, passive=JOINTS[:1])
    case.measure(right_elbow=0.7)
    case.measure_moving(left_elbow=0.2)
    case.held.hold_between_motions(JOINTS)
    assert case.stream.commanded == {JOINTS[0]: 0.2, OTHER: 0.7}


def test_a_robot_with_noisy_measurements_is_held_once_it_has_stayed_within_the_start_tolerance(make):
    case, noise, cycles = make(hold=True), 0.004, 0
    begin = case.clock.now
    while not case.stream.commanded:
        case.wait(0.02)
        cycles += 1
        travel = max(0.0, 1.0 - (case.clock.now - begin))  # for a second, it moves
        case.measure_moving(left_elbow=travel + noise * (-1) ** cycles, right_elbow=0.7)
        case.held.hold_between_motions(JOINTS)
        assert cycles < 1000
    assert 1.0 + LOST_AFTER - 0.1 < case.clock.now - begin < 1.0 + LOST_AFTER + 0.1


def test_a_motion_waits_for_a_joint_that_it_holds_until_that_is_at_rest(make):
    """It would be led back to where it was measured when the motion begins."""
    case = make()
    drive = case.drive
    case.measure(left_elbow=0.0, right_elbow=0.5)
    assert not drive.others_are_unsettled
    case.measure_moving(right_elbow=0.7)
    assert drive.others_are_unsettled
    for _ in range(round(STOOD / 0.02) + 1):
        case.wait(0.02)
        case.measure_moving(right_elbow=0.7)
    assert not drive.others_are_unsettled


def test_nothing_is_held_beside_another_publisher_of_commands(make, monkeypatch):
    case = make(hold=True)
    case.measure(left_elbow=0.2, right_elbow=0.7)
    case.held.hold_between_motions(JOINTS)
    case.held.check()
    assert case.stream.commanded
    case.find_other_publisher(monkeypatch)
    case.held.check()
    assert case.stream.commanded == {}
    assert ALONE in case.warnings[0]
    case.held.hold_between_motions(JOINTS)
    assert case.stream.commanded == {}


def test_a_robot_whose_measurements_are_lost_is_held_no_longer(make):
    """It may be moved before its driver is back: it would jump to the position at which it was held."""
    case = make(hold=True)
    case.measure(left_elbow=0.2, right_elbow=0.7)
    case.held.hold_between_motions(JOINTS)
    case.wait(LOST_AFTER - 0.1)
    case.held.check()
    assert case.stream.commanded == {JOINTS[0]: 0.2, OTHER: 0.7}
    case.wait(0.2)
    case.held.check()
    assert case.stream.commanded == {}
    assert OTHER in case.warnings[0]
    case.held.hold_between_motions(JOINTS)
    assert case.stream.commanded == {}
    case.measure(left_elbow=0.2, right_elbow=0.9)
    case.held.hold_between_motions(JOINTS)
    assert case.stream.commanded == {JOINTS[0]: 0.2, OTHER: 0.9}


ROBOTS = ("left/", "right/")


@pytest.mark.parametrize("joints", [JOINTS, ()])
@pytest.mark.parametrize(("kept", "lost"), [JOINTS, JOINTS[::-1]])
def test_a_robot_whose_measurements_are_current_is_held_while_another_one_is_lost(make, joints, kept, lost):
    case = make(hold=True, robots=ROBOTS, joints=joints)
    case.measure(left_elbow=0.2, right_elbow=0.7)
    case.held.hold_between_motions(joints)
    assert set(case.output.sent()) == {kept, lost}
    case.wait(LOST_AFTER + 0.1)
    case.measure(**{kept.replace("/", "_"): 0.3})
    case.held.check()
    assert case.output.sent() == (kept,)
    (warning,) = case.warnings
    assert warning.startswith(f"robot {lost.split('/')[0]} is no longer held between motions: joint_states are too old")
    assert kept not in warning
    # It is held again, at its new position, as soon as it is measured.
    case.held.hold_between_motions(joints)
    assert case.output.sent() == (kept,)
    assert case.warnings[-1].startswith(f"robot {lost.split('/')[0]} is not held between motions")
    case.measure(**{lost.replace("/", "_"): 0.9})
    case.held.hold_between_motions(joints)
    assert set(case.output.sent()) == {kept, lost}
    assert case.stream.commanded[lost] == 0.9


@pytest.mark.parametrize("joints", [JOINTS, ()])
def test_a_robot_that_is_lost_while_another_one_moves_gets_no_commands_any_longer(make, joints):
    """It would jump to its last command when it is back, as between motions."""
    case = make(robots=ROBOTS, joints=joints)
    case.measure(left_elbow=0.0, right_elbow=0.5)
    case.stream.hold_at({OTHER: 0.5})
    channel = case.start()
    case.wait(LOST_AFTER - 0.1)
    case.measure(left_elbow=0.0)
    case.held.release_lost()
    assert set(case.output.sent()) == set(JOINTS)
    case.wait(0.2)
    case.measure(left_elbow=0.0)
    case.held.release_lost()
    assert case.output.sent() == JOINTS[:1]
    (warning,) = case.warnings
    assert warning.startswith("robot right gets no commands any longer: joint_states are too old")
    case.stream.drop(channel)


def test_a_moving_robot_is_commanded_to_the_end_of_its_stop_although_it_is_lost(make):
    case = make(robots=ROBOTS)
    case.measure(left_elbow=0.0, right_elbow=0.5)
    channel = case.start()
    case.wait(LOST_AFTER + 0.1)
    case.measure(right_elbow=0.5)
    case.held.release_lost()
    assert set(case.output.sent()) == set(JOINTS)
    assert case.warnings == []
    case.stream.drop(channel)


def test_a_robot_that_was_not_measured_yet_does_not_keep_another_one_from_being_held(make):
    case = make(hold=True, robots=ROBOTS)
    case.measure(left_elbow=0.2)
    case.held.hold_between_motions(JOINTS)
    assert case.output.sent() == JOINTS[:1]


def test_no_joint_of_a_robot_is_held_while_another_one_of_it_is_unknown(make):
    case = make(hold=True, robots=ROBOTS, joints=(*JOINTS, "left/wrist"))
    case.measure(left_elbow=0.2, right_elbow=0.7)
    case.held.hold_between_motions((*JOINTS, "left/wrist"))
    assert case.output.sent() == (OTHER,)


@pytest.mark.parametrize("joints", [JOINTS, (*JOINTS, "right/wrist"), ()])
def test_a_robot_that_is_switched_off_gets_no_commands_and_does_not_keep_another_one_from_moving(make, joints):
    case = make(robots=ROBOTS, joints=joints)
    wrist = {"right_wrist": 0.1} if len(joints) != 2 else {}
    case.measure(left_elbow=0.0, right_elbow=0.5, **wrist)
    case.stream.hold_at({OTHER: 0.5})  # it was moved before
    case.wait(60.0)
    case.measure(left_elbow=0.0, **wrist)
    channel = case.start()
    assert case.output.sent() == JOINTS[:1]
    (warning,) = case.warnings
    assert warning.startswith(
        f"robot right gets no commands: positions of {OTHER} are unknown; joint_states are too old"
    )
    case.stream.drop(channel)
    case.measure(left_elbow=0.0, right_elbow=0.7, **wrist)
    channel = case.start()
    expected = set(joints or JOINTS)
    assert set(case.output.sent()) == expected
    assert case.stream.commanded[OTHER] == 0.7
    case.stream.drop(channel)


def test_no_motion_begins_while_the_position_of_a_joint_of_no_robot_is_old(make):
    """It may be an axis that moves the robots."""
    case = make(robots=ROBOTS, joints=(JOINTS[0], "rail"))
    case.measure(left_elbow=0.0, rail=0.5)
    case.wait(60.0)
    case.measure(left_elbow=0.0)
    with pytest.raises(ExecutionError, match="age of rail = 60 s"):
        case.begin()


def test_another_publisher_ends_the_hold_of_all_robots(make, monkeypatch):
    case = make(hold=True, robots=ROBOTS)
    case.measure(left_elbow=0.2, right_elbow=0.7)
    case.held.hold_between_motions(JOINTS)
    case.find_other_publisher(monkeypatch)
    case.held.check()
    assert case.stream.commanded == {}


def test_a_joint_belongs_to_the_robot_of_its_prefix_or_else_of_its_topic():
    robot_of = robot_finder(ROBOTS, {"hand/finger": "right/", "left/elbow": "right/"}.get)
    assert [robot_of(joint) for joint in ("left/elbow", "right/elbow", "hand/finger")] == ["left/", "right/", "right/"]


def test_a_gripper_that_is_not_measured_is_held_on(make):
    case = make(hold=True, passive=(OTHER,))
    case.measure(left_elbow=0.2, right_elbow=0.7)
    case.held.hold_between_motions(JOINTS)
    case.wait(LOST_AFTER + 0.1)
    case.measure(left_elbow=0.2)
    case.held.check()
    assert case.stream.commanded == {JOINTS[0]: 0.2, OTHER: 0.7}


def test_old_measurements_matter_only_for_joints_that_are_held(make):
    """A joint that no command contains may be switched off: no motion waits for it."""
    case = make()
    drive = case.drive
    case.measure(left_elbow=0.0, right_elbow=0.5, table_turn=0.1)
    assert not drive.others_are_unsettled
    case.wait(2.0 * SILENCE)
    case.measure(left_elbow=0.0, right_elbow=0.5)
    assert not drive.others_are_unsettled
    case.wait(2.0 * SILENCE)
    case.measure(left_elbow=0.0)
    assert drive.others_are_unsettled


def test_measurements_that_are_lost_are_not_waited_for(make):
    """A robot that is switched off does not delay the motions of another one."""
    case = make()
    drive = case.drive
    case.measure(left_elbow=0.0, right_elbow=0.5)
    case.wait(LOST_AFTER - 0.1)
    case.measure(left_elbow=0.0)
    assert drive.others_are_unsettled
    case.wait(0.2)
    case.measure(left_elbow=0.0)
    assert not drive.others_are_unsettled
    assert set(case.held.of_others()[1]) == {OTHER}
