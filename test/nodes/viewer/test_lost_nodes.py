"""The page of the live viewer says which nodes have ended, and does not show their last state as the present one."""

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from moveit_requests import JOINTS
from running import DEMO
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from viewer_page import Page, object_positions, port_of

from robot_cell_planner.msg import ExecutionStatus, ServoStatus
from robot_cell_planner.nodes.common.node import LATCHED, reliable
from robot_cell_planner.nodes.viewer.statuses import EXECUTION_SHOWN, JOINTS_SHOWN, SERVO_SHOWN, SceneNode, Statuses

MOVING = ExecutionStatus(
    state=ExecutionStatus.MOVING,
    owner="me",
    speed_scale=1.0,
    reached=Duration(sec=1),
    remaining=Duration(sec=2),
)
PATH = JointTrajectory(
    joint_names=JOINTS,
    points=[JointTrajectoryPoint(positions=[0.2 * k] * len(JOINTS), time_from_start=Duration(sec=k)) for k in (0, 1)],
)


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_states_are_shown_until_their_publishers_are_silent(clock):
    statuses = Statuses(clock)
    assert statuses.rows() == {}
    assert not statuses.executes
    statuses.take_execution(MOVING)
    statuses.take_servo(ServoStatus(state=ServoStatus.FOLLOWING, scale=1.0))
    statuses.take_joints()
    shown = {
        "execution": "moving for me, speed 100 %",
        "motion": "1.0 s, 2.0 s left",
        "servo": "following, 100 % of the commanded speed",
    }
    assert statuses.rows() == shown
    assert statuses.executes
    clock.now += SERVO_SHOWN
    assert statuses.rows() == shown
    clock.now = 100.0 + max(EXECUTION_SHOWN, JOINTS_SHOWN) + 1.0
    ended = "for 4 s: its node has ended or is not reachable"
    assert statuses.rows() == {
        "execution": f"unknown, no execution/status {ended}; before: moving for me, speed 100 %",
        "joints": f"no joint_states {ended}; the last ones are shown",
    }
    assert not statuses.executes
    statuses.take_execution(ExecutionStatus(state=ExecutionStatus.IDLE, speed_scale=1.0))
    statuses.take_joints()
    assert statuses.rows() == {"execution": "idle, speed 100 %"}
    assert statuses.executes


class Monitor:
    """A server, alive or not, as `ServerMonitor` sees it."""

    node, lives = "/scene_node", True

    def begin(self):
        return self.lives

    def lost(self, ready):
        return not (ready and self.lives)


class Scene:
    has_node = False


def test_the_end_of_the_scene_node_is_shown_until_one_runs_again(clock):
    monitor, scene = Monitor(), Scene()
    node = SceneNode(monitor, scene, clock)
    assert node.rows() == {}, "none has run yet"
    clock.now += 10.0
    scene.has_node = True
    assert node.rows() == {}
    monitor.lives = False
    assert node.rows() == {"scene": "/scene_node has ended or is not reachable; its last revision is shown"}
    clock.now += 10.0
    assert node.rows(), "DDS lists it, but it has ended"
    monitor.lives = True
    clock.now += 10.0
    assert node.rows() == {}


def shows_motion(page):
    return any(name.startswith("/marks/running_motion/") for name in page.nodes)


def test_the_page_says_which_nodes_have_ended(start_node, client):
    """A publisher that falls silent is like an execution node that was killed."""
    scene = start_node("scene_node", cell_file=DEMO)
    statuses = client.node.create_publisher(ExecutionStatus, "execution/status", LATCHED)
    motions = client.node.create_publisher(JointTrajectory, "execution/trajectory", LATCHED)
    joints = client.node.create_publisher(JointState, "joint_states", reliable(1))
    with Page(port_of(start_node("viewer_node"))) as page:
        page.wait_for_text("revision")
        before = object_positions(page)
        timer = client.node.create_timer(
            0.05, lambda: joints.publish(JointState(name=["elbow_joint"], position=[-1.0]))
        )  # until the viewer has discovered the publisher
        page.wait_for(lambda page: not np.array_equal(object_positions(page), before), "measured joints")
        timer.cancel()
        statuses.publish(MOVING)
        motions.publish(PATH)
        page.wait_for_output("moving for me, speed 100 %")
        page.wait_for(
            lambda page: any(name.startswith("/marks/running_motion/") for name in page.nodes), "the running motion"
        )
        page.wait_for_text("unknown, no execution/status for")
        page.wait_for_text("no joint_states for")
        page.wait_for(
            lambda page: not any(name.startswith("/marks/running_motion/") for name in page.nodes), "no running motion"
        )
        scene.kill()
        page.wait_for_text("/scene_node has ended")
        start_node("scene_node", cell_file=DEMO)
        page.wait_for(lambda page: "/scene_node has ended" not in page.texts(), "the new scene node")
