"""PyBullet's line about its build time does not appear on the standard streams of a program."""

import subprocess
import sys

import pytest
from folders import SUPPORT

from robot_cell_planner.system.module_start import module_environment
from robot_cell_planner.system.physics import has_physics

pytestmark = pytest.mark.skipif(not has_physics(), reason="PyBullet is not installed")
COLLISION = """
from loaded_cells import loaded
from robot_cell_planner import CollisionChecker
cell, state = loaded()
CollisionChecker(cell, state, engine="bullet").report()
"""
SIMULATION = """
from simulation_cells import workshop
from robot_cell_planner.simulation.simulated_cell import SimulatedCell
SimulatedCell(*workshop()).close()
"""
WARNING = """
import os, sys, threading
from robot_cell_planner.system import physics
made = physics.import_module
def warned(name):
    made(name)
    os.write(2, b"a warning\\n")
physics.import_module = warned
physics.load_pybullet()
physics.load_pybullet()
os.write(2, b"the end\\n")
"""
CLOSED = """
import os
os.close(2)
from robot_cell_planner.system.physics import load_pybullet
load_pybullet()
import pybullet
print(pybullet.DIRECT)
"""


def output_of(code):
    """What a program writes to its standard output and error streams."""
    environment = module_environment()
    code = f"import sys; sys.path.insert(0, {str(SUPPORT)!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


@pytest.mark.parametrize("code", [COLLISION, SIMULATION], ids=["collision", "simulation"])
def test_the_line_does_not_appear(code):
    assert output_of(code) == ("", "")


def test_other_lines_of_the_import_are_kept():
    assert output_of(WARNING) == ("", "a warning\nthe end\n")


def test_a_program_without_a_standard_error_stream_can_import_it():
    assert output_of(CLOSED) == ("2\n", "")
