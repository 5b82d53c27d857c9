"""Who can reach a participant: attacks from another network namespace, `python -m benchmarks.reachability` as root.

A participant ("victim") publishes and listens in one network namespace. Another one ("attacker"), in a second namespace
with shared memory of its own, names it in ROS_STATIC_PEERS, tries to discover it, to receive its messages and to send
it messages. Needs `ip`, `unshare` and the right to use them; writes benchmarks/results/reachability.json.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from robot_cell_planner.nodes.common.dds_profile import PROFILE_VARIABLES, RANGE, dds_variables

RESULTS = Path(__file__).parent / "results" / "reachability.json"
VICTIM, ATTACKER = "10.77.0.1", "10.77.0.2"
DOMAIN, SECONDS = 77, 12.0
NAMESPACES = ("reach_victim", "reach_attacker")

PARTICIPANT = """
import sys, time, rclpy
from std_msgs.msg import String
name, end = sys.argv[1], time.time() + float(sys.argv[2])
rclpy.init()
node = rclpy.create_node(name)
heard = []
publisher = node.create_publisher(String, "from_" + name, 10)
other = "victim" if name == "attacker" else "attacker"
node.create_subscription(String, "from_" + other, lambda message: heard.append(message.data), 10)
seen = False
while time.time() < end:
    publisher.publish(String(data=name))
    rclpy.spin_once(node, timeout_sec=0.1)
    seen = seen or other in node.get_node_names()
print(int(seen), len(heard))
"""


@contextmanager
def two_networks():
    """Two network namespaces that a cable joins."""
    victim, attacker = NAMESPACES
    commands = [
        f"netns add {victim}",
        f"netns add {attacker}",
        f"link add reach_v netns {victim} type veth peer name reach_a netns {attacker}",
        f"-n {victim} addr add {VICTIM}/24 dev reach_v",
        f"-n {attacker} addr add {ATTACKER}/24 dev reach_a",
        *(f"-n {name} link set lo up" for name in NAMESPACES),
        f"-n {victim} link set reach_v up",
        f"-n {attacker} link set reach_a up",
    ]
    try:
        for command in commands:
            subprocess.run(["ip", *command.split()], check=True)
        yield
    finally:
        for name in NAMESPACES:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def attack(environment):
    """What attacker and victim discover and receive of each other, the victim with an environment of its own."""
    common = {name: value for name, value in os.environ.items() if name not in (RANGE, *PROFILE_VARIABLES)}
    common["ROS_DOMAIN_ID"] = str(DOMAIN)
    victim = subprocess.Popen(
        ["ip", "netns", "exec", NAMESPACES[0], sys.executable, "-c", PARTICIPANT, "victim", str(SECONDS + 6.0)],
        env={**common, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    script = f'mount -t tmpfs none /dev/shm && exec "{sys.executable}" -c "$PARTICIPANT" attacker {SECONDS}'
    attacker = subprocess.run(
        ["ip", "netns", "exec", NAMESPACES[1], "unshare", "--mount", "--ipc", "sh", "-c", script],
        env={**common, RANGE: "SUBNET", "ROS_STATIC_PEERS": VICTIM, "PARTICIPANT": PARTICIPANT},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    sees, hears = map(int, attacker.stdout.split())
    noticed, heard = map(int, victim.communicate()[0].split())
    return {
        "attacker sees victim": bool(sees),
        "messages that the attacker heard": hears,
        "victim sees attacker": bool(noticed),
        "messages that the victim took": heard,
    }


def main():
    """Attack the victims, and write the results."""
    localhost = {RANGE: "LOCALHOST"}
    victims = {
        "SUBNET": {RANGE: "SUBNET"},
        "SUBNET with config/fastdds_network.xml": dds_variables({RANGE: "SUBNET"}) | {RANGE: "SUBNET"},
        "LOCALHOST": localhost,
        "LOCALHOST with config/fastdds_localhost.xml": {**localhost, **dds_variables(localhost)},
    }
    with two_networks():
        found = {name: attack(environment) for name, environment in victims.items()}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
