"""A search that fails names the objects whose coarse spheres may be the reason, and only these."""

import msgspec
import pytest
from frozendict import frozendict
from planning_cells import gantry

from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import NotConnectedError
from robot_cell_planner.errors.remedies import COARSE_SPHERES
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.mechanism import Joint, JointKind, Link, Mechanism
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions

GAP = 0.04  # [m] more than the size of the cube


def behind_wall(half, reserve=GAP):
    """A cube that may pass a wall only through a gap at y = 0.6, from there to the other side."""
    opening = 0.6 + half + 0.5 * reserve, 0.6 - half - 0.5 * reserve
    walls = (
        ("below", (0.0, 0.5 * (opening[1] - 3.0)), (0.1, opening[1] + 3.0)),
        ("above", (0.0, 0.5 * (opening[0] + 3.0)), (0.1, 3.0 - opening[0])),
    )
    cell, state = gantry(walls, half)
    return cell, state.with_configuration({"x": -0.9, "y": -0.9})


def above_wall():
    """A large cube far above the walls, with a finger that is between them."""
    cell, state = behind_wall(0.05)
    robot = cell.robots["gantry"]
    high, low = Pose((0.0, 0.0, 2.0)), Box((0.1, 0.1, 0.1))
    links = robot.mechanism.links | {
        "cube": Link("cube", collisions=(Shape(Box((1.0, 1.0, 1.0)), high),)),
        "finger": Link("finger", collisions=(Shape(low),)),
    }
    joints = robot.mechanism.joints | {"mount": Joint("mount", JointKind.FIXED, "cube", "finger")}
    robot = msgspec.structs.replace(robot, mechanism=Mechanism("gantry", links, joints))
    return msgspec.structs.replace(cell, robots=frozendict({"gantry": robot})), state


def failure(cell, state, planner="Automatic", **options):
    request = MotionRequest(
        Goals(joint_goals=({"x": 0.9, "y": -0.9},)),
        options=PlanningOptions(planner=planner, state_limit=40, **options),
        timing=None,
    )
    with pytest.raises(NotConnectedError, match="start and goal were not connected") as raised:
        plan_motion(cell, state, request)
    return raised.value


@pytest.mark.parametrize("planner", ["Automatic", "CertifiedRRTConnect", "RRTConnect"])
def test_a_failed_search_names_the_object_with_coarse_spheres_and_what_to_do(planner):
    error = failure(*behind_wall(0.5), planner)
    assert "coarse spheres: spheres of cube protrude by up to 24 mm" in error.message
    assert "cube" in error.subjects
    assert error.remedy == COARSE_SPHERES


def test_it_does_not_where_spheres_are_as_fine_as_requested():
    error = failure(*behind_wall(0.05))
    assert "sphere" not in error.message + error.remedy


def test_it_does_not_where_no_spheres_are_used():
    error = failure(*behind_wall(0.5), certify=False)
    assert "sphere" not in error.message + error.remedy


def test_it_does_not_where_the_object_with_coarse_spheres_stays_away_from_others():
    error = failure(*above_wall())
    assert MotionCertifier(CollisionChecker(*above_wall())).warnings
    assert "sphere" not in error.message + error.remedy
