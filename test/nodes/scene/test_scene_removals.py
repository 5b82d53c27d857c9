"""Frames are published correctly after tools, bodies and robots are removed; an empty cell is refused."""

import threading

import pytest
from loaded_cells import loaded
from running import DEMO
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from robot_cell_planner import srv
from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.msg import SceneChange
from robot_cell_planner.nodes.client.client import CellClient
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.nodes.conversions.basic import time_from_message

CELL, STATE = loaded()
JOINTS = list(CELL.variables)


@pytest.fixture(scope="module")
def scene(start_node, client: CellClient):
    node = start_node("scene_node", cell_file=DEMO, tf_rate=500.0, view_rate=0.5)
    start_node("kinematics_node")
    client.scene()
    return node


@pytest.fixture
def loaded(client, scene):
    reload(client)
    yield
    assert scene.process.poll() is None, scene.output
    assert "Traceback" not in scene.output, scene.output
    assert "failed" not in scene.output, scene.output


def reload(client):
    client.call_service(srv.LoadCell, "scene/load_cell", srv.LoadCell.Request(uri=str(DEMO)))


def remove(client, *names):
    changes = [SceneChange(operation=SceneChange.REMOVE, name=name) for name in names]
    return client.call_service(srv.ApplyChanges, "scene/apply_changes", srv.ApplyChanges.Request(changes=changes))


class Frames:
    """Publishes joint states, and retains the children of the latest /tf."""

    def __init__(self, client):
        self.children, self.stamp = set(), 0
        self.arrived = threading.Condition()
        self._publisher = client.node.create_publisher(JointState, "joint_states", reliable(10))
        self._subscription = client.node.create_subscription(TFMessage, "/tf", self._listen, reliable(100))
        self._client = client

    def _listen(self, message):
        with self.arrived:
            self.children = {transform.child_frame_id for transform in message.transforms}
            self.stamp = max((time_from_message(each.header.stamp) for each in message.transforms), default=0)
            self.arrived.notify_all()

    def now(self):
        """Children of /tf of a later time than now."""
        now = self._client.node.get_clock().now
        begin = now().nanoseconds
        with self.arrived:
            while self.stamp <= begin:
                joints = JointState(name=JOINTS, position=[STATE.configuration[name] for name in JOINTS])
                joints.header.stamp = now().to_msg()
                self._publisher.publish(joints)
                self.arrived.wait(0.02)
            return set(self.children)


@pytest.fixture(scope="module")
def frames(client, scene):
    return Frames(client)


def test_frames_of_a_removed_tool_disappear(loaded, frames, client):
    assert "gripper/left_finger" in frames.now()
    remove(client, "gripper")
    children = frames.now()
    assert children
    assert not any(child.startswith("gripper") for child in children)
    client.call_service(srv.UndoChanges, "scene/undo", srv.UndoChanges.Request())
    assert "gripper/left_finger" in frames.now()


def test_everything_may_be_removed(loaded, frames, client):
    frames.now()
    reply = client.call_service(srv.GetCell, "scene/get_cell", srv.GetCell.Request())
    cell = reply.scene.cell
    attached = {body.name for body in reply.scene.state.state.bodies if body.attached_to}
    bodies = sorted((body.name for body in cell.bodies), key=lambda name: name not in attached)
    remove(client, *(frame.name for frame in reversed(cell.frames)), *bodies, "gripper")
    remove(client, *(robot.name for robot in cell.robots))
    client.call_service(srv.GetState, "scene/get_state", srv.GetState.Request())
    reload(client)
    assert "gripper/left_finger" in frames.now()


def test_an_empty_cell_is_refused(loaded, client):
    for mode in (srv.LoadCell.Request.REPLACE, srv.LoadCell.Request.MERGE):
        with pytest.raises(InvalidRequestError, match="either `uri` or a non-empty `cell` is required"):
            client.call_service(srv.LoadCell, "scene/load_cell", srv.LoadCell.Request(mode=mode))
    reply = client.call_service(srv.GetCell, "scene/get_cell", srv.GetCell.Request())
    assert [robot.name for robot in reply.scene.cell.robots] == list(CELL.robots)


@pytest.mark.parametrize("name", ["arm", "bin"])
def test_a_parent_of_others_is_not_removed(loaded, client, name):
    with pytest.raises(InvalidRequestError, match="is the parent of"):
        remove(client, name)
