"""Nodes start fast: none of those that serve requests imports what only workers need."""

import subprocess
import sys

from robot_cell_planner.nodes.common.start import MODULES, NODES

# Of SciPy, numba itself imports some; these take 0.3 s and more.
SLOW = ("scipy.spatial", "scipy.sparse", "scipy.optimize", "scipy.interpolate", "trimesh", "pybullet", "mcap")
DRAWING = ("viewer_node",)  # draws meshes itself
FORKED = "robot_cell_planner.nodes.bringup.libraries"  # imported before the supervisor forks the nodes
ON_REQUEST = ("viewer_node", "moveit_adapter_node")  # which the supervisor starts only on request


def modules_after(statements):
    """The modules that statements import, line by line."""
    program = "import sys\n" + "".join(f"{each}\nprint(*sys.modules)\n" for each in statements)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return [set(line.split()) for line in done.stdout.splitlines()]


def test_nodes_do_not_import_what_only_workers_need():
    imports = "\n".join(f"import {NODES}.{module}" for name, module in MODULES.items() if name not in DRAWING)
    program = f"{imports}\nimport sys\nprint(*sorted({set(SLOW)!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_forked_nodes_share_all_they_import():
    nodes = "; ".join(f"import {NODES}.{module}" for name, module in MODULES.items() if name not in ON_REQUEST)
    before, after = modules_after([f"import {FORKED}", nodes])
    assert after - before == set()
