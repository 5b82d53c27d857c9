"""Entry points of the executables, with the checks that precede the import of a node."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from ...system.output_pipes import do_not_wait_for_readers
from .dependencies import start

NODES = __package__.rpartition(".")[0]
MODULES = {
    "scene_node": "scene.node",
    "kinematics_node": "kinematics.node",
    "collision_node": "collision.node",
    "planning_node": "planning.node",
    "execution_node": "execution.node",
    "simulated_robot_node": "simulation.node",
    "moveit_adapter_node": "moveit.node",
    "viewer_node": "viewer.node",
}
STARTS = {
    "planning_node": "planning.start",
    "simulated_robot_node": "simulation.start",
}  # start modules of the nodes that have one
FILES, ENOUGH_FILES = 256, 4096  # file descriptors: required minimum, and the value to raise the limit to
ADDRESS_SPACE = 3 * 2**30  # [bytes] of address space; a node reserves 2 GB, most of it unused
TASKS = 64  # threads and processes that a node may start
HELP = ("--help", "-h")


def shortage() -> str:
    """Return which resource limit is too low for a node, and how to raise it; "" if none is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < ENOUGH_FILES:
        soft = ENOUGH_FILES if hard < 0 else min(hard, ENOUGH_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if 0 <= soft < FILES:
        return f"the limit of open files is {soft}, expected at least {FILES}: raise `ulimit -n`"
    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if 0 <= space < ADDRESS_SPACE:
        megabytes, expected = space // 2**20, ADDRESS_SPACE // 2**20
        return f"the limit of address space is {megabytes} MB, expected at least {expected}: raise `ulimit -v`"
    tasks = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if tasks >= 0 and os.getuid() != 0 and (left := tasks - _tasks_of(os.getuid())) < TASKS:
        return f"the limit of threads allows {max(left, 0)} more, expected at least {TASKS}: raise `ulimit -u`"
    return ""


def _tasks_of(user: int) -> int:
    """Return the number of threads of all processes of a user (real user ID, as the kernel counts them)."""
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
    """Redirect logs and caches to the folder for temporary files if those of the user are not writable; return a
    warning, or "".

    Raises:
        OSError: That folder cannot be written either.
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
    return f"cannot write to {', '.join(missing.values())}: logs and caches are written to {substitute}"


def _is_writable(folder: str) -> bool:
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def help_text(name: str, module: Any) -> str:
    """Return the text of `--help`."""
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
    do_not_wait_for_readers()
    problem, warning = shortage(), ""
    if not problem:
        try:
            warning = provide_folders()
        except OSError as error:
            problem = f"no writable folder for logs and caches: {error}"
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


def moveit_adapter_node() -> None:
    """Entry point of the executable."""
    _start("moveit_adapter_node")


def viewer_node() -> None:
    """Entry point of the executable."""
    _start("viewer_node")
