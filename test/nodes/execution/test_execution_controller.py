"""The execution node as the client of a controller that runs already: it hands trajectories over and no more."""

import threading

import pytest
from control_msgs.action import FollowJointTrajectory
from fake_robot import FakeRobot, FakeValidator, swing
from rclpy.action import ActionServer, CancelResponse
from rclpy.task import Future

from robot_cell_planner import srv
from robot_cell_planner.errors import CancelledError, NotSupportedError, TrackingError
from robot_cell_planner.msg import ExecutionOptions
from robot_cell_planner.nodes.conversions.basic import duration_from_message

pytestmark = pytest.mark.alone

ARM = ("shoulder", "elbow")
ACTION = "arm_controller/follow_joint_trajectory"
SETTLING = 10  # moments from the end of a motion to its result, in which others read where the joints are


class FakeController:
    """Jumps to the end of a trajectory once it is let go. answer: the error code that it ends with."""

    def __init__(self, node, robot, group):
        self.robot = robot
        self.goals = []
        self.answer = FollowJointTrajectory.Result.SUCCESSFUL
        self.held = False
        self.cancelled = False
        self.running = threading.Event()
        self._node = node
        self._server = ActionServer(
            node, FollowJointTrajectory, ACTION, self._follow, cancel_callback=self._cancel, callback_group=group
        )

    def _cancel(self, _):
        self.cancelled = True
        return CancelResponse.ACCEPT

    async def _follow(self, goal):
        trajectory = goal.request.trajectory
        self.goals.append(goal.request)
        self.running.set()
        result = FollowJointTrajectory.Result(error_code=self.answer, error_string="as told")
        while self.held:
            await self._moment()
            if goal.is_cancel_requested:
                goal.canceled()
                return result
        if self.answer:
            goal.abort()
            return result
        self.robot.put(**dict(zip(trajectory.joint_names, trajectory.points[-1].positions, strict=True)))
        for _ in range(SETTLING):
            await self._moment()
        goal.succeed()
        return result

    async def _moment(self):
        future = Future()
        timer = self._node.create_timer(0.01, lambda: None if future.done() else future.set_result(None))
        await future
        self._node.destroy_timer(timer)


@pytest.fixture(scope="module")
def robot(client):
    return FakeRobot(client.node)


@pytest.fixture(scope="module")
def controller(client, robot):
    return FakeController(client.node, robot, client._group)


@pytest.fixture(scope="module", autouse=True)
def execution_node(start_node, client, robot, controller):
    validator = FakeValidator(client.node, client._group)
    yield start_node("execution_node", mode="controller", controller_action=ACTION, joint_state_timeout=1.5)
    assert len(validator.requests) > 0


@pytest.fixture(autouse=True)
def ready(controller):
    controller.goals.clear()
    controller.running.clear()
    controller.held = controller.cancelled = False
    controller.answer = FollowJointTrajectory.Result.SUCCESSFUL


def here(robot):
    return [robot.positions[name] for name in ARM]


def test_the_trajectory_is_handed_over_slowed_down(client, robot, controller):
    start = here(robot)
    options = ExecutionOptions(speed_scale=0.5, path_tolerance=0.3)
    result = client.execute(swing(ARM, start, [0.15, 0.3], duration=0.5), options)
    assert result.record.commands == 0
    assert here(robot) == [0.15, 0.3]
    (goal,) = controller.goals
    assert list(goal.trajectory.joint_names) == list(ARM)
    assert duration_from_message(goal.trajectory.points[-1].time_from_start) == pytest.approx(1.0)
    assert {tolerance.position for tolerance in goal.path_tolerance} == {0.3}
    assert robot.taken() == []
    assert client.node.count_publishers("joint_commands") == 0


def test_what_the_controller_found_is_told(client, robot, controller):
    controller.answer = FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED
    with pytest.raises(TrackingError) as caught:
        client.execute(swing(ARM, here(robot), [0.0, 0.0]))
    assert "as told" in caught.value.message
    assert caught.value.stage == "path tolerance"


def test_a_stop_cancels_the_controllers_goal(client, robot, controller):
    controller.held = True
    failed = []

    def execute():
        try:
            client.execute(swing(ARM, here(robot), [0.0, 0.0], duration=100.0))
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=execute)
    thread.start()
    assert controller.running.wait(30.0)
    kinds = srv.ControlMotion.Request
    with pytest.raises(NotSupportedError):
        client.call(srv.ControlMotion, "execution/control_motion", kinds(command=kinds.PAUSE))
    client.call(srv.ControlMotion, "execution/control_motion", kinds(command=kinds.STOP))
    thread.join(60.0)
    assert controller.cancelled
    assert [error.name for error in failed] == ["StoppedError"]
    assert not isinstance(failed[0], CancelledError)
