"""Environment variables for the security of ROS 2, and the enclaves in which the nodes of a cell are started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

ENABLE, STRATEGY = "ROS_SECURITY_ENABLE", "ROS_SECURITY_STRATEGY"
KEYSTORE, OVERRIDE = "ROS_SECURITY_KEYSTORE", "ROS_SECURITY_ENCLAVE_OVERRIDE"
ENFORCE, PERMISSIVE = "Enforce", "Permissive"
PREFIX = "/robot_cell_planner"  # of the enclaves in the policies of this package
CLIENT = "client"  # enclave of the client that is started with the nodes
ENCLAVES = "enclaves"  # folder of a keystore
REMEDY = "`robot_cell doctor` names what is missing; docs/security.md lists DDS libraries with security."


def has_security(environment: Mapping[str, str]) -> bool:
    """Return whether nodes in an environment take part in a domain with security."""
    return environment.get(ENABLE, "").lower() == "true"


def enclave_path(name: str, prefix: str = "", namespace: str = "") -> str:
    """Return the enclave of a node or client.

    name: Of the executable, such as scene_node. prefix: Of the enclaves; empty: as `robot_cell keystore` makes them for
    nodes in a namespace.
    """
    folder = prefix.strip("/") or f"{namespace.strip('/')}{PREFIX}".strip("/")
    return f"/{folder}/{name}"


def environment_problems(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield what keeps nodes of an environment with security from starting, or unprotected."""
    if environment[ENABLE] != "true":
        yield f"{ENABLE} is {environment[ENABLE]!r}, and ROS 2 takes only true"
    strategy = environment.get(STRATEGY, PERMISSIVE)
    if strategy != ENFORCE:
        yield f"{STRATEGY} is {strategy!r}: nodes without a key start unprotected; expected {ENFORCE!r}"
    folder = environment.get(KEYSTORE, "")
    if not folder:
        yield f"{KEYSTORE} is not set"
    elif not Path(folder, ENCLAVES).is_dir():
        yield f"{KEYSTORE} is {folder}, which has no folder {ENCLAVES}"
