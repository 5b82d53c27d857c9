"""Package folders: what `package://`, `model://` and `$(find ...)` refer to."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from frozendict import frozendict

PACKAGE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,254}")
PACKAGE_XML = "package.xml"
PACKAGE_INDEX = "ament_index/resource_index/packages"  # has a file for each package of a prefix
PACKAGE_XML_NAME = re.compile(rb"<name>\s*([A-Za-z0-9_.\-]+)\s*</name>")
# A search below a folder ends at these bounds.
MAX_FOLDERS = 20_000
MAX_DEPTH = 8
MAX_ANCESTORS = 6
SKIPPED = frozenset(("build", "install", "log", "node_modules", "__pycache__"))
IGNORE_MARKERS = ("COLCON_IGNORE", "CATKIN_IGNORE", "AMENT_IGNORE")
# Names of folders whose files refer to neighbours of the folder, as in "../meshes/link.stl".
DESCRIPTION_FOLDERS = frozenset(("urdf", "xacro", "srdf", "sdf", "robots", "robot", "config", "mjcf"))
MESH_FOLDERS = ("meshes", "mesh")


class PackageFolder(NamedTuple):
    """Folder of a package. `trusted`: it was named by the environment or by the user, so that its files may be read."""

    folder: Path
    trusted: bool


def installed_packages(name: str) -> Iterator[PackageFolder]:
    """Yield the share folders of a package in AMENT_PREFIX_PATH and among the installed Python packages, and its
    folders below ROS_PACKAGE_PATH."""
    found = _installed_share(name, os.environ.get("AMENT_PREFIX_PATH", ""), tuple(sys.path))
    if found is not None:
        yield PackageFolder(found, True)
    for entry in filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)):
        if below := packages_below(entry).get(name):
            yield PackageFolder(Path(below), True)


def installed_shares() -> Iterator[Path]:
    """Yield the folders in which `installed_packages` finds share folders."""
    yield from (Path(prefix, "share") for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix)
    yield from (Path(entry, "cmeel.prefix", "share") for entry in sys.path if entry)
    yield from (Path(entry) for entry in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if entry)


@lru_cache(maxsize=1024)
def _installed_share(name: str, prefixes: str, python_path: tuple[str, ...]) -> Path | None:
    cmeel = (os.path.join(entry, "cmeel.prefix") for entry in python_path)
    for prefix in (*filter(None, prefixes.split(os.pathsep)), *cmeel):
        shares = Path(os.path.abspath(prefix), "share")
        # Other folders there, as ament_index or doc, are no packages.
        if (shares / PACKAGE_INDEX / name).is_file() or (shares / name / PACKAGE_XML).is_file():
            return shares / name
    return None


def package_at(folder: Path, name: str) -> Path | None:
    """Return the package of that name if it is `folder` or a direct subfolder of it, by package.xml or folder name."""
    if package_xml_name(folder) == name or folder.name == name:
        return folder
    inner = folder / name
    return inner if os.path.isdir(inner) else None


def package_xml_name(folder: Path) -> str:
    """Return the name in the package.xml of a folder; "" if there is none."""
    try:
        with open(folder / PACKAGE_XML, "rb") as file:
            match = PACKAGE_XML_NAME.search(file.read(65_536))
    except OSError:
        return ""
    return match.group(1).decode() if match else ""


def packages_below(root: str | Path) -> frozendict[str, str]:
    """Return the folders of all packages below a folder, by the name in their package.xml; the outermost wins.

    Packages contain no packages. Hidden folders, build, install and log folders, and folders with a COLCON_IGNORE,
    CATKIN_IGNORE or AMENT_IGNORE file are skipped. At most 20,000 folders, 8 levels deep, are searched. The result is
    cached until the modification time of `root` changes.
    """
    path = os.path.abspath(root)
    try:
        modified = os.stat(path).st_mtime_ns
    except OSError:
        return frozendict()
    return _packages_below(path, modified)


@lru_cache(maxsize=64)
def _packages_below(root: str, modified_ns: int) -> frozendict[str, str]:
    found: dict[str, str] = {}
    level, searched = [root], 0
    for _ in range(MAX_DEPTH):
        following: list[str] = []
        for folder in level:
            searched += 1
            if searched > MAX_FOLDERS:
                return frozendict(found)
            names = _entries(folder)
            if PACKAGE_XML in names:
                found.setdefault(package_xml_name(Path(folder)), folder)
            elif not any(marker in names for marker in IGNORE_MARKERS):
                following += [os.path.join(folder, name) for name, is_folder in sorted(names.items()) if is_folder]
        level = following
    found.pop("", None)
    return frozendict(found)


def _entries(folder: str) -> dict[str, bool]:
    """Return the names in a folder, and whether each is a folder to search. Symbolic links are not followed."""
    try:
        with os.scandir(folder) as entries:
            return {
                entry.name: entry.is_dir(follow_symlinks=False)
                and not entry.name.startswith(".")
                and entry.name not in SKIPPED
                for entry in entries
            }
    except OSError:
        return {}


def ancestors(folder: Path | None) -> tuple[Path, ...]:
    """Return a folder and the folders around it, without the root of the file system."""
    if folder is None:
        return ()
    absolute = Path(os.path.abspath(folder))
    return (absolute, *absolute.parents[:-1])


def enclosing_folder(path: str | Path) -> Path:
    """Return the folder that may be read for the references of a trusted file.

    It is the package that contains the file (the nearest parent folder with a package.xml). Without a package it is the
    file's own folder, or the folder around that if descriptions usually refer to their neighbours from there: the
    file's folder is named "urdf" or the like, or has a neighbour named "meshes".
    """
    folder = Path(os.path.abspath(path)).parent
    package = next((around for around in ancestors(folder) if (around / PACKAGE_XML).is_file()), None)
    if package is not None:
        return package
    beside = any((folder.parent / name).is_dir() for name in MESH_FOLDERS)
    return folder.parent if (folder.name in DESCRIPTION_FOLDERS or beside) and not _is_shared(folder.parent) else folder


def workspace_of(path: str | Path) -> Path | None:
    """Return the folder whose packages a trusted file may refer to; None if there is none.

    It is the nearest folder named "src" around the file's package, or else the repository that contains it (a folder
    with ".git"), or else the folder that contains the package.
    """
    start = enclosing_folder(path)
    around = [folder for folder in ancestors(start.parent)[:MAX_ANCESTORS] if not _is_shared(folder)]
    source = next((folder for folder in around if folder.name == "src"), None)
    repository = next((folder for folder in (start, *around) if (folder / ".git").exists()), None)
    beside = around[0] if around and (start / PACKAGE_XML).is_file() else None
    return source or repository or beside


def _is_shared(folder: Path) -> bool:
    """Return whether a folder contains the files of many purposes: /, /tmp, /home, a home folder."""
    return len(folder.parts) <= 2 or folder == Path.home()
