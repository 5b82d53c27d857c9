"""docs/errors.md agrees with the error classes, and every error has a remedy that refers to existing names."""

import importlib.util
import re

import pytest
from sources import ROOT

from robot_cell_planner.errors import ERRORS_BY_CODE

INTERFACES = [path for folder in ("msg", "srv", "action") for path in (ROOT / folder).iterdir()]
DOCUMENTS = [ROOT / name for name in ("docs/interfaces.md", "docs/parameters.md", "robot_cell_planner/errors/base.py")]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("describe_errors", ROOT / "tools" / "describe_errors.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def known():
    return "\n".join(path.read_text(encoding="utf-8") for path in (*INTERFACES, *DOCUMENTS))


def test_the_document_is_current(script):
    found = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert found == script.document(), "run `tools/with_environment python tools/describe_errors.py`"


def test_every_error_is_in_a_group(script):
    assert {code // 100 for code in ERRORS_BY_CODE} == set(script.GROUPS)


@pytest.mark.parametrize("kind", ERRORS_BY_CODE.values(), ids=lambda kind: kind.__name__)
def test_names_in_remedies_exist(known, kind):
    assert kind.remedy.endswith(".")
    assert "remedy" in vars(kind)
    for name in re.findall(r"`([^`]+)`", kind.remedy):
        assert re.search(rf"\b{re.escape(name)}\b", known), name
    for page in re.findall(r"docs/\w+\.md", kind.remedy):
        assert (ROOT / page).is_file()
