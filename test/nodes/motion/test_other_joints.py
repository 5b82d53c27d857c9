"""Checks that a motion needs because of joints that it does not move."""

import math
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

from robot_cell_planner.errors import FeedbackLostError
from robot_cell_planner.msg import Configuration, RobotCellState, SceneChange, StateRef
from robot_cell_planner.nodes.motion.independent_robots import IndependentRobots
from robot_cell_planner.nodes.motion.joint_feedback import JointFeedback
from robot_cell_planner.nodes.motion.other_joints import OtherJoints
from robot_cell_planner.trajectory.trajectory import Trajectory

ROBOTS = IndependentRobots(("left/", "right/"))
SECOND = 10**9  # [ns]
NAMES = ("left/elbow", "right/elbow", "right_gripper/finger", "right/grip")
WHEEL = "base/wheel"  # is published, but the cell does not have it


def motion(joint, scale=1.0, passive=False, measured=MappingProxyType({})):
    trajectory = Trajectory((joint,), np.array([0.0, 10.0]), np.array([[0.0], [1.0]]))
    goal = SimpleNamespace(
        joints=(joint,), named_trajectory=trajectory, measured=measured, cell_joints=frozenset(NAMES)
    )
    return SimpleNamespace(goal=goal, reached=2.0, scale=scale, passive=passive)


class Cell:
    """Motions and measurements of the joints of two robots, and the monitor of the motion of the left one."""

    def __init__(self, robots=ROBOTS, own=None, horizon=3.0):
        self.own = own or motion("left/elbow")
        self.motions = [self.own]
        self._feedback, self._stamp = JointFeedback(10.0), 0
        self.others = OtherJoints(robots, self._feedback, lambda: self.motions, horizon)
        self.watch = self.others.watch(self.own)
        self.measure()

    def measure(self, **positions):
        self._stamp += 10**7
        published = (*NAMES, WHEEL)
        values = [positions.get(name.replace("/", "_"), 0.0) for name in published]
        self._feedback.update(published, values, [], [], self._stamp, 1e-9 * self._stamp)

    def joints(self):
        return [path.variables for path in self.watch.paths()]


def test_joints_that_have_not_moved_since_the_validation_are_not_checked():
    cell = Cell(own=motion("left/elbow", measured=dict.fromkeys(NAMES, 0.0)))
    assert cell.joints() == []
    assert not cell.watch.whole_is_due()
    cell.measure(right_grip=0.1)
    assert cell.joints() == [("left/elbow",)]


def test_joints_that_the_cell_does_not_have_are_not_checked():
    cell = Cell(own=motion("left/elbow", measured=dict.fromkeys(NAMES, 0.0)))
    cell.measure(base_wheel=0.1)
    assert cell.joints() == []
    assert not cell.watch.whole_is_due()
    cell.measure(base_wheel=0.2, right_grip=0.1)
    assert cell.joints() == [("left/elbow",)]


def test_a_joint_that_has_moved_between_validation_and_begin_is_checked():
    cell = Cell(own=motion("left/elbow", measured={**dict.fromkeys(NAMES, 0.0), "right/grip": 0.1}))
    assert cell.joints() == [("left/elbow",)]
    assert cell.watch.whole_is_due()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_joint_that_is_published_with_invalid_positions_may_be_anywhere(value):
    """Its last valid position may be seconds old, without an end."""
    cell = Cell()
    cell.watch.check_known(StateRef())
    cell.measure(right_grip=value)
    with pytest.raises(FeedbackLostError, match=f"do not say where right/grip is; .* right/grip is {value}") as caught:
        cell.watch.check_known(StateRef())
    assert caught.value.subjects == ("right/grip",)
    cell.measure()
    cell.watch.check_known(StateRef())


def test_invalid_positions_of_joints_that_do_not_matter_stop_nothing():
    cell = Cell()
    cell.measure(base_wheel=math.nan)  # the cell does not have it
    cell.watch.check_known(StateRef())
    cell.measure(left_elbow=math.nan)  # moved by the motion, which ends by the fault
    cell.watch.check_known(StateRef())
    cell.measure(right_grip=math.nan)
    cell.watch.check_known(StateRef(configuration=Configuration(joint_names=["right/grip"], positions=[0.0])))
    grip = SceneChange(operation=SceneChange.SET_JOINTS)
    grip.configuration = Configuration(joint_names=["right/grip"], positions=[0.0])
    cell.watch.check_known(StateRef(changes=[grip]))
    cell.watch.check_known(StateRef(own_state=[RobotCellState()]))


def test_a_joint_that_never_had_a_valid_position_is_where_the_scene_says():
    feedback = JointFeedback(10.0)
    feedback.update(NAMES, [math.nan] * len(NAMES), [], [], SECOND, 1.0)
    assert feedback.unknown(NAMES, 1.0) is None
    feedback.update(NAMES[:1], [0.0], [], [], 2 * SECOND, 2.0)
    feedback.update(NAMES[:1], [math.nan], [], [], 3 * SECOND, 3.0)
    assert feedback.unknown(NAMES, 3.0).subjects == NAMES[:1]
    assert feedback.unknown(NAMES[1:], 3.0) is None


def test_a_joint_with_a_publisher_that_does_not_know_it_is_known_by_the_other():
    """As by the broadcaster of a controller manager, at 100 Hz, and the driver of a gripper, at 10 Hz."""
    feedback, name, faults = JointFeedback(10.0), NAMES[:1], []
    for step in range(1, 200):
        position = 0.0 if step % 10 == 1 and step < 100 else math.nan
        feedback.update(name, [position], [], [], 10**7 * step, 0.01 * step)
        if feedback.unknown(name, 0.01 * step) is not None:
            faults.append(step)
    # Until it is known that there are two publishers, and 0.25 s after the last message of the driver.
    assert faults == [*range(2, 11), *range(91 + 26, 200)]


def test_robots_at_rest_are_checked_once():
    cell = Cell()
    assert cell.watch.present()
    assert not cell.watch.whole_is_due()
    assert cell.joints() == [("left/elbow",)]
    assert cell.watch.whole_is_due()
    cell.measure(left_elbow=0.5)
    assert cell.joints() == []
    assert not cell.watch.whole_is_due()


def test_the_whole_path_is_checked_once_the_others_rest():
    cell = Cell()
    cell.motions.append(motion("right/elbow"))
    cell.watch.paths()
    assert not cell.watch.whole_is_due()
    del cell.motions[1]
    cell.measure(right_elbow=0.1)
    assert not cell.watch.whole_is_due()  # where it came to rest was not checked yet
    assert cell.joints() == [("left/elbow",)]
    assert cell.watch.whole_is_due()
    assert not cell.watch.whole_is_due()


def test_a_check_of_the_whole_path_that_failed_is_due_again():
    cell = Cell()
    cell.watch.paths()
    assert cell.watch.whole_is_due()
    cell.watch.check_again()
    assert cell.watch.whole_is_due()
    assert not cell.watch.whole_is_due()


def test_joint_states_are_as_new_as_the_joint_that_was_measured_first():
    """A joint that is no longer measured delays no check."""
    cell = Cell()
    measured = cell.watch.measured_at()
    for step in range(1, 4):
        cell.measure(right_elbow=0.1)
        assert cell.watch.measured_at() == measured + step * 10**7
    cell._feedback.update(NAMES[:1], [0.0], [], [], measured + 10**8, 0.1)
    assert cell.watch.measured_at() == measured + 3 * 10**7


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("name", ["somebody/joint", "right/conveyor"])
def test_a_joint_that_was_published_by_mistake_does_not_make_old_joint_states_suffice(name, times):
    cell = Cell()
    for _ in range(times):
        cell.measure()
    for stamp in range(1, times + 1):
        cell._feedback.update([name], [0.0], [], [], stamp, 0.03)
    for _ in range(3):
        measured = cell.watch.measured_at()
        cell.measure()
        assert cell.watch.measured_at() == measured + 10**7 > 10**7


@pytest.mark.parametrize("times", [2, 50])
def test_joint_states_that_have_ended_do_not_make_old_ones_of_other_joints_suffice(times):
    """Until the planning node lacks them: a robot whose joint states have ended is checked where it was."""
    cell = Cell()
    for _ in range(times - 1):
        cell.measure()
    ended = cell.watch.measured_at()
    for step in range(1, 4):
        newest = ended + 2 * step * SECOND
        cell._feedback.update(NAMES[1:], [0.0] * 3, [], [], newest, 1e-9 * newest)
        assert cell.watch.measured_at() == newest
    cell.watch.check_again()
    assert cell.watch.measured_at() == ended
    assert cell.watch.measured_at() == newest, "the next check waits for new ones first"


def test_a_pause_of_this_process_is_no_silence_of_a_joint():
    cell = Cell()
    for _ in range(5):
        cell.measure()
    begin = cell.watch.measured_at()
    cell._feedback.start_poll(1e-9 * begin)
    cell._feedback.start_poll(1e-9 * begin + 5.0)
    cell._feedback.update(NAMES[1:], [0.0] * 3, [], [], begin + 5 * SECOND, 1e-9 * begin + 5.0)
    assert cell.watch.measured_at() == begin


def test_a_robot_that_moves_is_checked_again():
    cell = Cell()
    cell.watch.paths()
    for step in range(1, 4):
        cell.measure(right_elbow=0.0004 * step)  # slowly: the position at the last check counts
    assert cell.joints() == [("left/elbow",)]
    assert cell.joints() == []


@pytest.mark.parametrize("joint", ["right_gripper_finger", "right_grip"])
def test_a_gripper_or_tool_that_is_moved_is_checked_where_it_is_measured(joint):
    cell = Cell()
    cell.watch.paths()
    assert cell.watch.whole_is_due()
    cell.measure(**{joint: 0.1})
    assert cell.joints() == [("left/elbow",)]
    assert cell.joints() == []
    assert cell.watch.whole_is_due()


def test_a_gripper_that_moves_is_not_checked_where_its_goal_is():
    """It may end at an object before, and its goal would be within that."""
    cell = Cell()
    cell.watch.paths()
    cell.motions.append(motion("right/grip", passive=True))
    assert cell.joints() == []
    cell.measure(right_grip=0.1)
    assert cell.joints() == [("left/elbow",)]


def test_a_motion_of_another_robot_is_checked_all_the_time_and_along_its_trajectory():
    cell = Cell()
    cell.motions += [motion("right/elbow"), motion("right_gripper/finger", passive=True)]
    for _ in range(3):
        assert cell.joints() == [("left/elbow",), ("left/elbow", "right/elbow")]
    cell.motions[1].scale = 0.0  # paused: it is where it is measured
    assert cell.joints() == [("left/elbow",)]


def test_a_robot_without_a_prefix_counts():
    cell = Cell()
    cell.watch.paths()
    assert cell.watch.present()
    further = motion("right_gripper/finger")
    cell.motions.append(further)
    cell.others.watch(further)
    assert cell.joints() == [("left/elbow",), ("left/elbow", "right_gripper/finger")]
    cell.motions.remove(further)
    cell.measure(right_gripper_finger=0.1)  # it comes to rest, or is moved by other means
    assert cell.joints() == [("left/elbow",)]
    assert cell.watch.whole_is_due()


def test_a_robot_without_a_prefix_is_watched_in_a_cell_with_one_other():
    cell = Cell(IndependentRobots(("left/",)))
    further = motion("right/elbow")
    cell.motions.append(further)
    cell.others.watch(further)
    assert cell.watch.present()
    assert cell.joints() == [("left/elbow",), ("left/elbow", "right/elbow")]


def test_the_tools_of_a_single_robot_are_checked_where_they_are_measured():
    cell = Cell(IndependentRobots())
    assert not cell.watch.present()
    cell.watch.paths()
    assert cell.watch.whole_is_due()
    cell.measure(right_gripper_finger=0.1)
    assert cell.joints() == [("left/elbow",)]
    assert cell.watch.whole_is_due()


def test_a_motion_at_rest_has_nothing_to_check():
    cell = Cell(own=motion("left/elbow", scale=0.0))
    cell.motions.append(motion("right/elbow"))
    assert cell.joints() == []


@pytest.mark.parametrize("horizon, end", [(3.0, 3.5), (5.0, 4.5), (60.0, 10.0)])
def test_the_path_is_checked_up_to_the_horizon_at_the_present_speed(horizon, end):
    cell = Cell(own=motion("left/elbow", scale=0.5), horizon=horizon)
    (path,) = cell.watch.paths()
    assert (path.times[0], path.times[-1]) == (2.0, pytest.approx(end))


def test_without_other_joints_nothing_is_checked():
    own = motion("left/elbow")
    own.goal.joints = NAMES
    cell = Cell(own=own)
    assert not cell.watch.present()
    cell.measure(right_elbow=0.1)
    assert cell.joints() == []


def test_the_path_is_checked_as_it_is_if_only_tools_move():
    """Between samples of it, a path beside an object would differ from that of the robot."""
    cell = Cell()
    times = np.linspace(0.0, 10.0, 401)
    rows = np.sin(100.0 * times), 100.0 * np.cos(100.0 * times), -1e4 * np.sin(100.0 * times)
    path = Trajectory(("left/elbow",), times, *(row[:, None] for row in rows))
    cell.own.goal.named_trajectory = path
    (found,) = cell.watch.paths()
    between = np.linspace(2.0, 5.0, 999)
    np.testing.assert_allclose(found.at(between), path.at(between), atol=1e-6)
