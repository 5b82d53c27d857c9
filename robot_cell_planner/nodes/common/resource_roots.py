"""Where nodes may read files: parameters, and the roots that follow from them."""

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
        "Folders that files may be read from, besides those of packages.",
        constraint="each exists",
    ),
    Parameter(
        "max_text_bytes",
        MAX_TEXT_BYTES,
        "Maximum size of a text file that is read, such as a URDF [bytes].",
        1,
        MAX_TEXT_BYTES,
    ),
    Parameter("max_mesh_bytes", MAX_MESH_BYTES, "Maximum size of a mesh file that is read [bytes].", 1, MAX_MESH_BYTES),
    Parameter(
        "resource_packages",
        [""],
        "Packages for package:// URIs, besides the installed ones.",
        constraint='each as "name=folder"',
    ),
)


def resource_roots(parameters: Parameters, cell_file: str = "") -> ResourceRoots:
    """The roots that the parameters name, and those of the cell file (see `ResourceRoots.with_file`).

    Raises:
        InvalidRequestError: an entry that is no folder, or no "name=folder".
    """
    folders = [str(Path(folder).resolve()) for folder in parameters["resource_folders"] if folder]
    packages: dict[str, str] = {}
    for entry in parameters["resource_packages"]:
        if not entry:
            continue
        name, separator, folder = entry.partition("=")
        if not (name and separator and folder):
            text = f'parameter resource_packages has {entry!r}, expected "name=folder"'
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
