"""Nodes that other computers cannot reach, unless the environment asks for it.

With ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST Fast DDS looks for nobody on other computers, but it still listens on all
network interfaces: whoever names this computer in ROS_STATIC_PEERS takes part, hears everything and can send commands.
The profile `config/fastdds_localhost.xml` makes it listen on the loopback interface and in shared memory alone. It also
lets queues give the memory of messages back, so that a burst of large requests does not stay with a node.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

PACKAGE = "robot_cell_planner"
RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
PROFILE = "fastdds_localhost.xml"
# The first is of Fast DDS 3, the second of Fast DDS 2; Fast DDS 3 reads a file that both name twice, with errors.
PROFILE_VARIABLES = ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE")
QUEUES_FROM_PROFILE = "RMW_FASTRTPS_USE_QOS_FROM_XML"  # "1": how queues hold messages is as the profile says
PROFILES_IN_FOLDER = ("DEFAULT_FASTDDS_PROFILES.xml", "DEFAULT_FASTRTPS_PROFILES.xml")
FAST_DDS_2 = ("humble", "iron", "jazzy")  # ROS distributions with it
# Whoever sets one of these wants to be reached by others.
WANTS_OTHERS = ("ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER")


def localhost_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables to add to an environment so that nodes in it are reached from this computer alone; none where it sets
    another discovery range, peers, a discovery server, or has profiles of its own (in the working folder, too)."""
    if environment.get(RANGE, "LOCALHOST") != "LOCALHOST" or any(environment.get(name) for name in WANTS_OTHERS):
        return {}
    added = {} if RANGE in environment else {RANGE: "LOCALHOST"}
    own = any(environment.get(name) for name in PROFILE_VARIABLES) or any(map(os.path.exists, PROFILES_IN_FOLDER))
    profile = None if own else _profile()
    if profile is not None:
        added[PROFILE_VARIABLES[environment.get("ROS_DISTRO", "") in FAST_DDS_2]] = str(profile)
        if QUEUES_FROM_PROFILE not in environment:
            added[QUEUES_FROM_PROFILE] = "1"
    return added


def keep_to_localhost(environment: MutableMapping[str, str] = os.environ) -> None:
    """Add `localhost_variables` to an environment; has an effect on participants that are made afterwards."""
    environment.update(localhost_variables(environment))


def _profile() -> Path | None:
    try:
        profile = Path(get_package_share_directory(PACKAGE), "config", PROFILE)
    except PackageNotFoundError:
        return None
    return profile if profile.is_file() else None
