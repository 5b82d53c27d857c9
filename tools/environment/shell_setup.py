"""The environment in which everything runs, as variables for a process and as the file `setup.sh`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from layout import PACKAGE, Layout
from ros_installation import RosInstallation, distribution


def search_paths(layout: Layout, ros: RosInstallation | None, *, with_workspace: bool = True) -> dict[str, list[str]]:
    """For each search path variable the folders that are prepended to it, in this order."""
    paths = {
        "PATH": [layout.venv / "bin"],
        "LD_LIBRARY_PATH": [],
        "AMENT_PREFIX_PATH": [],
        "CMAKE_PREFIX_PATH": [],
        "PYTHONPATH": [],
    }
    if ros is None:
        wheel_libraries = sorted(layout.site_packages.glob("ros_*.libs"))
        paths["LD_LIBRARY_PATH"] = [layout.venv / "lib", *wheel_libraries]
        paths["AMENT_PREFIX_PATH"] = [layout.venv]
        paths["CMAKE_PREFIX_PATH"] = [layout.venv]
    if with_workspace:
        paths["PATH"].insert(0, layout.install / "lib" / PACKAGE)
        paths["LD_LIBRARY_PATH"].insert(0, layout.install / "lib")
        paths["AMENT_PREFIX_PATH"].insert(0, layout.install)
        paths["CMAKE_PREFIX_PATH"].insert(0, layout.install)
        paths["PYTHONPATH"] = [layout.source, layout.install / layout.python_library]
    front = {name: [str(path) for path in folders] for name, folders in paths.items()}
    if ros is not None:
        for name, entries in ros.search_paths.items():
            front[name] += entries
    return front


def last_resort(layout: Layout) -> str:
    """The ament index that names the packages of robot descriptions. It is appended to AMENT_PREFIX_PATH, since it
    also lists libraries that an installed ROS may have, such as coal and pinocchio."""
    return str(layout.site_packages / "cmeel.prefix")


def plain_variables(layout: Layout, ros: RosInstallation | None) -> dict[str, str]:
    """Variables with one value."""
    variables = {"VIRTUAL_ENV": str(layout.venv), "NUMBA_CACHE_DIR": str(layout.venv / "cache" / "numba")}
    if ros is not None:
        return {**variables, **ros.variables}
    # The ROS wheels start Python a second time with LD_LIBRARY_PATH set, unless this variable marks it as set.
    return {**variables, "ROS_DISTRO": distribution(layout, ros), "_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1"}


def build_environment(layout: Layout, ros: RosInstallation | None) -> dict[str, str]:
    """The variables in which colcon runs: all but those of the workspace that it is about to build."""
    environment = dict(os.environ)
    for name, front in search_paths(layout, ros, with_workspace=False).items():
        inherited = environment.get(name, "").split(os.pathsep) if name == "PATH" else []
        own = [entry for entry in inherited if entry and not layout.is_made(Path(entry))]
        environment[name] = os.pathsep.join([*front, *own])
        if not environment[name]:
            del environment[name]
    settings = {
        # Without this colcon starts a second compiler only below a load of as many processes as there are processors.
        "MAKEFLAGS": f"-j{os.cpu_count()}",
        # It warns of prefixes that are not workspaces, such as that of the wheels.
        "COLCON_LOG_LEVEL": "error",
    }
    return {**environment, **plain_variables(layout, ros), **settings}


def write_setup_file(layout: Layout, ros: RosInstallation | None) -> None:
    """Write `setup.sh`, which opens the environment in a POSIX shell, any number of times."""
    source = "as it was sourced" if ros else "from the Python package index"
    origin = f"ROS 2 {distribution(layout, ros)} {source}"
    lines = [
        f"# Made by `make setup`: the environment of {PACKAGE}, with {origin}.",
        "_to_front() {  # variable, folder: put the folder first, once",
        '    eval "_rest=:\\${$1:-}:"',
        '    while case "$_rest" in *":$2:"*) true ;; *) false ;; esac; do',
        '        _rest="${_rest%%":$2:"*}:${_rest#*":$2:"}"',
        "    done",
        '    _rest="${_rest#:}"; _rest="${_rest%:}"',
        '    export "$1=$2${_rest:+:$_rest}"',
        "}",
        "_to_end() {  # variable, folder: put the folder last if it is not there",
        '    eval "_rest=\\${$1:-}"',
        '    case ":$_rest:" in *":$2:"*) ;; *) export "$1=${_rest:+$_rest:}$2" ;; esac',
        "}",
    ]
    for name, front in search_paths(layout, ros).items():
        lines += [f"_to_front {name} {shlex.quote(folder)}" for folder in reversed(front)]
    lines.append(f"_to_end AMENT_PREFIX_PATH {shlex.quote(last_resort(layout))}")
    lines += [f"export {name}={shlex.quote(value)}" for name, value in plain_variables(layout, ros).items()]
    lines += ["unset -f _to_front _to_end", "unset _rest"]
    path = layout.venv / "setup.sh"
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        replacement = path.with_suffix(".new")
        replacement.write_text(text, encoding="utf-8")
        replacement.replace(path)
