"""Topics of single robots: joints of a tool have their full names there, also those of the only gripper."""

import threading
from pathlib import Path

import pytest
from sensor_msgs.msg import JointState

from robot_cell_planner.nodes.common.node import sensor

URDF = Path(__file__).parents[3] / "urdf"
GRIPPER = f"{{urdf: {URDF}/gripper.urdf.xacro, limits: {URDF}/gripper_limits.yaml, attached_to: left/manipulator}}"
CELL = """format: robot_cell/1
robots:
  left: {{urdf: {urdf}/arm.urdf.xacro, srdf: {srdf}, prefix: left/}}
tools:
  {tool}: {gripper}
"""
ARM = {f"{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")}


@pytest.mark.parametrize("tool", ["hand", "left/hand"])
def test_the_joints_of_the_only_gripper_are_on_the_topic_of_its_robot(tool, start_node, client, tmp_path):
    file = tmp_path / "cell.yaml"
    file.write_text(
        CELL.format(urdf=URDF, srdf=URDF.parent / "config" / "demo" / "arm.srdf", tool=tool, gripper=GRIPPER)
    )
    found, received = {}, threading.Event()

    def take(topic, message):
        found.setdefault(topic, set()).update(message.name)
        received.set()

    subscriptions = [
        client.node.create_subscription(JointState, topic, lambda m, topic=topic: take(topic, m), sensor(10))
        for topic in ("left/joint_states", "joint_states")
    ]
    node = start_node(
        "simulated_robot_node", cell_file=file, robot_topics="[left/]", resource_folders=f"[{URDF.parent}]"
    )
    assert received.wait(120.0)
    assert found == {"left/joint_states": ARM | {f"{tool}/finger_joint", f"{tool}/right_finger_joint"}}
    node.stop()
    for subscription in subscriptions:
        client.node.destroy_subscription(subscription)
