"""Copies of robot descriptions with their meshes, so that a folder has all that it needs."""

from __future__ import annotations

from pathlib import Path

from lxml import etree

from ..errors import FileError
from ..io.common.defects import Defects
from ..io.common.resources import write_text
from ..io.common.xml_reader import XmlReader
from ..io.mesh.content import mesh_content
from ..model.sources import ModelSources
from ..system.durable_files import durable_file
from ..system.private_files import SHARED_FOLDER_MODE, make_folder

STAGE = "copy description"
MESHES = "meshes"


def copy_description(sources: ModelSources, folder: Path, name: str, overwrite: bool) -> tuple[str, dict[str, str]]:
    """Write the URDF of a model, xacro expanded, with its meshes below `folder`; return its path relative to `folder`,
    and the new URI of each mesh by the URI in the sources.

    Meshes keep the names of their files, with a number where two have the same. Meshes that cannot be used are left
    out; they have been reported when the model was read.

    Raises:
        FileError: A file exists and must not be overwritten, or cannot be written.
        GeometryError: A buffer of a mesh is in a file outside of its folder.
    """
    root = XmlReader(sources.urdf_uri or name, STAGE, Defects()).parse(sources.urdf)
    meshes = folder / MESHES / name
    written: dict[str, str] = {}
    uris: dict[str, str] = {}
    for element in [e for e in root.iter("mesh") if e.get("filename")]:
        uri = str(element.get("filename")).strip()
        path = sources.files.get(uri, "")
        if not path:
            _remove_visual(element)
            continue
        if path not in written:
            written[path] = _copied(Path(path), meshes, set(written.values()), overwrite)
        uris[uri] = f"{MESHES}/{name}/{written[path]}"
        element.set("filename", uris[uri])
    etree.cleanup_namespaces(root)
    text = etree.tostring(root, encoding="unicode", pretty_print=True)
    target = folder / f"{name}.urdf"
    write_text(target, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}', STAGE, overwrite, mode=0o644)
    return target.name, uris


def _remove_visual(mesh: etree._Element) -> None:
    """Remove the <visual> around a mesh."""
    element: etree._Element | None = mesh
    while element is not None and element.tag != "visual":
        element = element.getparent()
    parent = None if element is None else element.getparent()
    if element is not None and parent is not None:
        parent.remove(element)


def _copied(path: Path, folder: Path, names: set[str], overwrite: bool) -> str:
    """Copy a mesh file into a folder, with its buffers; return the name that it has there.

    names: of the files that were copied before.
    """
    name, number = path.name, 1
    while name in names:
        number += 1
        name = f"{path.stem}_{number}{path.suffix}"
    content = mesh_content(path)
    try:
        make_folder(folder, SHARED_FOLDER_MODE)
        with durable_file(folder / name, 0o644, overwrite=overwrite, retain_mode=True) as copy:
            copy.write(content)
    except FileExistsError as error:
        raise FileError.existing(folder / name, STAGE) from error
    except OSError as error:
        raise FileError.of(folder / name, error, STAGE) from error
    return name
