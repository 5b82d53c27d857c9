"""The topic of injected disturbances, whose last message late subscribers get: the last ones of the simulation."""

from functools import partial

import pytest
from rclpy.clock import Clock

from robot_cell_planner import srv
from robot_cell_planner.nodes.simulation.node import SimulatedRobotNode
from robot_cell_planner.simulation.disturbances import Disturbance, DisturbanceKind
from robot_cell_planner.simulation.process import Answer

SHORT = (Disturbance(DisturbanceKind.ENCODER_BIAS, "elbow_joint", 0.01, duration=0.01),)


class Node:
    """The node with a simulation whose messages are given by hand, and an executor that is late."""

    _disturb, _request = SimulatedRobotNode._disturb, SimulatedRobotNode._request
    _on_answer, _publish_disturbances = SimulatedRobotNode._on_answer, SimulatedRobotNode._publish_disturbances

    def __init__(self):
        self._injected, self._disturbances, self._simulation = (), None, self
        self.published, self.tasks = [], []

    def request(self, _, on_answer):
        self.answer = on_answer

    def resolve(self, future, value):
        self.tasks.append(partial(future.set_result, value))

    def get_clock(self):
        return Clock()

    def _publish(self, _, message):
        self.published.append(len(message.disturbances))


def test_an_answer_that_is_handled_after_a_later_report_does_not_publish_what_has_ended():
    node, response = Node(), srv.DisturbSimulation.Response()
    coroutine = node._disturb(srv.DisturbSimulation.Request(), response)
    coroutine.send(None)
    node.answer(Answer(0, disturbances=SHORT))
    node._publish_disturbances(())  # of a report
    for task in node.tasks:
        task()
    with pytest.raises(StopIteration):
        coroutine.send(None)
    assert len(response.active) == 1
    assert node.published == [1, 0]
