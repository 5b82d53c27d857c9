"""The documentation site: all pages are in its navigation, linked files exist, and all public names are listed."""

import importlib.util
import sys
from types import SimpleNamespace

import pytest
import yaml
from sources import ROOT

import robot_cell_planner


def tool_named(name):
    """A script of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def hooks():
    return tool_named("docs_hooks")


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


def test_the_tables_of_public_names_are_current(hooks, monkeypatch):
    """The tables are for readers of the repository; on the site, the API reference replaces them."""
    monkeypatch.setitem(sys.modules, "docs_hooks", hooks)
    tool = tool_named("describe_library")
    found = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    assert found == tool.document(), "run `tools/with_environment python tools/describe_library.py`"
    assert hooks.on_page_markdown(found).count("::: ") == len(hooks.public_names("robot_cell_planner"))
    assert "| Name |" not in hooks.on_page_markdown(found)


def test_no_public_name_is_that_of_a_module_beside_it(hooks):
    """After its import, a module would hide the public name."""
    for stub in sorted((ROOT / "robot_cell_planner").rglob("__init__.pyi")):
        package = ".".join(stub.parent.relative_to(ROOT).parts)
        for name in hooks.public_names(package):
            beside = (stub.parent / f"{name}.py").exists() or (stub.parent / name).is_dir()
            assert not beside, f"{package} exports {name}, and has a module of this name"
