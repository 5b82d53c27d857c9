"""Goals of actions whose results, feedback and cancellation a test handles itself."""

import threading

from control_msgs.action import FollowJointTrajectory

from robot_cell_planner.action import ExecuteTrajectory, Move
from robot_cell_planner.msg import ExecutionOptions

FOLLOW = "joint_trajectory_controller/follow_joint_trajectory"
EXECUTE = "execution/execute_trajectory"
MOVE = "execution/move"
# A goal can be lost while a node that has just been started, and this one, are still finding each other.
ATTEMPTS, TIMEOUT = 12, 5.0


def action_client(client, kind, name):
    """The client's client of an action."""
    return client._action_client(kind, name)


class Sent:
    """A goal that was sent, whose result can be waited for."""

    def __init__(self, client, kind, name, goal):
        self.done, self._accepted = threading.Event(), threading.Event()
        self.feedback = []
        actions = action_client(client, kind, name)
        assert actions.wait_for_server(timeout_sec=60.0)
        for _ in range(ATTEMPTS):
            future = client._send_goal_async(actions, goal, lambda message: self.feedback.append(message.feedback))
            future.add_done_callback(self._take)
            if self._accepted.wait(TIMEOUT):
                break

    def _take(self, future):
        if self._accepted.is_set():
            return
        self.handle = future.result()
        assert self.handle.accepted
        self._accepted.set()
        self.handle.get_result_async().add_done_callback(self._finish)

    def _finish(self, future):
        self.status, self.result = future.result().status, future.result().result
        self.done.set()

    def cancel(self):
        assert self._accepted.wait(60.0)
        self.handle.cancel_goal_async()

    def wait(self):
        assert self.done.wait(120.0), "the goal did not end"
        return self


def execute(client, trajectory, **options):
    goal = ExecuteTrajectory.Goal(trajectory=trajectory, options=ExecutionOptions(**options))
    return Sent(client, ExecuteTrajectory, EXECUTE, goal)


def move(client, request, **options):
    return Sent(client, Move, MOVE, Move.Goal(request=request, options=ExecutionOptions(**options)))


def follow(client, trajectory, **fields):
    return Sent(client, FollowJointTrajectory, FOLLOW, FollowJointTrajectory.Goal(trajectory=trajectory, **fields))
