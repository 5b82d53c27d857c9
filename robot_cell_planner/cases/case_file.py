"""Case files: ZIP archives with request, answer, state, cell and the mesh files that the cell uses."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from ..errors import FileError, LimitExceededError, RobotCellError
from ..errors.remedies import GIVE_CASE
from ..io.common.resources import MAX_MESH_BYTES
from ..io.common.serialisation import from_json as struct_from_json
from ..io.common.serialisation import to_json as struct_to_json
from ..io.mesh.content import mesh_content
from ..model.arguments import public
from ..model.cell import RobotCell
from ..model.json_values import from_json, to_json
from ..model.state import RobotCellState
from ..model.value import plain
from ..system.durable_files import durable_file
from ..system.private_files import FILE_MODE, make_output_folder
from .case import METHODS, Answer, Case, Request, answer_to_json, method_of, versions

FORMAT = "robot_case/1"
STAGE = "case"
CASE, CELL, STATE = "case.json", "cell.json", "state.json"
MESHES = "meshes/"
MESH_NAME = re.compile(r"meshes/([0-9a-f]{64})(\.[A-Za-z0-9]{1,8})?")
MAX_BYTES = 1024 * 1024 * 1024  # of all contents
MAX_FILES = 10_000
MAX_TEXT = 128 * 1024 * 1024  # [bytes] of each JSON text
# zipfile raises RuntimeError for encrypted entries, and its subclass NotImplementedError for unknown compression.
DAMAGED = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
EARLIEST = (1980, 1, 1, 0, 0, 0)  # time of all entries, so that equal cases have equal bytes


@public
def save_case(file: str | Path, cell: RobotCell, state: RobotCellState, request: Request, answer: Answer) -> Path:
    """Write a request with its cell, state and answer to a file, which is readable by its owner only. Returns its path.

    The file contains the meshes of the cell, but no path of this machine. Equal cases give equal bytes.

    Args:
        answer: The plan or plans, the report, or the error that was raised.

    Raises:
        FileError: A mesh cannot be read or has changed, or the file cannot be written.
        InvalidRequestError: There is no method that answers such a request.
    """
    content = {
        "format": FORMAT,
        "method": method_of(request),
        "request": to_json(request),
        "answer": answer_to_json(answer),
        "versions": versions(),
        "cell_digest": cell.digest(),
    }
    meshes: dict[str, str] = {}
    models = _packed(msgspec.to_builtins(cell, enc_hook=plain), meshes)
    texts = {CASE: json.dumps(content, indent=1).encode(), CELL: json.dumps(models).encode()}
    path = Path(file)
    try:
        make_output_folder(path)
        with durable_file(path, FILE_MODE) as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in {**texts, STATE: struct_to_json(state)}.items():
                archive.writestr(_entry(name), data)
            for name, source in sorted(meshes.items()):
                archive.writestr(_entry(name), _mesh_bytes(source, name))
    except OSError as error:
        raise FileError.of(path, error, STAGE) from error
    return path


@public
@contextmanager
def open_case(file: str | Path) -> Iterator[Case]:
    """Open a file of `save_case`; its meshes are in a temporary folder until the end of the context.

    Raises:
        FileError: The file is malformed, damaged, or of another format.
        LimitExceededError: It is too large: 1 GB in all, 10,000 files.
    """
    path = Path(file)
    with TemporaryDirectory(prefix="robot_case_") as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                case = _read(archive, Path(folder), str(path))
        except RobotCellError:  # some are also RuntimeErrors or OSErrors
            raise
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
            raise FileError.of(path, error, STAGE) from error
        except DAMAGED as error:
            raise _malformed(path, str(error)) from error
        yield case


def _read(archive: zipfile.ZipFile, folder: Path, source: str) -> Case:
    _check_size(archive, source)
    content = _json(archive, CASE, source)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _malformed(source, f"{CASE} does not have the format {FORMAT!r}")
    method = str(content.get("method"))
    if method not in METHODS:
        raise _malformed(source, f"method {method[:60]!r} is not one of {', '.join(METHODS)}")
    _extract_meshes(archive, folder, source)
    models = _unpacked(_json(archive, CELL, source), folder, source)
    cell = struct_from_json(json.dumps(models), RobotCell)
    state = struct_from_json(_bytes(archive, STATE, source), RobotCellState)
    cell.check_state(state)
    if cell.digest() != content.get("cell_digest"):
        raise _malformed(source, f"the cell has digest {cell.digest()}, not {str(content.get('cell_digest'))[:60]}")
    request = from_json(METHODS[method], content.get("request"), "request")
    answer, known = content.get("answer"), content.get("versions")
    if not isinstance(answer, dict) or not isinstance(known, dict):
        raise _malformed(source, f"{CASE} has no answer or no versions")
    return Case(cell, state, method, request, answer, {str(key): str(value) for key, value in known.items()})


def _check_size(archive: zipfile.ZipFile, source: str) -> None:
    entries = archive.infolist()
    total = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_FILES or total > MAX_BYTES:
        text = f"{source} has {len(entries)} files with {total} bytes, expected at most {MAX_FILES} and {MAX_BYTES}"
        raise LimitExceededError(text, stage=STAGE, subjects=(source,))
    if any(entry.compress_type not in COMPRESSIONS for entry in entries):
        raise _malformed(source, "its entries are neither stored nor deflated")


def _extract_meshes(archive: zipfile.ZipFile, folder: Path, source: str) -> None:
    (folder / MESHES).mkdir()
    for entry in archive.infolist():
        found = MESH_NAME.fullmatch(entry.filename)
        if found is None:
            continue
        data = _bytes(archive, entry.filename, source, MAX_MESH_BYTES)
        if sha256(data).hexdigest() != found.group(1):
            raise _malformed(source, f"{entry.filename} is damaged")
        (folder / entry.filename).write_bytes(data)


def _bytes(archive: zipfile.ZipFile, name: str, source: str, limit: int = MAX_TEXT) -> bytes:
    """Return the content of an entry, which may be longer neither than its header declares nor than a limit."""
    try:
        with archive.open(name) as file:
            data = file.read(limit + 1)
    except KeyError as error:
        raise _malformed(source, f"it has no {name}") from error
    if len(data) > limit:
        text = f"{name} in {source} has more than {limit} bytes"
        raise LimitExceededError(text, stage=STAGE, subjects=(source, name))
    return data


def _json(archive: zipfile.ZipFile, name: str, source: str) -> Any:
    try:
        return json.loads(_bytes(archive, name, source))
    except (ValueError, RecursionError) as error:
        raise _malformed(source, f"{name} is no JSON: {error}") from error


def _malformed(path: str | Path, reason: str) -> FileError:
    text = f"{path} is no case file that can be read: {reason}"
    return FileError(text, stage=STAGE, subjects=(str(path),), remedy=GIVE_CASE)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = FILE_MODE << 16
    return entry


def _mesh_bytes(source: str, name: str) -> bytes:
    data = mesh_content(source)
    if f"{MESHES}{sha256(data).hexdigest()}" != name.partition(".")[0]:
        raise FileError(f"{source} has changed since the cell was loaded", stage=STAGE, subjects=(source,))
    return data


def _packed(value: Any, meshes: dict[str, str]) -> Any:
    """Return models without paths of this machine. meshes: gets the file of each mesh, by the name of its entry."""
    if isinstance(value, list | tuple):
        return [_packed(item, meshes) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _packed(item, meshes) for key, item in value.items() if key != "sources"}
    if value.get("type") == "mesh":
        suffix = Path(value["path"]).suffix
        name = f"{MESHES}{value['digest']}{suffix}"
        meshes[name] = value["path"]
        found["uri"] = found["path"] = name
    return found


def _unpacked(value: Any, folder: Path, source: str) -> Any:
    """Return models whose meshes are files of a folder."""
    if isinstance(value, list):
        return [_unpacked(item, folder, source) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _unpacked(item, folder, source) for key, item in value.items()}
    if value.get("type") == "mesh":
        name = value.get("path")
        if not isinstance(name, str) or not MESH_NAME.fullmatch(name) or not (folder / name).is_file():
            raise _malformed(source, f"it has no mesh {str(name)[:100]!r}")
        found["path"] = str(folder / name)
    return found
