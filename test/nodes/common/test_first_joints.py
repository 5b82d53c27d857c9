"""A node that has just started does not reply with the stored joints before it has received measured ones."""

import math
import threading
from contextlib import suppress

import pytest
from loaded_cells import loaded
from running import DEMO
from sensor_msgs.msg import JointState

from robot_cell_planner import srv
from robot_cell_planner.errors import StaleStateError
from robot_cell_planner.msg import StateRef
from robot_cell_planner.nodes.client.client import state_with_joints
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.nodes.conversions.basic import duration_to_message

CELL, STATE = loaded()
JOINTS = {joint: STATE.configuration[joint] for joint in CELL.variables}
LISTENERS = 2  # scene and collision node


@pytest.fixture(scope="module")
def publisher(client, start_node):
    """A publisher of joint states that has not published any."""
    publisher = client.node.create_publisher(JointState, "joint_states", reliable(10))
    start_node("scene_node", cell_file=DEMO)
    start_node("collision_node")
    client.scene()
    while publisher.get_subscription_count() < LISTENERS:
        threading.Event().wait(0.05)
    return publisher


def check(client, state):
    state.timeout = duration_to_message(2.0)
    return client.call_service(srv.CheckStates, "collision/check_states", srv.CheckStates.Request(state=state))


def checked(client, attempts=60):
    """Repeat a check that fails while a busy computer delays the messages."""
    for _ in range(attempts):
        with suppress(StaleStateError):
            return check(client, StateRef())
    raise AssertionError("no joints were received")


def test_the_first_joints_are_waited_for(client, publisher):
    with pytest.raises(StaleStateError, match=r"joint_states has a publisher.* within 2 s"):
        check(client, StateRef())
    publisher.publish(JointState(name=list(JOINTS), position=[math.nan] * len(JOINTS)))
    with pytest.raises(StaleStateError, match=r"no valid position.* within 2 s; .* rejected: .*elbow_joint is at nan"):
        check(client, StateRef())
    assert check(client, state_with_joints(JOINTS)).state.joint_stamp.sec == 0, "no measured joint is needed"
    waits = threading.Event()

    def publish():
        while not waits.wait(0.05):
            publisher.publish(JointState(name=list(JOINTS), position=[float(value) for value in JOINTS.values()]))

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        assert checked(client).state.joint_stamp.sec > 0
    finally:
        waits.set()
        thread.join()


def test_a_node_waits_for_joints_that_the_scene_node_has_measured(client, publisher, start_node):
    """Whether or not it has discovered their publisher: here the publisher no longer exists."""
    message = JointState(name=list(JOINTS), position=[float(value) for value in JOINTS.values()])
    while not client.call_service(
        srv.GetCell, "scene/get_cell", srv.GetCell.Request(), retries=5
    ).scene.state.measured.joint_names:
        publisher.publish(message)
    client.node.destroy_publisher(publisher)
    start_node("kinematics_node")
    request = srv.ForwardKinematics.Request(state=StateRef(timeout=duration_to_message(2.0)))
    with pytest.raises(StaleStateError, match=r"the scene node has received joint_states with .*elbow.* within 2 s"):
        client.call_service(srv.ForwardKinematics, "kinematics/forward_kinematics", request)
