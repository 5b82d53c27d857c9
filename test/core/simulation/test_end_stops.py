"""End stops are hard: no effort, push or speed brings a joint beyond them, and a joint leaves them when commanded."""

import math
from dataclasses import replace

import numpy as np
import pytest
from frozendict import frozendict
from simulation_cells import joint, pendulums, workshop

from robot_cell_planner.model.mechanism import JointKind, JointLimits
from robot_cell_planner.model.simulated_robot import GravityCompensation, SimulatedRobot
from robot_cell_planner.simulation.disturbances import Disturbance, DisturbanceKind
from robot_cell_planner.simulation.end_stops import TOLERANCE
from robot_cell_planner.simulation.engines.base import END_STOP_SLACK
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

pytestmark = pytest.mark.usefixtures("engine")  # each test in each engine, see conftest.py

QUICK = SimulationOptions(settle_time=0.0)
SLACK = END_STOP_SLACK + TOLERANCE + 1e-12
LIMITS = {"x": (-0.6, 0.6), "y": (-0.6, 0.6), "z": (-0.6, 0.6), "turn": (-3.0, 3.0), "finger": (0.0, 0.045)}
STRENGTH = {"x": 500.0, "y": 500.0, "z": 500.0, "turn": 50.0, "finger": 60.0}


def travel(simulated, name, duration, command=None):
    """Positions of a joint after each step; a command is repeated in each."""
    index, found = simulated.joint_names.index(name), []
    for _ in range(round(duration / simulated.options.time_step)):
        if command is not None:
            command()
        simulated.step(simulated.options.time_step)
        found.append(float(simulated.joint_states().positions[index]))
    return np.array(found)


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_efforts_do_not_move_a_joint_beyond_its_end_stops(name, sign):
    lower, upper = LIMITS[name]
    with SimulatedCell(*workshop(), QUICK) as simulated:
        found = travel(simulated, name, 1.0, lambda: simulated.set_efforts({name: sign * STRENGTH[name]}))
        assert found.min() >= lower - SLACK
        assert found.max() <= upper + SLACK
        # Fingers also meet each other, and the table is above the lower end stop of z.
        if name != "finger" and (name, sign) != ("z", -1.0):
            end = upper if sign > 0.0 else lower
            assert found[-100:] == pytest.approx(np.full(100, end), abs=SLACK)
        middle = 0.5 * (lower + upper)
        assert travel(simulated, name, 4.0, lambda: simulated.set_targets({name: middle}))[-1] == pytest.approx(
            middle, abs=1e-3
        )


@pytest.mark.parametrize("command", ["position", "velocity", "effort"])
def test_a_push_that_is_stronger_than_the_motor_does_not_either(command):
    with SimulatedCell(*workshop(), QUICK) as simulated:
        commands = {
            "position": lambda: simulated.set_targets({"y": 0.5}),
            "velocity": lambda: simulated.set_velocities({"y": 0.5}),
            "effort": lambda: simulated.set_efforts({"y": 100.0}),
        }
        simulated.disturb(Disturbance(DisturbanceKind.WRENCH, "flange", force=(0.0, 3000.0, 0.0)))
        found = travel(simulated, "y", 0.5, commands[command])
        assert found.max() <= 0.6 + SLACK
        assert found[-1] == pytest.approx(0.6, abs=SLACK)


@pytest.mark.parametrize("controller", [None, GravityCompensation()])
def test_an_arm_that_is_driven_into_its_end_stop_does_not_pass_it_and_gains_no_speed(controller):
    limits = JointLimits(-0.5, 0.5, 3.0, 10.0, 100.0, 50.0)
    upper = joint("upper", JointKind.REVOLUTE, "base", "arm", (0.0, 1.0, 0.0), limits)
    lower = joint("lower", JointKind.REVOLUTE, "arm", "forearm", (0.0, 1.0, 0.0))
    cell, state = pendulums(upper, lower)
    controllers = frozendict() if controller is None else frozendict({"*": controller})
    options = replace(QUICK, robot=SimulatedRobot(controllers=controllers))
    with SimulatedCell(cell, state, options) as simulated:
        for _ in range(500):
            simulated.set_efforts({"upper": 20.0, "lower": 0.0})
            simulated.step(simulated.options.time_step)
            states = simulated.joint_states()
            assert states.positions[0] <= 0.5 + SLACK
            assert np.abs(states.velocities).max() < 40.0
        assert states.positions[0] == pytest.approx(0.5, abs=SLACK)


def test_a_limit_on_one_side_is_an_end_stop():
    one_sided = JointLimits(-math.inf, 0.5, 3.0, 10.0, 100.0, 50.0)
    cell, state = pendulums(joint("hinge", JointKind.REVOLUTE, "base", "bob", (0.0, 1.0, 0.0), one_sided))
    with SimulatedCell(cell, state, QUICK) as simulated:
        found = travel(simulated, "hinge", 0.5, lambda: simulated.set_efforts({"hinge": 40.0}))
        assert found.max() <= 0.5 + SLACK
        assert found[-1] == pytest.approx(0.5, abs=SLACK)
