"""Installs the Python library without its ROS interfaces (`pip install .`); a ROS 2 workspace uses CMakeLists.txt."""

from pathlib import Path

from setuptools import setup

PACKAGE = "robot_cell_planner"
SHARE = Path("share", PACKAGE)


def data_files() -> list[tuple[str, list[str]]]:
    """The package's entry in the ament index, and the files that belong into its share folder."""
    files = {
        str(Path("share", "ament_index", "resource_index", "packages")): [f"resource/{PACKAGE}"],
        str(SHARE): ["package.xml"],
    }
    for folder in ("launch", "config", "urdf", "examples"):
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                files.setdefault(str(SHARE / path.parent), []).append(str(path))
    return sorted(files.items())


setup(data_files=data_files())
