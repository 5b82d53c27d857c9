"""Steps that are skipped at rest: reported values are unchanged, and depend on the commands only."""

import math

import numpy as np
import pytest
from frozendict import frozendict
from simulation_cells import EDGE, FLANGE_HEIGHT, body, box, joint, pendulums, workshop

from robot_cell_planner.model.mechanism import JointKind, JointLimits
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.simulated_robot import CONTROLLERS, JointDrive, SimulatedRobot, controller_settings
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.simulation.disturbances import Disturbance, DisturbanceKind
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

pytestmark = pytest.mark.usefixtures("engine")  # each test in each engine, see conftest.py

GRASP = 0.105 - FLANGE_HEIGHT + EDGE / 2  # of the joint z, with the workpiece on the table
REST = SimulationOptions().rest_speed
MOTIONS = ({}, {"x": -0.1, "turn": 0.3}, {"x": 0.05, "y": 0.1, "finger": 0.02})
PICK_AND_PLACE = (
    {"x": -0.3, "z": GRASP + 0.05},
    {"z": GRASP},
    {"finger": 0.0},
    {"z": GRASP + 0.1, "turn": 0.4},
    {"z": GRASP + 0.002, "turn": 0.4},
    {"finger": 0.04},
)
# With gravity compensation and torque control, external forces move the joints.
FOLLOWING = sorted(set(CONTROLLERS) - {"gravity_compensation", "torque"})


def options(rest_speed, controller="motor", **drive):
    drives = {"gantry": JointDrive(**drive)} if drive else {}
    robot = SimulatedRobot(frozendict({"gantry": controller_settings({"type": controller})}), frozendict(drives))
    return SimulationOptions(settle_time=0.1, rest_speed=rest_speed, robot=robot)


def reported(simulated):
    """The reported values of joints and bodies."""
    states = simulated.joint_states()
    poses = [value for pose in simulated.body_poses().values() for value in (*pose.position, *pose.quaternion)]
    return np.array([*states.positions, *poses])


def stages(chosen, targets, duration):
    """Return the reported values at the end of each stage, whether it is at rest then, and the contacts by name."""
    rows, at_rest = [], []
    with SimulatedCell(*workshop(), chosen) as simulated:
        for target in targets:
            simulated.set_targets(target)
            simulated.step(duration)
            rows.append(reported(simulated))
            at_rest.append(simulated.is_at_rest)
        return np.array(rows), at_rest, [(each.first, each.second) for each in simulated.contact_log]


@pytest.mark.parametrize("controller", FOLLOWING)
def test_without_new_contacts_rest_changes_no_measurement(controller):
    resting, at_rest, _ = stages(options(REST, controller), MOTIONS, 1.0)
    computed, never, _ = stages(options(0.0, controller), MOTIONS, 1.0)
    assert at_rest[0]  # soft controllers approach the goals of motions for seconds
    assert not any(never)
    assert np.abs(resting - computed).max() < 1e-8


def test_a_held_object_rests_too():
    resting, at_rest, contacts = stages(options(REST), PICK_AND_PLACE, 1.2)
    computed, _, expected = stages(options(0.0), PICK_AND_PLACE, 1.2)
    assert all(at_rest)
    assert contacts == expected
    assert np.abs(resting - computed).max() < 1e-6  # a grasp amplifies rounding errors


def test_a_command_after_the_last_step_of_a_period_ends_the_rest():
    """The simulation was reported at rest between the command and the next step."""
    with SimulatedCell(*workshop(), options(REST)) as simulated:
        simulated.step(1.0)
        assert simulated.is_at_rest
        simulated.set_targets({"turn": 0.1})
        assert not simulated.is_at_rest
        simulated.step(1.0)
        assert simulated.is_at_rest
        simulated.set_targets({"turn": 0.1})  # where it is
        assert simulated.is_at_rest


def test_step_sizes_and_queries_do_not_change_the_motion():
    ends = []
    for pieces in (1, 50):
        with SimulatedCell(*workshop(), options(REST)) as simulated:
            for target in PICK_AND_PLACE[:3]:
                simulated.set_targets(target)
                for _ in range(pieces):
                    simulated.step(1.0 / pieces)
                    if pieces > 1:
                        assert simulated.contacts() is not None
                        assert simulated.controllers
                        reported(simulated)
            assert simulated.is_at_rest
            ends.append((reported(simulated).tobytes(), simulated.contact_log, simulated.time))
    assert ends[0] == ends[1]


def test_contacts_last_while_the_simulation_rests():
    with SimulatedCell(*workshop(), options(REST)) as simulated:
        for target in PICK_AND_PLACE[:3]:
            simulated.set_targets(target)
            simulated.step(1.0)
        before = {(each.first, each.second): each for each in simulated.contact_log}
        assert simulated.is_at_rest
        simulated.step(0.2)
        after = {(each.first, each.second): each for each in simulated.contact_log}
        held = [pair for pair in after if "workpiece" in pair and after[pair].end == simulated.time]
        assert len(held) == 2  # by two fingers
        assert all(after[pair].steps == before[pair].steps + 100 for pair in held)


CHANGES = {
    "position": lambda simulated: simulated.set_targets({"x": 0.1}),
    "velocity": lambda simulated: simulated.set_velocities({"x": 0.1}),
    "effort": lambda simulated: simulated.set_efforts({"x": 5.0}),
    "weak motor": lambda simulated: simulated.limit_efforts({"z": 1.0}),
    "wrench": lambda simulated: simulated.disturb(
        Disturbance(DisturbanceKind.WRENCH, "workpiece", force=(5.0, 0.0, 0.0))
    ),
    "new body": lambda simulated: simulated.add_body(
        body("new", [box(0.05, 0.05, 0.05)], 0.2), BodyState(Pose((0.2, -0.2, 0.3)))
    ),
    "no table": lambda simulated: simulated.remove_body("table"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_ends_the_rest(change):
    ends = []
    for rest_speed in (REST, 0.0):
        with SimulatedCell(*workshop(), options(rest_speed)) as simulated:
            simulated.step(0.5)
            before = reported(simulated)
            assert simulated.is_at_rest == (rest_speed > 0.0)
            CHANGES[change](simulated)
            simulated.step(0.05)
            ends.append(reported(simulated))
            moved = ends[-1][-len(before) :] - before if len(ends[-1]) == len(before) else np.ones(1)
            assert np.abs(moved).max() > 1e-5
    assert np.abs(ends[0] - ends[1]).max() < 1e-5  # a body that begins to slide amplifies rounding errors


def test_a_repeated_command_to_stay_does_not_end_the_rest():
    with SimulatedCell(*workshop(), options(REST)) as simulated:
        for moment in range(250):
            simulated.set_targets({"x": 0.0, "turn": 0.0}, {"x": 0.0, "turn": 0.0})
            simulated.set_velocities({"y": 0.0})
            simulated.step(0.004)
            assert simulated.is_at_rest or moment < 150
        simulated.set_velocities({"y": 1e-10})  # slower than what counts as rest, but a command
        simulated.step(0.05)
        assert not simulated.is_at_rest


def test_an_integral_that_grows_against_static_friction_prevents_rest():
    with SimulatedCell(*workshop(), options(REST, "pid", friction=20.0)) as simulated:
        simulated.set_targets({"x": 5e-4})
        simulated.step(8.0)
        x = simulated.joint_states().positions[simulated.joint_names.index("x")]
    with SimulatedCell(*workshop(), options(0.0, "pid", friction=20.0)) as simulated:
        simulated.set_targets({"x": 5e-4})
        simulated.step(8.0)
        assert abs(x - simulated.joint_states().positions[simulated.joint_names.index("x")]) < 1e-8


def test_a_pendulum_does_not_rest_at_its_turning_points():
    cell, state = pendulums(joint("swing", JointKind.REVOLUTE, "base", "arm", (0.0, 1.0, 0.0), JointLimits(-3.0, 3.0)))
    state = state.with_configuration({"swing": 0.01})
    with SimulatedCell(cell, state, SimulationOptions(settle_time=0.0, command_timeout=60.0)) as simulated:
        simulated.set_efforts({"swing": 0.0})
        simulated.step(10.0)
        assert not simulated.is_at_rest
        assert math.isclose(max(abs(_after(simulated, 0.02)) for _ in range(100)), 0.01, rel_tol=0.05)


def _after(simulated, duration):
    simulated.step(duration)
    return float(simulated.joint_states().positions[0])


def test_after_a_reset_the_simulation_is_not_at_rest():
    with SimulatedCell(*workshop(), options(REST)) as simulated:
        simulated.step(1.0)
        assert simulated.is_at_rest
        simulated.reset()
        assert not simulated.is_at_rest
