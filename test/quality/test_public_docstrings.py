"""Docstrings of public names describe arguments, attributes and errors that exist."""

import builtins
import inspect
import re
from enum import Enum

import pytest

import robot_cell_planner
from robot_cell_planner import errors

NAMES = [name for name in robot_cell_planner.__all__ if name != "__version__"]
ENTRY = re.compile(r"^ {4}(\w+(?:, \w+)*): ", re.MULTILINE)
ERROR = re.compile(r"\b([A-Z]\w*Error)\b")


def section(text, title):
    """The names that a section of a docstring explains."""
    found = re.search(rf"^{title}:\n((?: {{4}}.*\n?|\n(?= {{4}}))*)", text, re.MULTILINE)
    return [name for names in ENTRY.findall(found[1]) for name in names.split(", ")] if found else []


def attributes(kind):
    """Fields, members, and what methods assign to self."""
    found = set(dir(kind))
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] in (robot_cell_planner.__name__, __name__):
            found |= set(base.__dict__.get("__dataclass_fields__", ()))
            found |= set(re.findall(r"\bself\.(\w+)\b(?=[^=\n]*=(?!=))", inspect.getsource(base)))
    return found


def described(public):
    """Each documented callable or class in a public name: itself, and its public methods."""
    yield public
    if inspect.isclass(public) and not issubclass(public, Enum):
        methods = (getattr(member, "__func__", member) for name, member in vars(public).items() if name[0] != "_")
        yield from (method for method in methods if inspect.isfunction(method))


def mistakes(public):
    """Names in docstrings that do not exist."""
    found = []
    for each in described(public):
        text = inspect.getdoc(each) or ""
        if inspect.isfunction(each):
            known, named = set(inspect.signature(each).parameters), section(text, "Args")
        elif inspect.isclass(each):
            known, named = attributes(each), section(text, "Attributes")
        else:
            known, named = set(), []
        found += [f"{each.__name__}: {name}" for name in named if name not in known]
        found += [e for e in ERROR.findall(text) if not hasattr(errors, e) and not hasattr(builtins, e)]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_docstrings_name_what_exists(name):
    public = getattr(robot_cell_planner, name)
    if inspect.isclass(public) or inspect.isfunction(public):
        assert inspect.getdoc(public)
        assert mistakes(public) == []


class Example:
    """An example.

    Attributes:
        first, second: Two
            lines.
        third: Nothing.

    Raises:
        NothingError: Never.
    """

    def __init__(self):
        self.first: int = 1
        self.second = 2

    def method(self, a):
        """Do nothing.

        Args:
            a: Number.
            b: Another.
        """


def test_mistakes_are_found():
    assert section(inspect.getdoc(Example), "Attributes") == ["first", "second", "third"]
    assert set(mistakes(Example)) == {"Example: third", "NothingError", "method: b"}
