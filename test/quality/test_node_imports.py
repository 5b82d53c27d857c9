"""Nodes start fast: those that serve requests do not import libraries that only workers need."""

import subprocess
import sys

import pytest

from robot_cell_planner.nodes.bringup.command_line import FIRST
from robot_cell_planner.nodes.bringup.command_line import NODES as NODES_STARTED
from robot_cell_planner.nodes.common.start import MODULES, NODES

# Parts of SciPy are imported by numba itself; these take 0.3 s and more.
SLOW = ("scipy.spatial", "scipy.sparse", "scipy.optimize", "scipy.interpolate", "trimesh", "pybullet", "mcap")
DRAWING = ("viewer_node",)  # draws meshes itself
BRINGUP = "robot_cell_planner.nodes.bringup"


def modules_after(statements):
    """The modules that statements import, line by line."""
    program = "import sys\n" + "".join(f"{each}\nprint(*sys.modules)\n" for each in statements)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return [set(line.split()) for line in done.stdout.splitlines()]


def test_nodes_do_not_import_libraries_of_workers():
    imports = "\n".join(f"import {NODES}.{module}" for name, module in MODULES.items() if name not in DRAWING)
    program = f"{imports}\nimport sys\nprint(*sorted({set(SLOW)!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(("libraries", "nodes"), [("first_libraries", FIRST), ("libraries", NODES_STARTED)])
def test_forked_nodes_share_all_they_import(libraries, nodes):
    imports = "; ".join(f"import {NODES}.{MODULES[f'{name}_node']}" for name in nodes)
    before, after = modules_after([f"import {BRINGUP}.{libraries}", imports])
    assert after - before == set()


def test_nodes_that_are_forked_first_do_not_wait_for_kernels_and_libraries_of_planning():
    (imported,) = modules_after([f"import {BRINGUP}.first_libraries"])
    assert not imported & {"scipy.sparse.csgraph", "ompl", "robot_cell_planner.planning.workers.preload"}
