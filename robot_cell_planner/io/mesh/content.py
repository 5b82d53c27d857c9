"""Content of mesh files: one sequence of bytes, also where a text file of glTF has its buffers in other files.

Such buffers are read from the folder of the file and embedded as base64. The digest of a mesh and its copies are
therefore those of all its files, so that a change of any of them is noticed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ...errors import FileError, GeometryError, LimitExceededError, RobotCellError
from ..common.resources import MAX_MESH_BYTES, MAX_TEXT_BYTES, read_bytes
from .gltf import external, external_buffer
from .incomplete import STAGE

SUFFIX = ".gltf"
EMBEDDED = "data:application/octet-stream;base64,"
Version = tuple[str, int, int, int]  # path, modification time [ns], size [bytes] and inode of a file


def mesh_content(path: str | Path) -> bytes:
    """Return the content of a mesh file. Buffers of a text file of glTF that are in its folder, or below, are embedded.

    Raises:
        FileError: The file, or one with a buffer, cannot be read.
        GeometryError: A buffer is in a file outside of the folder, or the text is no JSON.
        LimitExceededError: The content is larger than MAX_MESH_BYTES.
    """
    content = read_bytes(path, STAGE, MAX_MESH_BYTES)
    if not _has_external_buffers(path, content):
        return content
    document = _document(content, str(path))
    size = len(content)
    for buffer in _external_buffers(document):
        numbers = base64.b64encode(read_bytes(_buffer_file(buffer["uri"], str(path)), STAGE, MAX_MESH_BYTES))
        size += len(numbers)
        _check_size(str(path), size, MAX_MESH_BYTES)
        buffer["uri"] = EMBEDDED + numbers.decode()
    return json.dumps(document).encode()


def content_digest(path: Path, limit: int = MAX_MESH_BYTES) -> str:
    """Return the SHA-256 of the content of a mesh file, cached while size and modification time of its files are
    unchanged. That of a file whose buffers cannot be embedded is the digest of the file alone.

    Raises:
        FileError: The file cannot be read.
        LimitExceededError: The files together are larger than `limit` bytes.
    """
    own = _version(path)
    versions: tuple[Version, ...] = (own,)
    if path.suffix.lower() == SUFFIX:
        _check_size(str(path), own[2], limit)
        versions = (own, *(_version(Path(file)) for file in _buffer_files(own)))
    _check_size(str(path), sum(size for _, _, size, _ in versions), limit)
    return _digest_of_versions(versions)


@lru_cache(maxsize=20_000)
def _digest_of_versions(versions: tuple[Version, ...]) -> str:
    path = versions[0][0]
    content = read_bytes(path, STAGE, MAX_MESH_BYTES) if len(versions) == 1 else mesh_content(path)
    return hashlib.sha256(content).hexdigest()


@lru_cache(maxsize=20_000)
def _buffer_files(version: Version) -> tuple[str, ...]:
    """Return the files with buffers of a text file of glTF; none if one of them cannot be used."""
    path = version[0]
    content = read_bytes(path, STAGE, MAX_MESH_BYTES)
    if not _has_external_buffers(path, content):
        return ()
    try:
        buffers = _external_buffers(_document(content, path))
        return tuple(str(_buffer_file(buffer["uri"], path)) for buffer in buffers)
    except RobotCellError:
        return ()  # the error is raised when the mesh is loaded


def _version(path: Path) -> Version:
    try:
        status = os.stat(path)
    except OSError as error:
        raise FileError.of(path, error, STAGE) from error
    return str(path), status.st_mtime_ns, status.st_size, status.st_ino


def _has_external_buffers(path: str | Path, content: bytes) -> bool:
    return Path(path).suffix.lower() == SUFFIX and external_buffer(content) is not None


def _document(content: bytes, path: str) -> Any:
    if len(content) > MAX_TEXT_BYTES:
        text = f"{path} has {len(content)} bytes, expected at most {MAX_TEXT_BYTES} with buffers in other files"
        raise LimitExceededError(text, stage=STAGE, subjects=(path,))
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        text = f"{path} is not a readable GLTF mesh: {type(error).__name__}: {str(error)[:200]}"
        raise GeometryError(text, stage=STAGE, subjects=(path,)) from error


def _external_buffers(document: Any) -> list[dict[str, Any]]:
    """Return the buffers of a document that are in other files; malformed ones are left to the parser."""
    buffers = document.get("buffers") if isinstance(document, dict) else None
    entries = [entry for entry in buffers if isinstance(entry, dict)] if isinstance(buffers, list) else []
    return [entry for entry in entries if isinstance(entry.get("uri"), str) and not entry["uri"].startswith("data:")]


def _buffer_file(uri: str, path: str) -> Path:
    """Return the real path of a file with a buffer.

    Raises:
        GeometryError: It is not in the folder of the mesh, or below.
        FileError: It does not exist.
    """
    folder, name = Path(os.path.realpath(path)).parent, unquote(uri)
    try:
        inside = "://" not in uri and Path(os.path.realpath(folder / name)).is_relative_to(folder)
    except ValueError:  # a zero byte
        inside = False
    if not inside:
        raise external(uri, path, "which is not in its folder")
    file = Path(os.path.realpath(folder / name))
    if not file.exists():
        text = f"{path} has its numbers in {uri[:200]!r}, which resolves to {file}: No such file or directory"
        remedy = "Copy the file next to the mesh, or export the mesh as .glb, which is one file."
        raise FileError(text, stage=STAGE, subjects=(path, str(file)), remedy=remedy)
    return file


def _check_size(path: str, size: int, limit: int) -> None:
    if size > limit:
        text = f"{path} has {size} bytes, expected at most {limit}"
        raise LimitExceededError(text, stage=STAGE, subjects=(path,))
