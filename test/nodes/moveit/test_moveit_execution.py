"""Requests of the MoveIt actions to the execution node, and the results of these actions, without a graph."""

import pytest
from moveit_msgs.action import ExecuteTrajectory, MoveGroup, MoveGroupSequence
from moveit_msgs.msg import (
    MotionPlanRequest,
    MotionSequenceItem,
    MotionSequenceRequest,
    MoveItErrorCodes,
    PlanningOptions,
    RobotTrajectory,
)
from moveit_requests import CELL, JOINTS, LEFT, RIGHT, STATE, joint_goal
from moveit_suite import REVISION, FakeSuite, FixedScene, SilentNode, result_of
from trajectory_msgs.msg import JointTrajectory

from robot_cell_planner.msg import StateRef
from robot_cell_planner.nodes.common.cancellation import CancellationToken
from robot_cell_planner.nodes.moveit import motion_actions
from robot_cell_planner.nodes.moveit.motion_requests import Start
from robot_cell_planner.nodes.moveit.planners import OMPL, PILZ
from robot_cell_planner.nodes.moveit.planning_services import PlanningServices
from robot_cell_planner.nodes.moveit.sequences import MotionSequences
from robot_cell_planner.scene.scene import Scene

M = MoveItErrorCodes
BEGIN = dict(zip(JOINTS, LEFT, strict=True))
SCENE_REVISION = REVISION + 3


@pytest.fixture
def suite():
    return FakeSuite(BEGIN)


@pytest.fixture
def run(suite, monkeypatch):
    """Run a goal of an action and return its result."""
    handlers = {}

    def server(node, kind, name, handler, fail):
        handlers[kind] = handler

    monkeypatch.setattr(motion_actions, "GoalServer", server)
    start = Start(Scene(CELL, STATE.with_configuration(BEGIN)), StateRef())
    node, access = SilentNode(planning_time_reserve=5.0), FixedScene(start, SCENE_REVISION)
    planning = PlanningServices(node, suite, access, print)
    sequences = MotionSequences(node, suite, access, planning.pilz)
    motion_actions.MotionActions(node, suite, access, planning, sequences, print)

    def run(kind, goal):
        result = kind.Result()
        result_of(handlers[kind](goal, lambda feedback: None, CancellationToken(), result))
        return result

    return run


def request(pipeline):
    message = MotionPlanRequest(group_name="manipulator", pipeline_id=pipeline, goal_constraints=[joint_goal(RIGHT)])
    message.planner_id = "PTP" if pipeline == PILZ else ""
    return message


REPLAN = PlanningOptions(replan=True, replan_attempts=3, replan_delay=1.0)


def checked(code, word):
    assert code.val == M.SUCCESS
    assert word in code.message


def executed(suite):
    (goal,) = suite.calls["execute_trajectory"]
    assert not goal.options.replan, "which execution/execute_trajectory refuses"
    return goal.options.state.min_revision


def test_a_motion_of_pilz_is_executed_in_the_scene_of_its_plan_and_reports_that_replan_is_not_served(run, suite):
    result = run(MoveGroup, MoveGroup.Goal(request=request(PILZ), planning_options=REPLAN))
    checked(result.error_code, "replan is not supported with Pilz")
    assert executed(suite) == REVISION


def test_a_sequence_is_executed_in_the_scene_of_its_plans_and_reports_that_replan_is_not_served(run, suite):
    sequence = MotionSequenceRequest(items=[MotionSequenceItem(req=request(PILZ))])
    result = run(MoveGroupSequence, MoveGroupSequence.Goal(request=sequence, planning_options=REPLAN))
    checked(result.response.error_code, "replan is not supported with Pilz")
    assert executed(suite) == REVISION


def test_a_motion_around_obstacles_is_planned_again_and_its_result_names_the_options_that_are_not_used(run, suite):
    result = run(MoveGroup, MoveGroup.Goal(request=request(OMPL), planning_options=REPLAN))
    checked(result.error_code, "replan_attempts and replan_delay are not used")
    (goal,) = suite.calls["move"]
    assert goal.options.replan


@pytest.mark.parametrize("pipeline", [OMPL, PILZ])
def test_options_that_are_not_set_are_not_reported(run, pipeline):
    options = PlanningOptions(replan_attempts=3, replan_delay=1.0)
    assert run(MoveGroup, MoveGroup.Goal(request=request(pipeline), planning_options=options)).error_code.message == ""


def test_a_given_trajectory_is_validated_in_the_present_scene_and_controllers_are_named_as_not_used(run, suite):
    trajectory = RobotTrajectory(joint_trajectory=JointTrajectory(joint_names=list(JOINTS)))
    goal = ExecuteTrajectory.Goal(trajectory=trajectory, controller_names=["arm_controller"])
    result = run(ExecuteTrajectory, goal)
    checked(result.error_code, "controller_names (arm_controller) are not used")
    assert executed(suite) == SCENE_REVISION
