"""A node that keeps its clients waiting: run as a program, named as its first argument."""

import sys

from rclpy.task import Future

from robot_cell_planner import action, srv
from robot_cell_planner.errors import CancelledError
from robot_cell_planner.nodes.node import CellNode, run


class StubbornNode(CellNode):
    """Answers a check from the second request on, no change, and ends no motion."""

    def __init__(self):
        super().__init__("stubborn_node")
        self.checks = 0
        self.cancelled = Future()
        self.serve(srv.CheckStates, "collision/check_states", self.check)
        self.serve(srv.ApplyChanges, "scene/apply_changes", self.never)
        self.serve(srv.GetState, "scene/get_state", self.never)
        self.serve_action(action.PlanMotion, "planning/plan_motion", self.plan, self.cancel)

    async def check(self, request, response):
        self.checks += 1
        tell("check", self.checks)
        if self.checks == 1:
            await Future()
        response.in_collision = [True]

    async def never(self, request, response):
        tell("request")
        await Future()

    async def plan(self, goal, result):
        tell("goal")
        await self.cancelled
        raise CancelledError("as told")

    def cancel(self, goal):
        tell("cancel")
        self.executor.create_task(lambda: self.cancelled.set_result(None))


def tell(*words):
    print(*words, flush=True)


if __name__ == "__main__":
    sys.exit(run(StubbornNode, "stubborn_node"))
