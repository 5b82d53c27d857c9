"""Nodes listen on the loopback interface alone, unless the environment asks for more."""

import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

from running import DEMO

from robot_cell_planner.nodes.common.localhost import PROFILE_VARIABLES, QUEUES_FROM_PROFILE, RANGE, localhost_variables

CONFIG = Path(__file__).parents[3] / "config"
UNSET = (*PROFILE_VARIABLES, QUEUES_FROM_PROFILE, "ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER")


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


def test_the_profile_for_networks_with_cyclone_dds_is_read_without_complaint(domain):
    code = "import rclpy; rclpy.init(); rclpy.create_node('reader'); rclpy.shutdown()"
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    environment |= {PROFILE_VARIABLES[0]: str(CONFIG / "fastdds_with_cyclonedds.xml"), "ROS_DOMAIN_ID": str(domain)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_who_asks_for_more_gets_it(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    added = localhost_variables({})
    assert added[RANGE] == "LOCALHOST"
    assert Path(added["FASTDDS_DEFAULT_PROFILES_FILE"]).is_file()
    assert set(localhost_variables({RANGE: "LOCALHOST"})) == {"FASTDDS_DEFAULT_PROFILES_FILE", QUEUES_FROM_PROFILE}
    assert QUEUES_FROM_PROFILE not in localhost_variables({QUEUES_FROM_PROFILE: "0"})
    of_jazzy = localhost_variables({RANGE: "LOCALHOST", "ROS_DISTRO": "jazzy"})
    assert set(of_jazzy) == {"FASTRTPS_DEFAULT_PROFILES_FILE", QUEUES_FROM_PROFILE}
    for wish in (
        {RANGE: "SUBNET"},
        {RANGE: "OFF"},
        {RANGE: "SYSTEM_DEFAULT"},
        {"ROS_STATIC_PEERS": "192.0.2.7"},
        {"ROS_DISCOVERY_SERVER": "192.0.2.7:11811"},
    ):
        assert localhost_variables(wish) == {}
    for own in PROFILE_VARIABLES:
        assert localhost_variables({RANGE: "LOCALHOST", own: "mine.xml"}) == {}
    (tmp_path / "DEFAULT_FASTDDS_PROFILES.xml").touch()
    assert localhost_variables({}) == {RANGE: "LOCALHOST"}
