"""Start of an executable: a missing library is reported in one line, with the command that installs it."""

from __future__ import annotations

import importlib
import signal
import sys
from pathlib import Path

from .launched import end_with_launch

# Packages of the Python index whose module has another name.
DISTRIBUTIONS = {"backports": "backports.zstd", "collada": "pycollada", "pinocchio": "pin", "yaml": "PyYAML"}
# Libraries that only some executables need, with the list that names them; those of the others are in LIBRARY.
LIBRARY, OPTIONAL = "library.txt", {"viser": "viewer.txt"}
ROS_PACKAGES = ("ament_index_python", "rclpy", "tf2_ros")
MISSING = 3
INTERRUPTED = 128 + signal.SIGINT  # as shells report it


def start(name: str, entry_point: str) -> int:
    """Import and call an entry point such as `robot_cell_planner.nodes.scene.node:main`.

    Args:
        name: Name of the executable, for messages.

    Returns:
        Return value of the entry point; 3 after one line on the standard error stream if a library is missing; 130 if
        Ctrl-C interrupts it before the node has started.
    """
    module, _, function = entry_point.partition(":")
    # Ctrl-C during imports ends the process at once, without a report or clean-up. The supervisor blocks the signal
    # until here, since it would end the start of Python with a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    end_with_launch()
    try:
        main = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing == __name__.partition(".")[0] and not (error.name or "").endswith((".msg", ".srv", ".action")):
            raise
        print(f"{name}: {remedy(missing)}", file=sys.stderr, flush=True)
        return MISSING
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return main() or 0
    except KeyboardInterrupt:  # before the node handles it itself
        return INTERRUPTED


def remedy(module: str) -> str:
    """Return one line that names the missing module and the command that installs it."""
    if module == __name__.partition(".")[0]:
        return "the interfaces of robot_cell_planner are missing: build it with colcon, and source the workspace"
    if module in ROS_PACKAGES or module.endswith("_msgs"):
        return f"the ROS 2 package {module} is missing: rosdep install --from-paths <this package> installs it"
    distribution = DISTRIBUTIONS.get(module, module)
    folder = _requirements()
    return (
        f"the Python library {distribution} (module {module}) is missing for {sys.executable}; all are installed by: "
        f"{sys.executable} -m pip install -r {folder / OPTIONAL.get(module, LIBRARY)} -c {folder / 'constraints.txt'}"
    )


def _requirements() -> Path:
    """Return the folder of the pinned requirements: of the installed package, else of the sources."""
    package = Path(__file__).resolve().parents[2]
    installed = [parent / "share" / package.name / "requirements" for parent in package.parents]
    return next((folder for folder in installed if folder.is_dir()), package.parent / "requirements")
