"""Steps that are skipped at rest: what is reported stays what it would be, and depends on the commands alone."""

import numpy as np
import pytest
from frozendict import frozendict
from simulation_cells import EDGE, FLANGE_HEIGHT, body, box, joint, link, pendulums, things, workshop

from robot_cell_planner.model.mechanism import JointKind, JointLimits
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.simulated_robot import CONTROLLERS, JointDrive, SimulatedRobot, controller_settings
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.simulation.disturbances import Disturbance, DisturbanceKind
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

pytestmark = pytest.mark.usefixtures("engine")  # each test in each engine, see conftest.py

TCP = 0.105  # [m] from the flange
GRASP = TCP - FLANGE_HEIGHT + EDGE / 2  # of the joint z, with the workpiece on the table
PICK_AND_PLACE = (
    {},
    {"x": -0.3, "z": GRASP + 0.05},
    {"z": GRASP},
    {"finger": 0.0},
    {"z": GRASP + 0.1, "turn": 0.4},
    {"x": -0.25, "y": 0.2},
    {"z": GRASP + 0.002},
    {"finger": 0.04},
    {"z": 0.1},
)
# Of the motors of the gantry. Gravity compensation and torque control leave joints to what moves them.
FOLLOWING = sorted(set(CONTROLLERS) - {"gravity_compensation", "torque"})
DEVIATION = 1e-7  # [rad or m] of a simulation that computes all steps


def options(rest_speed, controller="motor", **settings):
    robot = SimulatedRobot(frozendict({"gantry": controller_settings({"type": controller})}))
    return SimulationOptions(settle_time=0.1, rest_speed=rest_speed, robot=robot, **settings)


def rests_and_moves(chosen, stages=PICK_AND_PLACE, duration=1.5):
    """Return the reported values after each 20 ms of a motion with rests, and whether each stage ended at rest."""
    rows, at_rest = [], []
    with SimulatedCell(*workshop(), chosen) as simulated:
        for targets in stages:
            simulated.set_targets(targets)
            for _ in range(round(duration / 0.02)):
                simulated.step(0.02)
                states, poses = simulated.joint_states(), simulated.body_poses()
                values = [value for pose in poses.values() for value in (*pose.position, *pose.quaternion)]
                rows.append([simulated.time, *states.positions, *values])
            at_rest.append(simulated.is_at_rest)
        return np.array(rows), at_rest, simulated.contact_log


@pytest.mark.parametrize("controller", FOLLOWING)
def test_a_simulation_that_rests_reports_what_one_that_computes_all_steps_does(controller):
    resting, at_rest, log = rests_and_moves(options(1e-9, controller))
    computed, never, expected_log = rests_and_moves(options(0.0, controller))
    assert not any(never)
    assert sum(at_rest) >= len(PICK_AND_PLACE) - 2
    print("DEV", controller, at_rest, np.abs(resting - computed).max())
    assert np.abs(resting - computed).max() <= DEVIATION
    assert [(each.first, each.second, each.steps) for each in log] == [(each.first, each.second, each.steps) for each in expected_log]
