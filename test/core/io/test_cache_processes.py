"""If several processes need the same missing cache entry, one computes it, and the others wait and read it."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from robot_cell_planner.io.mesh import cache as mesh_cache
from robot_cell_planner.io.mesh.cache import cached_or_computed

COUNT = 4
DIGEST = "5" * 64
# Each line that the replaced function writes to the log is one computation. It ends once all processes have started.
PROGRAM = """
import os, sys
from pathlib import Path
{imports}
log, begun = Path(sys.argv[1]), Path(sys.argv[2])
original = {module}.{function}
def counted(*arguments):
    with log.open("a") as file:
        file.write("computed\\n")
    while len(list(begun.iterdir())) < {count}:
        os.sched_yield()
    return original(*arguments)
{module}.{function} = counted
mesh = Triangles(((0, 0, 0), (0.2, 0, 0), (0, 0.1, 0), (0, 0, 0.1)), ((0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)))
(begun / str(os.getpid())).touch()
print({result})
"""
IMPORTS = "from robot_cell_planner.model.geometry import Mesh, Triangles"
COMPUTED = {
    "spheres": (
        "from robot_cell_planner.collision.sphere_model import approximation as module\n"
        "from robot_cell_planner.collision.geometry.collision_geometry import collision_geometries",
        "compute_spheres",
        "module.approximate(collision_geometries(mesh)[0]).spheres.tolist()",
    ),
    "decomposition": (
        "from robot_cell_planner.io.mesh import decomposition as module",
        "_decompose",
        "[piece.vertices.tolist() for piece in module.convex_pieces(mesh)]",
    ),
    "mesh": (
        "from robot_cell_planner.io.mesh import loading as module\n"
        "from robot_cell_planner.io.common.resources import ResourceRoots",
        "parse_mesh",
        "module.load_mesh(module.mesh_reference(sys.argv[3], '', ResourceRoots(folders=('/',)))).vertices.tolist()",
    ),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(mesh_cache.ENVIRONMENT, str(tmp_path / "cache"))
    return tmp_path / "cache" / "meshes"


@pytest.mark.parametrize("what", COMPUTED)
def test_one_of_several_processes_computes_an_entry(tmp_path, folder, what):
    imports, function, result = COMPUTED[what]
    program = PROGRAM.format(
        imports=f"{IMPORTS}\n{imports}", module="module", function=function, count=COUNT, result=result
    )
    log, begun, mesh = tmp_path / "log", tmp_path / "begun", tmp_path / "tetrahedron.obj"
    begun.mkdir()
    mesh.write_text("v 0 0 0\nv 0.2 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n")
    command = [sys.executable, "-c", program, str(log), str(begun), str(mesh)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(COUNT)]
    answers = {process.communicate()[0] for process in processes}
    assert [process.returncode for process in processes] == [0] * COUNT
    assert len(answers) == 1
    assert log.read_text().splitlines() == ["computed"]
    assert [entry.suffix for entry in folder.iterdir()] != []
    assert not list(folder.glob("*.lock"))


def computed():
    arrays = np.zeros((1, 3)), np.zeros((0, 3), dtype=np.int32)
    return "computed", arrays


def test_a_process_that_is_killed_is_not_waited_for(folder):
    program = (
        "import sys\nfrom robot_cell_planner.io.mesh.cache import cached_or_computed\n"
        f"cached_or_computed({DIGEST!r}, 'test', id, lambda: print('locked', flush=True) or sys.stdin.read())"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], text=True, **pipes) as process:
        assert process.stdout.readline() == "locked\n"
        assert len(list(folder.glob("*.lock"))) == 1
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert cached_or_computed(DIGEST, "test", lambda arrays: "read", computed) == "computed"
    assert cached_or_computed(DIGEST, "test", lambda arrays: "read", computed) == "read"
    assert [entry.name for entry in folder.iterdir()] == [f"{DIGEST}.test"]


def test_a_process_that_takes_too_long_is_not_waited_for(folder, monkeypatch):
    with mesh_cache._locked(mesh_cache._path(DIGEST, "test")):
        monkeypatch.setattr(mesh_cache, "MAX_WAIT", 0.05)
        assert cached_or_computed(DIGEST, "test", lambda arrays: "read", computed) == "computed"


def test_an_entry_that_is_not_accepted_is_computed_again(folder):
    cached_or_computed(DIGEST, "test", lambda arrays: "read", computed)
    assert cached_or_computed(DIGEST, "test", lambda arrays: None, computed) == "computed"


def test_an_error_leaves_no_lock(folder):
    def fail():
        raise ValueError("no spheres")

    with pytest.raises(ValueError, match="no spheres"):
        cached_or_computed(DIGEST, "test", lambda arrays: "read", fail)
    assert os.listdir(folder) == []
