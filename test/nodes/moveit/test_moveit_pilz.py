"""Motions of Pilz's planners: fields of their requests are served or refused by name, without a graph."""

from copy import deepcopy

import pytest
from geometry_msgs.msg import Pose
from moveit_msgs.msg import (
    Constraints,
    GenericTrajectory,
    JointConstraint,
    MotionPlanRequest,
    MotionSequenceItem,
    MoveItErrorCodes,
    OrientationConstraint,
    PositionConstraint,
    VisibilityConstraint,
)
from moveit_requests import CELL, JOINTS, LEFT, STATE, joint_goal, pose_goal
from moveit_suite import FakeSuite, FixedScene, SilentNode, result_of
from shape_msgs.msg import SolidPrimitive

from robot_cell_planner.errors import ConstraintMismatchError, OutOfReachError, RobotCellError
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.pose import Pose as PoseValue
from robot_cell_planner.msg import StateRef
from robot_cell_planner.nodes.common.cancellation import CancellationToken
from robot_cell_planner.nodes.conversions.basic import duration_from_message, pose_to_message
from robot_cell_planner.nodes.moveit.error_codes import error_code
from robot_cell_planner.nodes.moveit.motion_requests import Start, motion_request
from robot_cell_planner.nodes.moveit.pilz import PilzMotions
from robot_cell_planner.nodes.moveit.sequences import MotionSequences, blended_runs
from robot_cell_planner.scene.scene import Scene

M = MoveItErrorCodes
BEGIN = dict(zip(JOINTS, LEFT, strict=True))
SCENE = Scene(CELL, STATE.with_configuration(BEGIN))
START = Start(SCENE, StateRef())
TIP = world_pose(CELL, SCENE.state, "tool0")
PLANNERS = ["PTP", "LIN", "CIRC"]
RESERVE = 5.0


def shifted(x, y, z):
    return PoseValue(tuple(a + b for a, b in zip(TIP.position, (x, y, z), strict=True)), TIP.quaternion)


def request(planner, goal=None, **fields):
    message = MotionPlanRequest(
        group_name="manipulator", planner_id=planner, pipeline_id="pilz_industrial_motion_planner"
    )
    message.goal_constraints = [goal or pose_goal(shifted(0.0, 0.1, 0.0))]
    if planner == "CIRC":
        point = PositionConstraint(link_name="tool0")
        point.header.frame_id = "world"
        point.constraint_region.primitive_poses = [pose_to_message(shifted(0.0, 0.05, 0.05))]
        message.path_constraints = Constraints(name="interim", position_constraints=[point])
    for name, value in fields.items():
        setattr(message, name, value)
    return message


def suite(**options):
    return FakeSuite(BEGIN, options.pop("solve", lambda target: {name: 0.5 for name in JOINTS}), **options)


def plan(message, fake=None):
    return result_of(PilzMotions(fake or suite(), lambda: RESERVE).plan(message, START, CancellationToken()))


def plan_sequence(items, fake):
    pilz = PilzMotions(fake, lambda: RESERVE)
    sequences = MotionSequences(SilentNode(), fake, FixedScene(START), pilz)
    message = type("Sequence", (), {"items": items})
    return result_of(sequences.plan(message, CancellationToken()))


def items_of(*requests, radius=0.0):
    last = len(requests) - 1
    return [MotionSequenceItem(req=each, blend_radius=radius * (i < last)) for i, each in enumerate(requests)]


# Goals.


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("missing", ["position_constraints", "orientation_constraints"])
def test_a_goal_is_a_whole_pose(planner, missing):
    message = request(planner)
    setattr(message.goal_constraints[0], missing, [])
    with pytest.raises(RobotCellError, match=f"{planner} needs a position and an orientation") as refused:
        plan(message)
    assert error_code(refused.value).val == M.INVALID_GOAL_CONSTRAINTS


def of_two_solids():
    goal = pose_goal(shifted(0.0, 0.1, 0.0))
    region = goal.position_constraints[0].constraint_region
    region.primitives.append(SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.01]))
    region.primitive_poses.append(Pose(position=pose_to_message(shifted(0.0, 0.2, 0.0)).position))
    return goal


def test_each_solid_of_a_goal_is_tried():
    second = pytest.approx(shifted(0.0, 0.2, 0.0).position[1])

    def solve(target):
        if target.pose.position.y != second:
            raise OutOfReachError("the first is out of reach")
        return dict.fromkeys(JOINTS, 0.25)

    found = plan(request("PTP", of_two_solids()), suite(solve=solve))
    assert list(found.path.positions[-len(JOINTS) :]) == [0.25] * len(JOINTS)


def test_a_goal_without_a_solution_has_the_reason_of_its_first_solid():
    def solve(target):
        raise OutOfReachError(f"y = {target.pose.position.y:.3f} is out of reach")

    fake = suite(solve=solve)
    with pytest.raises(RobotCellError, match=f"y = {shifted(0.0, 0.1, 0.0).position[1]:.3f} is out") as failed:
        plan(request("PTP", of_two_solids()), fake)
    assert error_code(failed.value).val == M.NO_IK_SOLUTION
    assert len(fake.calls["inverse_kinematics"]) == 2


@pytest.mark.parametrize("planner", ["LIN", "CIRC"])
def test_a_line_ends_at_one_point(planner):
    with pytest.raises(RobotCellError, match="2 solids"):
        plan(request(planner, of_two_solids()))


# Constraints and limits.


def upright():
    rotation = OrientationConstraint(link_name="tool0", orientation=pose_to_message(TIP).orientation, weight=1.0)
    rotation.header.frame_id = "world"
    rotation.absolute_x_axis_tolerance = rotation.absolute_y_axis_tolerance = rotation.absolute_z_axis_tolerance = 0.1
    return rotation


def constrained(planner, goal=None):
    message = request(planner, goal)
    message.path_constraints.orientation_constraints = [upright()]
    return message


BROKEN = ConstraintMismatchError("the orientation leaves its tolerance", stage="path")
REQUESTS = {
    **{planner: [constrained(planner)] for planner in PLANNERS},
    "PTP in joints": [constrained("PTP", joint_goal(LEFT))],
    "blended": [request("LIN"), constrained("LIN")],
    "blended with PTP": [constrained("LIN"), request("PTP")],
}


@pytest.mark.parametrize("name", REQUESTS)
def test_path_constraints_are_checked_along_the_whole_path(name):
    def planned(fake):
        requests = deepcopy(REQUESTS[name])
        return plan(requests[0], fake) if len(requests) == 1 else plan_sequence(items_of(*requests, radius=0.01), fake)

    kept, broken = suite(), suite(violations=(OutOfReachError("something else"), BROKEN))
    planned(kept)
    with pytest.raises(ConstraintMismatchError, match="leaves its tolerance"):
        planned(broken)
    for fake in (kept, broken):
        call = fake.calls["check_path"][-1]
        assert [entry.frame for entry in call.constraints] == ["tool0"]
        assert call.find_all
        assert list(call.path.positions[: len(JOINTS)]) == pytest.approx(LEFT)
        assert len(call.path.positions) >= 2 * len(JOINTS)


def test_the_point_of_an_arc_is_no_constraint():
    fake = suite()
    plan(request("CIRC"), fake)
    assert "check_path" not in fake.calls


def with_constraint(message, **fields):
    for name, value in fields.items():
        setattr(message.path_constraints, name, value)
    return message


UNKNOWN = [JointConstraint(joint_name="no_such_joint", tolerance_above=0.01, tolerance_below=0.01)]


def convert(planner, message):
    """Plan with Pilz's planner, alone and in a sequence, or convert for the planning node without one."""
    if not planner:
        message.planner_id = message.pipeline_id = ""
        motion_request(message, START, {})
        return
    try:
        plan(deepcopy(message))
    except RobotCellError as error:
        with pytest.raises(type(error)):
            plan_sequence(items_of(message), suite())
        raise


@pytest.mark.parametrize("planner", ["", *PLANNERS])
@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"joint_constraints": UNKNOWN}, "no_such_joint"),
        ({"visibility_constraints": [VisibilityConstraint()]}, "visibility_constraints"),
    ],
)
def test_path_constraints_that_cannot_be_served_are_refused_by_every_planner(planner, fields, word):
    with pytest.raises(RobotCellError, match=word):
        convert(planner, with_constraint(request(planner), **fields))


@pytest.mark.parametrize("planner", ["", *PLANNERS])
def test_trajectory_constraints_and_impossible_times_are_refused_by_every_planner(planner):
    message = request(planner)
    message.trajectory_constraints.constraints = [Constraints()]
    with pytest.raises(RobotCellError, match="trajectory_constraints"):
        convert(planner, message)
    with pytest.raises(RobotCellError, match="allowed_planning_time"):
        convert(planner, request(planner, allowed_planning_time=-1.0))


@pytest.mark.parametrize("planner", ["LIN", "CIRC"])
def test_the_time_limit_reaches_the_planning_node(planner):
    for allowed, expected in ((2.0, 2.0 + RESERVE), (0.0, 0.0)):
        fake = suite()
        plan(request(planner, allowed_planning_time=allowed), fake)
        (goal,) = fake.calls["plan_cartesian"]
        assert duration_from_message(goal.options.time_limit) == expected


def test_the_time_limit_of_a_point_to_point_motion_is_that_of_its_inverse_kinematics():
    fake = suite()
    plan(request("PTP", allowed_planning_time=2.0), fake)
    assert duration_from_message(fake.calls["inverse_kinematics"][0].options.timeout) == 2.0


def test_motions_that_are_blended_share_their_time():
    fake = suite()
    items = items_of(*(request("LIN", allowed_planning_time=time) for time in (2.0, 3.0)), radius=0.01)
    plan_sequence(items, fake)
    (goal,) = fake.calls["plan_cartesian"]
    assert len(goal.waypoints) == 2
    assert duration_from_message(goal.options.time_limit) == 5.0 + RESERVE


def test_reference_trajectories_are_named_in_a_warning():
    message = request("LIN", reference_trajectories=[GenericTrajectory()])
    assert "reference_trajectories are not used by LIN" in plan(deepcopy(message)).record.warnings[0]
    (warning,) = plan_sequence(items_of(message), suite()).warnings
    assert "reference_trajectories" in warning


@pytest.mark.parametrize("field", ["joint_state.name", "multi_dof_joint_state.joint_names"])
def test_only_the_first_motion_of_a_sequence_has_a_start_state(field):
    second = request("LIN")
    kind, names = field.split(".")
    setattr(getattr(second.start_state, kind), names, [JOINTS[0]])
    with pytest.raises(RobotCellError, match=r"items\[1\] has a start state"):
        plan_sequence(items_of(request("LIN"), second), suite())


@pytest.mark.parametrize("field", ["max_cartesian_speed", "max_velocity_scaling_factor"])
def test_motions_of_different_speed_limits_are_not_blended(field):
    items = items_of(request("LIN"), request("LIN", **{field: 0.25}), radius=0.01)
    with pytest.raises(RobotCellError, match=field):
        blended_runs(items)
