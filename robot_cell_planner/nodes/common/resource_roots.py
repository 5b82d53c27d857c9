"""Folders from which nodes may read files: parameters and the resulting roots."""

from __future__ import annotations

from pathlib import Path

from frozendict import frozendict

from ...errors import InvalidRequestError
from ...io.common.resources import MAX_MESH_BYTES, MAX_TEXT_BYTES, ResourceRoots
from .parameters import Parameter, Parameters

RESOURCE_PARAMETERS = (
    Parameter(
        "resource_folders",
        [""],
        "Folders from which files may be read, besides those of packages.",
        constraint="each exists",
    ),
    Parameter(
        "max_text_bytes",
        MAX_TEXT_BYTES,
        "Maximum size of a text file, such as a URDF [bytes].",
        1,
        MAX_TEXT_BYTES,
    ),
    Parameter("max_mesh_bytes", MAX_MESH_BYTES, "Maximum size of a mesh file [bytes].", 1, MAX_MESH_BYTES),
    Parameter(
        "resource_packages",
        [""],
        "Packages for package:// URIs, besides the installed ones.",
        constraint='each as "name=folder"',
    ),
)


def resource_roots(parameters: Parameters, cell_file: str = "") -> ResourceRoots:
    """Return the roots of the parameters and of the cell file (see `ResourceRoots.with_file`).

    Raises:
        InvalidRequestError: An entry is not a folder, or not "name=folder".
    """
    folders = [str(Path(folder).resolve()) for folder in parameters["resource_folders"] if folder]
    packages: dict[str, str] = {}
    for entry in parameters["resource_packages"]:
        if not entry:
            continue
        name, separator, folder = entry.partition("=")
        if not (name and separator and folder):
            text = f'parameter resource_packages contains {entry!r}, expected "name=folder"'
            raise InvalidRequestError(text, stage="parameters")
        packages[name] = str(Path(folder).resolve())
    for folder in (*folders, *packages.values()):
        if not Path(folder).is_dir():
            raise InvalidRequestError(f"resource folder {folder} does not exist", stage="parameters")
    roots = ResourceRoots(
        frozendict(packages),
        tuple(folders),
        text_bytes=parameters["max_text_bytes"],
        mesh_bytes=parameters["max_mesh_bytes"],
    )
    return roots.with_file(cell_file) if cell_file else roots
