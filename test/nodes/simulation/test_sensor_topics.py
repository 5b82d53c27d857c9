"""Topics of simulated sensors, as a subscriber receives them."""

import threading

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from loaded_cells import loaded
from running import DEMO, RunningNode
from sensor_msgs.msg import CameraInfo, Image, JointState, PointCloud2
from std_msgs.msg import String

from robot_cell_planner.io.cell_file.simulation_section import load_simulated_robot
from robot_cell_planner.kinematics.dynamics import Dynamics
from robot_cell_planner.nodes.common.node import LATCHED, sensor
from robot_cell_planner.nodes.conversions.basic import time_from_message

TIMEOUT = 120.0
CAMERA = "above_pick"
TOPICS = {
    f"{CAMERA}/image_raw": Image,
    f"{CAMERA}/depth_image": Image,
    f"{CAMERA}/segmentation_image": Image,
    f"{CAMERA}/camera_info": CameraInfo,
    f"{CAMERA}/points": PointCloud2,
    f"{CAMERA}/segmentation_names": String,
    "wrist/wrench": WrenchStamped,
    "joint_torques/joint_torques": JointState,
}


class Received:
    """Messages by topic."""

    def __init__(self, node, namespace=""):
        self._changed = threading.Condition()
        self.messages = {topic: [] for topic in TOPICS}
        for topic, kind in TOPICS.items():
            quality = LATCHED if kind is String else sensor(10)
            node.create_subscription(
                kind, f"{namespace}sensors/{topic}", lambda m, topic=topic: self._keep(topic, m), quality
            )

    def _keep(self, topic, message):
        with self._changed:
            self.messages[topic].append(message)
            self._changed.notify_all()

    def wait(self, condition, what):
        with self._changed:
            assert self._changed.wait_for(condition, TIMEOUT), f"no {what} within {TIMEOUT} s"

    def several(self, topic):
        """At least three messages of a topic."""
        self.wait(lambda: len(self.messages[topic]) >= 3, topic)
        return self.messages[topic]


@pytest.fixture(scope="module")
def node(start_node):
    return start_node("simulated_robot_node", cell_file=DEMO, sensors=["*"])


@pytest.fixture(scope="module")
def received(node, client):
    return Received(client.node)


def at_one_moment(received):
    """Images of one moment, of all kinds."""
    topics = [topic for topic, kind in TOPICS.items() if kind in (Image, PointCloud2, CameraInfo)]

    def moments():
        stamps = [{time_from_message(m.header.stamp) for m in received.messages[topic]} for topic in topics]
        # A stamp is derived from the clock for each message; within a frame they are equal.
        return set.intersection(*stamps)

    received.wait(moments, "images of one moment")
    moment = moments().pop()
    return {
        topic.partition("/")[2]: next(
            m for m in received.messages[topic] if time_from_message(m.header.stamp) == moment
        )
        for topic in topics
    }


def test_images_have_the_objects_at_their_distances(received):
    found = at_one_moment(received)
    camera = load_simulated_robot(DEMO).sensors[CAMERA]
    shape = (camera.height, camera.width)
    received.wait(lambda: received.messages[f"{CAMERA}/segmentation_names"], "names")
    names = received.messages[f"{CAMERA}/segmentation_names"][0].data.splitlines()
    for message in found.values():
        assert message.header.frame_id == camera.frame
        assert (message.height, message.width) == shape
    encodings = [found[kind].encoding for kind in ("image_raw", "depth_image", "segmentation_image")]
    assert encodings == ["rgb8", "32FC1", "32SC1"]
    rgb = np.frombuffer(found["image_raw"].data, np.uint8).reshape(*shape, 3)
    depth = np.frombuffer(found["depth_image"].data, np.float32).reshape(shape)
    objects = np.frombuffer(found["segmentation_image"].data, np.int32).reshape(shape)
    workpiece = objects == names.index("workpiece")
    # The camera is 0.18 m above the middle of the workpiece, a cube of 0.05 m.
    assert workpiece[shape[0] // 2, shape[1] // 2]
    red, green, blue = np.median(rgb[workpiece], axis=0)
    assert red > 1.5 * green
    assert red > 1.5 * blue
    assert np.median(depth[workpiece]) == pytest.approx(0.18 - 0.025, abs=0.005)
    assert np.median(depth[objects == names.index("table")]) == pytest.approx(0.18 + 0.025, abs=0.005)


def test_the_calibration_projects_points_of_the_cloud_to_their_pixels(received):
    found = at_one_moment(received)
    cloud, info = found["points"], found["camera_info"]
    points = np.frombuffer(cloud.data, np.float32).reshape(cloud.height, cloud.width, 4)[:, :, :3]
    projection = np.array(info.p).reshape(3, 4)
    rows, columns = np.indices(points.shape[:2])
    seen = np.isfinite(points).all(axis=2)
    assert seen.any()
    projected = points[seen] @ projection[:, :3].T
    assert projected[:, 0] / projected[:, 2] == pytest.approx(columns[seen], abs=1e-2)
    assert projected[:, 1] / projected[:, 2] == pytest.approx(rows[seen], abs=1e-2)


def test_forces_and_torques_are_those_of_gravity(received):
    cell, state = loaded()
    wrench = received.several("wrist/wrench")[-1]
    assert wrench.header.frame_id == "gripper"
    force = wrench.wrench.force
    mass = sum(link.inertial.mass for link in cell.tools["gripper"].mechanism.links.values() if link.inertial)
    assert np.linalg.norm((force.x, force.y, force.z)) == pytest.approx(mass * 9.81, rel=1e-2)
    torques = received.several("joint_torques/joint_torques")[-1]
    dynamics = Dynamics(cell, state)
    values = {**state.configuration, "gripper/finger_joint": state.tools["gripper"].configuration["finger_joint"]}
    q = np.array([values[name] for name in dynamics.variables])
    expected = dict(zip(dynamics.variables, dynamics.gravity(q).tolist(), strict=True))
    assert set(torques.name) == set(state.configuration)
    for name, value in zip(torques.name, torques.effort, strict=True):
        assert value == pytest.approx(expected[name], abs=0.1)


def test_frames_have_the_prefix_of_frames_in_tf(start_node, client):
    node = start_node(
        "simulated_robot_node", namespace="prefixed", cell_file=DEMO, sensors=["*"], frame_prefix="cell1/"
    )
    received = Received(client.node, "/prefixed/")
    found = {f"{CAMERA}/{topic}": message for topic, message in at_one_moment(received).items()}
    found["wrist/wrench"] = received.several("wrist/wrench")[-1]
    sensors = load_simulated_robot(DEMO).sensors
    assert len(found) == 6
    for topic, message in found.items():
        assert message.header.frame_id == "cell1/" + sensors[topic.partition("/")[0]].frame, topic
    node.stop()


def test_no_sensor_is_published_unless_requested(start_node, client):
    start_node("simulated_robot_node", namespace="quiet", cell_file=DEMO)
    received_any = threading.Event()
    client.node.create_subscription(JointState, "/quiet/joint_states", lambda _: received_any.set(), sensor(1))
    assert received_any.wait(TIMEOUT)
    names = [name for name, _ in client.node.get_topic_names_and_types()]
    assert not [name for name in names if name.startswith("/quiet/sensors/")]


def test_a_sensor_that_does_not_exist_is_refused(domain):
    node = RunningNode("simulated_robot_node", domain, namespace="wrong", cell_file=DEMO, sensors=["wrst"])
    try:
        assert node.process.wait(TIMEOUT) != 0
    finally:
        node.stop()
    assert "sensor 'wrst'" in node.output
    assert "wrist" in node.output
