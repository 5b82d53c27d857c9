"""The first use after an installation says that it waits for the compiler."""

import os
import subprocess
import sys
from pathlib import Path

import numba

from robot_cell_planner.commands.main import main
from robot_cell_planner.commands.progress import COMPILED
from robot_cell_planner.system.compilation_notice import on_compilation
from robot_cell_planner.system.compiled import cached

DEMO = str(Path(__file__).parents[3] / "config" / "demo" / "cell.yaml")


def test_the_first_compilation_within_the_context_is_reported_once(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))  # earlier runs have left kernels in that of the user
    kernels = [cached(lambda x, k=k: x + k, ()) for k in range(4)]
    found = []
    kernels[0](1.0)
    with on_compilation(lambda: found.append("compiles")):
        kernels[0](2.0)
        assert found == []
        kernels[1](1.0)
        kernels[2](1.0)
    kernels[3](1.0)
    assert found == ["compiles"]


def test_a_command_with_an_empty_cache_says_what_it_waits_for(tmp_path):
    """The kernels of the first run are in the cache of the second one."""
    begun = []
    for _ in range(2):
        process = subprocess.run(
            [sys.executable, "-m", "robot_cell_planner.commands.main", "fk", DEMO],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        begun.append(process.stderr.splitlines().count(COMPILED))
    assert begun == [1, 0]


def test_an_error_without_compilation_has_no_notice(tmp_path, capsys):
    assert main(["check", str(tmp_path / "missing.yaml")]) == 1
    assert COMPILED not in capsys.readouterr().err
