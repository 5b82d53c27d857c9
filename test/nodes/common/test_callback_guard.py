"""Every callback of every node is guarded: whatever it raises is reported, and the node continues."""

import gc
import re
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from geometry_msgs.msg import Pose
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically
from rclpy._rclpy_pybind11 import InvalidHandle
from rclpy.action import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.qos import qos_profile_parameters
from rclpy.task import Future
from rclpy.waitable import NumberOfEntities, Waitable
from running import DEMO, MODULES, RunningNode, wait_until_answered
from std_msgs.msg import UInt8

from robot_cell_planner import action, msg, srv
from robot_cell_planner.errors import InternalError, InvalidRequestError, LimitExceededError
from robot_cell_planner.nodes.common import node as node_module
from robot_cell_planner.nodes.common.action_server import GoalServer
from robot_cell_planner.nodes.common.callback_guard import QUIET, GuardedExecutor, NodeEndsError
from robot_cell_planner.nodes.common.node import CellNode, reliable, report_error
from robot_cell_planner.nodes.conversions.basic import error_from_message

# Every callback that rclpy calls raises after it has done its work.
RAISING = """
import functools, rclpy.node
def raising(create, place):
    def made(self, *arguments, **keywords):
        arguments, work = list(arguments), arguments[place]
        def callback(*values):
            work(*values)
            raise ValueError("injected")
        arguments[place] = callback
        return create(self, *arguments, **keywords)
    return made
for name, place in (("create_timer", 1), ("create_subscription", 2), ("create_guard_condition", 0)):
    setattr(rclpy.node.Node, name, raising(getattr(rclpy.node.Node, name), place))
"""


@pytest.fixture(scope="module")
def raising_nodes(domain, client):
    parameters = {name: {"cell_file": DEMO} for name in ("scene_node", "simulated_robot_node")}
    nodes = {name: RunningNode(name, domain, RAISING, **parameters.get(name, {})) for name in MODULES}
    client.scene()
    yield nodes
    for node in nodes.values():
        node.kill()
        node.stop()


@pytest.mark.parametrize("name", MODULES)
def test_every_callback_of_a_node_may_raise(raising_nodes, client, name):
    caller = client.node.create_client(GetParameters, f"{name}/get_parameters", qos_profile=qos_profile_parameters)
    wait_until_answered(caller, GetParameters.Request(names=["diagnostics_period"]))
    seen = threading.Event()
    node = raising_nodes[name]
    for _ in range(600):
        if "injected" in node.output:
            break
        seen.wait(0.1)
    assert re.search(r"(Timer|Subscription) .* failed: Traceback", node.output), node.output
    assert node.process.poll() is None


def test_nodes_that_raise_still_answer(raising_nodes, client):
    reply = client.call_service(srv.CheckStates, "collision/check_states", srv.CheckStates.Request())
    assert not reply.in_collision[0]
    # However many callbacks have raised, reports of each kind are throttled.
    output = raising_nodes["collision_node"].output
    repeated = re.findall(r"more in the last (\d+) s", output)
    assert output.count("Traceback") - len(repeated) < 50
    assert all(float(seconds) >= QUIET for seconds in repeated)


def test_no_node_has_another_executor():
    sources = (Path(node_module.__file__).parents[1]).rglob("*.py")
    makers = [path.name for path in sources if re.search(r"\b(Single|Multi)ThreadedExecutor\b", path.read_text())]
    assert makers == ["wait_set_executor.py"]


# Services and actions, whose clients wait for a reply, in this process.


class Raiser(CellNode):
    """Services and actions that fail in all ways."""

    def __init__(self):
        super().__init__("raiser")
        self.serve(srv.ListPlanners, "unexpected", self._unexpected)
        self.serve(srv.ForwardKinematics, "not_finite", self._not_finite)
        self.serve(srv.ForwardKinematics, "not_a_number", self._not_a_number)
        self.serve(srv.ListPlanners, "keeping", self._keeping)
        GoalServer(self, action.PlanMotion, "plan", self._plan, report_error)
        GoalServer(self, action.PlanMotion, "keeping_plan", self._keeping, report_error)
        self.kept = []
        self.cancelled = Future()
        self.numbers = self.create_publisher(UInt8, "numbers", reliable(10))

    async def _unexpected(self, request, response):
        raise KeyError("x" * 10**7)

    async def _not_finite(self, request, response):
        response.poses = [_pose(0.0), _pose(float("inf"))]

    async def _not_a_number(self, request, response):
        response.poses = [_pose("text")]

    async def _keeping(self, *arguments):
        """A variable of this function refers to the error, and the error to this function."""
        large = set(range(10))
        self.kept.append(weakref.ref(large))
        failure = None
        try:
            raise LimitExceededError("too much")
        except LimitExceededError as error:
            failure = error
        raise InvalidRequestError("not possible") from failure

    async def _plan(self, goal, send, token, result):
        token.on_set(self._cancel)
        send(action.PlanMotion.Feedback())
        send(action.PlanMotion.Feedback(progress=msg.PlanningFeedback(step=-1)))
        await self.cancelled
        result.plan.record.states_checked = -5

    def _cancel(self, error):
        self.cancelled.set_result(None)
        raise ValueError("cannot cancel")


def _pose(x):
    pose = Pose()
    pose.position.x = x
    return pose


@pytest.fixture(scope="module")
def raiser(client):
    node = Raiser()
    executor = GuardedExecutor(node.faults)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    yield node
    executor.create_task(executor.end)
    thread.join()
    executor.shutdown()
    node.destroy_node()


def test_an_unexpected_fault_is_an_error_of_bounded_size(raiser, client):
    with pytest.raises(InternalError) as caught:
        client.call_service(srv.ListPlanners, "unexpected", srv.ListPlanners.Request())
    assert len(caught.value.message) < 5000
    assert len(raiser.faults.latest) < 200


@pytest.mark.parametrize("kind", ["service", "action"])
def test_memory_of_a_failed_request_is_freed_without_garbage_collection(raiser, client, kind):
    gc.collect()
    gc.disable()
    try:
        if kind == "service":
            with pytest.raises(InvalidRequestError, match="not possible"):
                client.call_service(srv.ListPlanners, "keeping", srv.ListPlanners.Request())
        else:
            plans = ActionClient(client.node, action.PlanMotion, "keeping_plan")
            assert plans.wait_for_server(30.0)
            handle = _wait(client._send_goal_async(plans, action.PlanMotion.Goal()))
            assert isinstance(error_from_message(_wait(handle.get_result_async()).result.error), InvalidRequestError)
        pause = threading.Event()
        for _ in range(600):  # the reply is sent before the coroutine ends
            if raiser.kept[-1]() is None:
                break
            pause.wait(0.1)
        assert raiser.kept[-1]() is None
    finally:
        gc.enable()


def test_a_number_that_is_not_finite_is_an_error_that_names_it(raiser, client):
    with pytest.raises(LimitExceededError, match=r"response.poses\[1\].position.x would be inf"):
        client.call_service(srv.ForwardKinematics, "not_finite", srv.ForwardKinematics.Request())


def test_a_response_that_cannot_be_sent_is_an_error(raiser, client):
    with pytest.raises(InternalError, match="expected a number"):
        client.call_service(srv.ForwardKinematics, "not_a_number", srv.ForwardKinematics.Request())


def test_cancelling_that_fails_is_answered(raiser, client):
    plans = ActionClient(client.node, action.PlanMotion, "plan")
    assert plans.wait_for_server(30.0)
    handle = _wait(client._send_goal_async(plans, action.PlanMotion.Goal()))
    reply = _wait(handle.cancel_goal_async())
    assert not reply.goals_canceling
    found = _wait(handle.get_result_async())
    assert isinstance(error_from_message(found.result.error), LimitExceededError)


def _wait(future):
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    assert done.wait(60.0)
    return future.result()


def test_a_message_that_does_not_fit_is_not_published(raiser):
    before = raiser.faults.count
    raiser.numbers.publish(UInt8(data=256))
    assert raiser.faults.count == before + 1
    raiser.numbers.publish(UInt8(data=np.int64(255)))
    assert raiser.faults.count == before + 1


def test_invalid_parameters_are_refused(raiser, client):
    odd = ParameterMessage(name="use_sim_time", value=ParameterValue(type=77))
    for kind, name in ((SetParameters, "set_parameters"), (SetParametersAtomically, "set_parameters_atomically")):
        caller = client.node.create_client(kind, f"raiser/{name}", qos_profile=qos_profile_parameters)
        assert caller.wait_for_service(30.0)
        reply = _wait(caller.call_async(kind.Request(parameters=[odd, odd])))
        results = reply.results if kind is SetParameters else [reply.result]
        assert len(results) == (2 if kind is SetParameters else 1)
        assert not any(result.successful for result in results)
        assert results[0].reason


def test_only_a_node_that_gives_up_ends():
    node = type("Node", (), {"fail": CellNode.fail})()
    with pytest.raises(NodeEndsError, match="broken"):
        node.fail(InvalidRequestError("broken"))


def test_a_second_node_of_a_name_reports_it_and_ends(raising_nodes, domain, client):
    second = RunningNode("scene_node", domain, cell_file=DEMO)
    assert second.wait(60) == 1
    assert second.output.count("\n") == 1, second.output
    assert f"/scene_node is already running in domain {domain}. Stop that node, or set another" in second.output
    assert raising_nodes["scene_node"].process.poll() is None
    client.scene()


class Destroyed(Waitable):
    """An entity that another thread destroys while the executor begins to wait for it."""

    def __init__(self):
        super().__init__(ReentrantCallbackGroup())
        self.waits = 0

    def __enter__(self):
        """Nothing has to be acquired."""

    def __exit__(self, *arguments):
        """Nothing has to be released."""

    def get_num_entities(self):
        return NumberOfEntities()

    def add_to_wait_set(self, wait_set):
        self.waits += 1
        if self.waits == 1:
            raise InvalidHandle("cannot use Destroyable because destruction was requested")

    def is_ready(self, wait_set):
        return False


def test_an_entity_destroyed_during_a_wait_does_not_end_the_executor(client):
    node = CellNode("destroying", sole=False)
    executor = GuardedExecutor(node.faults)
    executor.add_node(node)
    destroyed, fired = Destroyed(), []
    node.add_waitable(destroyed)
    node.create_timer(0.01, lambda: fired.append(True))
    while not fired:
        executor.spin_once()
    assert destroyed.waits > 1
    executor.shutdown()
    node.destroy_node()
