"""docs/benchmarks.md lists all benchmarks and their figures."""

import importlib.util

import pytest
from sources import ROOT

WITHOUT_RESULTS_CLASS = {"reachability"}  # writes texts


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("describe_benchmarks", ROOT / "tools" / "describe_benchmarks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_document_is_current(script):
    found = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert found == script.document(), "run `tools/with_environment python tools/describe_benchmarks.py`"


def test_all_modules_that_write_figures_are_areas(script):
    folder = ROOT / "benchmarks"
    writers = [path.relative_to(folder) for path in folder.rglob("*.py") if " Results(" in path.read_text("utf-8")]
    names = {path.parts[0].removesuffix(".py") for path in writers}
    assert set(script.areas()) == names | WITHOUT_RESULTS_CLASS


def test_all_figures_belong_to_an_area(script):
    names = [path.stem for path in (ROOT / "benchmarks" / "results").glob("*.json")]
    assert [name for name in names if not script.area_of(name)] == []
    assert script.area_of("request_node") == "request_node"
    assert script.area_of("request_ur5_problems") == "request"
    assert script.area_of("nothing") == ""
