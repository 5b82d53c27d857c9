"""The interface files: error codes equal those of the library, fields are explained, types are documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from robot_cell_planner.errors import ERRORS_BY_CODE

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*ROOT.glob("msg/*.msg"), *ROOT.glob("srv/*.srv"), *ROOT.glob("action/*.action")])
DOCUMENT = (ROOT / "docs" / "interfaces.md").read_text(encoding="utf-8")
REPLY_SECTION = 1  # of a .srv or .action file, split at its lines "---"


def constant_of(name: str) -> str:
    """MPNoIKSolutionError -> MP_NO_IK_SOLUTION."""
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z]+", name.removesuffix("Error"))
    return "_".join(words).upper()


def test_error_constants_are_those_of_the_core() -> None:
    text = (ROOT / "msg" / "ErrorReport.msg").read_text(encoding="utf-8")
    constants = re.findall(r"^int32 ([A-Z_]+)=(\d+)$", text, re.MULTILINE)
    on_the_wire = {name: int(code) for name, code in constants}
    in_the_core = {constant_of(kind.__name__): code for code, kind in ERRORS_BY_CODE.items()}
    assert on_the_wire == {"NONE": 0, **in_the_core}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_field_is_explained(path: Path) -> None:
    """A field has a comment above it; fields in a row may share one."""
    explained = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line == "---":
            explained = False
        elif line.startswith("#"):
            explained = True
        elif "=" not in line:
            assert explained, f"{path.name}:{number}: {line}"


@pytest.mark.parametrize("path", [p for p in FILES if p.suffix != ".msg"], ids=lambda path: path.name)
def test_every_reply_has_an_error(path: Path) -> None:
    reply = path.read_text(encoding="utf-8").split("\n---\n")[REPLY_SECTION]
    assert "\nrobot_cell_planner/ErrorReport error\n" in f"\n{reply}\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_type_is_documented(path: Path) -> None:
    entry = f"[{path.stem}]" if path.suffix == ".msg" else f"| {path.stem} |"
    assert entry in DOCUMENT


def test_every_name_that_a_node_uses_is_documented() -> None:
    uses = re.compile(
        r"(?:serve|create_service|create_publisher|create_subscription|ActionServer)\(\s*[^\"()]*?\"([\w/]+)\""
    )
    for path in sorted((ROOT / "robot_cell_planner" / "nodes").rglob("*.py")):
        for name in uses.findall(path.read_text(encoding="utf-8")):
            assert f"| `{name}` |" in DOCUMENT, f"{path.name}: {name}"


def test_documentation_links_exist() -> None:
    for link in re.findall(r"\]\(\.\./([^)]+)\)", DOCUMENT):
        assert (ROOT / link).is_file(), link
