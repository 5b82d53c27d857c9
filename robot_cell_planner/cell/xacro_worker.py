"""Expands one xacro file, in a process of its own: the program that `xacro_files` starts.

A xacro file is a program: it includes other files and evaluates Python expressions. Here it can read below the folders
it was given and nothing else, for a limited time and in limited memory, and its mistakes end with this process.

Reads from standard input a JSON object {path, arguments, folders, shares, packages, seconds, bytes}; writes one with
"text", or "unknown_package", or "error" and the "files" that were in work when it failed, outermost first.
"""

import errno
import io
import json
import os
import resource
import sys

# The folder of this script has modules of its own, which are not to stand in for the libraries below.
if sys.path and os.path.abspath(sys.path[0] or ".") == os.path.dirname(os.path.abspath(__file__)):
    del sys.path[0]

REFUSED_EVENTS = (
    "ctypes.", "ftplib.", "http.", "os.chmod", "os.chown", "os.exec", "os.fork", "os.link", "os.mkdir", "os.kill",
    "os.posix_spawn", "os.putenv", "os.remove", "os.rename", "os.rmdir", "os.spawn", "os.symlink", "os.system",
    "os.truncate", "os.unsetenv", "pty.", "shutil.", "smtplib.", "socket.", "subprocess.", "urllib.", "webbrowser.",
)  # fmt: skip


def confine(folders: list[str], shares: list[str]) -> None:
    """From here on only files below the folders can be opened, for reading, and nothing else be done to the system.

    shares: of installed packages, which may hold symbolic links to anywhere.
    """
    real = [os.path.realpath(folder) for folder in folders]
    python = [os.path.realpath(path) for path in (*sys.path, sys.prefix, sys.base_prefix) if path]

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            check_open(arguments[0], arguments[2])
        elif event.startswith(REFUSED_EVENTS):
            raise PermissionError(f"a xacro file may not do {event}")

    def check_open(path: object, flags: object) -> None:
        if isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise PermissionError(errno.EACCES, "a xacro file may not write", str(path))
        if not isinstance(path, (str, bytes)):
            return
        written, name = os.path.abspath(os.fsdecode(path)), os.path.realpath(os.fsdecode(path))
        # Modules that Python imports late are no secrets.
        module = name.endswith((".py", ".pyc", ".so")) and below(name, python)
        if not (below(name, real) or below(written, shares) or module):
            reason = f"lies outside of the allowed folders ({', '.join(folders)})"
            raise PermissionError(errno.EACCES, reason, written)
        if os.path.exists(name) and not os.path.isfile(name):
            raise PermissionError(errno.EACCES, "is not a regular file", written)

    sys.addaudithook(watch)


def below(path: str, roots: list[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


class UnknownPackage(Exception):
    """$(find) names a package that the caller did not resolve yet."""


def expand(path: str, arguments: dict[str, str], packages: dict[str, str]) -> str:
    """The expanded text."""
    import xacro
    from xacro import substitution_args

    def find(name: str) -> str:
        if name not in packages:
            raise UnknownPackage(name)
        return packages[name]

    substitution_args._eval_find = find
    return str(xacro.process_file(path, mappings=arguments).toprettyxml(indent="  "))


def main() -> None:
    task = json.load(sys.stdin)
    answer, sys.stdout = sys.stdout, io.StringIO()  # files may print
    # Libraries come in before the gates close.
    import xacro
    import yaml  # noqa: F401

    resource.setrlimit(resource.RLIMIT_CPU, (task["seconds"], task["seconds"]))
    resource.setrlimit(resource.RLIMIT_AS, (task["bytes"], task["bytes"]))
    confine(task["folders"], task["shares"])
    try:
        result: dict[str, object] = {"text": expand(task["path"], task["arguments"], task["packages"])}
    except Exception as error:  # whatever a file can provoke is its own fault, and is told to the caller
        inner: BaseException = error
        while isinstance(getattr(inner, "exc", None), BaseException):  # xacro wraps what it met
            inner = inner.exc  # type: ignore[attr-defined]
        if isinstance(inner, UnknownPackage):
            result = {"unknown_package": str(inner)}
        else:
            told = f"{inner.filename}: {inner.strerror}" if isinstance(inner, PermissionError) else str(error)
            message = " ".join((told or repr(error)).split())
            result = {"error": message, "files": [str(file) for file in xacro.filestack or [] if file]}
    json.dump(result, answer)


if __name__ == "__main__":
    main()
