"""Nodes listen on the loopback interface alone, unless the environment requests more."""

import os
import re
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_share_directory
from running import DEMO

from robot_cell_planner.nodes.common.dds_profile import (
    LOCALHOST_PROFILES,
    NETWORK_PROFILES,
    PROFILE_VARIABLES,
    QUEUES_FROM_PROFILE,
    RANGE,
    dds_variables,
    uses_fast_dds_2,
)

CONFIG = Path(__file__).parents[3] / "config"
RELEASE = int(uses_fast_dds_2())
PROFILE_VARIABLE = PROFILE_VARIABLES[RELEASE]
LOCALHOST_PROFILE, NETWORK_PROFILE = LOCALHOST_PROFILES[RELEASE], NETWORK_PROFILES[RELEASE]
UNSET = (*PROFILE_VARIABLES, QUEUES_FROM_PROFILE, "ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER")


def installed(profile):
    return Path(get_package_share_directory("robot_cell_planner"), "config", profile)


def listening(process, domain):
    """Addresses and ports of a process's UDP sockets on ports that DDS assigns to a domain."""
    inodes = set()
    for descriptor in Path(f"/proc/{process.pid}/fd").iterdir():
        target = os.readlink(descriptor)
        if target.startswith("socket:["):
            inodes.add(target[len("socket:[") : -1])
    found = []
    for line in Path(f"/proc/{process.pid}/net/udp").read_text().splitlines()[1:]:
        fields = line.split()
        address, port = fields[1].split(":")
        if fields[9] in inodes and 0 <= int(port, 16) - 7400 - 250 * domain < 250:
            found.append((socket.inet_ntoa(struct.pack("=I", int(address, 16))), int(port, 16)))
    return found


def test_a_node_listens_on_the_loopback_interface_alone(start_node, client, domain, monkeypatch):
    for name in UNSET:
        monkeypatch.delenv(name, raising=False)
    node = start_node("scene_node", cell_file=DEMO)
    client.scene()
    found = listening(node.process, domain)
    assert found
    assert not any("XMLPARSER" in line or "PROFILES_FILE" in line for line in node.lines), node.output
    assert {address for address, _ in found} == {"127.0.0.1"}, found
    node.stop()


def test_a_node_uses_no_shared_memory_and_no_type_lookup(start_node, client, monkeypatch):
    """A killed process would leave locks of shared memory closed; threads of the type lookup service can crash."""
    for name in UNSET:
        monkeypatch.delenv(name, raising=False)
    node = start_node("scene_node", cell_file=DEMO)
    client.scene()
    process = Path(f"/proc/{node.process.pid}")
    threads = set()
    for path in process.joinpath("task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # of a thread that has just ended
            threads.add(path.joinpath("comm").read_text().strip())
    assert any(name.startswith("dds.udp") for name in threads), threads
    assert not [name for name in threads if name.startswith(("dds.shm", "dds.tls"))]
    assert "/dev/shm/fastdds" not in process.joinpath("maps").read_text()
    node.stop()


PUBLISHER = """
import rclpy
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node("of_a_user")
publisher = node.create_publisher(JointState, "of_a_user", 10)
node.create_timer(0.1, lambda: publisher.publish(JointState(name=["elbow"], position=[1.0])))
rclpy.spin(node)
"""


LISTENER = """
import rclpy
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node("listener")
found = rclpy.task.Future()
subscription = node.create_subscription(JointState, "of_a_user", lambda m: found.done() or found.set_result(m), 10)
rclpy.spin_until_future_complete(node, found, timeout_sec=60.0)
print(*found.result().name)
rclpy.shutdown()
"""


@pytest.mark.parametrize("reach", ["LOCALHOST", "SUBNET"])
@pytest.mark.parametrize("profile", [LOCALHOST_PROFILE, NETWORK_PROFILE])
def test_messages_of_processes_without_a_profile_arrive(domain, reach, profile):
    """Tools and nodes of users have the default settings of ROS 2, which prefer shared memory."""
    plain = {name: value for name, value in os.environ.items() if name not in UNSET}
    plain |= {"ROS_DOMAIN_ID": str(domain), RANGE: reach}
    publisher = subprocess.Popen([sys.executable, "-c", PUBLISHER], env=plain)
    try:
        environment = plain | {PROFILE_VARIABLE: str(CONFIG / profile), QUEUES_FROM_PROFILE: "1"}
        environment |= {RANGE: "SYSTEM_DEFAULT"}
        done = subprocess.run(
            [sys.executable, "-c", LISTENER], env=environment, capture_output=True, text=True, timeout=120
        )
    finally:
        publisher.kill()
        publisher.wait()
    assert (done.returncode, done.stdout, done.stderr) == (0, "elbow\n", "")


SENDER = """
import time
import rclpy
from rclpy.duration import Duration
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node("sender")
publisher = node.create_publisher(String, "large", 10)
while not publisher.get_subscription_count():
    time.sleep(0.02)
sent = 0
while sent < 30 and publisher.wait_for_all_acked(Duration(seconds=20.0)):
    publisher.publish(String(data="x" * 300_000))
    sent += 1
publisher.wait_for_all_acked(Duration(seconds=20.0))
print(sent)
rclpy.shutdown()
"""

RECEIVER = """
import rclpy
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node("receiver")
node.create_subscription(String, "large", lambda message: None, 10)
rclpy.spin(node)
"""


@pytest.mark.parametrize("profile", [LOCALHOST_PROFILE, NETWORK_PROFILE])
def test_parts_of_a_message_that_a_full_socket_loses_are_sent_again_soon(domain, profile, tmp_path):
    """The default of Fast DDS would take 3 s for each of the 30 messages."""
    shipped = (CONFIG / profile).read_text()
    small = tmp_path / "small_socket.xml"
    small.write_text(re.sub(r"(<receiveBufferSize>)\d+", r"\g<1>65536", shipped))
    assert small.read_text() != shipped
    environment = os.environ | {"ROS_DOMAIN_ID": str(domain), RANGE: "SYSTEM_DEFAULT", QUEUES_FROM_PROFILE: "1"}
    receiver = subprocess.Popen([sys.executable, "-c", RECEIVER], env=environment | {PROFILE_VARIABLE: str(small)})
    try:
        environment |= {PROFILE_VARIABLE: str(CONFIG / profile)}
        done = subprocess.run(
            [sys.executable, "-c", SENDER], env=environment, capture_output=True, text=True, timeout=80
        )
    finally:
        receiver.kill()
        receiver.wait()
    assert (done.returncode, done.stdout, done.stderr) == (0, "30\n", "")


def test_the_environment_selects_the_profile(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    added = dds_variables({})
    assert (added[RANGE], added[QUEUES_FROM_PROFILE]) == ("SYSTEM_DEFAULT", "1")
    assert Path(added[PROFILE_VARIABLE]) == installed(LOCALHOST_PROFILE)
    assert dds_variables({RANGE: "LOCALHOST"}) == added
    assert dds_variables(added | {RANGE: "LOCALHOST"}) == {RANGE: "SYSTEM_DEFAULT"}
    assert QUEUES_FROM_PROFILE not in dds_variables({QUEUES_FROM_PROFILE: "0"})


def test_profiles_of_fast_dds_2_have_the_same_settings():
    """Fast DDS 2 has no propagation of types."""
    for profile, of_fast_dds_2 in (LOCALHOST_PROFILES, NETWORK_PROFILES):
        expected, found = ((CONFIG / name).read_text().split("-->", 1)[1] for name in (profile, of_fast_dds_2))
        expected = re.sub(r" *<propertiesPolicy>.*</propertiesPolicy>\n", "", expected, flags=re.DOTALL)
        assert found == expected.replace("heartbeat_period", "heartbeatPeriod")


@pytest.mark.skipif(os.environ.get("ROS_DISTRO") not in ("jazzy", "kilted"), reason="its Fast DDS is not known here")
def test_the_release_of_fast_dds_is_known():
    assert uses_fast_dds_2() == (os.environ["ROS_DISTRO"] == "jazzy")


@pytest.mark.parametrize(
    "wish",
    [
        {RANGE: "SUBNET"},
        {RANGE: "OFF"},
        {RANGE: "SYSTEM_DEFAULT"},
        {"ROS_STATIC_PEERS": "192.0.2.7"},
        {"ROS_DISCOVERY_SERVER": "192.0.2.7:11811"},
    ],
)
def test_the_network_profile_is_used_on_request(monkeypatch, tmp_path, wish):
    monkeypatch.chdir(tmp_path)
    network = {PROFILE_VARIABLE: str(installed(NETWORK_PROFILE)), QUEUES_FROM_PROFILE: "1"}
    assert dds_variables(wish) == network


def test_own_settings_are_not_replaced(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for own in PROFILE_VARIABLES:
        assert dds_variables({RANGE: "LOCALHOST", own: "mine.xml"}) == {}
    assert dds_variables({"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"}) == {RANGE: "LOCALHOST"}
    (tmp_path / "DEFAULT_FASTDDS_PROFILES.xml").touch()
    assert dds_variables({}) == {RANGE: "LOCALHOST"}
