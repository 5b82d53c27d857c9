"""Entry points of the executables: what can be said of a start before a node is imported is said here, in one line."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from .dependencies import start

NODES = __package__.rpartition(".")[0]
MODULES = {
    "scene_node": "scene.node",
    "kinematics_node": "kinematics.node",
    "collision_node": "collision.node",
    "planning_node": "planning.node",
    "execution_node": "execution.node",
    "simulated_robot_node": "simulation.node",
}
STARTS = {"planning_node": "planning.start"}  # modules to start those nodes with that have one of their own
FILES, ENOUGH_FILES = 256, 4096  # descriptors that a node needs, and those that it takes where it may
ADDRESS_SPACE = 3 * 2**30  # [bytes] a node takes 2 GB of it, most of which is never used
TASKS = 64  # threads and processes that a node may start
HELP = ("--help", "-h")


def shortage() -> str:
    """Which limit of this process is too small for a node, and how to raise it; "" if none is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < ENOUGH_FILES:
        soft = ENOUGH_FILES if hard < 0 else min(hard, ENOUGH_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if 0 <= soft < FILES:
        return f"only {soft} files may be open, expected {FILES} at least: raise `ulimit -n`"
    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if 0 <= space < ADDRESS_SPACE:
        megabytes, expected = space // 2**20, ADDRESS_SPACE // 2**20
        return f"only {megabytes} MB of address space are allowed, expected {expected} at least: raise `ulimit -v`"
    tasks = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if tasks >= 0 and os.getuid() != 0 and (left := tasks - _tasks_of(os.getuid())) < TASKS:
        return f"only {max(left, 0)} more threads may be started, expected {TASKS} at least: raise `ulimit -u`"
    return ""


def _tasks_of(user: int) -> int:
    """Threads that all processes of a user have; as the kernel counts them, by the real user."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            lines = (folder / "status").read_text().splitlines()
        except OSError:  # it has ended meanwhile
            continue
        status = dict(line.split(":", 1) for line in lines)
        if int(status["Uid"].split()[0]) == user:
            count += int(status["Threads"])
    return count


def provide_folders() -> str:
    """Let logs and caches go below the folder for temporary files where those of the user cannot be written; returns a
    warning that says so, or "".

    Raises:
        OSError: that folder cannot be written either.
    """
    home = os.path.expanduser("~")
    defaults = {
        "ROS_LOG_DIR": os.path.join(os.environ.get("ROS_HOME") or os.path.join(home, ".ros"), "log"),
        "XDG_CACHE_HOME": os.path.join(home, ".cache"),
    }
    folders = {name: os.environ.get(name) or default for name, default in defaults.items()}
    missing = {name: folder for name, folder in folders.items() if not _is_writable(folder)}
    if not missing:
        return ""
    substitute = tempfile.mkdtemp(prefix="robot_cell_planner-")
    for name in missing:
        os.environ[name] = os.path.join(substitute, name.lower())
    return f"cannot write to {', '.join(missing.values())}: logs and caches go to {substitute}, and are made anew"


def _is_writable(folder: str) -> bool:
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def help_text(name: str, module: Any) -> str:
    """What `--help` prints."""
    lines = [
        f"usage: {name} [--ros-args [-p PARAMETER:=VALUE] [-r __ns:=/NAMESPACE] [--params-file FILE] ...]",
        "",
        module.__doc__.strip(),
        "",
        f"Services, actions and topics: docs/interfaces.md, and `ros2 node info /{name}` while it runs.",
        "",
        "Parameters, with their defaults (also in docs/parameters.md):",
    ]
    for parameter in module.PARAMETERS:
        allowed = "; ".join(text for text in (parameter.range_text, parameter.constraint_text) if text)
        lines += [
            f"  {parameter.name} ({parameter.default!r}){allowed and ': '}{allowed}",
            f"      {parameter.description}",
        ]
    return "\n".join(lines)


def _start(name: str) -> None:
    own = sys.argv[1 : sys.argv.index("--ros-args")] if "--ros-args" in sys.argv else sys.argv[1:]
    module = f"{NODES}.{MODULES[name]}"
    if any(word in own for word in HELP):
        print(help_text(name, import_module(module)))
        return
    problem, warning = shortage(), ""
    if not problem:
        try:
            warning = provide_folders()
        except OSError as error:
            problem = f"there is no folder that logs and caches can be written to: {error}"
    if problem:
        print(f"{name}: start: {problem}", file=sys.stderr)
        sys.exit(1)
    if warning:
        print(f"{name}: {warning}", file=sys.stderr, flush=True)
    sys.exit(start(name, f"{NODES}.{STARTS.get(name, MODULES[name])}:main"))


def scene_node() -> None:
    """Entry point of the executable."""
    _start("scene_node")


def kinematics_node() -> None:
    """Entry point of the executable."""
    _start("kinematics_node")


def collision_node() -> None:
    """Entry point of the executable."""
    _start("collision_node")


def planning_node() -> None:
    """Entry point of the executable."""
    _start("planning_node")


def execution_node() -> None:
    """Entry point of the executable."""
    _start("execution_node")


def simulated_robot_node() -> None:
    """Entry point of the executable."""
    _start("simulated_robot_node")
