"""Garbage on `joint_states`, as fast as controllers publish: no node ends, all of it is counted and reported."""

import math
import threading

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from loaded_cells import loaded
from running import DEMO
from sensor_msgs.msg import JointState

from robot_cell_planner import srv
from robot_cell_planner.nodes.common.node import reliable

CELL, STATE = loaded()
JOINTS = list(CELL.variables)
NODES = ("scene", "kinematics", "collision", "planning")
GARBAGE = [-1e308, 1e308, math.nan, math.inf, -math.inf, 1e16, 5e-324, 1e6, -1e6]
MESSAGES = 500


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client):
    found = [start_node("scene_node", cell_file=DEMO, diagnostics_period=0.2)]
    found.append(start_node("kinematics_node", diagnostics_period=0.2))
    found.append(start_node("planning_node", diagnostics_period=0.2))
    found.append(start_node("collision_node", contacts_period=0.02, diagnostics_period=0.2))
    client.scene()
    client.call_service(srv.CheckStates, "collision/check_states", srv.CheckStates.Request())
    client.call_service(srv.ListPlanners, "planning/list_planners", srv.ListPlanners.Request())
    return found


def messages():
    for index in range(MESSAGES):
        values = [GARBAGE[(index + offset) % len(GARBAGE)] for offset in range(len(JOINTS))]
        yield JointState(name=JOINTS, position=values, velocity=values, effort=values)
    yield JointState(name=JOINTS, position=[-1e308] * len(JOINTS))
    yield JointState(name=JOINTS, position=[0.0])
    yield JointState(name=["x" * 10**6] * 5, position=[0.0] * 5)
    yield JointState(name=[JOINTS[0]] * 1000, position=[math.nan] * 1000)


def test_garbage_is_counted_and_reported(nodes, client):
    counts, all_counted = {}, threading.Event()

    def listen(message):
        for status in message.status:
            values = {entry.key: entry.value for entry in status.values}
            counts[status.name] = int(values.get("joint values skipped", 0))
        if all(counts.get(name, 0) > 1000 for name in NODES):
            all_counted.set()

    client.node.create_subscription(DiagnosticArray, "/diagnostics", listen, reliable(100))
    publisher = client.node.create_publisher(JointState, "joint_states", reliable(100))
    attack = list(messages())
    while not all_counted.wait(1e-3):
        publisher.publish(attack[counts.setdefault("sent", 0) % len(attack)])
        counts["sent"] += 1
        assert counts["sent"] < 60_000, counts
    good = JointState(name=JOINTS, position=[STATE.configuration[name] for name in JOINTS])
    good.header.stamp = client.node.get_clock().now().to_msg()
    publisher.publish(good)
    reply = client.call_service(srv.ForwardKinematics, "kinematics/forward_kinematics", srv.ForwardKinematics.Request())
    assert all(math.isfinite(value) for pose in reply.poses for value in (pose.position.x, pose.orientation.w))
    client.call_service(srv.CheckStates, "collision/check_states", srv.CheckStates.Request())
    client.call_service(srv.ListPlanners, "planning/list_planners", srv.ListPlanners.Request())
    for node in nodes:
        assert node.process.poll() is None, node.output
        assert "Traceback" not in node.output, node.output
        assert "values skipped so far" in node.output
        assert len(node.output) < 100_000
