"""A robot at rest slightly beyond a position limit is moved back, with the real nodes, and the client is warned."""

import pytest
from action_goals import execute, move
from action_msgs.msg import GoalStatus
from fake_robot import FakeRobot, swing
from loaded_cells import loaded
from running import DEMO

from robot_cell_planner import action, srv
from robot_cell_planner.errors import StartBeyondLimitsError
from robot_cell_planner.msg import ErrorReport, MotionRequest
from robot_cell_planner.nodes.client.client import make_goal, state_with_joints

pytestmark = pytest.mark.alone

CELL, STATE = loaded()
ARM = CELL.group().variables
PAN = ARM[0]
HOME = [STATE.configuration[joint] for joint in ARM]
LIMIT = CELL.variables[PAN].limits.lower
BEYOND = LIMIT - 9e-4


def at(pan):
    return dict(zip(ARM, [pan, *HOME[1:]], strict=True))


@pytest.fixture(scope="module")
def robot(client):
    robot = FakeRobot(client.node, (*ARM, "finger_joint"))
    robot.put(**at(BEYOND), finger_joint=STATE.tools["gripper"].configuration["finger_joint"])
    return robot


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client, robot):
    start_node("scene_node", cell_file=DEMO)
    start_node("planning_node")
    start_node(
        "execution_node",
        joints=f"[{', '.join(ARM)}]",
        joint_state_timeout=1.5,
        path_tolerance=5.0,
        goal_tolerance=1e-6,
        goal_time=20.0,
    )
    client.scene()


def plan(client, pan):
    request = MotionRequest(start=state_with_joints(at(pan)), goal=make_goal([at(-2.0)]))
    goal = action.PlanMotion.Goal(request=request)
    return client.send_goal(action.PlanMotion, "planning/plan_motion", goal).plan


def test_the_plan_reports_that_it_begins_at_the_limit(client):
    found = plan(client, BEYOND)
    assert found.path.positions[0] == LIMIT
    assert any(PAN in warning and "-3.14249" in warning for warning in found.record.warnings)
    assert not any("starts at" in warning for warning in plan(client, -3.0).record.warnings)
    with pytest.raises(StartBeyondLimitsError) as caught:
        plan(client, LIMIT - 2e-3)
    assert caught.value.values[0].value == LIMIT - 2e-3


def test_a_trajectory_from_there_is_valid_with_a_warning_and_its_limits_include_the_start(client):
    request = srv.ValidateTrajectory.Request(state=state_with_joints(at(BEYOND)), find_all=True)
    request.trajectory = swing(ARM, list(at(BEYOND).values()), HOME, duration=8.0, samples=801)
    reply = client.call_service(srv.ValidateTrajectory, "planning/validate_trajectory", request)
    assert not reply.report.violations
    assert any(PAN in warning for warning in reply.report.warnings)
    assert reply.limits[0].lower == BEYOND
    assert reply.limits[1].lower == CELL.variables[ARM[1]].limits.lower
    request.state = state_with_joints(at(LIMIT - 2e-3))
    request.trajectory = swing(ARM, list(at(LIMIT - 2e-3).values()), HOME, duration=8.0, samples=801)
    reply = client.call_service(srv.ValidateTrajectory, "planning/validate_trajectory", request)
    assert {violation.joint for violation in reply.report.violations} == {PAN}
    assert reply.limits[0].lower == LIMIT


@pytest.mark.parametrize("send", [move, execute], ids=["move", "execute_trajectory"])
def test_a_motion_from_there_is_carried_out(client, robot, send):
    for _ in range(20):  # until the last commands have arrived, and the node has received the position of the robot
        robot.put(**at(BEYOND))
        robot.run_for(20)
        robot.taken()
        if send is move:
            sent = move(client, MotionRequest(goal=make_goal([at(-2.0)]))).wait()
        else:
            sent = execute(client, swing(ARM, list(at(LIMIT).values()), list(at(-2.0).values()), duration=8.0)).wait()
        if sent.result.error.code != ErrorReport.TRAJECTORY_START:
            break
    assert sent.status == GoalStatus.STATUS_SUCCEEDED, sent.result.error.message
    assert any(PAN in warning for warning in sent.result.validation.warnings)
    robot.wait_for(lambda command: command[PAN] == pytest.approx(-2.0, abs=1e-6))  # it may arrive after the result
    assert min(command[PAN] for command, _ in robot.taken()) >= BEYOND
