"""An arm on a rail, both robots of their own, and a turntable: rail and arm are one chain beside the turntable."""

import numpy as np
import pytest
from rail_cells import AXES, POSITIONER

from robot_cell_planner import (
    CartesianRequest,
    FrameTarget,
    FrameWaypoints,
    Goals,
    MotionRequest,
    PointAxisWaypoints,
    Pose,
    SimultaneousGoal,
    TargetMode,
    TimingOptions,
    composite_inverse_kinematics,
    load_cell,
    plan_cartesian,
    plan_motion,
    verify_plan,
    world_pose,
)
from robot_cell_planner.errors import InvalidRequestError, TargetModeMismatchError
from robot_cell_planner.io.robot_description.xacro_files import expand_xacro

RAIL = """<robot name="rail"><link name="track"/><link name="carriage"/>
<joint name="slide" type="prismatic"><parent link="track"/><child link="carriage"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" velocity="1" effort="1000"/></joint></robot>"""
ARM = f"""<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="base"/>
{AXES.replace("base_of_arm", "base")}</robot>"""
SRDF = '<robot name="{0}"><group name="{1}"><chain base_link="{2}" tip_link="{3}"/></group></robot>'
CELL = """format: robot_cell/1
robots:
  rail: {urdf: rail.urdf, srdf: rail.srdf}
  arm: {urdf: arm.urdf, srdf: arm.srdf, attached_to: carriage}
  positioner: {urdf: table.urdf, srdf: table.srdf, base_pose: {position: [0.9, 1.6, 0]}}
bodies:
  part: {collisions: [{type: box, size: [0.2, 0.2, 0.1]}], attached_to: table, touch_links: [table],
    pose: {position: [0.5, 0, 0.05]}}
frames:
  seam: {attached_to: part, pose: {position: [0.0, 0, 0.15], rpy: [3.141592653589793, 0, 0]}}
groups:
  station: {groups: [rail, manipulator, table]}
  apart: {groups: [rail, table, manipulator]}
"""
CHAIN = "rail+manipulator"
SEAM = FrameTarget(pose=Pose(), reference_frame="seam")


@pytest.fixture(scope="module")
def station(tmp_path_factory):
    folder = tmp_path_factory.mktemp("station")
    (folder / "arm.urdf.xacro").write_text(ARM)
    table = POSITIONER.replace('axis xyz="1 0 0"', 'axis xyz="0 0 1"').replace("-1.5", "-3.1").replace('"1.5"', '"3.1"')
    texts = {"rail": RAIL, "arm": expand_xacro(folder / "arm.urdf.xacro", {}), "table": table}
    ends = {"rail": ("rail", "track", "carriage"), "arm": ("manipulator", "base", "flange")}
    ends["table"] = ("table", "column", "table")
    for name, text in texts.items():
        (folder / f"{name}.urdf").write_text(text)
        robot = "positioner" if name == "table" else name
        (folder / f"{name}.srdf").write_text(SRDF.format(robot, *ends[name]))
    (folder / "cell.yaml").write_text(CELL)
    cell, state = load_cell(folder / "cell.yaml")
    return cell, state.with_configuration({"joint_2": 0.3, "joint_3": 1.2, "joint_5": 1.2})


def reached_by(state, plan):
    return state.with_configuration(dict(zip(plan.variables, plan.path[-1].tolist(), strict=True)))


def test_groups_that_form_a_chain_have_one_target(station):
    cell, _ = station
    assert cell.target_groups("station") == (CHAIN, "table")
    assert cell.target_groups(f"table+{CHAIN}") == ("table", CHAIN)
    assert cell.target_groups("apart") == (CHAIN, "table")
    assert cell.target_groups(CHAIN) == (CHAIN,)


@pytest.mark.parametrize("group", ["station", "table+manipulator+rail", "apart"])
def test_a_target_on_the_turntable_is_reached_by_rail_and_arm(station, group):
    cell, state = station
    plan = plan_motion(cell, state, MotionRequest(Goals(targets=(SEAM,)), group))
    assert not verify_plan(cell, state, plan).violations
    reached = reached_by(state, plan)
    distance, angle = world_pose(cell, reached, "flange").distance_to(world_pose(cell, reached, "seam"))
    assert max(distance, angle) < 2e-6
    assert abs(plan.path[-1][plan.variables.index("slide")]) > 0.3


def test_a_target_of_rail_and_arm_is_one_of_a_simultaneous_goal(station):
    cell, state = station
    goal = SimultaneousGoal({CHAIN: SEAM, "table": {"tilt": 2.0}})
    plan = plan_motion(cell, state, MotionRequest(Goals(simultaneous=(goal,)), "station"))
    reached = reached_by(state, plan)
    assert reached.configuration["tilt"] == pytest.approx(2.0)
    distance, angle = world_pose(cell, reached, "flange").distance_to(world_pose(cell, reached, "seam"))
    assert max(distance, angle) < 2e-6


def test_a_path_on_the_part_is_followed_by_rail_and_arm_while_the_table_turns(station):
    cell, state = station
    goal = SimultaneousGoal({CHAIN: SEAM, "table": {"tilt": 2.6}})
    plan = plan_motion(
        cell, state.with_configuration({"slide": 1.5}), MotionRequest(Goals(simultaneous=(goal,)), "station")
    )
    start = reached_by(state, plan)
    line = FrameWaypoints((Pose((0.0, 0.06, 0.0)),), reference_frame="seam")
    table = world_pose(cell, start, "table")
    turned = FrameWaypoints((table @ Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, 0.2)),))
    request = CartesianRequest(turned, f"table+{CHAIN}", relative_paths={CHAIN: line})
    followed = plan_cartesian(cell, start, request)
    reached = reached_by(start, followed)
    goal = world_pose(cell, reached, "seam") @ Pose((0.0, 0.06, 0.0))
    distance, angle = world_pose(cell, reached, "flange").distance_to(goal)
    assert max(distance, angle) < 2e-6
    assert abs(followed.path[-1] - followed.path[0])[followed.variables.index("tilt")] == pytest.approx(0.2, abs=1e-6)


def test_a_point_and_an_axis_on_the_part_are_followed_while_the_table_turns(station):
    cell, state = station
    goal = SimultaneousGoal({CHAIN: SEAM, "table": {"tilt": 2.6}})
    plan = plan_motion(
        cell, state.with_configuration({"slide": 1.5}), MotionRequest(Goals(simultaneous=(goal,)), "station")
    )
    start = reached_by(state, plan)
    axis = np.array((0.0, 0.1, 1.0))
    line = PointAxisWaypoints((((0.0, 0.06, 0.0), tuple(axis.tolist())),), reference_frame="seam")
    table = world_pose(cell, start, "table")
    turned = FrameWaypoints((table @ Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, 0.2)),))
    request = CartesianRequest(turned, f"table+{CHAIN}", relative_paths={CHAIN: line})
    reached = reached_by(start, plan_cartesian(cell, start, request))
    flange = np.linalg.inv(world_pose(cell, reached, "seam").matrix) @ world_pose(cell, reached, "flange").matrix
    assert flange[:3, 3] == pytest.approx([0.0, 0.06, 0.0], abs=2e-6)
    assert flange[:3, 2] == pytest.approx(axis / np.linalg.norm(axis), abs=2e-6)


@pytest.mark.parametrize("mode", [TargetMode.TOOL, TargetMode.WORKPIECE])
def test_a_table_without_a_tool_is_named_as_the_robot_that_follows(station, mode):
    cell, state = station
    request = CartesianRequest(FrameWaypoints((Pose(),), mode=mode), f"table+{CHAIN}")
    with pytest.raises(TargetModeMismatchError, match=r"group table; table follows the waypoints.*list the robot"):
        plan_cartesian(cell, state, request)


def turning(station, relative, angle=0.6):
    """Plan for a path (w, 3) on the part, from its frame `seam`, at a constant speed of the table, and return the plan,
    the positions on the part at its samples (n, 3), and the number of inner rests."""
    cell, state = station
    goal = SimultaneousGoal({CHAIN: SEAM, "table": {"tilt": 2.4}})
    plan = plan_motion(
        cell, state.with_configuration({"slide": 1.5}), MotionRequest(Goals(simultaneous=(goal,)), "station")
    )
    start, count = reached_by(state, plan), len(relative)
    table = world_pose(cell, start, "table")
    turns = tuple(table @ Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, angle * (k + 1) / count)) for k in range(count))
    path = FrameWaypoints(tuple(Pose(tuple(point)) for point in relative.tolist()), reference_frame="seam")
    timing = TimingOptions(path_speed=0.2)
    request = CartesianRequest(FrameWaypoints(turns), f"table+{CHAIN}", timing=timing, relative_paths={CHAIN: path})
    plan = plan_cartesian(cell, start, request)
    positions = plan.trajectory.positions
    states = [start.with_configuration(dict(zip(plan.variables, q.tolist(), strict=True))) for q in positions]
    places = [(world_pose(cell, at, "seam").inverse() @ world_pose(cell, at, "flange")).position for at in states]
    resting = (np.abs(plan.trajectory.velocities).max(axis=1) == 0.0).sum()
    return plan, np.array(places), int(resting) - 2


def test_a_curve_on_the_part_is_passed_without_rests_while_the_table_turns(station):
    angles = np.linspace(0.0, 2.0 * np.pi, 61)[1:]
    ring = 0.03 * np.column_stack((np.sin(angles), 1.0 - np.cos(angles), np.zeros(60)))
    plan, places, rests = turning(station, ring)
    assert rests == 0
    assert plan.duration < 1.1 * 0.6 / 0.2 + 0.5
    away = np.linalg.norm(places - (0.0, 0.03, 0.0), axis=1) - 0.03
    assert np.abs(away).max() < 1.5e-4  # 0.1 mm, and the 0.04 mm of the chords
    assert not any("is not kept" in text for text in plan.warnings)


def test_corners_on_the_part_are_rests_while_the_table_turns(station):
    corners = np.array([(0.0, 0.03, 0.0), (0.03, 0.03, 0.0), (0.06, 0.03, 0.0), (0.06, 0.0, 0.0)])
    plan, _, rests = turning(station, corners)
    assert rests == 2  # at the first and third waypoint: the second one is on a line
    assert any("rests at 2 waypoints, the first of which is waypoint 0" in text for text in plan.warnings)


def test_a_jump_of_the_speed_on_the_part_is_a_rest_while_the_table_turns(station):
    _, _, rests = turning(station, np.array([(0.0, 0.01, 0.0), (0.0, 0.06, 0.0)]))
    assert rests == 1


def test_rail_and_arm_follow_a_line_together(station):
    cell, state = station
    start = world_pose(cell, state, "flange")
    end = Pose((start.position[0], start.position[1] + 0.4, start.position[2]), start.quaternion)
    alone = plan_cartesian(cell, state, CartesianRequest(FrameWaypoints((end,)), CHAIN))
    assert alone.variables == cell.group(CHAIN).variables
    np.testing.assert_allclose(world_pose(cell, reached_by(state, alone), "flange").position, end.position, atol=1e-6)


def test_two_targets_for_one_joint_are_refused(station):
    cell, state = station
    with pytest.raises(InvalidRequestError, match="listed twice"):
        composite_inverse_kinematics(cell, state, {CHAIN: SEAM, "manipulator": SEAM}, "station")
