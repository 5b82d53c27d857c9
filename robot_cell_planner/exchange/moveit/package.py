"""Files of a MoveIt configuration package: which description, which SRDF, which settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import FileError
from ...io.common.resources import MAX_TEXT_BYTES, read_text
from ...io.common.yaml_reader import parse_yaml

STAGE = "read MoveIt package"
CONFIG = "config"
URDF, SRDF = (".urdf.xacro", ".urdf"), (".srdf", ".srdf.xacro")
FOLDERS = {"urdf": (CONFIG, "urdf", "robots"), "srdf": (CONFIG, "srdf")}
READ = ("joint_limits", "kinematics", "ompl_planning", "moveit_controllers", "initial_positions")
ASSISTANT = ".setup_assistant"


@dataclass(frozen=True)
class ConfigPackage:
    """Files of a package.

    Attributes:
        folder: Folder of the package.
        urdf: Description: a path, or a package:// URI.
        srdf: SRDF file, or xacro file of one.
        others: Settings that are not read, relative to the folder.
    """

    folder: Path
    urdf: str
    srdf: Path
    others: tuple[str, ...] = ()

    def settings(self, name: str) -> dict[str, Any]:
        """Return the mapping of config/NAME.yaml; empty if there is no such file.

        Raises:
            FileError: The file is malformed, or no mapping.
        """
        path = self.folder / CONFIG / f"{name}.yaml"
        if not path.exists():
            return {}
        return _mapping(path)


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
        named = str(assistant.get("SRDF", {}).get("relative_path", ""))
        stems = [_stem(path, URDF) for path in descriptions]
        semantic = _chosen(folder, semantics, named, stems, SRDF, "--srdf")
    found = urdf or _described(folder, descriptions, assistant, _stem(semantic, SRDF))
    return ConfigPackage(folder, found, semantic, _others(folder))


def _described(folder: Path, candidates: Sequence[Path], assistant: dict[str, Any], stem: str) -> str:
    entry = assistant.get("URDF", {})
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
    listed = ", ".join(str(path.relative_to(folder)) for path in candidates) or "none"
    what = "description" if suffixes == URDF else "SRDF"
    text = f"{folder.name} has {len(candidates)} files that can be the {what} ({listed}): give it by {option}"
    raise FileError(text, stage=STAGE, subjects=tuple(map(str, candidates)) or (str(folder),))


def _stem(path: Path, suffixes: Sequence[str]) -> str:
    suffix = next((suffix for suffix in sorted(suffixes, key=len, reverse=True) if path.name.endswith(suffix)), "")
    return path.name.removesuffix(suffix)


def _candidates(folder: Path, places: Sequence[str], suffixes: Sequence[str]) -> list[Path]:
    return [
        path
        for place in places
        if (folder / place).is_dir()
        for path in sorted((folder / place).iterdir())
        if path.name.endswith(tuple(suffixes)) and path.is_file()
    ]


def _assistant(folder: Path) -> dict[str, Any]:
    path = folder / ASSISTANT
    if not path.exists():
        return {}
    found = _mapping(path).get("moveit_setup_assistant_config")
    if not isinstance(found, dict):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, dict)}


def _others(folder: Path) -> tuple[str, ...]:
    paths = sorted((folder / CONFIG).glob("*.yaml")) if (folder / CONFIG).is_dir() else []
    return tuple(str(path.relative_to(folder)) for path in paths if path.stem not in READ)


def _mapping(path: Path) -> dict[str, Any]:
    found = parse_yaml(read_text(path, STAGE, MAX_TEXT_BYTES), str(path), STAGE)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise FileError(f"{path} is no mapping", stage=STAGE, subjects=(str(path),))
    return found
