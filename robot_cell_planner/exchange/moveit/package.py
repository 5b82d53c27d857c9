"""Files of a MoveIt configuration package: which description, which SRDF, which settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frozendict import frozendict

from ...errors import FileError
from ...io.common.resources import MAX_TEXT_BYTES, read_text
from ...io.common.yaml_reader import parse_yaml
from ...io.robot_description.xacro_macros import unused_macros

STAGE = "read MoveIt package"
CONFIG = "config"
URDF, SRDF = (".urdf.xacro", ".urdf"), (".srdf", ".srdf.xacro")
FOLDERS = {"urdf": (CONFIG, "urdf", "robots"), "srdf": (CONFIG, "srdf")}
READ = ("joint_limits", "kinematics", "ompl_planning", "moveit_controllers", "initial_positions")
ASSISTANT = ".setup_assistant"
XACRO = ".xacro"


@dataclass(frozen=True)
class ConfigPackage:
    """Files of a package.

    Attributes:
        folder: Folder of the package.
        urdf: Description: a path, or a package:// URI.
        srdf: SRDF file, or xacro file of one.
        others: Settings that are not read, relative to the folder.
        arguments: Arguments of xacro that `.setup_assistant` gives for the description; empty for another description.
    """

    folder: Path
    urdf: str
    srdf: Path
    others: tuple[str, ...] = ()
    arguments: frozendict[str, str] = field(default_factory=frozendict)

    def settings(self, name: str, left_out: list[str]) -> dict[str, Any]:
        """Return the mapping of config/NAME.yaml; empty if there is no such file.

        left_out: Takes note of keys that a mapping has twice, which MoveIt's setup assistant writes and MoveIt reads.

        Raises:
            FileError: The file is malformed, or no mapping.
        """
        path = self.folder / CONFIG / f"{name}.yaml"
        if not path.exists():
            return {}
        return _mapping(path, left_out)


def find_package(folder: Path, urdf: str = "", srdf: str = "") -> ConfigPackage:
    """Find the files of a package.

    Args:
        folder: Folder of the package, or a folder in it.
        urdf: Description, as a path or URI; "" to look for it: the only one in config/ or urdf/, that of the SRDF's
            name, or that of `.setup_assistant`.
        srdf: SRDF, as a path or relative to the package; "" to look for it in the same way.

    Raises:
        FileError: There is no such file, or several; the message lists them.
    """
    folder = folder.absolute()
    if folder.name in (*FOLDERS["urdf"], "srdf", "launch") and (folder.parent / "package.xml").exists():
        folder = folder.parent
    if not folder.is_dir():
        raise FileError(f"{folder} is not a folder", stage=STAGE, subjects=(str(folder),))
    assistant = _assistant(folder)
    descriptions = _candidates(folder, FOLDERS["urdf"], URDF)
    semantics = _candidates(folder, FOLDERS["srdf"], SRDF)
    if srdf:
        semantic = folder / srdf if (folder / srdf).exists() else Path(srdf).absolute()
    else:
        named = str(assistant.get("srdf", {}).get("relative_path", ""))
        stems = [_stem(path, URDF) for path in descriptions]
        semantic = _chosen(folder, semantics, named, stems, SRDF, "--srdf")
    entry = {} if urdf or descriptions else assistant.get("urdf", {})
    found = urdf or _described(folder, descriptions, assistant.get("urdf", {}), _stem(semantic, SRDF))
    return ConfigPackage(folder, found, semantic, _others(folder), _arguments(str(entry.get("xacro_args") or "")))


def _arguments(text: str) -> frozendict[str, str]:
    """Return the arguments NAME:=VALUE of a command line of xacro, without its options."""
    pairs = (word.split(":=", 1) for word in text.split() if ":=" in word)
    return frozendict({name: value for name, value in pairs})


def _described(folder: Path, candidates: Sequence[Path], entry: dict[str, Any], stem: str) -> str:
    if not candidates and entry.get("package") and entry.get("relative_path"):
        return f"package://{entry['package']}/{entry['relative_path']}"
    return str(_chosen(folder, candidates, str(entry.get("relative_path", "")), [stem], URDF, "--urdf"))


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
    subjects = tuple(map(str, candidates)) or (str(folder),)
    raise FileError(text, stage=STAGE, subjects=subjects, remedy=f"Give the {what}: `{option} FILE`.")


def _stem(path: Path, suffixes: Sequence[str]) -> str:
    suffix = next((suffix for suffix in sorted(suffixes, key=len, reverse=True) if path.name.endswith(suffix)), "")
    return path.name.removesuffix(suffix)


def _candidates(folder: Path, places: Sequence[str], suffixes: Sequence[str]) -> list[Path]:
    """Return the files that can be the description, or the SRDF: not those that define macros for others."""
    found = [
        path
        for place in places
        if (folder / place).is_dir()
        for path in sorted((folder / place).iterdir())
        if path.name.endswith(tuple(suffixes)) and path.is_file()
    ]
    return [path for path in found if path.suffix != XACRO or not unused_macros(read_text(path, STAGE))]


def _assistant(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the sections of `.setup_assistant` with names in lower case, as MoveIt 2 writes them; MoveIt 1 has URDF
    and SRDF. That of MoveIt 2 writes the section `control_xacro` twice."""
    path = folder / ASSISTANT
    if not path.exists():
        return {}
    found = _mapping(path, []).get("moveit_setup_assistant_config")
    if not isinstance(found, dict):
        return {}
    return {key.lower(): value for key, value in found.items() if isinstance(value, dict)}


def _others(folder: Path) -> tuple[str, ...]:
    paths = sorted((folder / CONFIG).glob("*.yaml")) if (folder / CONFIG).is_dir() else []
    return tuple(str(path.relative_to(folder)) for path in paths if path.stem not in READ)


def _mapping(path: Path, duplicates: list[str]) -> dict[str, Any]:
    found = parse_yaml(read_text(path, STAGE, MAX_TEXT_BYTES), str(path), STAGE, duplicates)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise FileError(f"{path} is no mapping", stage=STAGE, subjects=(str(path),))
    return found
