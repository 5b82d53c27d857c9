"""`robot_cell replay`: the library and other nodes reply to the requests of a bag as before; differences are named."""

import contextlib
import json
import os
import signal
import subprocess
import threading

import pytest
from bag_recorder import BagRecorder
from geometry_msgs.msg import Point, Pose
from loaded_cells import loaded
from rclpy.action import ActionServer
from rclpy.serialization import deserialize_message, serialize_message
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from running import DEMO, RunningNode
from sensor_msgs.msg import JointState
from service_msgs.msg import ServiceEventInfo

from robot_cell_planner import action, srv
from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.msg import PlanningOptions, SceneChange, StateRef, TimingOptions
from robot_cell_planner.nodes.client.client import make_pose_target
from robot_cell_planner.nodes.common.domain import reserve_domain
from robot_cell_planner.nodes.conversions.basic import configuration_to_message, time_to_message
from robot_cell_planner.nodes.recording.recorder import class_of

pytestmark = pytest.mark.skipif(
    not hasattr(ActionServer, "configure_introspection"), reason="this rclpy does not publish the requests of actions"
)
_, STATE = loaded()
LAST = "planning/validate_trajectory"
GOALS = "/planning/plan_motion/_action/send_goal/_service_event"
RESULTS = "/planning/plan_motion/_action/get_result/_service_event"
CHANGES = 5  # requests to scene/apply_changes
SECOND = 1_000_000_000  # [ns]
HERE = Pose(position=Point(z=0.1))
JOINTS = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint")


def replayed(folder, *words, **environment):
    """Exit status, standard output, standard error."""
    command = ["robot_cell", "replay", str(folder), *words]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env={**os.environ, **environment}
    )
    return done.returncode, done.stdout, done.stderr


def measure(client, publisher, offset):
    """Publish joints, and return a reference to a state with them."""
    now = client.node.get_clock().now().nanoseconds
    message = JointState(name=list(JOINTS), position=[STATE.configuration[name] + offset for name in JOINTS])
    message.header.stamp = time_to_message(now)
    publisher.publish(message)
    return StateRef(min_joint_stamp=message.header.stamp)


def send_requests(client, publisher):
    """Requests of several kinds, from a measured state; some fail."""
    options, timing = PlanningOptions(seed=3), TimingOptions(method=TimingOptions.SMOOTH)
    plan = client.plan_motion("home", start=measure(client, publisher, 0.02), options=options, timing=timing)
    client.apply(SceneChange(operation=SceneChange.HIDE, name="post"))
    client.attach("workpiece", "gripper/tcp")  # where the robot is measured, which other nodes do not know
    client.apply(SceneChange(operation=SceneChange.MOVE, name="place", pose=HERE, relative_to="gripper/tcp"))
    client.detach("workpiece")
    client.wait_until_ready()  # plans without certificates are not repeated
    far = make_pose_target()
    far.pose.position.x = 9.0
    with pytest.raises(RobotCellError):
        client.plan_motion(far, start=measure(client, publisher, 0.03), options=options)
    with pytest.raises(RobotCellError):
        client.apply(SceneChange(operation=SceneChange.HIDE, name="nothing"))
    own = measure(client, publisher, 0.01)
    own.configuration = configuration_to_message({"elbow_joint": STATE.configuration["elbow_joint"] - 0.03})
    client.plan_cartesian(make_pose_target("above_pick"), start=own, seed=1)
    changed = measure(client, publisher, 0.05)
    changed.changes = [SceneChange(operation=SceneChange.SHOW, name="post")]
    goal = action.PlanMultistep.Goal(start=changed)
    goal.steps = []
    with pytest.raises(RobotCellError):
        client.send_goal(action.PlanMultistep, "planning/plan_multistep", goal)
    request = srv.ValidateTrajectory.Request(state=measure(client, publisher, 0.02), trajectory=plan.trajectory)
    client.call_service(srv.ValidateTrajectory, LAST, request)


@pytest.fixture(scope="module")
def bag(start_node, client, domain, tmp_path_factory):
    """The record of some requests."""
    folder = tmp_path_factory.mktemp("record") / "bag"
    for name, parameters in (("scene_node", {"cell_file": DEMO}), ("planning_node", {})):
        start_node(name, service_introspection="contents", **parameters)
    publisher = client.node.create_publisher(JointState, "joint_states", 10)
    client.wait_until_ready()
    recorder = BagRecorder(folder, domain)
    events = [name for name, _ in client.node.get_topic_names_and_types() if name.endswith("/_service_event")]
    assert {GOALS, RESULTS} <= set(events)
    recorder.wait_until_subscribed(client, *events, "joint_states")
    answered = threading.Event()

    def take(event):
        if event.info.event_type == ServiceEventInfo.RESPONSE_SENT:
            answered.set()

    client.node.create_subscription(srv.ValidateTrajectory.Event, f"{LAST}/_service_event", take, 10)
    send_requests(client, publisher)
    assert answered.wait(60.0)
    status, _, err = recorder.finish(signal.SIGINT)
    assert status == 0, err
    return folder


EXPECTED = {"planning/plan_motion": 2, "planning/plan_cartesian": 1, LAST: 1}


def test_the_library_gives_the_same_replies(bag):
    status, out, err = replayed(bag, "--offline", "--json", ROS_DOMAIN_ID="")
    found = json.loads(out)
    assert (status, found["differences"]) == (0, []), err
    assert found["repeated"] == EXPECTED
    assert found["skipped"]["scene/apply_changes"] == [CHANGES, "it is only repeated with running nodes"]
    assert found["unanswered"] == 0


def test_the_record_of_a_killed_recorder_is_replayed_with_a_warning(bag, tmp_path):
    """Its file lacks the index and the metadata, and ends within a record."""
    copy = tmp_path / "killed"
    copy.mkdir()
    with Reader(bag) as reader:
        end = reader.storage.storages[0].data_end
    content = (bag / "bag.mcap").read_bytes()
    (copy / "killed.mcap").write_bytes(content[: end - 1])
    status, out, err = replayed(copy, "--offline", "--json", ROS_DOMAIN_ID="")
    found = json.loads(out)
    assert (status, found["differences"], found["repeated"]) == (0, [], EXPECTED), err
    (warning,) = found["warnings"]
    assert f"{copy / 'killed.mcap'} was not finished" in warning
    assert f"warning {warning}\n" in err


def test_new_nodes_give_the_same_replies(bag):
    with contextlib.ExitStack() as ending:
        reserved = reserve_domain()
        ending.callback(reserved.close)
        for name, parameters in (("scene_node", {"cell_file": DEMO}), ("planning_node", {})):
            ending.callback(RunningNode(name, reserved.number, **parameters).stop)
        words = "--domain-id", str(reserved.number)
        status, _, err = replayed(bag, *words, "--namespace", "cell9", "--timeout", "3")
        assert status == 1
        assert "scene/get_cell did not appear within 3 s" in err
        assert "Cells run in namespace /. Searched in namespace /cell9" in err
        status, out, err = replayed(bag, *words, "--timeout", "60")
        assert status == 0, err
        assert "no difference but times" in out
        for name, count in {**EXPECTED, "scene/apply_changes": CHANGES}.items():
            assert f"{count:6}  {name}\n" in out


def copied(folder, target, change, renamed=lambda topic: topic):
    """Copy a bag; change: returns the time and content of each message from its connection, time and content. renamed:
    returns the name of each topic in the copy."""
    with Reader(folder) as reader, Writer(target, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connections = {
            each.id: writer.add_connection(
                renamed(each.topic), each.msgtype, msgdef=each.msgdef.data, rihs01=each.digest,
                offered_qos_profiles=each.ext.offered_qos_profiles,
            )
            for each in reader.connections
        }  # fmt: skip
        for connection, time, data in reader.messages():
            writer.write(connections[connection.id], *change(connection, time, bytes(data)))


class FirstPathAltered:
    """Moves the first plan's second waypoint by 1 mrad."""

    def __init__(self):
        self.done = False

    def __call__(self, connection, time, content):
        if connection.topic == RESULTS and not self.done:
            event = deserialize_message(content, class_of(connection.msgtype))
            if event.response and event.response[0].result.plan.path.positions:
                event.response[0].result.plan.path.positions[6] += 1e-3
                content, self.done = serialize_message(event), True
        return time, content


def test_a_difference_is_named_with_its_place(bag, tmp_path):
    change = FirstPathAltered()
    copied(bag, tmp_path / "bag", change)
    assert change.done
    status, out, err = replayed(tmp_path / "bag", "--offline")
    assert status == 1
    assert "planning/plan_motion: plan.path.positions[6] was " in err
    assert "4 replies, 1 differ" in out


@pytest.mark.parametrize("late", [GOALS, "/scene/updates", "/scene/snapshot"])
def test_topics_that_are_recorded_late_change_nothing(bag, tmp_path, late):
    copied(
        bag, tmp_path / "bag", lambda connection, time, content: (time + SECOND * (connection.topic == late), content)
    )
    status, out, err = replayed(tmp_path / "bag", "--offline", "--json")
    found = json.loads(out)
    assert (status, found["differences"], found["repeated"]) == (0, [], EXPECTED), err


def test_joint_states_outside_of_the_namespace_of_the_nodes_are_read(bag, tmp_path):
    """A driver that publishes without a namespace, for nodes in one."""
    copied(
        bag, tmp_path / "bag", lambda _, time, content: (time, content),
        renamed=lambda topic: topic if topic == "/joint_states" else f"/cell1{topic}",
    )  # fmt: skip
    status, out, err = replayed(tmp_path / "bag", "--offline", "--json", "--recorded-namespace", "cell1")
    found = json.loads(out)
    assert (status, found["differences"], found["repeated"]) == (0, [], EXPECTED), err


def test_folders_without_recorded_requests_are_refused(tmp_path):
    status, _, err = replayed(tmp_path / "nothing", "--offline")
    assert status == 1
    assert "is no bag that can be read" in err
    with Writer(tmp_path / "empty", version=9, storage_plugin=StoragePlugin.MCAP):
        pass
    status, _, err = replayed(tmp_path / "empty", "--offline")
    assert status == 1
    assert "service_introspection" in err
