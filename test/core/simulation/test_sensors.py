"""Cameras, force-torque and joint torque sensors are compared with closed formulas, another engine and rays."""

import math

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from simulation_cells import GRAVITY, body, box, cell_of_bodies, joint, link, pendulums, point_mass, workshop

from robot_cell_planner.errors import InvalidValueError, SimulationError, UnknownNameError
from robot_cell_planner.kinematics.dynamics import Dynamics
from robot_cell_planner.model.bodies import NamedFrame
from robot_cell_planner.model.mechanism import JointKind, JointLimits, Link
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.simulated_robot import GravityCompensation, SimulatedRobot, TorqueControl
from robot_cell_planner.model.simulated_sensors import (
    CameraSensor,
    ForceTorqueSensor,
    JointTorqueSensor,
    sensor_settings,
)
from robot_cell_planner.simulation.disturbances import Disturbance, DisturbanceKind
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.sensors import view_of
from robot_cell_planner.simulation.simulated_cell import SimulatedCell
from robot_cell_planner.system.physics import has_physics

pytestmark = pytest.mark.usefixtures("engine")  # each test in each engine, see conftest.py

MASS, ARM = 2.0, 0.5
LIMITS = JointLimits(-3.0, 3.0, 10.0, 50.0, None, 500.0)
DOWN = Pose.from_rpy((0.0, 0.0, 1.0), (math.pi, 0.0, 0.0))  # one metre above the origin

needs_images = pytest.mark.skipif(not has_physics(), reason="images are rendered by PyBullet, which is not installed")


def options(controllers=(), settle_time=0.1, **sensors):
    robot = SimulatedRobot(frozendict(controllers), sensors=frozendict(sensors))
    return SimulationOptions(settle_time=settle_time, robot=robot, command_timeout=60.0)


def pendulum():
    """A bob on the x axis of its link; the joint lifts it."""
    bob = Link("bob", inertial=point_mass(MASS, (ARM, 0.0, 0.0)))
    return pendulums(joint("hinge", JointKind.REVOLUTE, "base", "bob", (0.0, -1.0, 0.0), LIMITS), links=[bob])


def pusher():
    """A plate of 2 kg that moves along z, above a block that is fixed."""
    plate = link("plate", [box(0.1, 0.1, 0.02)], MASS)
    cell, _ = pendulums(joint("slide", JointKind.PRISMATIC, "base", "plate", (0.0, 0.0, 1.0), LIMITS), links=[plate])
    block, under = cell_of_bodies(body("block", [box(0.2, 0.2, 0.1)]), block=Pose((0.0, 0.0, -0.07)))
    cell = msgspec.structs.replace(cell, bodies=block.bodies)
    return cell, cell.default_state().with_body("block", under.bodies["block"])


@pytest.mark.parametrize("angle", [0.0, 0.7, -1.2])
def test_a_wrench_is_weight_in_the_axes_of_the_frame(angle):
    cell, state = pendulum()
    state = state.with_configuration({"hinge": angle})
    with SimulatedCell(cell, state, options(tip=ForceTorqueSensor("bob"))) as simulated:
        simulated.step(0.5)
        force, torque = simulated.sensors.wrench("tip")
        weight = MASS * GRAVITY
        # The link is turned by -angle about y; its x axis is lifted.
        assert force == pytest.approx((-weight * math.sin(angle), 0.0, -weight * math.cos(angle)), abs=1e-2)
        assert torque == pytest.approx((0.0, weight * ARM * math.cos(angle), 0.0), abs=1e-2)


@pytest.mark.parametrize("controller", [{}, {"*": GravityCompensation()}])
def test_a_wrench_includes_external_forces(controller):
    with SimulatedCell(*pendulum(), options(controller, tip=ForceTorqueSensor("bob"))) as simulated:
        simulated.step(0.1)
        before = simulated.sensors.wrench("tip")
        push = Disturbance(DisturbanceKind.WRENCH, "bob", force=(0.0, 7.0, 0.0), torque=(3.0, 0.0, 0.0))
        simulated.disturb(push)
        simulated.step(0.05)
        after = simulated.sensors.wrench("tip")
        assert after.force - before.force == pytest.approx((0.0, 7.0, 0.0), abs=1e-2)
        assert after.torque - before.torque == pytest.approx((3.0, 0.0, 0.0), abs=1e-2)


def test_a_wrench_includes_contact_forces():
    with SimulatedCell(*pusher(), options(tip=ForceTorqueSensor("plate"))) as simulated:
        simulated.set_efforts({"slide": -30.0})
        simulated.step(1.0)
        assert {(contact.first, contact.second) for contact in simulated.contacts()} == {("block", "plate")}
        # The force of the block is weight plus effort; the sensor measures it minus the weight, which is the effort.
        assert simulated.sensors.wrench("tip").force == pytest.approx((0.0, 0.0, 30.0), abs=0.3)


def test_joint_torques_are_those_of_inverse_dynamics():
    cell, state = pendulums(
        joint("a", JointKind.REVOLUTE, "base", "one", (0.0, 1.0, 0.0), LIMITS),
        joint("b", JointKind.REVOLUTE, "one", "two", (1.0, 0.0, 0.0), LIMITS, Pose((0.0, 0.0, -0.4))),
    )
    state = state.with_configuration({"a": 0.6, "b": -0.9})
    expected = Dynamics(cell, state).gravity(np.array((0.6, -0.9)))
    for controller in ({}, {"*": GravityCompensation()}):
        with SimulatedCell(cell, state, options(controller, all=JointTorqueSensor())) as simulated:
            simulated.step(0.5)
            found = simulated.sensors.joint_torques("all")
            assert list(found) == ["a", "b"]
            assert list(found.values()) == pytest.approx(expected.tolist(), abs=0.02)


def test_the_torque_of_a_moving_joint_is_the_effort_that_is_commanded():
    with SimulatedCell(*pendulum(), options({"*": TorqueControl()}, all=JointTorqueSensor("hinge"))) as simulated:
        simulated.set_efforts({"hinge": 12.0})
        simulated.step(0.05)
        assert abs(simulated.joint_states().velocities[0]) > 0.05
        assert simulated.sensors.joint_torques("all") == pytest.approx({"hinge": 12.0}, abs=1e-2)


def with_frame(cell, name, pose, parent="world"):
    return msgspec.structs.replace(cell, frames=frozendict({name: NamedFrame(name, parent, pose)}))


def seen_from_above():
    """A camera 1 m above a floor, with a box of 0.2 m on it, moved to the right in the image."""
    cell, state = cell_of_bodies(body("floor", [box(4.0, 4.0, 0.1)]), body("cube", [box(0.2, 0.2, 0.2)]),
                         floor=Pose((0.0, 0.0, -0.05)), cube=Pose((0.3, 0.0, 0.1)))  # fmt: skip
    return with_frame(cell, "eye", DOWN), state


@needs_images
def test_distances_and_names_in_images_equal_those_of_rays():
    cell, state = seen_from_above()
    camera = CameraSensor("eye", width=200, height=160, view_angle=math.radians(60.0))
    with SimulatedCell(cell, state, options(settle_time=0.0, eye=camera)) as simulated:
        found = simulated.sensors.image("eye")
        view = view_of(camera, simulated.pose("eye"))
        assert found.rgb.shape == (160, 200, 3)
        for point, name in (((0.0, 0.0, 0.0), "floor"), ((0.3, 0.05, 0.2), "cube"), ((-0.3, -0.2, 0.0), "floor")):
            column, row = view.pixel(np.array(point))
            assert found.names[found.segmentation[row, column]] == name
            assert found.depth[row, column] == pytest.approx(1.0 - point[2], abs=2e-3)
        points = view.points(found.depth)
        on_cube = points[found.segmentation == found.names.index("cube")]
        middle = np.median(on_cube, axis=0)  # in the camera's axes: x right, y down, z forward
        assert middle == pytest.approx((0.3, 0.0, 0.8), abs=0.02)


@needs_images
def test_a_camera_on_a_moving_frame_moves_with_it():
    cell, state = workshop()
    cell = with_frame(cell, "eye", Pose((0.15, 0.0, 0.0)), "gripper")
    with SimulatedCell(cell, state, options(hand=CameraSensor("eye"))) as simulated:
        before = simulated.sensors.image("hand")
        simulated.set_targets({"x": 0.3})
        simulated.step(2.0)
        after = simulated.sensors.image("hand")
        for found in (before, after):
            assert "table" in [found.names[number] for number in np.unique(found.segmentation[found.segmentation >= 0])]
        assert not np.array_equal(before.segmentation, after.segmentation)


@needs_images
def test_another_engine_in_the_same_state_renders_the_same_image():
    cell, state = workshop()
    camera = CameraSensor("world_eye")
    eye = Pose.from_rpy((0.0, -1.5, 0.4), (-math.pi / 2.0, 0.0, 0.0))
    cell = with_frame(cell, "world_eye", eye)
    settings = options(eye=camera)
    with SimulatedCell(cell, state, settings) as moved, SimulatedCell(cell, state, settings) as other:
        moved.set_targets({"x": -0.2, "z": -0.1, "turn": 0.5, "finger": 0.01})
        moved.disturb(Disturbance(DisturbanceKind.WRENCH, "workpiece", force=(3.0, 0.0, 0.0), duration=0.2))
        moved.step(1.0)
        other.engine.place(moved.engine.placement)
        view = view_of(camera, eye)
        one, two = moved.image(view), other.image(view)
        assert np.array_equal(one.segmentation, two.segmentation)
        assert np.array_equal(one.depth, two.depth)
        assert np.array_equal(one.rgb, two.rgb)


@needs_images
def test_sensors_have_no_effect_on_the_motion():
    cell, state = workshop()
    sensors = {
        "hand": CameraSensor("gripper", 64, 48),
        "wrist": ForceTorqueSensor("gripper"),
        "all": JointTorqueSensor(),
    }
    found = []
    for used in ({}, sensors):
        with SimulatedCell(cell, state, options(**used)) as simulated:
            simulated.set_targets({"x": -0.3, "z": -0.3})
            for _ in range(20):
                simulated.step(0.05)
                if used:
                    simulated.sensors.image("hand")
                    simulated.sensors.wrench("wrist")
                    simulated.sensors.joint_torques("all")
            states = simulated.joint_states()
            found.append((states.positions.tobytes(), states.velocities.tobytes(), repr(simulated.body_poses())))
    assert found[0] == found[1]


def test_a_reset_keeps_the_sensors():
    with SimulatedCell(*pendulum(), options(tip=ForceTorqueSensor("bob"))) as simulated:
        simulated.reset()
        simulated.step(0.1)
        assert simulated.sensors.wrench("tip").force[2] == pytest.approx(-MASS * GRAVITY, abs=1e-2)


@pytest.mark.parametrize(
    ("sensor", "error", "words"),
    [
        (CameraSensor("nowhere"), UnknownNameError, "nowhere"),
        (ForceTorqueSensor("nowhere"), UnknownNameError, "nowhere"),
        (ForceTorqueSensor("base"), SimulationError, "base is not attached to a joint or mount"),
        (JointTorqueSensor("elbow"), UnknownNameError, "elbow"),
    ],
)
def test_a_sensor_that_cannot_be_mounted_is_refused(sensor, error, words):
    with pytest.raises(error, match=words):
        SimulatedCell(*pendulum(), options(bad=sensor))


def test_a_sensor_of_another_kind_is_not_found():
    with (
        SimulatedCell(*pendulum(), options(tip=ForceTorqueSensor("bob"))) as simulated,
        pytest.raises(UnknownNameError, match="CameraSensor 'tip'"),
    ):
        simulated.sensors.image("tip")


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("eye", {"type": "nose", "frame": "a"}, "'nose' does not exist; there are camera, force_torque"),
        ("eye", {"type": "camera"}, "frame of sensor eye is missing"),
        ("eye", {"type": "camera", "frame": "a", "zoom": 2}, "'zoom' of sensor type camera"),
        ("eye", {"type": "camera", "frame": "a", "rate": math.nan}, "rate of CameraSensor is nan"),
        ("eye", {"type": "camera", "frame": "a", "width": 0}, "width of CameraSensor is 0"),
        ("eye", {"type": "camera", "frame": "a", "width": 4096, "height": 4096}, "4096 x 4096 pixels"),
        ("eye", {"type": "camera", "frame": "a", "near": 2, "far": 1}, "near of a camera"),
        ("left/eye", {"type": "camera", "frame": "a"}, "'left/eye' is no name of a topic"),
    ],
)
def test_invalid_settings_are_refused(name, values, words):
    with pytest.raises(InvalidValueError, match=words):
        sensor_settings(name, values)
