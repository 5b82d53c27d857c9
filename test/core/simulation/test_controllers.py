"""Controllers and drives of simulated joints are compared with closed formulas; controllers change during motions."""

import itertools
import math

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from simulation_cells import GRAVITY, body, box, joint, link, pendulums, point_mass

from robot_cell_planner.errors import ControllerError, UnknownNameError
from robot_cell_planner.kinematics.dynamics import Dynamics
from robot_cell_planner.model.mechanism import JointKind, JointLimits, Link
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.simulated_robot import (
    CartesianImpedance,
    ComputedTorque,
    GravityCompensation,
    JointDrive,
    JointImpedance,
    MotorControl,
    PidControl,
    SimulatedRobot,
    TorqueControl,
    VelocityControl,
)
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.simulation.disturbances import Disturbance, DisturbanceKind
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

pytestmark = pytest.mark.usefixtures("engine")  # each test in each engine, see conftest.py

STEP = 0.002
STRONG = JointLimits(-3.0, 3.0, 10.0, 50.0, None, 400.0)
START = {"pan": 0.4, "lift": -0.5, "bend": 0.8}
NAMES = tuple(START)
PERIOD = 0.01


def arm():
    """Three revolute joints about different axes, with eccentric masses."""
    joints = [
        joint("pan", JointKind.REVOLUTE, "base", "one", (0.0, 0.0, 1.0), STRONG, Pose((0.0, 0.0, 0.2))),
        joint("lift", JointKind.REVOLUTE, "one", "two", (0.0, 1.0, 0.0), STRONG, Pose((0.1, 0.0, 0.1))),
        joint("bend", JointKind.REVOLUTE, "two", "three", (0.0, 1.0, 0.0), STRONG, Pose((0.5, 0.05, 0.0))),
    ]
    centres = {"one": (0.02, 0.03, 0.05), "two": (0.25, -0.02, 0.01), "three": (0.2, 0.02, 0.03)}
    links = [Link(name, inertial=point_mass(3.0 - i, centre)) for i, (name, centre) in enumerate(centres.items())]
    cell, state = pendulums(*joints, links=links)
    return cell, state.with_configuration(START)


def cart(mass=4.0):
    rail = joint("rail", JointKind.PRISMATIC, "base", "cart", (1.0, 0.0, 0.0), JointLimits(-9, 9, 10, 50, None, 100))
    return pendulums(rail, links=[Link("cart", inertial=point_mass(mass, (0.0, 0.0, 0.0)))])


def options(controller=None, drive=None, **others):
    robot = SimulatedRobot(
        frozendict({} if controller is None else {"*": controller}), frozendict({} if drive is None else {"*": drive})
    )
    return SimulationOptions(
        **{"settle_time": 0.1, "time_step": STEP, "robot": robot, "command_timeout": 60.0} | others
    )


def wave(time, start, rate=3.0, size=0.3):
    """Sinusoids of all joints that begin at rest: positions and velocities."""
    positions = start + size * (1.0 - math.cos(rate * time))
    return positions, np.full_like(positions, size * rate * math.sin(rate * time))


def follow(simulated, duration, origin=0.0, start=None, watch=lambda: None):
    """Follow the sinusoids; return the largest position error after the first tenth."""
    start = np.array(list(START.values())) if start is None else start
    worst = 0.0
    begin = simulated.time
    while simulated.time < begin + duration - 1e-9:
        positions, velocities = wave(simulated.time - origin, start)
        simulated.set_targets(
            dict(zip(NAMES, positions.tolist(), strict=True)), dict(zip(NAMES, velocities.tolist(), strict=True))
        )
        simulated.step(PERIOD)
        watch()
        error = np.abs(simulated.joint_states().positions - wave(simulated.time - origin, start)[0]).max()
        if simulated.time > begin + 0.1 * duration:
            worst = max(worst, error)
    return worst


@pytest.mark.parametrize(
    ("controller", "bound"),
    [(ComputedTorque(), 1e-5), (PidControl(), 5e-3), (VelocityControl(), 5e-3), (JointImpedance(500.0), 0.03)],
)
def test_controllers_follow_sinusoids(controller, bound):
    with SimulatedCell(*arm(), options(controller)) as simulated:
        assert follow(simulated, 2.0) < bound


@pytest.mark.parametrize("controller", [GravityCompensation(), ComputedTorque(), JointImpedance(), PidControl()])
def test_controllers_hold_against_gravity(controller):
    with SimulatedCell(*arm(), options(controller)) as simulated:
        simulated.step(1.0)
        assert simulated.joint_states().positions == pytest.approx(list(START.values()), abs=1e-4)


def test_torque_control_passes_efforts_and_holds_without_them():
    with SimulatedCell(*cart(), options(TorqueControl())) as simulated:
        simulated.step(0.1)
        assert simulated.joint_states().positions[0] == 0.0
        simulated.set_efforts({"rail": 2.0})
        simulated.step(1.0)
        assert simulated.joint_states().velocities[0] == pytest.approx(2.0 / 4.0, rel=1e-3)


def test_an_effort_beyond_gravity_compensation_accelerates_as_in_inverse_dynamics():
    cell, state = arm()
    dynamics = Dynamics(cell, state)
    requested = np.array((0.5, -0.8, 1.2))
    q = np.array(list(START.values()))
    efforts = dynamics.inverse(q, np.zeros(3), requested) - dynamics.gravity(q)
    with SimulatedCell(cell, state, options(GravityCompensation())) as simulated:
        simulated.step(STEP)
        simulated.set_efforts(dict(zip(NAMES, efforts.tolist(), strict=True)))
        before = simulated.joint_states().velocities
        simulated.step(STEP)
        assert (simulated.joint_states().velocities - before) / STEP == pytest.approx(requested, rel=1e-2, abs=1e-3)


def test_the_engine_accelerates_as_in_inverse_dynamics():
    """At random states in motion; without contacts and friction."""
    cell, state = arm()
    dynamics = Dynamics(cell, state)
    random = np.random.default_rng(1)
    with SimulatedCell(cell, state, options(ComputedTorque())) as simulated:
        follow(simulated, 0.4)
        simulated.set_controller(TorqueControl())
        for _ in range(20):
            states = simulated.joint_states()
            requested = random.uniform(-5.0, 5.0, 3)
            efforts = dynamics.inverse(states.positions, states.velocities, requested)
            simulated.set_efforts(dict(zip(NAMES, efforts.tolist(), strict=True)))
            simulated.step(STEP)
            measured = (simulated.joint_states().velocities - states.velocities) / STEP
            assert measured == pytest.approx(requested, rel=1e-2, abs=1e-2)


def test_an_integral_stops_where_the_effort_is_at_its_limit():
    """A weak joint sags below its command; when the command returns to it, it does not overshoot."""
    bob = Link("bob", inertial=point_mass(2.0, (0.5, 0.0, 0.0)))
    weak = JointLimits(-3.0, 3.0, 3.0, 20.0, None, 12.0)  # more than 2 kg * 0.5 m * 9.81 = 9.81 Nm: lifts slowly
    cell, state = pendulums(joint("hinge", JointKind.REVOLUTE, "base", "bob", (0.0, -1.0, 0.0), weak), links=[bob])
    with SimulatedCell(cell, state.with_configuration({"hinge": 1.2}), options(PidControl())) as simulated:
        simulated.limit_efforts({"hinge": 1.0})  # blocked: far too weak
        simulated.step(1.0)
        sagged = simulated.joint_states().positions[0]
        assert sagged < 1.0
        simulated.limit_efforts({"hinge": 0.0})
        values = []
        for _ in range(150):
            simulated.set_targets({"hinge": 1.2})
            simulated.step(PERIOD)
            values.append(simulated.joint_states().positions[0])
    assert values[-1] == pytest.approx(1.2, abs=5e-3)
    assert max(values) < 1.2 + 0.1


def test_controllers_change_during_motion_without_a_jump():
    """The worst tracking error during changes is that of the weaker controller, and efforts are continuous."""
    sequence = [ComputedTorque(), JointImpedance(500.0), PidControl(), VelocityControl(), ComputedTorque()]
    with SimulatedCell(*arm(), options(ComputedTorque())) as simulated:
        origin, start = simulated.time, np.array(list(START.values()))
        follow(simulated, 0.5, origin, start)
        previous = simulated.joint_states().efforts
        for controller in sequence:
            simulated.set_controller(controller)
            simulated.step(STEP)
            efforts = simulated.joint_states().efforts
            assert np.abs(efforts - previous).max() < 3.0, controller
            assert follow(simulated, 0.5, origin, start) < 0.05, controller
            previous = simulated.joint_states().efforts
        simulated.set_controller(MotorControl())
        assert follow(simulated, 0.5, origin, start) < 1e-3


def test_joints_of_one_robot_have_different_controllers_and_command_modes():
    with SimulatedCell(*arm(), options()) as simulated:
        assert simulated.set_controller(ComputedTorque(), "pan", "lift") == ("pan", "lift")
        simulated.set_controller(GravityCompensation(), "bend")
        assert simulated.controllers == {
            "pan": ComputedTorque(), "lift": ComputedTorque(), "bend": GravityCompensation()
        }  # fmt: skip
        for index in range(100):
            simulated.set_targets({"pan": 0.4 + 0.002 * index})
            simulated.set_velocities({"lift": 0.1})
            simulated.set_efforts({"bend": 0.02})
            simulated.step(PERIOD)
        states = simulated.joint_states()
    assert states.positions[0] == pytest.approx(0.4 + 0.2, abs=5e-3)
    assert states.velocities[1] == pytest.approx(0.1, abs=5e-3)
    assert abs(states.velocities[2]) > 0.1


def test_hand_guiding_keeps_the_position_where_it_ends():
    controller = GravityCompensation(damping_rate=20.0)
    with SimulatedCell(*arm(), options(controller, command_timeout=0.3)) as simulated:
        simulated.set_efforts({"bend": 1.0})
        simulated.step(0.8)
        simulated.set_controller(ComputedTorque())
        simulated.set_targets({"pan": 0.5})
        reached = simulated.joint_states().positions
        simulated.step(1.0)
        assert reached[2] > START["bend"] + 0.1
        assert simulated.joint_states().positions == pytest.approx([0.5, START["lift"], reached[2]], abs=0.02)


def test_a_cartesian_impedance_follows_and_holds():
    cell, state = arm()
    controller = CartesianImpedance("three", 2000.0, 100.0)
    with SimulatedCell(cell, state, options(controller)) as simulated:
        place = np.array(simulated.pose("three").position)
        simulated.step(1.0)
        assert np.array(simulated.pose("three").position) == pytest.approx(place, abs=1e-3)
        assert follow(simulated, 1.0, simulated.time) < 0.1


# Drives


def test_armature_is_inertia_at_the_joint():
    drive = JointDrive(armature=4.0)
    with SimulatedCell(*cart(4.0), options(TorqueControl(), drive)) as simulated:
        simulated.set_efforts({"rail": 2.0})
        simulated.step(1.0)
        assert simulated.joint_states().velocities[0] == pytest.approx(2.0 / 8.0, rel=1e-3)


def test_a_body_unknown_to_controllers_moves_with_the_armature():
    """The drive moves the body as well: an effort accelerates the sum of cart, load and armature."""
    cell, state = cart(4.0)
    cell = msgspec.structs.replace(cell, bodies=frozendict({"load": body("load", [box(0.1, 0.1, 0.1)], 6.0)}))
    state = msgspec.structs.replace(state, bodies=frozendict({"load": BodyState(attached_to="cart")}))
    robot = SimulatedRobot(
        frozendict({"*": TorqueControl()}), frozendict({"*": JointDrive(armature=10.0)}), unknown_bodies=("load",)
    )
    with SimulatedCell(cell, state, options(robot=robot)) as simulated:
        simulated.set_efforts({"rail": 20.0})
        simulated.step(1.0)
        assert simulated.joint_states().velocities[0] == pytest.approx(20.0 / (4.0 + 6.0 + 10.0), rel=1e-3)


def test_a_mass_that_is_added_moves_with_the_armature():
    with SimulatedCell(*cart(4.0), options(TorqueControl(), JointDrive(armature=10.0))) as simulated:
        simulated.disturb(Disturbance(DisturbanceKind.PAYLOAD, "cart", 6.0))
        simulated.set_efforts({"rail": 20.0})
        simulated.step(1.0)
        assert simulated.joint_states().velocities[0] == pytest.approx(20.0 / (4.0 + 6.0 + 10.0), rel=1e-2)


def test_armature_carries_no_load_at_rest():
    efforts = []
    for drive in (None, JointDrive(armature=0.5)):
        with SimulatedCell(*arm(), options(ComputedTorque(), drive)) as simulated:
            simulated.disturb(Disturbance(DisturbanceKind.PAYLOAD, "three", 2.0))
            simulated.step(3.0)
            efforts.append(simulated.joint_states().efforts)
    assert efforts[1] == pytest.approx(efforts[0], abs=1e-3)


def test_the_contact_force_of_a_drive_with_armature_is_its_effort():
    rail = joint("rail", JointKind.PRISMATIC, "base", "cart", (1.0, 0.0, 0.0), JointLimits(-9, 9, 10, 50, None, 100))
    cell, state = pendulums(rail, links=[link("cart", [box(0.1, 0.1, 0.1)], 4.0)])
    cell = msgspec.structs.replace(cell, bodies=frozendict({"wall": body("wall", [box(0.1, 1.0, 1.0)])}))
    state = msgspec.structs.replace(state, bodies=frozendict({"wall": BodyState(Pose((0.12, 0.0, 0.0)))}))
    with SimulatedCell(cell, state, options(TorqueControl(), JointDrive(armature=12.0))) as simulated:
        simulated.set_efforts({"rail": 20.0})
        simulated.step(1.5)
        (contact,) = simulated.contacts()
        assert contact.force == pytest.approx(20.0, rel=1e-2)  # 5 without the force of the wall


def test_controllers_include_the_armature():
    with SimulatedCell(*arm(), options(ComputedTorque(), JointDrive(armature=0.5, damping=2.0))) as simulated:
        assert follow(simulated, 2.0) < 2e-4


def test_an_effort_rises_with_the_time_constant_of_the_motor():
    constant, time, force, mass = 0.1, 0.3, 2.0, 4.0
    with SimulatedCell(*cart(mass), options(TorqueControl(), JointDrive(time_constant=constant))) as simulated:
        simulated.set_efforts({"rail": force})
        simulated.step(time)
        states = simulated.joint_states()
    assert states.efforts[0] == pytest.approx(force * (1.0 - math.exp(-time / constant)), rel=1e-6)
    speed = force / mass * (time - constant * (1.0 - math.exp(-time / constant)))
    assert states.velocities[0] == pytest.approx(speed, rel=2e-2)


def test_friction_and_damping_of_a_drive_replace_those_of_the_description():
    drive = JointDrive(friction=1.0, damping=2.0)
    with SimulatedCell(*cart(1.0), options(TorqueControl(), drive)) as simulated:
        simulated.set_efforts({"rail": 0.9})
        simulated.step(0.5)
        assert simulated.joint_states().positions[0] == pytest.approx(0.0, abs=1e-4)
        simulated.set_efforts({"rail": 5.0})
        simulated.step(4.9)  # the end stop is reached after 5 s
        assert simulated.joint_states().velocities[0] == pytest.approx((5.0 - 1.0) / 2.0, rel=1e-2)


def test_backlash_is_lost_motion_between_motor_and_link():
    play = 0.02
    drive = JointDrive(backlash=play, armature=0.5)
    with SimulatedCell(*cart(4.0), options(TorqueControl(), drive)) as simulated:
        offsets = []
        for effort in (3.0, -3.0, 3.0):
            simulated.set_efforts({"rail": effort})
            simulated.step(0.5)
            offsets.append(simulated.joint_states().positions[0] - simulated.pose("cart").position[0])
    assert offsets == pytest.approx([play / 2, -play / 2, play / 2], abs=1e-6)


@pytest.mark.parametrize("drive", [JointDrive(backlash=0.01), JointDrive(armature=1.0), JointDrive(time_constant=0.01)])
def test_the_motor_of_the_engine_refuses_drives_that_it_does_not_have(drive):
    with pytest.raises(ControllerError, match="the drives of joints pan, lift, bend have"):
        SimulatedCell(*arm(), options(None, drive))
    with SimulatedCell(*arm(), options(ComputedTorque(), drive)) as simulated:
        with pytest.raises(ControllerError, match="choose another controller"):
            simulated.set_controller(MotorControl())
        assert simulated.controllers["pan"] == ComputedTorque()


def test_unknown_names_and_frames_are_refused_and_change_nothing():
    with SimulatedCell(*arm(), options()) as simulated:
        with pytest.raises(UnknownNameError, match=r"'pam'.*pan"):
            simulated.set_controller(ComputedTorque(), "pan", "pam")
        with pytest.raises(UnknownNameError, match="nowhere"):
            simulated.set_controller(CartesianImpedance("nowhere"))
        with pytest.raises(ControllerError, match="needs a frame"):
            simulated.set_controller(CartesianImpedance(), "pan")
        assert set(simulated.controllers.values()) == {MotorControl()}


def test_the_same_calls_give_the_same_bytes():
    def run():
        with SimulatedCell(*arm(), options(ComputedTorque(), JointDrive(armature=0.1))) as simulated:
            follow(simulated, 0.3)
            return simulated.joint_states().positions.tobytes()

    assert len({run() for _ in range(2)}) == 1


def test_energy_is_conserved_without_friction():
    """A double pendulum swings freely; the energy changes by less than 1 % due to the engine's integration."""
    with SimulatedCell(*arm(), SimulationOptions(settle_time=0.0, time_step=0.0005, command_timeout=60.0)) as simulated:
        cell, state = arm()
        dynamics = Dynamics(cell, state)
        simulated.set_efforts(dict.fromkeys(NAMES, 0.0))
        centres = {"one": (0.02, 0.03, 0.05), "two": (0.25, -0.02, 0.01), "three": (0.2, 0.02, 0.03)}
        masses = {"one": 3.0, "two": 2.0, "three": 1.0}
        energies, kinetic = [], []
        for _ in range(60):
            simulated.step(0.01)
            states = simulated.joint_states()
            kinetic.append(0.5 * states.velocities @ dynamics.mass_matrix(states.positions) @ states.velocities)
            heights = {name: (simulated.pose(name) @ Pose(centre)).position[2] for name, centre in centres.items()}
            energies.append(kinetic[-1] + GRAVITY * sum(masses[name] * heights[name] for name in heights))
    assert max(abs(b - a) for a, b in itertools.pairwise(energies)) < 0.01 * max(kinetic)
    assert max(energies) - min(energies) < 0.01 * max(kinetic)
