"""Robots on other robots in the simulation form one multibody, which moves like a single robot description."""

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from simulation_cells import body, box, by_name, joint, link, mechanism

from robot_cell_planner.model.bodies import NamedFrame
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.mechanism import JointKind, JointLimits
from robot_cell_planner.model.placement import Placements, placements
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import Robot
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.simulation.engines.selection import make_engine
from robot_cell_planner.simulation.multibody.multibodies import Multibodies
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

pytestmark = pytest.mark.usefixtures("engine")  # each test in each engine, see conftest.py

BASE = Pose.from_rpy((0.1, 0.05, 0.2), (0.3, -0.2, 1.0))
LIMITS = JointLimits(-2.0, 2.0, 2.0, 8.0, 80.0, 400.0)
AT_ONCE = SimulationOptions(settle_time=0.0, command_timeout=10.0)
replace = msgspec.structs.replace


def rail():
    links = [link("track"), link("carriage", [box(0.2, 0.2, 0.1)], 8.0)]
    slide = joint("slide", JointKind.PRISMATIC, "track", "carriage", (0.0, 1.0, 0.0), LIMITS)
    return Robot("rail", mechanism("rail", links, [slide]))


def arm_parts():
    shape = box(0.05, 0.05, 0.3, Pose((0.0, 0.0, 0.15)))
    links = [link("foot", [box(0.1, 0.1, 0.05)], 2.0), link("upper", [shape], 1.5), link("lower", [shape], 1.0)]
    joints = [
        joint("shoulder", JointKind.REVOLUTE, "foot", "upper", (0.0, 1.0, 0.0), LIMITS, Pose((0.0, 0.0, 0.05))),
        joint("elbow", JointKind.REVOLUTE, "upper", "lower", (1.0, 0.0, 0.0), LIMITS, Pose((0.0, 0.0, 0.35))),
    ]
    return links, joints


def stacked(attached_to="carriage", **more):
    """An arm on a rail; the rail is the last robot."""
    arm = Robot("arm", mechanism("arm", *arm_parts()), attached_to=attached_to)
    cell = RobotCell("stacked", by_name([arm, rail()]), **more)
    state = cell.default_state().with_configuration({"slide": 0.3, "shoulder": 0.4, "elbow": -0.5})
    return cell, replace(state, base_poses=state.base_poses.set("arm", BASE))


def in_one_description():
    links, joints = arm_parts()
    below = rail().mechanism
    fixed = joint("bolted", JointKind.FIXED, "carriage", "foot", (0.0, 0.0, 1.0), origin=BASE)
    whole = mechanism("whole", [*below.links.values(), *links], [*below.joints.values(), fixed, *joints])
    cell = RobotCell("whole", by_name([Robot("whole", whole)]))
    return cell, cell.default_state().with_configuration({"slide": 0.3, "shoulder": 0.4, "elbow": -0.5})


def values_while(cell, state, command, seconds=0.4):
    """Joint values, each 10 ms, after a command."""
    rows = []
    with SimulatedCell(cell, state, AT_ONCE) as simulated:
        command(simulated)
        for _ in range(round(seconds / 0.01)):
            simulated.step(0.01)
            found = simulated.joint_states()
            rows.append([dict(zip(found.names, found.positions, strict=True))[name] for name in sorted(found.names)])
    return np.array(rows)


def fall(simulated):
    simulated.set_efforts({"slide": 0.0, "shoulder": 0.0, "elbow": 0.0})


def reach(simulated):
    simulated.set_targets({"slide": -0.2, "shoulder": -0.3, "elbow": 0.6})


@pytest.mark.parametrize("command", [fall, reach])
def test_it_moves_like_a_single_description(command):
    ours, theirs = values_while(*stacked(), command), values_while(*in_one_description(), command)
    assert np.ptp(ours, axis=0).min() > 0.01
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_the_falling_arm_pushes_the_rail_away():
    """No force acts along the rail, so that the momentum along it remains zero: the rail moves against the arm."""
    cell, state = stacked()
    upright = replace(state, base_poses=state.base_poses.set("arm", Pose.from_rpy((0, 0, 0.1), (0, 0, np.pi / 2))))
    upright = upright.with_configuration({"slide": 0.0, "shoulder": 0.3, "elbow": 0.0})
    with SimulatedCell(cell, upright, AT_ONCE) as simulated:
        fall(simulated)

        def centre():
            """Centre of mass times mass, along the rail [kg m]."""
            return sum(
                item.inertial.mass * (simulated.pose(item.name) @ item.inertial.pose).position[1]
                for robot in cell.robots.values()
                for item in robot.mechanism.links.values()
                if item.inertial is not None
            )

        before, carriage = centre(), simulated.pose("carriage").position[1]
        simulated.step(0.3)
        assert abs(simulated.pose("carriage").position[1] - carriage) > 0.005
        assert centre() == pytest.approx(before, abs=1e-3)


@pytest.mark.parametrize("mass", [None, 5.0])
def test_a_robot_on_a_body_has_the_pose_of_the_body(engine, mass):
    """The body is fixed, or moves freely together with the robot."""
    desk = body("desk", [box(1.0, 1.0, 0.2, Pose((0.0, 0.0, 0.1)))], mass)
    frames = frozendict({"spot": NamedFrame("spot", "desk", Pose((0.2, 0.0, 0.2)))})
    cell, state = stacked("spot", bodies=by_name([desk]), frames=frames)
    state = state.with_body("desk", BodyState(Pose((2.0, 0.0, 0.5))))
    cell.check_state(state)
    multibodies = Multibodies(cell, state)
    physics = make_engine(engine, multibodies, AT_ONCE)
    world = Placements(placements(cell, state))
    for name, place in multibodies.frames.items():
        distance, angle = physics.pose(place).distance_to(world.world(name))
        assert distance < 1e-6, name
        assert angle < 1e-5, name
    physics.close()
    together = multibodies.frames["foot"].multibody == multibodies.frames["desk"].multibody
    assert together == (mass is not None)
    with SimulatedCell(cell, state, AT_ONCE) as simulated:
        simulated.step(0.1)
        found = simulated.state()
        drop = 0.5 - found.bodies["desk"].pose.position[2]
        assert drop == pytest.approx(0.0 if mass is None else 0.5 * 9.81 * 0.1**2, abs=2e-3)
        assert found.base_poses == state.base_poses
