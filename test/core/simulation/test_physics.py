"""The simulation is compared with closed formulas of mechanics."""

import math

import numpy as np
import pytest
from simulation_cells import GRAVITY, body, box, cell_of_bodies, joint, pendulums, point_mass

from robot_cell_planner.model.geometry import Shape, Sphere
from robot_cell_planner.model.joint_extras import JointExtras
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mimic
from robot_cell_planner.model.placement import Placements, placements
from robot_cell_planner.model.pose import IDENTITY, Pose
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

pytestmark = pytest.mark.usefixtures("engine")  # each test in each engine, see conftest.py

AT_ONCE = SimulationOptions(settle_time=0.0)
FINE = SimulationOptions(settle_time=0.0, time_step=0.0005, command_timeout=60.0)
STRONG = JointLimits(-3.0, 3.0, 10.0, 50.0, None, 1000.0)
TABLE = body("table", [box(4.0, 4.0, 0.1, Pose((0.0, 0.0, -0.05)))])


def test_a_body_falls_with_the_acceleration_of_gravity():
    cell, state = cell_of_bodies(body("stone", [Shape(Sphere(0.05))], 2.0), stone=Pose((0.0, 0.0, 10.0)))
    with SimulatedCell(cell, state, AT_ONCE) as simulated:
        simulated.step(1.0)
        # With semi-implicit Euler, a body falls g t h / 2 further than g t^2 / 2.
        expected = 10.0 - 0.5 * GRAVITY * (1.0 + AT_ONCE.time_step)
        assert simulated.body_pose("stone").position[2] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("degrees", "slides"), [(35.0, False), (42.0, True)])
def test_the_angle_of_repose_is_that_of_the_friction(degrees, slides):
    """tan 38.66 degrees = 0.8."""
    turn = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, math.radians(degrees), 0.0))
    slope = body("slope", [box(4.0, 1.0, 0.1, Pose((0.0, 0.0, -0.05)))])
    crate = body("crate", [box(0.2, 0.2, 0.02)], 1.0)
    cell, state = cell_of_bodies(crate, slope, slope=turn, crate=turn @ Pose((0.0, 0.0, 0.01)))
    with SimulatedCell(cell, state, SimulationOptions(settle_time=0.0, friction=0.8)) as simulated:
        simulated.step(0.2)
        early = np.array(simulated.body_pose("crate").position)
        simulated.step(0.5)
        moved = float(np.linalg.norm(np.array(simulated.body_pose("crate").position) - early))
    if slides:
        pull = GRAVITY * (math.sin(math.radians(degrees)) - 0.8 * math.cos(math.radians(degrees)))
        assert moved == pytest.approx(0.5 * pull * (0.7**2 - 0.2**2), rel=0.05)
    else:
        assert moved < 1e-5


def test_contact_forces_carry_the_weight():
    lower, upper = body("lower", [box(0.2, 0.2, 0.1)], 3.0), body("upper", [box(0.1, 0.1, 0.1)], 2.0)
    cell, state = cell_of_bodies(lower, upper, TABLE, lower=Pose((0.0, 0.0, 0.05)), upper=Pose((0.0, 0.0, 0.15)))
    with SimulatedCell(cell, state) as simulated:
        forces = {contact.pair: contact.force for contact in simulated.contacts()}
        assert forces == pytest.approx({("lower", "upper"): 2.0 * GRAVITY, ("lower", "table"): 5.0 * GRAVITY}, rel=1e-2)


def arm():
    """Three joints about different axes, with eccentric masses."""
    joints = [
        joint("pan", JointKind.REVOLUTE, "base", "one", (0.0, 0.0, 1.0), STRONG, Pose((0.0, 0.0, 0.2))),
        joint("lift", JointKind.REVOLUTE, "one", "two", (0.0, 1.0, 0.0), STRONG, Pose((0.1, 0.0, 0.1))),
        joint("slide", JointKind.PRISMATIC, "two", "three", (1.0, 0.0, 0.0), STRONG, Pose((0.3, 0.05, 0.0))),
    ]
    centres = {"one": (0.02, 0.03, 0.05), "two": (0.15, -0.02, 0.01), "three": (0.1, 0.02, 0.03)}
    links = [Link(name, inertial=point_mass(1.0 + i, centre)) for i, (name, centre) in enumerate(centres.items())]
    return pendulums(*joints, links=links), centres


def test_motors_at_rest_hold_the_gradient_of_the_potential_energy():
    (cell, state), centres = arm()
    values = {"pan": 0.4, "lift": -0.5, "slide": 0.2}

    def energy(configuration):
        world = Placements(placements(cell, state.with_configuration(configuration)))
        heights = [(world.world(name) @ Pose(centre)).position[2] for name, centre in centres.items()]
        return GRAVITY * sum((1.0 + i) * height for i, height in enumerate(heights))

    with SimulatedCell(cell, state.with_configuration(values)) as simulated:
        states = simulated.joint_states()
    for name, effort in zip(states.names, states.efforts, strict=True):
        step = 1e-5
        higher, lower = (energy(values | {name: values[name] + shift}) for shift in (step, -step))
        assert effort == pytest.approx((higher - lower) / (2 * step), abs=1e-3), name


def test_a_pendulum_swings_at_its_period():
    bob = Link("bob", inertial=point_mass(2.0, (0.0, 0.0, -0.5)))
    cell, state = pendulums(joint("hinge", JointKind.REVOLUTE, "base", "bob", (0.0, 1.0, 0.0), STRONG), links=[bob])
    with SimulatedCell(cell, state.with_configuration({"hinge": 0.05}), FINE) as simulated:
        simulated.set_efforts({"hinge": 0.0})
        crossings, last = [], 0.05
        while len(crossings) < 3:
            simulated.step(0.001)
            value = float(simulated.joint_states().positions[0])
            if value * last < 0.0:
                crossings.append(simulated.time - 0.001 * abs(value) / abs(value - last))
            last = value
    # Inertia about the hinge: m l^2 and that of the small mass itself.
    expected = 2.0 * math.pi * math.sqrt((0.25 + 1e-6) / (GRAVITY * 0.5)) * (1.0 + 0.05**2 / 16.0)
    assert crossings[2] - crossings[0] == pytest.approx(expected, rel=2e-3)


def test_an_effort_accelerates_a_mass():
    cart = Link("cart", inertial=point_mass(4.0, (0.0, 0.0, 0.0)))
    rail = joint("rail", JointKind.PRISMATIC, "base", "cart", (1.0, 0.0, 0.0), STRONG)
    cell, state = pendulums(rail, links=[cart])
    with SimulatedCell(cell, state, FINE) as simulated:
        simulated.set_efforts({"rail": 2.0})
        simulated.step(1.0)
        states = simulated.joint_states()
    assert states.velocities[0] == pytest.approx(0.5, rel=1e-3)
    assert states.positions[0] == pytest.approx(0.25, rel=2e-3)
    assert states.efforts[0] == 2.0


@pytest.mark.parametrize(("effort", "moves"), [(2.9, False), (3.5, True)])
def test_joint_friction_holds_until_the_effort_is_larger(effort, moves):
    cart = Link("cart", inertial=point_mass(1.0, (0.0, 0.0, 0.0)))
    rough = JointExtras(friction=3.0)
    rail = Joint("rail", JointKind.PRISMATIC, "base", "cart", IDENTITY, (1.0, 0.0, 0.0), STRONG, None, rough)
    cell, state = pendulums(rail, links=[cart])
    with SimulatedCell(cell, state, FINE) as simulated:
        simulated.set_efforts({"rail": effort})
        simulated.step(0.5)
        position = simulated.joint_states().positions[0]
    assert position == pytest.approx(0.5 * (effort - 3.0) * 0.25 if moves else 0.0, abs=2e-3)


@pytest.mark.parametrize(("multiplier", "offset"), [(1.0, 0.0), (-0.5, 0.2), (2.0, -0.1)])
def test_joints_that_mimic_follow_in_motion(multiplier, offset):
    limits = JointLimits(-1.0, 1.0, 2.0, 20.0, None, 100.0)
    leader = joint("leader", JointKind.REVOLUTE, "base", "a", (0.0, 1.0, 0.0), limits)
    mimic = Mimic("leader", multiplier, offset)
    beside = Pose((0.0, 1.0, 0.0))
    follower = joint("follower", JointKind.REVOLUTE, "base", "b", (1.0, 0.0, 0.0), origin=beside, mimic=mimic)
    cell, state = pendulums(leader, follower)
    with SimulatedCell(cell, state) as simulated:
        assert simulated.driven_joints == ("leader",)
        simulated.set_targets({"leader": 0.8})
        for _ in range(100):
            simulated.step(0.01)
            lead, follow = simulated.joint_states().positions
            assert follow == pytest.approx(multiplier * lead + offset, abs=2e-3)
        assert lead == pytest.approx(0.8, abs=1e-4)
