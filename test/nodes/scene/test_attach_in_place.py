"""What is attached in place, detached or placed relative to a link lies where the robot is measured, as for the
planning node, and not where the state of the scene has the robot."""

import math

import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Pose
from loaded_cells import loaded
from running import DEMO
from sensor_msgs.msg import JointState

from robot_cell_planner import srv
from robot_cell_planner.errors import StaleStateError
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.msg import NamedFrame, SceneChange
from robot_cell_planner.nodes.common.node import reliable

CELL, STATE = loaded()
ARM = CELL.group().variables
TCP, BODY = "gripper/tcp", "workpiece"


class Robot:
    """Publishes joint states; each message arrives before the next request."""

    def __init__(self, client):
        self._client = client
        self._publisher = client.node.create_publisher(JointState, "joint_states", reliable(10))
        self.positions = {name: STATE.configuration[name] for name in ARM}

    def move(self, **positions):
        """Measure joints at other positions."""
        self.positions.update(positions)
        self._client.call_service(srv.WaitForState, "scene/wait_for_state", self._published(), timeout=60.0)

    def _published(self):
        stamp = self._client.node.get_clock().now().to_msg()
        message = JointState(name=list(ARM), position=list(self.positions.values()))
        message.header.stamp = stamp
        self._publisher.publish(message)
        return srv.WaitForState.Request(min_joint_stamp=stamp, joint_names=list(ARM), timeout=Duration(sec=30))

    def break_encoder(self, joint):
        """Measure a joint at NaN, and the others again, which shows that the message has arrived."""
        stamp = self._client.node.get_clock().now().to_msg()
        message = JointState(name=list(ARM), position=[*self.positions.values()])
        message.position[ARM.index(joint)] = math.nan
        message.header.stamp = stamp
        self._publisher.publish(message)
        others = [name for name in ARM if name != joint]
        request = srv.WaitForState.Request(min_joint_stamp=stamp, joint_names=others, timeout=Duration(sec=30))
        self._client.call_service(srv.WaitForState, "scene/wait_for_state", request, timeout=60.0)


@pytest.fixture(scope="module")
def robot(start_node, client):
    start_node("scene_node", cell_file=DEMO)
    client.scene()
    robot = Robot(client)
    while not client.node.count_subscribers("joint_states"):
        client.scene()
    return robot


@pytest.fixture(autouse=True)
def at_start(client, robot):
    """The body is where the cell file has it, and the robot elsewhere."""
    revision = client.scene()[1]
    robot.move(shoulder_pan_joint=-0.2, elbow_joint=1.5)
    yield
    robot.move()
    if client.scene()[1] > revision:
        steps = client.scene()[1] - revision
        client.call_service(srv.UndoChanges, "scene/undo", srv.UndoChanges.Request(steps=steps))


def place(client, frame, relative_to="world"):
    """The pose of a frame with measured joints."""
    scene, _ = client.scene(measured=True)
    found = world_pose(scene.cell, scene.state, frame)
    return found if relative_to == "world" else world_pose(scene.cell, scene.state, relative_to).inverse() @ found


def assert_same(first, second):
    distance, angle = first.distance_to(second)
    assert distance < 1e-9
    assert angle < 1e-7


def test_attaching_in_place_and_detaching_keep_the_pose_in_the_world(client, robot):
    before = place(client, BODY)
    client.attach(BODY, TCP)
    assert_same(place(client, BODY), before)
    held = place(client, BODY, TCP)
    robot.move(shoulder_pan_joint=0.9, wrist_1_joint=-1.0)
    assert_same(place(client, BODY, TCP), held)
    before = place(client, BODY)
    assert before.distance_to(place(client, "table"))[0] > 0.1
    client.detach(BODY)
    assert_same(place(client, BODY), before)
    robot.move(shoulder_pan_joint=0.0)
    assert_same(place(client, BODY), before)


def test_several_changes_at_once_have_the_same_joints(client, robot):
    before = place(client, BODY)
    grip = SceneChange(operation=SceneChange.ATTACH_IN_PLACE, name=BODY, attach_to=TCP)
    leave = SceneChange(operation=SceneChange.DETACH, name=BODY)
    client.apply(grip, leave)
    assert_same(place(client, BODY), before)


def test_a_pose_relative_to_a_link_is_relative_to_where_it_is_measured(client, robot):
    pose = Pose()
    pose.position.z = 0.25
    client.apply(SceneChange(operation=SceneChange.MOVE, name=BODY, pose=pose, relative_to=TCP))
    found = place(client, BODY, TCP)
    assert found.position == pytest.approx((0.0, 0.0, 0.25), abs=1e-9)


def test_a_tool_that_is_changed_stays_where_the_robot_has_left_it(client, robot):
    before = place(client, "gripper")
    client.apply(SceneChange(operation=SceneChange.DETACH, name="gripper"))
    assert_same(place(client, "gripper"), before)


def test_what_a_joint_with_invalid_positions_moves_is_not_attached(client, robot):
    robot.break_encoder("elbow_joint")
    with pytest.raises(StaleStateError, match="elbow_joint is at nan") as caught:
        client.attach(BODY, TCP)
    assert "elbow_joint" in caught.value.subjects
    client.attach(BODY, "table")  # it is not moved by the joint
    robot.move()
    before = place(client, BODY)
    client.attach(BODY, TCP)
    assert_same(place(client, BODY), before)


def test_a_cell_is_not_merged_at_a_link_whose_place_is_unknown(client, robot):
    request = srv.LoadCell.Request(mode=srv.LoadCell.Request.MERGE, relative_to=TCP)
    request.cell.frames = [NamedFrame(name="mark")]
    robot.break_encoder("elbow_joint")
    with pytest.raises(StaleStateError, match="elbow_joint is at nan"):
        client.call_service(srv.LoadCell, "scene/load_cell", request)
    robot.move()
    client.call_service(srv.LoadCell, "scene/load_cell", request)
    assert_same(place(client, "mark"), place(client, TCP))
