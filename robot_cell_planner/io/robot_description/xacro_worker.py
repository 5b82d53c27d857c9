"""Worker program that expands one xacro file in its own process, started by `xacro_files`.

A xacro file is a program: it includes other files and evaluates expressions. Expressions are restricted to an allowed
syntax (`xacro_expressions`), and the process is sandboxed (`sandbox`): it can read only the given folders, with limited
time, memory and output size.

Reads a JSON object {path, arguments, folders, shares, packages, seconds, bytes, text_bytes} from standard input. Writes
an object with "text", the "names" of arguments that the files have, and the files that were "read", null if the text
depends on others; or "unknown_package"; or "error", its "cause" (a `Cause`, or null) and the "files" being processed
when it failed, outermost first.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import sys
from collections.abc import Iterable
from typing import Any, Literal

import xacro
import yaml  # noqa: F401 - xacro would import it when files can no longer be read
from xacro import substitution_args

from ...model.name_suggestions import similar_names
from ...system.sandbox import confine
from ...system.sandboxed_process import import_folders
from .xacro_expressions import allowed_names, evaluate
from .xacro_macro_errors import caller, is_misfit, keep_macro_names, with_existing_names

LISTING_EVENTS = frozenset(("os.listdir", "os.scandir", "glob.glob", "glob.glob/2"))
MAX_FILES = 1000  # that were read
REFUSED_EVENTS = (
    "ctypes.", "ftplib.", "http.", "os.chmod", "os.chown", "os.exec", "os.fork", "os.link", "os.mkdir", "os.kill",
    "os.posix_spawn", "os.putenv", "os.remove", "os.rename", "os.rmdir", "os.spawn", "os.symlink", "os.system",
    "os.truncate", "os.unsetenv", "pty.", "shutil.", "smtplib.", "socket.", "sqlite3.", "subprocess.", "urllib.",
    "webbrowser.",
)  # fmt: skip
MODULES = (".py", ".pyc", ".so")
MAX_LINKS = 20_000
CUT_OFF = (
    "$(eval {}): xacro ends $(...) at its first closing parenthesis; write an expression with parentheses as ${{...}}, "
    "in which the value of an argument is xacro.arg('NAME'); environment variables are not available"
)
WORD = re.compile(r"\w+")
OLD_SYNTAX = re.compile(r"<(property|macro|include)\s")
UNDEFINED_ARGUMENT = re.compile(r"Undefined substitution argument (\w+)")
ENVIRONMENT_VARIABLE = re.compile(r"environment variable '([^']*)' is not set")

Cause = Literal["folders", "argument", "macro", "file"]


class OutsideError(Exception):
    """A file attempts an operation that is not allowed. Not an OSError, because xacro ignores those for optional
    includes."""


class OutsideFoldersError(OutsideError):
    """A file refers to one that is outside of the allowed folders."""


class NotAFileError(OutsideError):
    """A file reads a folder or a device."""


class UndefinedArgumentError(KeyError):
    """An argument without a value, in the words that xacro has for it outside of expressions."""

    def __str__(self) -> str:
        return f"Undefined substitution argument {self.args[0]}"


class Arguments(dict[str, str]):
    """Arguments of a file, which keep the names that were requested of them."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.names: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.names.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return super().__getitem__(name)

    def __missing__(self, name: str) -> str:
        raise UndefinedArgumentError(name)


class UnknownPackageError(Exception):
    """$(find) refers to a package that the caller has not resolved."""


class ReadFiles:
    """The files that were read. complete: whether the text depends on no others, such as on files that are missing, or
    on which files a folder contains."""

    def __init__(self) -> None:
        self.paths: dict[str, None] = {}
        self.complete = True

    def add(self, path: object) -> None:
        """Add a file that is opened."""
        written = os.path.abspath(os.fsdecode(path)) if isinstance(path, (str, bytes)) else ""
        if os.path.isfile(written) and len(self.paths) < MAX_FILES:
            self.paths[written] = None
        else:
            self.complete = False

    def listed(self) -> list[str] | None:
        """Return the paths; None if they are not complete."""
        return sorted(self.paths) if self.complete else None


def watch(folders: list[str], shares: list[str]) -> ReadFiles:
    """Restrict Python's file access to the given folders from now on, and return the files that are read.

    The kernel also enforces this where supported; this check reports the file and the reason. shares: Share folders of
    installed packages, which may contain symbolic links to any location.
    """
    unique = list(dict.fromkeys(folders))
    real = [os.path.realpath(folder) for folder in unique]
    python, read = import_folders(), ReadFiles()

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            check_open(arguments[0], arguments[2])
            if not str(arguments[0]).endswith(MODULES):
                read.add(arguments[0])
        elif event in LISTING_EVENTS:
            read.complete &= event == "os.listdir"  # by imports; expressions cannot do it
            check_place(arguments[0], importing=event == "os.listdir")  # imports list folders too
        elif event.startswith(REFUSED_EVENTS):
            raise OutsideError(f"a xacro file may not do {event}")

    def check_place(path: object, importing: bool) -> str:
        if not isinstance(path, (str, bytes)):
            return ""
        written, name = os.path.abspath(os.fsdecode(path)), os.path.realpath(os.fsdecode(path))
        # ".." after a link in a share folder could lead to any other file.
        in_share = below(written, shares) and os.path.realpath(written) == name
        if below(name, real) or in_share or (importing and below(name, python)):
            return name
        raise OutsideFoldersError(f"{written}: lies outside of the allowed folders ({', '.join(unique)})")

    def check_open(path: object, flags: object) -> None:
        if isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OutsideError(f"{path}: a xacro file may not write")
        name = check_place(path, importing=str(path).endswith(MODULES))
        if os.path.exists(name) and not os.path.isfile(name):
            raise NotAFileError(f"{name}: is not a regular file")

    sys.addaudithook(hook)
    return read


def below(path: str, roots: Iterable[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def linked_files(shares: list[str]) -> list[str]:
    """Return the targets of symbolic links in share folders, which the kernel would treat as outside of them."""
    found: set[str] = set()
    for share in shares:
        for folder, folders, files in os.walk(share):
            for name in (*folders, *files):
                if len(found) < MAX_LINKS and os.path.islink(path := os.path.join(folder, name)):
                    found.add(os.path.realpath(path))
    return sorted(found)


def restrict_expressions(packages: dict[str, str]) -> None:
    """Replace Python's `eval` in `${...}` and `$(eval ...)` by the evaluation of allowed syntax."""

    def find(name: str) -> str:
        if name not in packages:
            raise UnknownPackageError(name)
        return packages[name]

    def evaluate_extension(text: str, context: dict[str, Any]) -> str:
        given = context.setdefault("arg", {})
        names = dict(functions)
        names["arg"] = lambda name: substitution_args.convert_value(substitution_args._eval_arg(name, given), "auto")
        names["dirname"] = lambda: substitution_args._eval_dirname(context["filename"])
        names.update({k: substitution_args.convert_value(v, "auto") for k, v in given.items() if k not in names})
        if isinstance(given, Arguments):
            given.names.update(given.keys() & set(WORD.findall(text)))
        try:
            return str(evaluate(text, names))
        except SyntaxError as error:
            if text.count("(") > text.count(")"):
                raise SyntaxError(CUT_OFF.format(text)) from error
            raise

    functions: dict[str, Any] = {name: value for name, value in vars(math).items() if not name.startswith("_")}
    functions.update({kind.__name__: kind for kind in (list, dict, map, str, float, int)}, true=True, false=False)
    functions.update(env=substitution_args._eval_env, optenv=substitution_args._eval_optenv, find=find)
    allowed_names(functions)
    allowed_names(xacro._global_symbols)
    xacro.safe_eval = lambda text, names, _locals=None: evaluate(text, names)
    substitution_args._eval = evaluate_extension
    substitution_args._eval_find = find


def expand(task: dict[str, Any]) -> dict[str, object]:
    """Return the result of a task."""
    try:
        # As `xacro.process_file`, without the comment that names the file: descriptions contain no paths of computers.
        xacro.init_stacks(task["path"])
        document = xacro.parse(None, task["path"])
        given = Arguments(task["arguments"])
        xacro.process_doc(document, mappings=given)
        text = str(document.toprettyxml(indent="  "))
    except Exception as error:  # any error caused by the file is reported to the caller
        inner: BaseException = error
        while isinstance(getattr(inner, "exc", None), BaseException):  # xacro wraps the original exception
            inner = inner.exc  # type: ignore[attr-defined]
        if isinstance(inner, UnknownPackageError):
            return {"unknown_package": str(inner)}
        files = [str(file) for file in xacro.filestack or [] if file]
        return {"error": reason(error, inner), "cause": cause(error, inner), "files": files}
    if len(text) > task["text_bytes"]:
        size = f"expands to {len(text)} characters, expected at most {task['text_bytes']}"
        return {"error": size, "cause": None, "files": [task["path"]]}
    return {"text": text, "names": sorted(given.names)}


def cause(error: BaseException, inner: BaseException) -> Cause | None:
    """Return the cause of an error that has a remedy of its own."""
    if isinstance(inner, OutsideFoldersError):
        return "folders"
    if is_misfit(error):
        return "macro"
    if isinstance(inner, (FileNotFoundError, NotAFileError)):
        return "file"
    return "argument" if UNDEFINED_ARGUMENT.search(str(error)) else None


def reason(error: BaseException, inner: BaseException) -> str:
    # xacro writes the type of an error in $(...), and its text twice.
    text = str(error).replace(f"{type(inner)}: {inner} {inner}", str(inner))
    if isinstance(inner, OutsideError):
        text = str(inner)
    if isinstance(inner, PermissionError):
        text = f"{inner.filename}: {os.strerror(inner.errno or errno.EACCES)}"
    elif isinstance(inner, FileNotFoundError) and inner.filename:
        text = f"{inner.filename}: {os.strerror(errno.ENOENT)}{similar_files(str(inner.filename))}"
    else:
        text = with_existing_names(text, error) + caller(error)
    if isinstance(inner, (FileNotFoundError, NotAFileError)):
        text += empty_arguments()
    if isinstance(inner, NameError):
        text += old_syntax(str(xacro.filestack[-1]) if xacro.filestack else "")
    if variable := ENVIRONMENT_VARIABLE.search(text):
        text = text.replace(
            variable[0], f"$(env {variable[1]}): xacro files are expanded without environment variables"
        )
        text += (
            f"; use an argument instead, $(arg {variable[1]}), and give it a value in xacro_arguments, or expand the "
        )
        text += "file beforehand: xacro FILE > robot.urdf"
    if undefined := UNDEFINED_ARGUMENT.search(text):
        text += f"; give it a value: {undefined[1]}:=VALUE on a command line, or in xacro_arguments"
    if isinstance(inner, (MemoryError, RecursionError)):
        text = f"{type(inner).__name__}: {text}"
    return " ".join((text or repr(error)).split())


def empty_arguments() -> str:
    """Return the end of an error about a path, with the arguments without a value, which it may depend on."""
    empty = [name for name, value in arguments().items() if value == ""]
    if not empty:
        return ""
    text = f"; if the path depends on an argument without a value ({', '.join(empty)}), give it a value by "
    return f"{text}{empty[0]}:=VALUE"


def similar_files(path: str) -> str:
    """Return the end of an error about a missing file: similar names in its folder, if that can be read."""
    try:
        names = os.listdir(os.path.dirname(os.path.abspath(path)))
    except (OSError, OutsideError):
        return ""
    near = similar_names(os.path.basename(path), names)
    return f"; nearest: {', '.join(near)}" if near else ""


def old_syntax(path: str) -> str:
    """Return the end of an error about a file with instructions that lack the prefix of xacro, which it ignores."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = OLD_SYNTAX.search(file.read())
    except (OSError, OutsideError):
        return ""
    if found is None:
        return ""
    return f"; the file has <{found[1]}> in the syntax of an older xacro; the present one needs <xacro:{found[1]}>"


def arguments() -> dict[str, str]:
    """Return the arguments of the file that is expanded, with their values."""
    found: dict[str, str] = xacro.substitution_args_context.get("arg", {})
    return found


def main() -> None:
    task = json.load(sys.stdin)
    answer, sys.stdout = sys.stdout, io.StringIO()  # files may print
    restrict_expressions(task["packages"])
    keep_macro_names()
    readable = [*task["folders"], *task["shares"], *linked_files(task["shares"]), *import_folders()]
    layers = confine(
        readable, cpu_seconds=task["seconds"], memory_bytes=task["bytes"], output_bytes=8 * task["text_bytes"]
    )
    read = watch(task["folders"], task["shares"])
    found = expand(task)
    json.dump({**found, "read": read.listed(), "layers": layers}, answer)
    answer.flush()
