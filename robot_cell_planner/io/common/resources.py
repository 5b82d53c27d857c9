"""Resolution of package, file and relative URIs to files below allowed folders."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

import msgspec
from frozendict import frozendict

from ...errors import FileError, InvalidValueError, LimitExceededError, ResourceError
from ...errors.remedies import (
    BACKSLASHES,
    MISSING_FILE,
    NO_FILE,
    OF_THE_SYSTEM,
    OUTSIDE_FOLDERS,
    UNEXPANDED,
    UNKNOWN_PACKAGE,
)
from ...model.arguments import check_fields
from ...model.name_suggestions import similar_names
from ...system.durable_files import durable_file
from ...system.private_files import FILE_MODE
from .defects import Defects
from .packages import (
    PACKAGE_NAME,
    PackageFolder,
    ancestors,
    enclosing_folder,
    installed_packages,
    installed_shares,
    package_at,
    packages_below,
    workspace_of,
)

MAX_TEXT_BYTES = 32 * 1024 * 1024
MAX_MESH_BYTES = 256 * 1024 * 1024
MAX_URI_LENGTH = 4096
MAX_SIMILAR = 20_000  # names in a folder that a missing file is compared with
EXPRESSION = re.compile(r"\$\((find|arg|env|optenv|eval|dirname)\b|\$\{")
XML_DECLARATION = re.compile(rb"\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9_\-]{1,40})[\"']")
XML_ENCODINGS = frozenset(("iso-8859-1", "iso-8859-15", "windows-1252", "latin1"))


class ResourceRoots(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Folders that files may be read from, in addition to installed packages.

    Attributes:
        packages: Share folders by package name; they precede installed packages.
        folders: Folders whose files may be read, and whose subfolders are found as packages and models.
        workspaces: Folders whose packages may be read, found by their package.xml.
        text_bytes: Max size of a description, at most MAX_TEXT_BYTES.
        mesh_bytes: Max size of a mesh file, at most MAX_MESH_BYTES.

    Raises:
        InvalidValueError: A size is below 1, or above what is ever read.
    """

    packages: frozendict[str, str] = frozendict()
    folders: tuple[str, ...] = ()
    workspaces: tuple[str, ...] = ()
    text_bytes: int = MAX_TEXT_BYTES
    mesh_bytes: int = MAX_MESH_BYTES

    def __post_init__(self) -> None:
        check_fields(self)
        for name, most in (("text_bytes", MAX_TEXT_BYTES), ("mesh_bytes", MAX_MESH_BYTES)):
            if not 1 <= getattr(self, name) <= most:
                raise InvalidValueError(f"{name} is {getattr(self, name)}, expected 1 to {most}")

    def with_folder(self, folder: str | Path) -> ResourceRoots:
        """Return the roots with one more folder at the end."""
        text = str(folder)
        return self if text in self.folders else msgspec.structs.replace(self, folders=(*self.folders, text))

    def with_file(self, path: str | Path) -> ResourceRoots:
        """Return the roots for the references of a trusted file: its package or folder, and the packages of its
        workspace."""
        roots, workspace = self.with_folder(enclosing_folder(path)), workspace_of(path)
        if workspace is None or str(workspace) in roots.workspaces:
            return roots
        return msgspec.structs.replace(roots, workspaces=(*roots.workspaces, str(workspace)))


NO_ROOTS = ResourceRoots()


def resolve(uri: str, folder: str | Path = "", roots: ResourceRoots = NO_ROOTS) -> Path:
    """Resolve a URI to a real absolute path.

    package://name/path and model://name/path are relative to a package or model folder, file:///path is absolute, and
    anything else is relative to `folder`. Packages are searched in the roots (a root or a subfolder of that name), in
    AMENT_PREFIX_PATH, among installed Python packages (share/<name> of a cmeel prefix), by package.xml below
    ROS_PACKAGE_PATH, the roots and the workspaces, and in the folders around `folder`. Of several folders, the first
    one that contains the file is used. Installed packages and those of the environment and of workspaces may contain
    symbolic links to any location, as created by `colcon build --symlink-install`; elsewhere the real path must be
    below a root.

    Raises:
        ResourceError: The scheme or package is unknown, the file does not exist or is outside all roots, or the URI has
            an expression of xacro.
    """
    if not uri or len(uri) > MAX_URI_LENGTH or "\0" in uri:
        raise ResourceError(f"the URI {uri[:60]!r} is empty, too long or has a zero byte", subjects=(uri[:200],))
    if EXPRESSION.search(uri):
        text = f"{uri!r} has an expression of xacro, which is not expanded here"
        raise ResourceError(text, subjects=(uri,), remedy=UNEXPANDED)
    scheme, separator, rest = uri.partition("://")
    if not separator:
        if not folder and not os.path.isabs(uri):
            raise ResourceError(f"{uri!r} is relative, and nothing says to which folder", subjects=(uri,))
        return _inside_roots(Path(folder, uri), uri, roots)
    if scheme == "file":
        return _inside_roots(Path("/", unquote(rest)), uri, roots)
    if scheme in ("package", "model"):
        return _in_package(unquote(rest).lstrip("/"), uri, Path(folder) if folder else None, roots)
    raise ResourceError(f"{uri!r} has scheme {scheme!r}, expected package, model, file or a path", subjects=(uri,))


def _in_package(rest: str, uri: str, folder: Path | None, roots: ResourceRoots) -> Path:
    name, _, inner = rest.partition("/")
    found = _package_folders(name, folder, roots)
    paths = [Path(os.path.normpath(share / inner.lstrip("/"))) for share, _ in found]
    for path, (share, _) in zip(paths, found, strict=True):
        if not path.is_relative_to(share):
            raise ResourceError(f"{uri!r} is outside package {name} ({share})", subjects=(uri, name))
    index = next((index for index, path in enumerate(paths) if os.path.exists(path)), 0)
    path, (share, trusted) = paths[index], found[index]
    if not trusted:
        return _inside_roots(path, uri, roots)
    if not os.path.exists(path):
        text = f"{uri!r} resolves to {_shown(path)}, which does not exist"
        text += _similar_files(path, roots.with_folder(share))
        raise ResourceError(text, subjects=(uri,), remedy=_remedy_of_missing(uri))
    return path.resolve()


def package_share(name: str, folder: Path | None = None, roots: ResourceRoots = NO_ROOTS) -> PackageFolder:
    """Return the folder of a package, and whether all its files may be read.

    Raises:
        ResourceError: The package does not exist.
    """
    return _package_folders(name, folder, roots)[0]


def _package_folders(name: str, folder: Path | None, roots: ResourceRoots) -> list[PackageFolder]:
    """Return all folders that a package name can refer to, the preferred one first. Folders that may not be read are
    only in the list if there is no other.

    Raises:
        ResourceError: There is none.
    """
    if not PACKAGE_NAME.fullmatch(name):
        raise ResourceError(f"{name[:60]!r} is not a package name", subjects=(name[:200],))
    found = list(dict.fromkeys(_candidates(name, folder, roots)))
    if not found:
        raise ResourceError(
            f"package {name!r} was not found: no package.xml has this name in {_places(folder, roots)}. Source the "
            f"workspace that has the package, or name a folder that contains it as a root",
            subjects=(name,),
            remedy=UNKNOWN_PACKAGE,
        )
    readable = [entry for entry in found if entry.trusted or _allowed(entry.folder, roots)]
    return readable or found


def _candidates(name: str, folder: Path | None, roots: ResourceRoots) -> Iterator[PackageFolder]:
    if name in roots.packages:
        yield PackageFolder(Path(os.path.abspath(roots.packages[name])), False)
        return
    around = [Path(os.path.abspath(root)) for root in roots.folders]
    for root in around:
        if found := package_at(root, name):
            yield PackageFolder(found, False)
    yield from installed_packages(name)
    for root in around:
        if below := packages_below(root).get(name):
            yield PackageFolder(Path(below), False)
    for workspace in roots.workspaces:
        if below := packages_below(workspace).get(name):
            yield PackageFolder(Path(below), True)
    for ancestor in ancestors(folder):
        if found := package_at(ancestor, name):
            yield PackageFolder(found, False)


def _places(folder: Path | None, roots: ResourceRoots) -> str:
    listed = ", ".join(dict.fromkeys([*roots.folders, *roots.workspaces]))
    return f"the roots ({listed or 'none'}), AMENT_PREFIX_PATH, ROS_PACKAGE_PATH, or around {folder or 'the file'}"


def roots_for(path: Path, roots: ResourceRoots) -> ResourceRoots:
    """Return the roots for references of a resolved file.

    If only a symbolic link to the file is in the share folder of an installed package, its own folder is added.
    """
    return roots if _allowed(path, roots) else roots.with_folder(enclosing_folder(path))


def _inside_roots(path: Path, uri: str, roots: ResourceRoots) -> Path:
    """Return the real path, if it is below a root or an installed package.

    Raises:
        ResourceError: The path is outside, or does not exist.
    """
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:  # ValueError: a zero byte or an unpaired surrogate
        # Paths outside give the same error whether or not they exist, so that the file system cannot be probed.
        if not _allowed(Path(os.path.normpath(path)), roots):
            raise _outside(uri, roots) from error
        number = error.errno if isinstance(error, OSError) and error.errno else 0
        text = f"{uri!r} resolves to {_shown(path)}: {os.strerror(number) if number else error}"
        if number != errno.ENOENT:
            raise ResourceError(text, subjects=(uri,), remedy=OF_THE_SYSTEM.get(number, "")) from error
        raise ResourceError(
            text + _similar_files(path, roots), subjects=(uri,), remedy=_remedy_of_missing(uri)
        ) from error
    if not _allowed(real, roots) and not _in_installed_share(Path(os.path.normpath(path)), real):
        raise _outside(uri, roots)
    return real


def _shown(path: Path) -> str:
    text = os.path.normpath(path)
    return text if text.isprintable() else repr(text)


def _similar_files(path: Path, roots: ResourceRoots) -> str:
    """Return the end of an error about a missing file: similar names in its folder, or in that of the first of its
    folders that is missing; "" outside the roots."""
    parents = Path(os.path.normpath(path)).parents
    missing = next((part for part in (path, *parents) if part.parent.is_dir()), path)
    if not _allowed(Path(os.path.realpath(missing.parent)), roots):
        return ""
    try:
        with os.scandir(missing.parent) as entries:
            names = [entry.name for entry in islice(entries, MAX_SIMILAR) if missing is path or os.path.isdir(entry)]
    except (OSError, ValueError):
        return ""
    near = similar_names(missing.name, names)
    return f"; nearest{'' if missing is path else ' folder'}: {', '.join(near)}" if near else ""


def _remedy_of_missing(uri: str) -> str:
    return BACKSLASHES if "\\" in uri else MISSING_FILE


def resolve_below(uri: str, roots: ResourceRoots) -> Path:
    """As `resolve`, for an untrusted URI: relative paths are resolved in the first root that contains them.

    Raises:
        ResourceError: As for `resolve`.
    """
    if "://" in uri or os.path.isabs(uri):
        return resolve(uri, "", roots)
    candidates = [Path(folder, uri) for folder in roots.folders]
    found = next((path for path in candidates if os.path.exists(path)), candidates[0] if candidates else Path("/", uri))
    return resolve(str(found), "", roots)


def resolve_new(uri: str, roots: ResourceRoots) -> Path:
    """Return the real path of a file to write. Its folder must exist below a folder of `roots.folders`.

    Raises:
        ResourceError: The scheme is not file, or the folder does not exist or is outside.
    """
    scheme, separator, rest = uri.partition("://")
    if separator and scheme != "file":
        raise ResourceError(f"{uri!r} has scheme {scheme!r}, expected file or a path to write to", subjects=(uri,))
    path = Path("/", unquote(rest)) if separator else Path(uri)
    if not path.name or path.name in (".", ".."):
        raise ResourceError(f"{uri!r} names no file", subjects=(uri,))
    return resolve_below(str(path.parent), msgspec.structs.replace(roots, packages=frozendict())) / path.name


def _outside(uri: str, roots: ResourceRoots) -> ResourceError:
    listed = ", ".join([*roots.folders, *roots.packages.values()]) or "none"
    text = f"{uri!r} is outside the allowed folders ({listed})"
    return ResourceError(text, subjects=(uri,), remedy=OUTSIDE_FOLDERS)


def _allowed(path: Path, roots: ResourceRoots) -> bool:
    return any(path.is_relative_to(root) for root in _real_roots(roots))


@lru_cache(maxsize=64)
def _real_roots(roots: ResourceRoots) -> tuple[Path, ...]:
    return tuple(Path(folder).resolve() for folder in (*roots.folders, *roots.packages.values()))


def _in_installed_share(path: Path, real: Path) -> bool:
    """Return whether a path without "..", before links are followed, is in the share folder of an installed prefix, and
    leads to a real path: ".." after a link could lead to any other file."""
    is_inside = any(path.is_relative_to(os.path.abspath(share)) for share in installed_shares())
    return is_inside and Path(os.path.realpath(path)) == real


def read_bytes(path: str | Path, stage: str, limit: int = MAX_TEXT_BYTES) -> bytes:
    """Read a regular file.

    Raises:
        FileError: The file is missing, not readable or not a regular file.
        LimitExceededError: The file is larger than `limit` bytes.
    """
    try:
        # Checked before opening, because opening a device can have side effects, and again after opening.
        _require_regular(os.stat(path), path, stage)
        with open(path, "rb", buffering=0, opener=_open_without_waiting) as file:
            status = os.fstat(file.fileno())
            _require_regular(status, path, stage)
            if status.st_size > limit:
                raise _too_large(path, f"{status.st_size}", limit, stage)
            pieces = [b""]
            # Read the reported size, then to the end: kernel files report 0, and other files may grow.
            while piece := file.read(min(status.st_size, limit) + 1):
                pieces.append(piece)
                if sum(map(len, pieces)) > limit:
                    raise _too_large(path, f"more than {limit}", limit, stage)
            return b"".join(pieces)
    except (OSError, ValueError) as error:
        raise FileError.of(path, error, stage) from error


def _require_regular(status: os.stat_result, path: str | Path, stage: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise FileError(f"{path} is not a regular file", stage=stage, subjects=(str(path),), remedy=NO_FILE)


def check_text_length(text: str, source: str, stage: str) -> None:
    """Check the length of a text.

    Raises:
        LimitExceededError: It has more than MAX_TEXT_BYTES characters.
    """
    if len(text) > MAX_TEXT_BYTES:
        message = f"{source} has {len(text)} characters, expected at most {MAX_TEXT_BYTES}"
        raise LimitExceededError(message, stage=stage, subjects=(source,))


def _too_large(path: str | Path, size: str, limit: int, stage: str) -> LimitExceededError:
    return LimitExceededError(f"{path} has {size} bytes, expected at most {limit}", stage=stage, subjects=(str(path),))


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file without blocking on a named pipe that has no writer."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def read_text(path: str | Path, stage: str, limit: int = MAX_TEXT_BYTES, defects: Defects | None = None) -> str:
    """Read a UTF-8 file, or an XML file that declares one of the encodings in `XML_ENCODINGS`.

    defects: Takes note of a file with other bytes, which is then read as ISO-8859-1; None: such a file is refused.

    Raises:
        FileError: The file is missing, not readable, or not valid in that encoding.
        LimitExceededError: The file is larger than `limit` bytes.
    """
    data = read_bytes(path, stage, limit)
    declared = XML_DECLARATION.match(data)
    encoding = declared.group(1).decode().lower() if declared else "utf-8"
    try:
        return data.decode(encoding if encoding in XML_ENCODINGS else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        text = f"{path}:{line}: byte {data[error.start]:#04x} is not UTF-8 text"
        found = FileError(text, stage=stage, subjects=(str(path),))
        if defects is None or defects.strict or b"\0" in data:
            raise found from error
        defects.note(found, "the file is read as ISO-8859-1")
        return data.decode("iso-8859-1")


def write_text(path: Path, text: str, stage: str, overwrite: bool, mode: int = FILE_MODE) -> None:
    """Write a UTF-8 file as `durable_file`. An existing file keeps its mode.

    Raises:
        FileError: The file exists and must not be overwritten, or cannot be written.
    """
    try:
        content = text.encode("utf-8")
        with durable_file(path, mode, overwrite=overwrite, retain_mode=True) as file:
            file.write(content)
    except FileExistsError as error:
        raise FileError.existing(path, stage) from error
    except (OSError, UnicodeEncodeError) as error:
        raise FileError.of(path, error, stage) from error
