"""Files of a MoveIt configuration package: which description, which SRDF, which settings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from frozendict import frozendict

from ...errors import FileError
from ...io.common.packages import PACKAGE_XML, packages_below, workspace_of
from ...io.common.resources import read_text
from ...io.robot_description.xacro_macros import unused_macros
from .declared import ASSISTANT, CONFIG, PRO_CONFIG, STAGE, DeclaredFiles, declared_files, mapping_of

URDF, SRDF = (".urdf.xacro", ".urdf"), (".srdf", ".srdf.xacro")
FOLDERS = {"urdf": (CONFIG, "urdf", "robots"), "srdf": (CONFIG, "srdf")}
READ = ("joint_limits", "kinematics", "ompl_planning", "moveit_controllers", "initial_positions")
LIMITS = "joint_limits"
# Parameter of MoveIt that a file is the value of; some files contain it, as parameters of nodes.
PARAMETERS = frozendict({LIMITS: "robot_description_planning", "kinematics": "robot_description_kinematics"})
NODE_PARAMETERS = "ros__parameters"
MAX_NEARBY = 4  # descriptions that a message lists
MAX_COMPARED = 1000
XACRO = ".xacro"


@dataclass(frozen=True)
class ConfigPackage:
    """Files of a package.

    Attributes:
        folder: Folder of the package.
        urdf: Description: a path, or a package:// URI.
        srdf: SRDF file, or xacro file of one.
        arguments: Arguments of xacro that the package gives for the description; empty for another description. Values
            that are package:// URIs are files.
    """

    folder: Path
    urdf: str
    srdf: Path
    arguments: frozendict[str, str] = field(default_factory=frozendict)

    def settings(self, name: str, left_out: list[str]) -> dict[str, Any]:
        """Return the mapping of NAME.yaml; empty if there is no such file. The settings may be a parameter of nodes.

        The file is the one beside the SRDF, else that of the next folder around it, and last that of config/: packages
        for several robots have the settings of each beside its SRDF, and common ones in config/.

        left_out: Takes note of keys that a mapping has twice, which MoveIt's setup assistant writes and MoveIt reads.

        Raises:
            FileError: The file is malformed, or no mapping.
        """
        path = self._settings_file(name)
        return {} if path is None else _unwrapped(mapping_of(path, left_out), PARAMETERS.get(name, ""))

    def _settings_file(self, name: str) -> Path | None:
        around = [folder for folder in self.srdf.parents if folder.is_relative_to(self.folder)]
        paths = (folder / f"{name}.yaml" for folder in (*around, self.folder / CONFIG))
        return next((path for path in paths if path.is_file()), None)

    def unread(self) -> list[str]:
        """Return notes of the settings in config/ and around the SRDF that are not read."""
        read = {self._settings_file(name) for name in READ}
        beside = self.srdf.parent
        places = {self.folder / CONFIG} | ({beside} if self.folder in beside.parents else set())
        others = sorted({path for place in places for path in place.rglob("*.yaml")} - read)
        notes = []
        limits = [path for path in others if path.stem == LIMITS] if self._settings_file(LIMITS) is None else []
        if limits:
            text = "joint limits of other folders than that of the SRDF, which are not used"
            remedy = "enter one as `limits` of the robot in cell.yaml"
            notes.append(f"{text}: {self._listed(limits)}; {remedy}")
        if others := [path for path in others if path not in limits and path.name != PRO_CONFIG]:
            notes.append(f"settings in {self._listed(others)}")
        return notes

    def _listed(self, paths: Sequence[Path]) -> str:
        return ", ".join(str(path.relative_to(self.folder)) for path in paths)


def find_package(folder: Path, urdf: str = "", srdf: str = "") -> ConfigPackage:
    """Find the files of a package.

    Args:
        folder: Folder of the package, or a folder in it.
        urdf: Description, as a path or URI; "" to look for it: the only one in config/ or urdf/, that of the SRDF's
            name, or the one that the package names.
        srdf: SRDF, as a path or relative to the package; "" to look for it in the same way.

    Raises:
        FileError: There is no such file, or several; the message lists them.
    """
    folder = folder.absolute()
    if folder.name in (*FOLDERS["urdf"], "srdf", "launch") and (folder.parent / "package.xml").exists():
        folder = folder.parent
    if not folder.is_dir():
        raise FileError(f"{folder} is not a folder", stage=STAGE, subjects=(str(folder),))
    declared = declared_files(folder)
    descriptions = _candidates(folder, FOLDERS["urdf"], URDF, declared.urdf)
    named = declared.srdf if declared.srdf and (folder / declared.srdf).is_file() else ""
    semantics = _candidates(folder, FOLDERS["srdf"], SRDF, named)
    if srdf:
        semantic = folder / srdf if (folder / srdf).exists() else Path(srdf).absolute()
    else:
        stems = [_stem(path, URDF) for path in descriptions]
        semantic = _chosen(folder, semantics, named, stems, SRDF, "--srdf")
    arguments = frozendict() if urdf or descriptions else declared.arguments
    found = urdf or _described(folder, descriptions, declared, _stem(semantic, SRDF))
    return ConfigPackage(folder, found, semantic, arguments)


def _unwrapped(given: dict[str, Any], parameter: str) -> dict[str, Any]:
    """Return settings without the names of nodes, `ros__parameters` and the parameter around them, if these are
    there."""
    nodes = [
        value for value in given.values() if isinstance(value, dict) and isinstance(value.get(NODE_PARAMETERS), dict)
    ]
    if nodes and len(nodes) == len(given):
        given = {key: value for node in nodes for key, value in node[NODE_PARAMETERS].items()}
    inner = given.get(parameter)
    return (
        {**{key: value for key, value in given.items() if key != parameter}, **inner}
        if isinstance(inner, dict)
        else given
    )


def _described(folder: Path, candidates: Sequence[Path], declared: DeclaredFiles, stem: str) -> str:
    if not candidates and declared.package and declared.urdf:
        return f"package://{declared.package}/{declared.urdf}"
    return str(_chosen(folder, candidates, declared.urdf, [stem], URDF, "--urdf"))


def _chosen(
    folder: Path, candidates: Sequence[Path], named: str, stems: Sequence[str], suffixes: Sequence[str], option: str
) -> Path:
    """Return the only candidate, the one of a stem, or the named one."""
    like = [path for path in candidates if _stem(path, suffixes) in stems]
    if len(candidates) == 1 or len(like) == 1:
        return (like or candidates)[0]
    if named and (folder / named).is_file():
        return folder / named
    what = "description" if suffixes == URDF else "SRDF"
    missing = "expected a MoveIt configuration package" if suffixes == SRDF else f"and {ASSISTANT} names none"
    text = f"{folder.name} has no {what} such as config/*{suffixes[0]}, {missing}"
    if candidates:
        listed = ", ".join(str(path.relative_to(folder)) for path in candidates)
        text = f"{folder.name} has {len(candidates)} files that can be the {what} ({listed}): give it by {option}"
    elif suffixes == URDF and (nearby := _descriptions_around(folder, stems[0])):
        text += f"; in packages around it are {', '.join(nearby)}"
    subjects = tuple(map(str, candidates)) or (str(folder),)
    raise FileError(text, stage=STAGE, subjects=subjects, remedy=f"Give the {what}: `{option} FILE`.")


def _descriptions_around(folder: Path, stem: str) -> list[str]:
    """Return up to MAX_NEARBY descriptions in packages of the same workspace, as paths that the option takes, those
    first whose names are the most similar to that of the SRDF."""
    workspace = workspace_of(folder / PACKAGE_XML)
    places = sorted(set(packages_below(workspace).values()) - {str(folder)}) if workspace is not None else []
    found = [path for place in places for name in FOLDERS["urdf"] for path in sorted(Path(place, name).rglob("*"))]
    described = [path for path in found if path.name.endswith(URDF)][:MAX_COMPARED]
    described.sort(key=lambda path: -SequenceMatcher(None, _stem(path, URDF), stem).ratio())
    return [os.path.relpath(path) for path in described[:MAX_NEARBY]]


def _stem(path: Path, suffixes: Sequence[str]) -> str:
    suffix = next((suffix for suffix in sorted(suffixes, key=len, reverse=True) if path.name.endswith(suffix)), "")
    return path.name.removesuffix(suffix)


def _candidates(folder: Path, places: Sequence[str], suffixes: Sequence[str], named: str) -> list[Path]:
    """Return the files in some places that can be the description, or the SRDF: not those that define macros for
    others. If there is none, and the package names none, those of the folders below."""
    found = _defining(folder, [f"{place}/*" for place in places], suffixes)
    return found or ([] if named else _defining(folder, [f"{place}/*/**/*" for place in places], suffixes))


def _defining(folder: Path, patterns: Sequence[str], suffixes: Sequence[str]) -> list[Path]:
    paths = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    found = [path for path in paths if path.name.endswith(tuple(suffixes)) and path.is_file()]
    return [path for path in found if path.suffix != XACRO or not unused_macros(read_text(path, STAGE))]
