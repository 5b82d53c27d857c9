"""Files that a MoveIt configuration package names: `.setup_assistant`, and config/config.yaml of MoveIt Pro."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frozendict import frozendict

from ...errors import FileError
from ...io.common.resources import MAX_TEXT_BYTES, read_text
from ...io.common.yaml_reader import parse_yaml

STAGE = "read MoveIt package"
CONFIG = "config"
ASSISTANT = ".setup_assistant"
PRO_CONFIG = "config.yaml"


@dataclass(frozen=True)
class DeclaredFiles:
    """Files that a package names; all are empty if it names none.

    Attributes:
        package, urdf: Package of the description, and its path in there.
        srdf: Path of the SRDF in the package.
        arguments: Arguments of xacro for the description. Values that are package:// URIs are files.
    """

    package: str = ""
    urdf: str = ""
    srdf: str = ""
    arguments: frozendict[str, str] = field(default_factory=frozendict)


def declared_files(folder: Path) -> DeclaredFiles:
    """Return the files that a package names, in `.setup_assistant` if it has both.

    Raises:
        FileError: A file is malformed, or no mapping.
    """
    if (folder / ASSISTANT).exists():
        return _of_assistant(mapping_of(folder / ASSISTANT, []))
    pro = folder / CONFIG / PRO_CONFIG
    return _of_pro(mapping_of(pro, [])) if pro.exists() else DeclaredFiles()


def mapping_of(path: Path, duplicates: list[str]) -> dict[str, Any]:
    """Return the mapping of a YAML file; empty if the file is. duplicates: Takes note of keys that it has twice.

    Raises:
        FileError: The file is malformed, or no mapping.
    """
    found = parse_yaml(read_text(path, STAGE, MAX_TEXT_BYTES), str(path), STAGE, duplicates)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise FileError(f"{path} is no mapping", stage=STAGE, subjects=(str(path),))
    return found


def _of_assistant(given: Mapping[str, Any]) -> DeclaredFiles:
    """Read the sections of `.setup_assistant`, with names in lower case, as MoveIt 2 writes them; MoveIt 1 has URDF and
    SRDF. That of MoveIt 2 writes the section `control_xacro` twice."""
    sections = {key.lower(): value for key, value in _section(given, "moveit_setup_assistant_config").items()}
    urdf, srdf = _section(sections, "urdf"), _section(sections, "srdf")
    words = [word.split(":=", 1) for word in _text(urdf, "xacro_args").split() if ":=" in word]
    arguments = frozendict({name: value for name, value in words})
    return DeclaredFiles(_text(urdf, "package"), _text(urdf, "relative_path"), _text(srdf, "relative_path"), arguments)


def _of_pro(given: Mapping[str, Any]) -> DeclaredFiles:
    description = _section(_section(given, "hardware"), "robot_description")
    urdf, srdf = _section(description, "urdf"), _section(description, "srdf")
    parameters = description.get("urdf_params")
    entries = [entry for entry in parameters if isinstance(entry, dict)] if isinstance(parameters, list) else []
    arguments = frozendict({str(name): _argument(value) for entry in entries for name, value in entry.items()})
    return DeclaredFiles(_text(urdf, "package"), _text(urdf, "path"), _text(srdf, "path"), arguments)


def _argument(value: object) -> str:
    """Return the text of an argument, as xacro reads it: a scalar, or a mapping of package and path."""
    if isinstance(value, dict):
        return f"package://{_text(value, 'package')}/{_text(value, 'path')}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _section(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = given.get(name)
    return found if isinstance(found, dict) else {}


def _text(given: Mapping[str, Any], name: str) -> str:
    return str(given.get(name) or "")
