"""Targets of an arm on a turntable: the planner chooses the angle, nearest to the present one first."""

import numpy as np
import pytest
from rail_cells import POSITIONER, RAIL, SRDF

from robot_cell_planner.errors import GoalInCollisionError, ModelError, MPNoIKSolutionError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.kinematics.targets import FrameTarget
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning import Goals, MotionRequest, plan_motion, verify_plan
from robot_cell_planner.planning.joint_space.goals import GoalSet
from robot_cell_planner.planning.joint_space.positioner_goals import MAX_VALUES, positioner_values
from robot_cell_planner.planning.problem.context import create_context
from robot_cell_planner.planning.problem.progress import ProgressMonitor
from robot_cell_planner.planning.problem.request import PlanningOptions
from robot_cell_planner.planning.problem.space import joint_space

TABLE_SRDF = '<robot name="positioner"><group name="table"><joint name="tilt"/></group></robot>'
CELL = """format: robot_cell/1
robots:
  arm_on_rail: {urdf: arm.urdf.xacro, srdf: arm.srdf}
  positioner: {urdf: table.urdf, srdf: table.srdf, base_pose: {position: [0.9, 0, 0]}}
bodies:
  part: {collisions: [{type: box, size: [0.2, 0.2, 0.1]}], attached_to: table, touch_links: [table],
    pose: {position: [0.5, 0, 0.05]}}
frames:
  seam: {attached_to: part, pose: {position: [0.0, 0, 0.15], rpy: [3.141592653589793, 0, 0]}}
"""
GROUP = "arm+table"


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    folder = tmp_path_factory.mktemp("turntable")
    table = POSITIONER.replace('axis xyz="1 0 0"', 'axis xyz="0 0 1"').replace("-1.5", "-3.1").replace('"1.5"', '"3.1"')
    sphere = '<collision><geometry><sphere radius="0.03"/></geometry></collision>'
    arm = RAIL.replace('<link name="${above}"/>', f'<link name="${{above}}">{sphere}</link>')
    (folder / "arm.urdf.xacro").write_text(arm)
    (folder / "arm.srdf").write_text(SRDF)
    (folder / "table.urdf").write_text(table)
    (folder / "table.srdf").write_text(TABLE_SRDF)
    (folder / "cell.yaml").write_text(CELL)
    cell, state = load_cell(folder / "cell.yaml")
    return cell, state.with_configuration({"joint_2": 0.3, "joint_3": 1.2, "joint_5": 1.2})


def planned(scene, target, joints=(), **values):
    cell, state = scene
    state = state.with_configuration(values)
    plan = plan_motion(cell, state, MotionRequest(Goals(targets=(target,)), GROUP, joints=joints))
    assert not verify_plan(cell, state, plan).violations
    return plan, state.with_configuration(dict(zip(plan.variables, plan.path[-1].tolist(), strict=True)))


SEAM = FrameTarget(pose=Pose((0.0, 0.0, 0.0)), reference_frame="seam")


def test_the_turntable_turns_a_part_that_is_out_of_reach_to_the_arm(scene):
    cell, _ = scene
    plan, reached = planned(scene, SEAM)
    assert abs(plan.path[-1][plan.variables.index("tilt")]) > 1.0
    distance, angle = world_pose(cell, reached, "flange").distance_to(world_pose(cell, reached, "seam"))
    assert max(distance, angle) < 2e-6


def test_the_turntable_keeps_an_angle_at_which_the_arm_reaches_the_part(scene):
    plan, _ = planned(scene, SEAM, tilt=3.0)
    np.testing.assert_allclose(plan.path[:, plan.variables.index("tilt")], 3.0, atol=1e-9)


def test_angles_that_were_not_tried_may_reach_the_target_too(scene):
    context = create_context(*scene, GROUP, (), PlanningOptions(), ProgressMonitor(0.0))
    assert GoalSet(context, Goals(joint_goals=({"tilt": 0.5},)), 0).is_exhaustive
    assert not GoalSet(context, Goals(targets=(SEAM,)), 0).is_exhaustive


def test_errors_name_the_joints_that_were_tried(scene):
    far = FrameTarget(pose=Pose((0.0, 0.0, -3.0)), reference_frame="seam")
    with pytest.raises(MPNoIKSolutionError, match=f"no free solution at any of {MAX_VALUES} values of tilt"):
        planned(scene, far)
    inside = FrameTarget(pose=Pose((0.0, 0.0, 0.12)), reference_frame="seam")
    with pytest.raises(GoalInCollisionError, match=f"at any of {MAX_VALUES} values of tilt"):
        planned(scene, inside)


def test_other_targets_of_composite_groups_need_goals_of_their_own(scene):
    with pytest.raises(ModelError, match="not a chain"):
        planned(scene, FrameTarget(pose=Pose((0.5, 0.0, 0.8))))
    with pytest.raises(ModelError, match="not a chain"):  # the turntable does not move
        planned(scene, SEAM, joints=scene[0].group("arm").variables)


def test_values_are_within_limits_and_nearest_first(scene):
    cell, state = scene
    space = joint_space(cell, state.with_configuration({"tilt": 1.0}), GROUP)
    values = positioner_values(space, ("tilt",))[:, 0]
    assert len(values) == MAX_VALUES
    assert values[0] == 1.0
    assert (np.diff(np.abs(values - 1.0)) >= -1e-12).all()
    assert (np.abs(values) <= 3.1).all()
    both = positioner_values(space, ("tilt", "joint_1"))
    assert both.shape == (MAX_VALUES, 2)
    assert (np.abs(both) <= 3.1).all()
