"""Numbers of errors that are lengths, angles, velocities or times have a unit."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "robot_cell_planner"
# First words of names of numbers that have a dimension.
WITH_UNIT = re.compile(
    r"(distance|gap|excess|position|velocity|acceleration|speed|nearest approach|largest velocity|time|duration|"
    r"clearance|force|effort)\b(?! scale| in tolerances| of the rate)"
)
UNIT_ARGUMENT = 3


def name_of(call):
    """Return the text that the name of a number begins with."""
    first = call.args[0] if call.args else None
    parts = first.values if isinstance(first, ast.JoinedStr) else [first]
    texts = (str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
    return "".join(texts)


def without_unit(path):
    """Return the names of numbers in a file that need a unit and have none."""
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return [
        f"line {call.lineno}: {name_of(call)}"
        for call in calls
        if isinstance(call.func, ast.Name)
        and call.func.id == "Value"
        and len(call.args) <= UNIT_ARGUMENT
        and not any(keyword.arg == "unit" for keyword in call.keywords)
        and WITH_UNIT.match(name_of(call))
    ]


@pytest.mark.parametrize("folder", sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()))
def test_numbers_with_a_dimension_have_a_unit(folder):
    found = {str(path.relative_to(PACKAGE)): without_unit(path) for path in sorted((PACKAGE / folder).rglob("*.py"))}
    assert {path: names for path, names in found.items() if names} == {}
