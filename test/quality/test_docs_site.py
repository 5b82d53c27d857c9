"""The documentation site: all pages are in its navigation, linked files exist, and all public names are listed."""

import importlib.util
from types import SimpleNamespace

import pytest
import yaml
from sources import ROOT

import robot_cell_planner


@pytest.fixture(scope="module")
def hooks():
    spec = importlib.util.spec_from_file_location("docs_hooks", ROOT / "tools" / "docs_hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_navigation():
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    listed = set()
    for entry in navigation:
        for title in entry.values():
            listed |= {title} if isinstance(title, str) else {page for part in title for page in part.values()}
    assert listed == {path.name for path in (ROOT / "docs").glob("*.md")}


def test_files_that_pages_link_to_exist(hooks):
    for page in (ROOT / "docs").glob("*.md"):
        for link in hooks.LINK.findall(page.read_text(encoding="utf-8")):
            assert (ROOT / link).is_file(), f"{page.name}: {link}"


def test_pages_load_no_script_from_a_server(hooks):
    output = f'<script src="{hooks.SHIM}"></script>'
    assert (ROOT / "docs" / hooks.FILE_WORKER).is_file()
    assert hooks.on_post_page(output, SimpleNamespace(url="index.html")) == '<script src="file_worker.js"></script>'
    page = SimpleNamespace(url="files/examples/plan.html")
    assert hooks.on_post_page(output, page) == '<script src="../../file_worker.js"></script>'
    assert "https://" not in hooks.on_post_template(output)


def test_every_public_name_is_listed_where_it_is_defined(hooks):
    found = hooks.public_names("robot_cell_planner")
    assert set(found) == set(robot_cell_planner.__all__) - {"__version__"}
    for name, module in found.items():
        path = ROOT.joinpath(*module.split("."))
        sources = [file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()]
        assert any(name in file.read_text(encoding="utf-8") for file in sources), f"{module}.{name}"
