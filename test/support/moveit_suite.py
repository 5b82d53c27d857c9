"""The nodes that the MoveIt adapter calls, without processes: each call is recorded, and answered by a function."""

import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner import action, msg, srv
from robot_cell_planner.nodes.conversions.basic import (
    configuration_to_message,
    duration_to_message,
    error_to_message,
    path_to_message,
)

REVISION = 7


def result_of(coroutine):
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the coroutine waits")


def trajectory_of(path):
    names = list(path.joint_names)
    rows = np.reshape(path.positions, (-1, len(names)))
    points = [
        JointTrajectoryPoint(positions=list(row), time_from_start=duration_to_message(float(index)))
        for index, row in enumerate(rows)
    ]
    return JointTrajectory(joint_names=names, points=points)


class FakeSuite:
    """calls: the requests by the name of the service or action. begin: joint values that Cartesian motions start with.
    solve: values of a target, or raises. violations: errors that check_path reports."""

    def __init__(self, begin, solve=None, violations=()):
        self.calls = {}
        self._begin, self._solve, self._violations = dict(begin), solve, violations

    def __getattr__(self, name):
        async def call(request, *_args, **_named):
            self.calls.setdefault(name, []).append(request)
            return getattr(self, f"_{name}")(request)

        return call

    def _inverse_kinematics(self, request):
        values = self._solve(request.targets[0])
        reply = srv.InverseKinematics.Response(joint_names=list(values))
        reply.results = [msg.IkResult(solutions=[msg.IkSolution(positions=list(values.values()))])]
        return reply

    def _plan_cartesian(self, goal):
        result = action.PlanCartesian.Result(start_configuration=configuration_to_message(self._begin))
        rows = np.array([[value + 0.1 * (1 + index) for value in self._begin.values()] for index in range(2)])
        result.plan.path = path_to_message(list(self._begin), rows)
        result.plan.trajectory = trajectory_of(
            path_to_message(list(self._begin), np.vstack([list(self._begin.values()), rows]))
        )
        result.plan.record.state.revision = REVISION
        return result

    def _time_parameterize(self, request):
        reply = srv.TimeParameterize.Response(trajectory=trajectory_of(request.path))
        reply.state.revision, reply.report.valid = REVISION, True
        return reply

    def _check_path(self, request):
        return srv.CheckPath.Response(violations=[error_to_message(error) for error in self._violations])

    def _move(self, goal):
        result, row = action.Move.Result(), np.array([list(self._begin.values())])
        result.plan.trajectory = trajectory_of(path_to_message(list(self._begin), row))
        return result

    def _execute_trajectory(self, goal):
        return action.ExecuteTrajectory.Result()


class FixedScene:
    """The access of the adapter to a scene that does not change. start: of every request; revision: of the scene."""

    def __init__(self, start, revision=REVISION):
        self.scene, self.revision, self._start = start.scene, revision, start

    async def start(self, message, difference=None):
        return self._start

    async def current(self):
        return self


class SilentNode:
    """A node whose services, topics and timers nobody calls, with the values of its parameters."""

    def __init__(self, **parameters):
        self.parameters = parameters

    def serve(self, *_):
        pass

    def soon(self, *_):
        pass

    def create_subscription(self, *_):
        pass
