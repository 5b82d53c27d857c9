"""Programs of the package never import modules from the current folder, which may hold any files."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from robot_cell_planner.io.mesh.decomposition import convex_pieces
from robot_cell_planner.model.geometry import Triangles
from robot_cell_planner.system import module_start
from robot_cell_planner.system.module_start import module_command, module_environment
from robot_cell_planner.system.worker_process import start_worker

PROGRAM = """
import fractions, os, sys
print(__name__, fractions.__file__, *sys.argv[1:], sep="|")
if sys.argv[2:]:
    os.write(int(sys.argv[1]), b"x")
"""
IMPORTED = "import pathlib\npathlib.Path(__file__ + '.imported').touch()\nraise ImportError\n"
CORNERS = ((0.0, 0.0, 0.0), (0.137, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.1))
FACES = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3))


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """Current folder with modules that have names of the standard library and of dependencies."""
    folder, library = tmp_path / "current", tmp_path / "library"
    folder.mkdir()
    library.mkdir()
    for name in ("fractions", "msgspec", "numpy"):
        (folder / f"{name}.py").write_text(IMPORTED)
    (library / "a_program.py").write_text(PROGRAM)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(library))
    monkeypatch.syspath_prepend("")  # as interactive Python has it
    return folder


def imported(folder):
    return [path.name for path in folder.glob("*.imported")]


@pytest.mark.parametrize("flags", [sys.flags, SimpleNamespace()], ids=["this Python", "Python 3.10"])
def test_a_program_gets_its_arguments_and_the_standard_library(hostile, monkeypatch, flags):
    monkeypatch.setattr(module_start, "sys", SimpleNamespace(flags=flags, executable=sys.executable, path=sys.path))
    command = module_command("a_program", "first")
    done = subprocess.run(command, env=module_environment(), capture_output=True, text=True, check=True)
    name, file, argument = done.stdout.strip().split("|")
    assert (name, argument) == ("__main__", "first")
    assert not file.startswith(str(hostile))
    assert imported(hostile) == []


def test_a_worker_imports_nothing_from_the_current_folder(hostile):
    connection, lifeline, process = start_worker("a_program", "a stage")
    with connection:
        assert process.wait() == 0
    os.close(lifeline)
    assert imported(hostile) == []


def test_the_decomposition_imports_nothing_from_the_current_folder(hostile, monkeypatch):
    monkeypatch.setenv("ROBOT_CELL_PLANNER_CACHE", "")
    pieces = convex_pieces(Triangles(CORNERS, FACES))
    assert len(pieces) == 1
    assert imported(hostile) == []
