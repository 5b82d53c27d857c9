"""A node that keeps its clients waiting, run as a program. Its first argument, if it has one, names what is lost of the
first goal: the "request", or the "answer" to it."""

import sys

from rclpy._rclpy_pybind11 import RCLError
from rclpy.task import Future

from robot_cell_planner import action, srv
from robot_cell_planner.errors import CancelledError
from robot_cell_planner.nodes.common.action_server import GoalServer
from robot_cell_planner.nodes.common.node import CellNode, report_error, run


class StubbornNode(CellNode):
    """Replies to checks from the second request on, but to no change, and ends no motion."""

    def __init__(self):
        super().__init__("stubborn_node")
        self.checks = 0
        self.cancelled = Future()
        self.serve(srv.CheckStates, "collision/check_states", self.check)
        self.serve(srv.ApplyChanges, "scene/apply_changes", self.never)
        self.serve(srv.GetState, "scene/get_state", self.never)
        self.plans = GoalServer(self, action.PlanMotion, "planning/plan_motion", self.plan, report_error).server

    async def check(self, request, response):
        self.checks += 1
        report("check", self.checks)
        if self.checks == 1:
            await Future()
        response.in_collision = [True]

    async def never(self, request, response):
        report("request")
        await Future()

    async def plan(self, goal, send, token, result):
        report("goal")
        token.on_set(self.cancel)
        await self.cancelled
        raise CancelledError("as requested")

    def cancel(self, error):
        report("cancel")
        self.executor.create_task(lambda: self.cancelled.set_result(None))


class FailingHandle:
    """The handle of an action server, which fails to send the first answer."""

    def __init__(self, handle):
        self._handle = handle
        self._answers = 0

    def __getattr__(self, name):
        return getattr(self._handle, name)

    def __enter__(self):
        return self._handle.__enter__()

    def __exit__(self, *arguments):
        return self._handle.__exit__(*arguments)

    def send_goal_response(self, *arguments):
        self._answers += 1
        if self._answers == 1:
            report("unanswered")
            raise RCLError("the client is not known")
        self._handle.send_goal_response(*arguments)


class LosingNode(StubbornNode):
    """Loses the request, or the answer, for the first goal."""

    def __init__(self):
        super().__init__()
        server = self.plans
        if sys.argv[1] == "answer":
            server._handle = FailingHandle(server._handle)
            return
        take, taken = server._execute_goal_request, []

        async def lose_first(request):
            taken.append(request)
            report("unanswered")
            if len(taken) > 1:
                await take(request)

        server._execute_goal_request = lose_first


def report(*words):
    print(*words, flush=True)


if __name__ == "__main__":
    sys.exit(run(LosingNode if len(sys.argv) > 1 else StubbornNode, "stubborn_node"))
