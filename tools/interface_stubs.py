"""Writes type stubs for the generated Python code of all ROS interfaces of the environment, which has no type hints.

`tools/with_environment python tools/interface_stubs.py FOLDER`; set-up runs it, and mypy reads the result (`mypy_path`
in pyproject.toml). Messages, services and actions derive from the classes of a module `interface_types`, which exists
for type checkers alone. It names the types of the parts of a service or action, so that the types of a handler are
checked against those of its service or action.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ament_index_python.resources import get_resources
from rosidl_parser.definition import AbstractGenericString, AbstractNestedType, Array, BasicType, NamespacedType

KINDS = ("msg", "srv", "action")
SCALARS = {"boolean": "bool", "octet": "bytes", "float": "float", "double": "float", "long double": "float"}
NUMPY = {"float": "float32", "double": "float64", "char": "uint8"}
HEAD = """from array import array
from collections.abc import Collection
from typing import Final, TypeAlias

import numpy as np
from interface_types import Action, Message, Service
from numpy.typing import NDArray
"""
INTERFACE_TYPES = """from typing import Any, ClassVar, Generic, TypeVar

class Message:
    SLOT_TYPES: ClassVar[tuple[Any, ...]]
    @classmethod
    def get_fields_and_field_types(cls) -> dict[str, str]: ...

Request = TypeVar("Request")
Response = TypeVar("Response")
Goal = TypeVar("Goal")
Result = TypeVar("Result")
Feedback = TypeVar("Feedback")

class Service(Generic[Request, Response]): ...
class Action(Generic[Goal, Result, Feedback]): ...
"""


def write_stubs(folder: Path) -> None:
    """Write the stubs of every package that the ament index lists with interfaces."""
    _write(folder / "interface_types.pyi", INTERFACE_TYPES)
    for package in sorted(get_resources("rosidl_interfaces")):
        for kind in KINDS:
            try:
                module = import_module(f"{package}.{kind}")
            except ModuleNotFoundError:
                continue
            _write(folder / package / kind / "__init__.pyi", ModuleStub(module).text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


class ModuleStub:
    """The stub of one module such as `std_msgs.msg`."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module.__name__
        self._classes: dict[str, list[str]] = {}  # lines by name
        self._imports: set[str] = set()
        for found in vars(module).values():
            if isinstance(found, type):
                self._add(found)

    @property
    def text(self) -> str:
        imports = [f"import {name}" for name in sorted(self._imports - {self._module})]
        return "\n".join((HEAD, *imports, *(line for lines in self._classes.values() for line in lines), ""))

    def _add(self, found: Any) -> None:
        """Add a message, a service or an action, and its parts."""
        name = found.__name__
        if name in self._classes:  # parts are members of the module in recent releases
            return
        if hasattr(found, "SLOT_TYPES"):
            self._classes[name] = self._message(found)
        elif hasattr(found, "Goal"):
            inner = self._parts(found.Impl, ("SendGoalService", "GetResultService", "FeedbackMessage"))
            parts = self._parts(found, ("Goal", "Result", "Feedback"))
            head = f"class {name}(Action[{', '.join(parts.values())}]):"
            self._classes[name] = [head, *_aliases(parts, 4), "    class Impl:", *_aliases(inner, 8)]
        else:
            parts = self._parts(found, ("Request", "Response", "Event"))
            head = f"class {name}(Service[{parts['Request']}, {parts['Response']}]):"
            self._classes[name] = [head, *_aliases(parts, 4)]

    def _parts(self, found: Any, names: tuple[str, ...]) -> dict[str, str]:
        """The names of the classes of the parts that there are, which are added."""
        parts = {name: getattr(found, name) for name in names if hasattr(found, name)}
        for part in parts.values():
            self._add(part)
        return {name: part.__name__ for name, part in parts.items()}

    def _message(self, found: Any) -> list[str]:
        """The class of a message: constants, fields and constructor."""
        meta = type(found)
        constants: dict[str, object] = vars(meta).get(f"_{meta.__name__}__constants", {})
        lines = [f"class {found.__name__}(Message):"]
        lines += [f"    {name}: Final = {value!r}" for name, value in constants.items()]
        arguments = []
        for name, declared in zip(found.get_fields_and_field_types(), found.SLOT_TYPES, strict=True):
            held, assigned = self._types(declared)
            arguments.append(f"{name}: {assigned} = ...")
            if held == assigned:
                lines.append(f"    {name}: {held}")
            else:
                lines += ["    @property", f"    def {name}(self) -> {held}: ..."]
                lines += [f"    @{name}.setter", f"    def {name}(self, value: {assigned}) -> None: ..."]
        keywords = f", *, {', '.join(arguments)}" if arguments else ""
        return [*lines, f"    def __init__(self{keywords}) -> None: ..."]

    def _types(self, declared: Any) -> tuple[str, str]:
        """Return the type of a field, and the types that may be assigned to it."""
        if not isinstance(declared, AbstractNestedType):
            return self._scalar(declared), self._scalar(declared)
        element = declared.value_type
        name = self._scalar(element)
        if not isinstance(element, BasicType) or name in ("bool", "bytes"):
            return f"list[{name}]", f"list[{name}]"
        if isinstance(declared, Array):
            return f"NDArray[np.{NUMPY.get(element.typename, element.typename)}]", f"Collection[{name}]"
        return f"array[{name}]", f"Collection[{name}]"

    def _scalar(self, declared: Any) -> str:
        if isinstance(declared, NamespacedType):
            module = ".".join(declared.namespaces)
            self._imports.add(module)
            return str(declared.name) if module == self._module else f"{module}.{declared.name}"
        if isinstance(declared, AbstractGenericString):
            return "str"
        return SCALARS.get(declared.typename, "int")


def _aliases(names: dict[str, str], indent: int) -> list[str]:
    return [f"{' ' * indent}{name}: TypeAlias = {value}" for name, value in names.items()]


if __name__ == "__main__":
    write_stubs(Path(sys.argv[1]))
