"""docs/parameters.md agrees with the declarations of the nodes' parameters."""

import importlib.util

import pytest
from sources import ROOT

from robot_cell_planner.nodes.common.parameters import Parameter


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("describe_parameters", ROOT / "tools" / "describe_parameters.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_document_is_current(script):
    found = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert found == script.document(), "run `tools/with_environment python tools/describe_parameters.py`"


@pytest.mark.parametrize(
    ("parameter", "row"),
    [
        (
            Parameter("rate", 10.0, "Rate [Hz].", 0.1, 1e6, running=True),
            "| `rate` | double | 10.0 | 0.1 to 1000000 | run time | Rate [Hz]. |\n",
        ),
        (
            Parameter("workers", 2, "Workers.", 1, 64, constraint="even"),
            "| `workers` | integer | 2 | 1 to 64; even | start | Workers. |\n",
        ),
        (
            Parameter("fields", ["a"], "Fields.", choices=("a", "b"), constraint="each once"),
            "| `fields` | string array | `[a]` | each one of: a, b; each once | start | Fields. |\n",
        ),
        (Parameter("on", True, "On."), "| `on` | boolean | true |  | start | On. |\n"),
        (Parameter("file", "", "File."), "| `file` | string | empty |  | start | File. |\n"),
        (Parameter("folders", [""], "Folders."), "| `folders` | string array | empty |  | start | Folders. |\n"),
    ],
    ids=lambda value: value.name if isinstance(value, Parameter) else "",
)
def test_a_row_describes_a_parameter_completely(script, parameter, row):
    assert script.row(parameter) == row
