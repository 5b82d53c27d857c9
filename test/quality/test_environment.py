"""The environment that `make setup` creates: the order of search paths, interfaces for `ros2 interface show`, byte
code of the sources."""

import os
import subprocess
import sys
from importlib import import_module
from importlib.util import cache_from_source, module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest
from ament_index_python.packages import get_package_share_directory

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools" / "environment"))
layout_module = import_module("layout")
Layout, PACKAGE = layout_module.Layout, layout_module.PACKAGE
RosInstallation = import_module("ros_installation").RosInstallation
shell_setup = import_module("shell_setup")
byte_code = import_module("byte_code")
workspace = import_module("workspace")
INTERFACES = [path for kind in ("msg", "srv", "action") for path in sorted(ROOT.glob(f"{kind}/*.{kind}"))]


def prefixes_after(layout, before):
    script = f'. "{layout.venv}/setup.sh"; . "{layout.venv}/setup.sh"; echo "$AMENT_PREFIX_PATH"'
    environment = {"PATH": "/usr/bin:/bin", "AMENT_PREFIX_PATH": before}
    done = subprocess.run(["sh", "-uc", script], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip().split(":")


def test_packages_of_an_installed_ros_come_before_those_of_the_python_index(tmp_path):
    layout = Layout(tmp_path)
    layout.venv.mkdir()
    system = ("/home/someone/workspace/install", "/opt/ros/kilted")
    shell_setup.write_setup_file(layout, RosInstallation("kilted", {"AMENT_PREFIX_PATH": system}, {}))
    assert prefixes_after(layout, ":".join(system)) == [str(layout.install), *system, shell_setup.last_resort(layout)]
    # Also those of a workspace that was sourced later.
    later = ("/home/someone/later/install", *system)
    found = prefixes_after(layout, ":".join(later))
    assert found.index(shell_setup.last_resort(layout)) == len(found) - 1
    assert set(found) == {str(layout.install), *later, shell_setup.last_resort(layout)}


@pytest.mark.parametrize("path", INTERFACES, ids=lambda path: path.stem)
def test_installed_interfaces_keep_their_comments(path):
    share = Path(get_package_share_directory("robot_cell_planner"))
    assert (share / path.parent.name / path.name).read_text() == path.read_text()


class Builds:
    """Stands for colcon: what each build found in the workspace; raises an error in the next one, if any."""

    def __init__(self, layout):
        self.layout, self.error, self.found = layout, None, []

    def __call__(self, command, **_):
        generated = self.layout.workspace / "build" / "generated"
        self.found.append(generated.exists())
        generated.mkdir(parents=True, exist_ok=True)
        (self.layout.install / "share" / PACKAGE / "srv").mkdir(parents=True, exist_ok=True)
        if self.error is not None:
            raise self.error


@pytest.fixture
def builds(tmp_path, monkeypatch):
    for name in ("First", "Second"):
        (tmp_path / "srv").mkdir(exist_ok=True)
        (tmp_path / "srv" / f"{name}.srv").write_text("---\n")
    layout = Layout(tmp_path)
    layout.constraints.parent.mkdir()
    layout.constraints.write_text("numpy==2.0\n")
    found = Builds(layout)
    monkeypatch.setattr(workspace, "run", found)
    monkeypatch.setattr(workspace, "build_environment", lambda layout, ros: {})
    workspace.build(layout, None)
    workspace.build(layout, None)
    assert found.found == [False]  # nothing to do the second time
    return found


def test_a_changed_interface_is_built_with_what_is_there(builds):
    (builds.layout.root / "srv" / "First.srv").write_text("bool done\n---\n")
    workspace.build(builds.layout, None)
    assert builds.found == [False, True]


def test_code_of_a_removed_interface_is_not_kept(builds):
    (builds.layout.root / "srv" / "First.srv").unlink()
    workspace.build(builds.layout, None)
    workspace.build(builds.layout, None)
    assert builds.found == [False, False]
    assert [path.name for path in (builds.layout.workspace / "src" / PACKAGE / "srv").iterdir()] == ["Second.srv"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), layout_module.SetupError("failed")])
def test_a_build_that_has_not_ended_begins_anew(builds, error):
    (builds.layout.root / "srv" / "First.srv").write_text("bool done\n---\n")
    builds.error = error
    with pytest.raises(type(error)):
        workspace.build(builds.layout, None)
    builds.error = None
    workspace.build(builds.layout, None)
    assert builds.found == [False, True, False]


def test_sources_are_loaded_from_byte_code_where_python_does_not_write_it(tmp_path):
    layout = Layout(tmp_path)
    package = tmp_path / PACKAGE
    package.mkdir()
    layout.source.mkdir(parents=True)
    (layout.source / PACKAGE).symlink_to(package)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(layout.source)}
    for seconds, text in enumerate(("first = 1\n", "second = 22\n")):
        (package / "__init__.py").write_text(text)
        os.utime(package / "__init__.py", (seconds, seconds))
        byte_code.compile_sources(layout)
        command = [sys.executable, "-v", "-c", f"import {PACKAGE}"]
        done = subprocess.run(command, env=environment, cwd=layout.source, capture_output=True, text=True, check=True)
        loaded = cache_from_source(str(layout.source / PACKAGE / "__init__.py"))
        assert f"code object from '{loaded}'" in done.stderr


def test_a_folder_in_which_interfaces_cannot_be_built_is_refused_at_once(tmp_path):
    system_packages = import_module("system_packages")
    system_packages.require_ascii_path(Layout(tmp_path / "with space"))
    with pytest.raises(layout_module.SetupError, match="other characters than ASCII; move the repository"):
        system_packages.require_ascii_path(Layout(tmp_path / "für"))


@pytest.mark.parametrize("with_optional", [False, True])
def test_type_stubs_are_written_once_all_interface_packages_are_built(tmp_path, monkeypatch, with_optional):
    """The demonstration builds only some of them, and a set-up for tests after it needs the stubs of all."""
    spec = spec_from_file_location("set_up_of_environment", ROOT / "tools" / "environment" / "__main__.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    stages = []
    for name in ("make_virtual_environment", "install_packages", "write_setup_file", "compile_sources", "sourced_ros"):
        monkeypatch.setattr(module, name, lambda *_, **__: None)
    monkeypatch.setattr(module, "require_system_packages", lambda: None)
    monkeypatch.setattr(
        module, "KernelCompilation", lambda _: SimpleNamespace(finish=lambda: None, cancel=lambda: None)
    )
    monkeypatch.setattr(module, "build", lambda *_, with_optional: stages.append(with_optional))
    monkeypatch.setattr(module, "write_stubs", lambda *_: stages.append("stubs"))
    module.set_up(Layout(tmp_path), with_optional=with_optional)
    assert stages == ([True, "stubs"] if with_optional else [False])
