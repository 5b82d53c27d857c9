"""Check of an installation: limits of the system, caches and the environment of ROS 2."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..io.mesh.cache import cache_folder
from ..security.environment import STRATEGY, environment_problems, has_security
from .finding import ERROR, WARNING, Finding

RTPRIO = 50  # default of the parameter `realtime_priority` of the execution node
MIN_LOCKED = 64 * 1024 * 1024  # [bytes]
MIN_DESCRIPTORS = 4096
SOCKET_BUFFER = 4 * 1024 * 1024  # [bytes]
MAX_DOMAIN, MAX_SAFE_DOMAIN = 232, 101
DOMAIN, RANGE = "ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE"
RANGES = ("OFF", "LOCALHOST", "SUBNET", "SYSTEM_DEFAULT")
SOCKETS = "@robot_cell_planner/node/"  # of nodes that run on this computer, see nodes/common/presence.py
LIMITS_FILE = "/etc/security/limits.d/robot_cell.conf"
LOG_IN = "then log in again; for a container or service, set the limit there"


def check_installation(environment: Mapping[str, str], proc: Path = Path("/proc")) -> tuple[Finding, ...]:
    """Check the limits of this process, the cache folder, and variables of ROS 2 in an environment.

    proc: Where the kernel shows its settings and sockets.
    """
    return (*_limits(proc), *_cache(), *_environment(environment, domains_in_use(proc)))


def _limits(proc: Path) -> Iterator[Finding]:
    if not realtime_granted(RTPRIO):
        limit = resource.getrlimit(resource.RLIMIT_RTPRIO)[1]
        text = f"real-time priority {RTPRIO} is not granted (limit {limit}), so other programs can delay commands"
        yield Finding(WARNING, "real time", text, f"Add `* - rtprio 99` to {LIMITS_FILE}, {LOG_IN}.")
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    if 0 <= locked < MIN_LOCKED and _swaps(proc):
        text = f"memory can be locked up to {locked // 1024} KiB, and this computer swaps"
        remedy = f"Switch swap off (`swapoff -a`), or add `* - memlock unlimited` to {LIMITS_FILE}, {LOG_IN}."
        yield Finding(WARNING, "memory", text, remedy)
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if 0 <= files < MIN_DESCRIPTORS:
        text = f"a process may open {files} files, and hundreds of clients need {MIN_DESCRIPTORS}"
        yield Finding(WARNING, "descriptors", text, f"Add `* - nofile 65536` to {LIMITS_FILE}, {LOG_IN}.")
    for name in ("rmem_max", "wmem_max"):
        size = _number(proc / "sys" / "net" / "core" / name)
        if size is not None and size < SOCKET_BUFFER:
            text = f"net.core.{name} is {size} bytes, so that large messages, such as meshes, are slow or lost"
            yield Finding(WARNING, "sockets", text, f"`sudo sysctl -w net.core.{name}={SOCKET_BUFFER}`.")


def realtime_granted(priority: int) -> bool:
    """Return whether the system grants a thread of this process a SCHED_FIFO priority."""
    granted: list[bool] = []

    def request() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
            granted.append(True)
        except OSError:
            granted.append(False)

    thread = threading.Thread(target=request)
    thread.start()
    thread.join()
    return granted[0]


def _swaps(proc: Path) -> bool:
    try:
        return len((proc / "swaps").read_text().splitlines()) > 1
    except OSError:
        return False


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


def _cache() -> Iterator[Finding]:
    folder = cache_folder()
    remedy = "Set ROBOT_CELL_PLANNER_CACHE to a folder that can be written."
    if folder is None:
        yield Finding(WARNING, "cache", "there is no cache folder, so that meshes are processed at each start", remedy)
        return
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        text = f"the cache folder {folder} cannot be written, so that meshes are processed at each start"
        yield Finding(WARNING, "cache", text, remedy)


def _environment(environment: Mapping[str, str], used: Mapping[int, int]) -> Iterator[Finding]:
    text = environment.get(DOMAIN, "")
    domain = int(text) if text.isdecimal() else None
    if text and (domain is None or domain > MAX_DOMAIN):
        reason = f"{DOMAIN} is {text!r}, expected a number from 0 to {MAX_DOMAIN}"
        yield Finding(ERROR, "domain", reason, f"`export {DOMAIN}=` with a number from 0 to {MAX_SAFE_DOMAIN}.")
    elif domain is not None and domain > MAX_SAFE_DOMAIN:
        reason = f"the ports of domain {domain} are among those that Linux gives to clients"
        yield Finding(WARNING, "domain", reason, f"Choose a domain from 0 to {MAX_SAFE_DOMAIN}.")
    others = sorted(set(used) - {domain or 0})
    if others and (domain or 0) not in used:
        listed = ", ".join(f"{number} ({used[number]})" for number in others)
        reason = f"no node of a cell runs on this computer in domain {domain or 0}; other domains have some: {listed}"
        yield Finding(WARNING, "domain", reason, f"`export {DOMAIN}={others[0]}` in this shell.")
    yield from _discovery(environment)
    if has_security(environment):
        for problem in environment_problems(environment):
            level = WARNING if problem.startswith(STRATEGY) else ERROR
            yield Finding(level, "security", problem, "`robot_cell keystore FOLDER` makes one; see docs/security.md.")


def _discovery(environment: Mapping[str, str]) -> Iterator[Finding]:
    chosen = environment.get(RANGE, "")
    if chosen and chosen not in RANGES:
        text = f"{RANGE} is {chosen!r}, which ROS 2 does not know"
        yield Finding(ERROR, "discovery", text, f"Set it to one of {', '.join(RANGES)}.")
    elif chosen == "OFF":
        text = f"{RANGE} is OFF, so that this shell sees no other process"
        yield Finding(ERROR, "discovery", text, f"`export {RANGE}=LOCALHOST`, or SUBNET for other computers.")
    elif chosen == "SUBNET":
        text = f"{RANGE} is SUBNET: every computer in the network can command the robot"
        yield Finding(WARNING, "discovery", text, f"`export {RANGE}=LOCALHOST` if all nodes are on this computer.")
    if environment.get("ROS_LOCALHOST_ONLY", "") == "1" and chosen not in ("", "LOCALHOST"):
        text = f"ROS_LOCALHOST_ONLY is 1 and takes precedence over {RANGE}={chosen}"
        yield Finding(ERROR, "discovery", text, "`unset ROS_LOCALHOST_ONLY`.")


def domains_in_use(proc: Path = Path("/proc")) -> dict[int, int]:
    """Return the number of nodes of this package that run on this computer, by domain."""
    found: dict[int, int] = {}
    try:
        lines = (proc / "net" / "unix").read_text(errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        number, _, digest = line.rpartition(SOCKETS)[2].partition("/") if SOCKETS in line else ("", "", "")
        if number.isdecimal() and digest:
            found[int(number)] = found.get(int(number), 0) + 1
    return found
