"""Equal requests that are served at the same time get one answer, as long as the scene is the same."""

from collections import deque
from types import SimpleNamespace

import pytest
from builtin_interfaces.msg import Time
from rclpy.task import Future

from robot_cell_planner import srv
from robot_cell_planner.errors import NoCellError, StaleStateError, TrajectoryError, TransformError
from robot_cell_planner.msg import RobotCellState, StateRef, StateUsed
from robot_cell_planner.nodes.common.shared_answers import STILL, SharedAnswers

JOINT = "elbow_joint"


class Server:
    """Serves requests that end when the test lets them. waits: for the scene, of requests that join another one."""

    def __init__(self):
        measured = SimpleNamespace(values={JOINT: 0.5})
        self.monitor = SimpleNamespace(revision=3, measured=measured, resolve=self._resolve)
        self.calls = deque()
        self.waits = deque()
        self.is_present = True
        self._received = []
        self._serve = SharedAnswers(self.monitor).shared(self._handle)

    async def _resolve(self, reference):
        if not self.is_present:
            self.waits.append(Future())
            await self.waits[-1]

    async def _handle(self, request, response):
        ended = Future()
        self.calls.append(ended)
        response.state = StateUsed(joint_stamp=Time(sec=9))
        response.state.revision = await ended

    def receive(self, **fields):
        """Begin to serve a request; returns it with its response."""
        response = srv.ValidateTrajectory.Response()
        served = Served(self._serve(srv.ValidateTrajectory.Request(**fields), response), response)
        self._received.append(served)
        served.resume()
        return served


class Served:
    """A request in progress."""

    def __init__(self, work, response):
        self._work, self.response = work, response
        self.is_done = False

    def resume(self):
        try:
            self._work.send(None)
        except StopIteration:
            self.is_done = True

    @property
    def answer(self):
        self.resume()
        assert self.is_done
        return self.response.state.revision


@pytest.fixture
def server():
    return Server()


def test_a_request_that_is_sent_again_is_computed_once(server):
    first, again = server.receive(start_tolerance=0.1), server.receive(start_tolerance=0.1)
    assert len(server.calls) == 1
    server.calls[0].set_result(7)
    assert (first.answer, again.answer) == (7, 7)


def test_a_request_after_the_answer_is_computed(server):
    first = server.receive()
    server.calls[0].set_result(7)
    assert first.answer == 7
    server.receive()
    assert len(server.calls) == 2


def test_another_request_is_computed(server):
    server.receive(start_tolerance=0.1)
    server.receive(start_tolerance=0.2)
    assert len(server.calls) == 2


def test_a_newer_scene_is_not_answered_for_with_an_older_one(server):
    server.receive()
    server.monitor.revision += 1
    server.receive()
    assert len(server.calls) == 2


@pytest.mark.parametrize(("step", "calls"), [(0.5 * STILL, 1), (2.0 * STILL, 2), (float("nan"), 2)])
def test_joints_that_have_moved_are_another_state(server, step, calls):
    server.receive()
    server.monitor.measured.values = {JOINT: 0.5 + step}
    server.receive()
    assert len(server.calls) == calls


def test_joints_that_were_measured_meanwhile_are_another_state(server):
    server.receive()
    server.monitor.measured.values = {JOINT: 0.5, "wrist_joint": 0.0}
    server.receive()
    assert len(server.calls) == 2


@pytest.mark.parametrize(
    "state", [StateRef(min_joint_stamp=Time(sec=5)), StateRef(own_state=[RobotCellState()])], ids=["stamp", "own"]
)
def test_joints_may_move_if_the_request_says_how_new_they_must_be(server, state):
    server.receive(state=state)
    server.monitor.measured.values = {JOINT: 2.0}
    server.receive(state=state)
    assert len(server.calls) == 1


def test_an_error_is_the_answer_to_both(server):
    first, again = server.receive(), server.receive()
    server.calls[0].set_exception(TrajectoryError("no", stage="test"))
    for served in (first, again):
        with pytest.raises(TrajectoryError):
            served.resume()
        assert served.response.state.joint_stamp.sec == 9


def test_after_an_internal_error_the_other_request_is_computed(server):
    first, again = server.receive(), server.receive()
    server.calls[0].set_exception(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        first.resume()
    again.resume()
    assert len(server.calls) == 2
    server.calls[1].set_result(8)
    assert again.answer == 8


def test_a_request_that_joins_another_one_waits_for_the_scene_by_its_own_timeout(server):
    server.is_present = False
    first, again = server.receive(), server.receive()
    server.calls[0].set_exception(StaleStateError("not within the timeout of the first"))
    with pytest.raises(StaleStateError, match="of the first"):
        first.resume()
    again.resume()
    assert not again.is_done
    server.waits[0].set_exception(StaleStateError("not within its own timeout"))
    with pytest.raises(StaleStateError, match="its own"):
        again.resume()


@pytest.mark.parametrize("error", [StaleStateError, NoCellError, TransformError])
def test_what_another_one_waited_for_in_vain_may_have_come(server, error):
    """Of several that joined it, one is computed."""
    server.is_present = False
    first, *others = (server.receive() for _ in range(3))
    server.calls[0].set_exception(error("not in time"))
    with pytest.raises(error):
        first.resume()
    server.is_present = True
    for wait, other in zip(server.waits, others, strict=True):
        wait.set_result(None)
        other.resume()
    assert len(server.calls) == 2
    server.calls[1].set_result(8)
    assert [other.answer for other in others] == [8, 8]
