"""Without PyBullet or MuJoCo, only functions that need it are unavailable, and their errors name it."""

import subprocess
import sys

from sources import ROOT

CODE = """
import sys

MISSING = ("pybullet", "mujoco")
for finder in sys.meta_path:  # as if it were not installed
    original = finder.find_spec
    finder.find_spec = lambda name, *others, find=original: None if name in MISSING else find(name, *others)

from robot_cell_planner import (
    CollisionChecker, Goals, MotionRequest, OfflineCell, SimulationOptions, load_cell, plan_motion,
)
from robot_cell_planner.errors import NotSupportedError

cell, state = load_cell("config/demo/cell.yaml")
state = state.with_configuration({"shoulder_pan_joint": -0.5})
plan = plan_motion(cell, state, MotionRequest(Goals(named_states=("home",))))
print("planned", len(plan.path) > 1)
for what in (
    lambda: CollisionChecker(cell, state, engine="bullet"),
    lambda: OfflineCell(cell, state).simulation,
    lambda: OfflineCell(cell, state, simulation_options=SimulationOptions(engine="mujoco")).simulation,
):
    try:
        what()
    except NotSupportedError as error:
        print(error.message)
"""


def test_motions_are_planned_and_missing_physics_is_reported():
    result = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    planned, engine, simulation, other = result.stdout.strip().splitlines()
    assert planned == "planned True"
    assert engine.startswith("collision engine bullet needs PyBullet")
    assert simulation.startswith("the simulation of a cell needs PyBullet")
    assert 'engine "mujoco"' in simulation
    assert other.startswith("the simulation of a cell in MuJoCo needs MuJoCo")
    assert "robot_cell_planner[mujoco]" in other
    assert "robot_cell_planner[physics]" in engine
