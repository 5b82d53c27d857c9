"""The doctor reports incompatibilities in a graph, and none in a consistent graph."""

import json
import threading
from functools import partial

import pytest
import rclpy
import rclpy.executors
import rclpy.subscription
from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from robot_cell_planner.commands.main import main
from robot_cell_planner.nodes.common.node import LATCHED, reliable, sensor
from robot_cell_planner.nodes.doctor.graph import Endpoint, Graph, Source, graph_findings

JOINTS, CLOCK_TYPE = "sensor_msgs/msg/JointState", "rosgraph_msgs/msg/Clock"
NODES = ("/scene_node", "/execution_node", "/robot")
COMMANDS, STATES = "/joint_commands", "/joint_states"


def endpoint(node, topic, publishes, qos=None, kind=JOINTS):
    return Endpoint(topic, kind, node, publishes, qos or reliable(10))


SOUND = (
    endpoint("/execution_node", COMMANDS, True),
    endpoint("/robot", COMMANDS, False),
    endpoint("/robot", STATES, True),
    endpoint("/scene_node", STATES, False, sensor(10)),
)


def source(node, *joints, topic=STATES, first=0.0, last=3.0):
    return Source(topic, node, frozenset(joints), first, last)


def texts(graph):
    return [f"{finding.level} {finding.topic}: {finding.text}" for finding in graph_findings(graph)]


def test_a_consistent_graph_has_no_finding():
    assert texts(Graph(NODES, SOUND, ((STATES, -0.02),))) == []


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"nodes": (*NODES, "/scene_node")}, "error nodes: 2 nodes have the name /scene_node"),
        ({"nodes": ("/robot",)}, "warning nodes: no node of a cell runs in this domain"),
        ({"nodes": NODES[1:]}, "error nodes: namespace / has nodes of a cell and no scene_node"),
        ({"added": [endpoint("/teleop", COMMANDS, True)]}, "error commands: 2 publishers send commands on /joint_comm"),
        (
            {"added": [endpoint("/log", STATES, False, LATCHED)]},
            "error quality of service: /log receives nothing of /r",
        ),
        ({"added": [endpoint("/log", STATES, False, kind="std_msgs/msg/String")]}, "error types: /joint_states has 2"),
        ({"added": [endpoint("/scene_node", "/clock", False, kind=CLOCK_TYPE)]}, "no node publishes /clock"),
        ({"added": [endpoint("/scene_node", "/clock", False, kind=CLOCK_TYPE)]}, "and /execution_node do not"),
        ({"added": [endpoint(f"/gz{i}", "/clock", True, kind=CLOCK_TYPE) for i in (1, 2)]}, "2 nodes publish /clock"),
        ({"stamp_offsets": ((STATES, -3600.0),)}, "the stamps of /joint_states are 3600.0 s behind the clock"),
        ({"endpoints": SOUND[3:]}, "warning joint states: no node publishes /joint_states; subscribers: /scene_node"),
        ({"statuses": (("planning", "no cell"),)}, "warning diagnostics: planning: no cell"),
    ],
)
def test_each_mistake_is_found(changes, expected):
    endpoints = changes.pop("endpoints", SOUND) + tuple(changes.pop("added", ()))
    found = texts(Graph(**{"nodes": NODES, "endpoints": endpoints, **changes}))
    assert any(expected in text for text in found), found


def test_publishers_of_one_joint_are_reported_by_joint():
    """The two of elbow and wrist, and three of the finger; a publisher of other joints is none of them."""
    publishers = (
        source("/driver", "elbow", "wrist", "finger"),
        source("/simulated_robot", "elbow", "wrist", "finger"),
        source("/gripper", "finger"),
        source("/conveyor", "belt"),
    )
    assert texts(Graph(NODES, SOUND, joints=publishers)) == [
        "error joint states: 3 publishers send positions of joint finger on /joint_states: "
        "/driver, /gripper, /simulated_robot",
        "error joint states: 2 publishers send positions of joints elbow, wrist on /joint_states: "
        "/driver, /simulated_robot",
    ]


@pytest.mark.parametrize(
    "publishers",
    [
        (source("/arm", "elbow"), source("/gripper", "finger")),
        (source("/arm", "elbow"), source("/cell2/arm", "elbow", topic="/cell2/joint_states")),
        (source("/arm", "elbow", last=1.0), source("/arm", "elbow", first=1.5)),  # a driver that was started again
    ],
)
def test_publishers_of_different_joints_topics_or_times_are_no_finding(publishers):
    assert texts(Graph(NODES, SOUND, joints=publishers)) == []


def test_publishers_of_one_frame_are_reported_by_frame():
    """As of two cells without prefixes, or of a robot_state_publisher beside the scene node."""
    frames = (
        source("/scene_node", "base", "elbow", topic="/tf"),
        source("/robot_state_publisher", "base", "elbow", "camera", topic="/tf"),
        source("/camera", "camera_lens", topic="/tf"),
    )
    expected = "warning frames: 2 publishers send transforms of frames base, elbow on /tf: "
    assert texts(Graph(NODES, SOUND, frames=frames)) == [f"{expected}/robot_state_publisher, /scene_node"]


@pytest.mark.skipif(not hasattr(rclpy.subscription, "MessageInfo"), reason="this rclpy names no publishers of messages")
@pytest.mark.parametrize("topics", [("/tf_static", "/tf_static"), ("/tf", "/tf_static")])
def test_the_command_names_the_publishers_of_a_frame(domain, capsys, topics):
    context = rclpy.Context()
    rclpy.init(context=context)
    nodes = [rclpy.create_node(f"{name}_{topics[0][1:]}", context=context) for name in ("one", "two")]
    for node, topic in zip(nodes, topics, strict=True):
        message = TFMessage(transforms=[TransformStamped(child_frame_id=name) for name in ("base", node.get_name())])
        publisher = node.create_publisher(TFMessage, topic, LATCHED)
        publisher.publish(message)
        node.create_timer(0.05, partial(publisher.publish, message))
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    for node, topic in zip(nodes, topics, strict=True):
        if topic == "/tf":
            executor.add_node(node)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    text = f"2 publishers send transforms of frame base on /tf: /{nodes[0].get_name()}, /{nodes[1].get_name()}"
    try:
        for _ in range(30):  # until discovery has ended
            main(["doctor", "--wait", "1", "--json"])
            findings = json.loads(capsys.readouterr().out)["findings"]
            found = [finding["text"] for finding in findings if finding["topic"] == "frames"]
            if found == [text]:
                break
        assert found == [text]
    finally:
        executor.shutdown()
        thread.join()
        for node in nodes:
            node.destroy_node()
        rclpy.shutdown(context=context)


@pytest.mark.skipif(not hasattr(rclpy.subscription, "MessageInfo"), reason="this rclpy names no publishers of messages")
def test_the_command_names_the_publishers_of_a_joint(domain, capsys):
    """Two drivers, one of which publishes a further joint, and one that publishes only efforts."""
    context = rclpy.Context()
    rclpy.init(context=context)
    names = {"driver": ["elbow", "wrist"], "player": ["elbow", "finger"], "efforts": ["elbow"]}
    nodes = {name: rclpy.create_node(name, context=context, namespace="left") for name in names}
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    for name, joints in names.items():
        message = JointState(name=joints)
        message.position, message.effort = ([], [1.0]) if name == "efforts" else ([0.5] * 2, [])
        publisher = nodes[name].create_publisher(JointState, "joint_states", sensor(10))
        nodes[name].create_timer(0.02, partial(publisher.publish, message))
        executor.add_node(nodes[name])
    thread = threading.Thread(target=executor.spin)
    thread.start()
    text = "2 publishers send positions of joint elbow on /left/joint_states: /left/driver, /left/player"
    try:
        for _ in range(30):  # until discovery has ended
            status = main(["doctor", "--wait", "1", "--json"])
            findings = json.loads(capsys.readouterr().out)["findings"]
            found = [finding["text"] for finding in findings if finding["topic"] == "joint states"]
            if found == [text]:
                break
        assert (status, found) == (1, [text])
    finally:
        executor.shutdown()
        thread.join()
        for node in nodes.values():
            node.destroy_node()
        rclpy.shutdown(context=context)


def test_the_command_examines_the_graph_of_its_domain(domain, capsys):
    """A best-effort publisher and a reliable subscription, and two publishers of commands."""
    context = rclpy.Context()
    rclpy.init(context=context)
    names = ("scene_node", "execution_node", "teleop")
    nodes = {name: rclpy.create_node(name, context=context) for name in names}
    best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE)
    for name in names[1:]:
        nodes[name].create_publisher(JointState, "joint_commands", reliable(1))
    nodes["teleop"].create_publisher(String, "words", best_effort)
    nodes["scene_node"].create_subscription(String, "words", print, reliable(1))
    expected = ("/scene_node receives nothing of /teleop on /words", "2 publishers send commands on /joint_commands")
    try:
        for _ in range(30):  # until discovery has ended
            status = main(["doctor", "--wait", "1", "--json"])
            answer = json.loads(capsys.readouterr().out)
            found = [finding["text"] for finding in answer["findings"] if finding["level"] == "error"]
            if all(any(text in each for each in found) for text in expected):
                break
        assert status == 1
        assert all(any(text in each for each in found) for text in expected), found
        assert set(answer["nodes"]) == {"/scene_node", "/execution_node", "/teleop"}
        assert answer["environment"]["ROS_DOMAIN_ID"] == str(domain)
    finally:
        for node in nodes.values():
            node.destroy_node()
        rclpy.shutdown(context=context)


def test_security_that_no_node_can_have_is_a_finding(domain, tmp_path, monkeypatch, capsys):
    """A keystore without an enclave for it, or a DDS library without security."""
    (tmp_path / "enclaves").mkdir()
    security = {"ENABLE": "true", "STRATEGY": "Enforce", "KEYSTORE": str(tmp_path)}
    for name, value in security.items():
        monkeypatch.setenv(f"ROS_SECURITY_{name}", value)
    assert main(["doctor", "--wait", "1", "--json"]) == 1
    errors = [found for found in json.loads(capsys.readouterr().out)["findings"] if found["level"] == "error"]
    assert [found["topic"] for found in errors] == ["security"]
    assert "no node can take part in a domain with security" in errors[0]["text"]
    assert "\n" not in errors[0]["text"]
