"""Profiles of Fast DDS: restriction to this computer, and transports that survive a killed process.

With ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST, Fast DDS does not search for participants on other computers, but still
listens on all network interfaces: a participant that names this computer in ROS_STATIC_PEERS receives everything and
can send commands.
`config/fastdds_localhost.xml` makes it listen on the loopback interface alone, and `config/fastdds_network.xml` is for
environments that allow other computers; `fastdds2_...` are the same for Fast DDS 2.

Neither uses shared memory, since a killed process leaves its locks closed for all others, and both return the memory of
queued messages, so that a burst of large requests does not increase the memory of a node permanently. With LOCALHOST,
rmw_fastrtps adds shared memory to a profile's transports; with SYSTEM_DEFAULT it does not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

PACKAGE = "robot_cell_planner"
RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
LOCALHOST, FROM_PROFILE = "LOCALHOST", "SYSTEM_DEFAULT"
MIDDLEWARE, FAST_DDS = "RMW_IMPLEMENTATION", "rmw_fastrtps"
# For Fast DDS 3, and for Fast DDS 2 as in ROS 2 Jazzy. Fast DDS 3 reads a file that both variables name twice, with
# errors.
LOCALHOST_PROFILES = ("fastdds_localhost.xml", "fastdds2_localhost.xml")
NETWORK_PROFILES = ("fastdds_network.xml", "fastdds2_network.xml")
PROFILE_VARIABLES = ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE")
QUEUES_FROM_PROFILE = "RMW_FASTRTPS_USE_QOS_FROM_XML"  # "1": the history memory policy is that of the profile
PROFILES_IN_FOLDER = ("DEFAULT_FASTDDS_PROFILES.xml", "DEFAULT_FASTRTPS_PROFILES.xml")
# With one of these set, communication with other computers is intended.
WANTS_OTHERS = ("ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER")


def dds_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to add to an environment for the nodes in it.

    They select the profile of Fast DDS, unless the environment (or the working folder) has its own profiles or another
    middleware. Without a discovery range, peers or discovery server in the environment, the nodes are reachable from
    this computer only.
    """
    local = environment.get(RANGE, LOCALHOST) == LOCALHOST and not any(map(environment.get, WANTS_OTHERS))
    added = {RANGE: LOCALHOST} if local else {}
    release = int(uses_fast_dds_2())
    profile = _file(PACKAGE, "config", (LOCALHOST_PROFILES if local else NETWORK_PROFILES)[release])
    if profile is not None and not _has_settings(environment, profile):
        added[PROFILE_VARIABLES[release]] = profile
        added[QUEUES_FROM_PROFILE] = environment.get(QUEUES_FROM_PROFILE, "1")
        if local:
            added[RANGE] = FROM_PROFILE
    return {name: value for name, value in added.items() if environment.get(name) != value}


def _has_settings(environment: Mapping[str, str], profile: str) -> bool:
    if not environment.get(MIDDLEWARE, FAST_DDS).startswith(FAST_DDS):
        return True
    selected = {environment.get(name) for name in PROFILE_VARIABLES} - {None, "", profile}
    return bool(selected) or any(map(os.path.exists, PROFILES_IN_FOLDER))


def set_dds_profile(environment: MutableMapping[str, str] = os.environ) -> None:
    """Add `dds_variables` to an environment; affects participants that are created afterwards."""
    environment.update(dds_variables(environment))


def uses_fast_dds_2() -> bool:
    """Return whether rmw_fastrtps is built with Fast DDS 2 (package `fastrtps`; Fast DDS 3 is `fastdds`)."""
    manifest = _file("rmw_fastrtps_shared_cpp", "package.xml")
    return manifest is not None and ">fastrtps<" in Path(manifest).read_text(encoding="utf-8")


def _file(package: str, *parts: str) -> str | None:
    """Return a file in the share folder of a package; None if it does not exist."""
    try:
        file = Path(get_package_share_directory(package), *parts)
    except PackageNotFoundError:
        return None
    return str(file) if file.is_file() else None
