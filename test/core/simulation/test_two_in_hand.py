"""A gripper that holds two bodies side by side: both are let go when it opens, and one is held on without the other."""

import msgspec
import pytest
from simulation_cells import body, box, by_name, workshop

from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

pytestmark = pytest.mark.usefixtures("engine")  # each test in each engine, see conftest.py

LIFTED = 0.25  # [m] height of what is held


@pytest.fixture
def simulated(engine):
    """The gripper holds the plates a and b above the table."""
    cell, state = workshop()
    plates = [body(name, [box(0.008, 0.05, 0.05)], 0.1) for name in "ab"]
    kept = [each for name, each in cell.bodies.items() if name != "workpiece"]
    cell = msgspec.structs.replace(cell, bodies=by_name([*kept, *plates]))
    start = cell.default_state().with_tool("gripper", state.tools["gripper"])
    for name in ("bin", "post"):
        start = start.with_body(name, state.bodies[name])
    for name, x in (("a", -0.305), ("b", -0.295)):
        start = start.with_body(name, BodyState(Pose((x, 0.0, 0.025))))
    with SimulatedCell(cell, start, SimulationOptions(settle_time=0.1)) as simulated:
        for targets, duration in (({"x": -0.3, "z": -0.37}, 1.2), ({"finger": 0.0}, 0.8), ({"z": -0.1}, 1.0)):
            simulated.set_targets(targets)
            simulated.step(duration)
        assert simulated.held_bodies == ("a", "b")
        yield simulated


def opening(simulated):
    states = simulated.joint_states()
    return states.positions[states.names.index("finger")]


def test_both_are_let_go_when_the_gripper_opens(simulated):
    simulated.set_targets({"finger": 0.04})
    simulated.step(1.0)
    assert simulated.held_bodies == ()
    for name in "ab":
        assert simulated.body_pose(name).position[2] == pytest.approx(0.025, abs=1e-3)


def test_one_is_held_on_when_the_other_is_removed(simulated):
    before = opening(simulated)
    simulated.remove_body("a")
    simulated.step(0.5)
    assert simulated.held_bodies == ("b",)
    assert simulated.body_pose("b").position[2] > LIFTED
    assert opening(simulated) == pytest.approx(before, abs=1e-4)
    simulated.set_targets({"finger": 0.04})
    simulated.step(1.0)
    assert simulated.held_bodies == ()
    assert simulated.body_pose("b").position[2] == pytest.approx(0.025, abs=1e-3)
