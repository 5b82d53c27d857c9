"""Disturbances are compared with closed formulas; reset of a simulation."""

import math

import numpy as np
import pytest
from frozendict import frozendict
from simulation_cells import GRAVITY, joint, pendulums, point_mass, workshop

from robot_cell_planner.errors import DisturbanceError, UnknownNameError
from robot_cell_planner.model.mechanism import JointKind, JointLimits, Link
from robot_cell_planner.model.simulated_robot import GravityCompensation, JointImpedance, SimulatedRobot, TorqueControl
from robot_cell_planner.simulation.disturbances import Disturbance, DisturbanceKind
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

pytestmark = pytest.mark.usefixtures("engine")  # each test in each engine, see conftest.py

MASS, ARM = 2.0, 0.5
LIMITS = JointLimits(-3.0, 3.0, 10.0, 50.0, None, 100.0)


def cart():
    rail = joint("rail", JointKind.PRISMATIC, "base", "cart", (1.0, 0.0, 0.0), LIMITS)
    return pendulums(rail, links=[Link("cart", inertial=point_mass(4.0, (0.0, 0.0, 0.0)))])


def pendulum():
    """A bob on the x axis; the joint lifts it."""
    bob = Link("bob", inertial=point_mass(MASS, (ARM, 0.0, 0.0)))
    return pendulums(joint("hinge", JointKind.REVOLUTE, "base", "bob", (0.0, -1.0, 0.0), LIMITS), links=[bob])


def options(controller):
    robot = SimulatedRobot(frozendict({"*": controller}))
    return SimulationOptions(settle_time=0.1, robot=robot, command_timeout=60.0)


def test_a_force_accelerates_a_link_for_its_duration():
    with SimulatedCell(*cart(), options(GravityCompensation())) as simulated:
        push = Disturbance(DisturbanceKind.WRENCH, "cart", force=(8.0, 0.0, 0.0), duration=0.5)
        simulated.disturb(push)
        simulated.step(1.0)
        assert simulated.disturbances == ()
        assert simulated.joint_states().velocities[0] == pytest.approx(8.0 / 4.0 * 0.5, rel=1e-2)


def test_a_torque_deflects_a_spring():
    with SimulatedCell(*pendulum(), options(JointImpedance(stiffness=50.0))) as simulated:
        simulated.disturb(Disturbance(DisturbanceKind.WRENCH, "bob", torque=(0.0, -5.0, 0.0)))
        simulated.step(2.0)
        assert simulated.joint_states().positions[0] == pytest.approx(5.0 / 50.0, rel=1e-2)


def test_a_payload_is_not_compensated_by_controllers():
    with SimulatedCell(*pendulum(), options(JointImpedance(stiffness=200.0))) as simulated:
        simulated.disturb(Disturbance(DisturbanceKind.PAYLOAD, "bob", 1.0))
        simulated.step(3.0)
        angle = -simulated.joint_states().positions[0]
        assert angle == pytest.approx(GRAVITY * ARM * math.cos(angle) / 200.0, rel=2e-2)
        simulated.disturb(clear=True)
        simulated.step(3.0)
        assert simulated.joint_states().positions[0] == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("controller", [None, TorqueControl()])
def test_a_stuck_joint_does_not_move(controller):
    with SimulatedCell(*cart(), options(controller) if controller else SimulationOptions()) as simulated:
        simulated.disturb(Disturbance(DisturbanceKind.STUCK_JOINT, "rail"))
        if controller:
            simulated.set_efforts({"rail": 50.0})
        else:
            simulated.set_targets({"rail": 1.0})
        simulated.step(0.5)
        assert simulated.joint_states().positions[0] == pytest.approx(0.0, abs=1e-4)
        simulated.disturb(clear=True)
        simulated.step(0.5)
        assert simulated.joint_states().positions[0] > 0.1


def test_a_joint_of_a_tool_is_disturbed_by_either_of_its_names():
    with SimulatedCell(*workshop(), SimulationOptions(settle_time=0.0)) as simulated:
        (full,) = (name for name in simulated.command_limits if name.endswith("/finger"))
        for name in ("finger", full, "finger"):
            simulated.disturb(Disturbance(DisturbanceKind.STUCK_JOINT, name))
            assert simulated.disturbances == (Disturbance(DisturbanceKind.STUCK_JOINT, full),)
        before = simulated.joint_states().positions[4]
        simulated.set_targets({"finger": before + 0.01})
        simulated.step(0.3)
        assert simulated.joint_states().positions[4] == pytest.approx(before, abs=1e-4)


def test_a_bias_is_not_visible_in_measurements():
    with SimulatedCell(*cart()) as simulated:
        simulated.disturb(Disturbance(DisturbanceKind.ENCODER_BIAS, "rail", 0.01))
        for _ in range(100):
            simulated.set_targets({"rail": 0.2})
            simulated.step(0.01)
        assert simulated.joint_states().positions[0] == pytest.approx(0.2, abs=1e-4)
        assert simulated.state().configuration["rail"] == pytest.approx(0.19, abs=1e-4)


def test_noise_has_its_standard_deviation():
    with SimulatedCell(*cart()) as simulated:
        simulated.disturb(Disturbance(DisturbanceKind.ENCODER_NOISE, value=1e-3))
        values = []
        for _ in range(400):
            simulated.step(simulated.options.time_step)
            values.append(simulated.joint_states().positions[0] - simulated.state().configuration["rail"])
    assert np.std(values) == pytest.approx(1e-3, rel=0.15)
    assert abs(np.mean(values)) < 2e-4


def test_a_reset_restores_the_initial_state_and_keeps_time_and_controllers():
    with SimulatedCell(*cart(), options(GravityCompensation())) as simulated:
        simulated.set_controller(TorqueControl())
        simulated.disturb(Disturbance(DisturbanceKind.WRENCH, "cart", force=(8.0, 0.0, 0.0)))
        simulated.step(0.5)
        simulated.reset()
        assert simulated.time == pytest.approx(0.5)
        assert simulated.disturbances == ()
        assert simulated.joint_states().positions[0] == pytest.approx(0.0, abs=1e-6)
        assert simulated.controllers == {"rail": TorqueControl()}
        simulated.set_targets({"rail": 0.1})
        simulated.step(1.0)
        assert simulated.time == pytest.approx(1.5)
        assert simulated.joint_states().positions[0] == pytest.approx(0.1, abs=1e-4)


def test_invalid_disturbances_are_refused_together():
    good = Disturbance(DisturbanceKind.STUCK_JOINT, "rail")
    with SimulatedCell(*cart()) as simulated:
        for bad in (Disturbance(DisturbanceKind.WRENCH, "moon"), Disturbance(DisturbanceKind.STUCK_JOINT, "rale")):
            with pytest.raises(UnknownNameError):
                simulated.disturb(good, bad, clear=True)
        with pytest.raises(DisturbanceError, match="world"):
            simulated.disturb(Disturbance(DisturbanceKind.WRENCH, "world"))
        assert simulated.disturbances == ()
    for values in ({"value": -1.0}, {"value": math.nan}, {"duration": -1.0}, {"force": (math.inf, 0.0, 0.0)}):
        with pytest.raises(DisturbanceError):
            Disturbance(DisturbanceKind.PAYLOAD, "cart", **values)
