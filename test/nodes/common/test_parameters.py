"""The parameter services of running nodes describe every parameter and refuse invalid values."""

import re
import threading
from importlib import import_module
from operator import lt
from types import SimpleNamespace

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterDescriptor, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.qos import qos_profile_parameters
from running import DEMO, MODULES, RunningNode, wait_for_message

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.nodes.common.parameters import Parameter, Parameters, Relation
from robot_cell_planner.nodes.common.start import NODES

GIVEN = {"scene_node": {"cell_file": DEMO}, "simulated_robot_node": {"cell_file": DEMO}}
DECLARED = {
    name: {parameter.name: parameter for parameter in import_module(f"{NODES}.{module}").PARAMETERS}
    for name, module in MODULES.items()
}
NUMBERS = (ParameterType.PARAMETER_INTEGER, ParameterType.PARAMETER_DOUBLE)


@pytest.fixture(scope="module")
def nodes(start_node):
    return {name: start_node(name, **GIVEN.get(name, {})) for name in MODULES}


@pytest.fixture(scope="module")
def call(nodes, client):
    """Call a parameter service of a node."""

    def call(node, kind, service, request):
        caller = client.node.create_client(kind, f"{node}/{service}", qos_profile=qos_profile_parameters)
        assert caller.wait_for_service(60.0), nodes[node].output
        for _ in range(12):  # the first replies of a node that has just appeared can be lost
            answered = threading.Event()
            future = caller.call_async(request)
            future.add_done_callback(lambda _, answered=answered: answered.set())
            if answered.wait(10.0):
                return future.result()
        raise AssertionError(f"{node}/{service} did not answer:\n{nodes[node].output}")

    return call


@pytest.fixture(scope="module")
def described(call):
    """The descriptors of a node's parameters, by name."""

    def described(node):
        names = list(DECLARED[node])
        reply = call(node, DescribeParameters, "describe_parameters", DescribeParameters.Request(names=names))
        return dict(zip(names, reply.descriptors, strict=True))

    return described


@pytest.mark.parametrize("node", MODULES)
def test_every_parameter_is_described(described, node):
    for name, found in described(node).items():
        assert found.name == name
        assert found.type != ParameterType.PARAMETER_NOT_SET, name
        assert not found.dynamic_typing, name
        assert found.description.endswith("."), name
        assert found.read_only is not DECLARED[node][name].running, name


@pytest.mark.parametrize("node", MODULES)
def test_every_number_has_its_range_and_every_choice_its_values(described, node):
    for name, found in described(node).items():
        declared = DECLARED[node][name]
        ranges = [*found.integer_range, *found.floating_point_range]
        assert len(ranges) == (found.type in NUMBERS), name
        assert len(found.integer_range) == (found.type == ParameterType.PARAMETER_INTEGER), name
        for bounds in ranges:
            assert (bounds.from_value, bounds.to_value) == (declared.lower, declared.upper), name
            assert bounds.from_value < bounds.to_value, name
        assert all(choice in found.additional_constraints for choice in declared.choices), name


REFUSED = {
    "read-only": ("scene_node", "tf_rate", 100.0, "read-only"),
    "out of range": ("planning_node", "time_limit", 0.0, "out of range"),
    "just out of range": ("planning_node", "time_limit", 86_400.01, "expected 0.01 to 86400"),
    "not finite": ("planning_node", "time_limit", float("nan"), "out of range"),
    "none of the choices": ("planning_node", "engine", "abacus", "expected one of: coal, bullet"),
    "of another type": ("planning_node", "time_limit", 10, "Wrong parameter type"),
}


def message(name, value):
    return RosParameter(name, value=value).to_parameter_msg()


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_value_is_refused_at_run_time(call, case):
    node, name, value, words = REFUSED[case]
    before = call(node, GetParameters, "get_parameters", GetParameters.Request(names=[name])).values
    request = SetParameters.Request(parameters=[message(name, value)])
    (result,) = call(node, SetParameters, "set_parameters", request).results
    assert not result.successful
    assert words in result.reason
    assert call(node, GetParameters, "get_parameters", GetParameters.Request(names=[name])).values == before


def test_a_declared_parameter_is_not_removed(call):
    request = SetParameters.Request(parameters=[ParameterMessage(name="engine", value=ParameterValue())])
    (result,) = call("planning_node", SetParameters, "set_parameters", request).results
    assert not result.successful


def test_a_value_in_range_is_set(call):
    for value in (12.5, 30.0):
        request = SetParameters.Request(parameters=[message("time_limit", value)])
        (result,) = call("planning_node", SetParameters, "set_parameters", request).results
        assert result.successful, result.reason
        found = call("planning_node", GetParameters, "get_parameters", GetParameters.Request(names=["time_limit"]))
        assert found.values[0].double_value == value


BAD_STARTS = {
    "tf_rate is 100, expected a double, such as 100.0": Parameter("tf_rate", 1.0, "Rate [Hz].", 0.1, 1000.0),
    "tf_rate is 100, expected a boolean": Parameter("tf_rate", False, "Rate."),
    "tf_rate is 100, expected 1 to 64": Parameter("tf_rate", 1, "Rate [Hz].", 1, 64),
}


@pytest.mark.parametrize("words", BAD_STARTS)
def test_a_bad_value_at_start_is_named_with_what_is_expected(client, words):
    node = Node("bad_parameters", context=client.node.context, parameter_overrides=[RosParameter("tf_rate", value=100)])
    try:
        with pytest.raises(InvalidRequestError, match=re.escape(words)):
            Parameters(node, [BAD_STARTS[words]])
    finally:
        node.destroy_node()


SHORTER = Parameter(
    "period", 1.0, "Period [s].", 0.0, 9.0, running=True, relation=Relation(("limit",), lt, "below limit")
)
LIMIT = Parameter("limit", 2.0, "Limit [s].", 0.0, 9.0, running=True)


def test_values_at_start_that_contradict_each_other_are_named(client):
    given = [RosParameter("period", value=3.0)]
    node = Node("contradiction", context=client.node.context, parameter_overrides=given)
    try:
        with pytest.raises(InvalidRequestError, match=r"period is 3\.0, expected below limit; limit is 2\.0") as raised:
            Parameters(node, [SHORTER, LIMIT])
        assert raised.value.subjects == ("period", "limit")
    finally:
        node.destroy_node()


def test_changes_that_contradict_other_values_are_refused(client):
    node = Node("changes", context=client.node.context)
    try:
        parameters = Parameters(node, [SHORTER, LIMIT])
        for name, value in (("period", 2.5), ("limit", 0.5)):
            (result,) = node.set_parameters([RosParameter(name, value=value)])
            assert not result.successful
            assert "expected below limit; limit is" in result.reason
        assert (parameters["period"], parameters["limit"]) == (1.0, 2.0)
        both = [RosParameter("period", value=3.0), RosParameter("limit", value=4.0)]
        assert node.set_parameters_atomically(both).successful
    finally:
        node.destroy_node()


RELATED = {
    "gripper_start_timeout is 5.0, expected below gripper_goal_time; gripper_goal_time is 5.0": {
        "gripper_start_timeout": 5.0
    },
    "stall_timeout is 0.3, expected below gripper_goal_time": {"gripper_goal_time": 0.2, "gripper_start_timeout": 0.1},
    "servo_incoming_command_timeout is 0.04, expected at least 1 / servo_rate": {
        "servo_incoming_command_timeout": 0.04,
        "servo_rate": 20.0,
    },
    "watch_horizon is 3.0, expected longer than a stop": {
        "scale_acceleration": 0.2,
        "independent_robots": ["left/", "right/"],
    },
}


@pytest.mark.parametrize("words", RELATED)
def test_parameters_of_the_execution_node_do_not_contradict_each_other(client, words):
    given = [RosParameter(name, value=value) for name, value in RELATED[words].items()]
    node = Node("related", context=client.node.context, parameter_overrides=given)
    try:
        with pytest.raises(InvalidRequestError, match=re.escape(words)):
            Parameters(node, list(DECLARED["execution_node"].values()))
    finally:
        node.destroy_node()


def test_a_list_with_none_of_its_choices_is_named(domain):
    node = RunningNode("execution_node", domain, namespace="bad_list", command_fields="[position, torque]")
    assert node.wait(60) == 1
    assert len(node.lines) == 1, node.output
    assert "command_fields is ['position', 'torque'], expected each one of: position, velocity, effort" in node.output


def test_a_descriptor_has_nothing_that_a_parameter_lacks():
    found = Parameter("on", True, "On.", running=True).descriptor()
    expected = ParameterDescriptor(name="on", type=ParameterType.PARAMETER_BOOL, description="On.")
    assert found == expected


def test_a_check_that_is_turned_off_is_logged_and_reported(client):
    """At the start and at run time, once; also that it is on again."""
    guards = [
        Parameter(name, True, "Whether.", running=True, when_off=f"{name}s do not hold") for name in ("lock", "brake")
    ]
    given = [RosParameter("brake", value=False)]
    node = Node("guarded", context=client.node.context, parameter_overrides=given)
    logged = []
    log = SimpleNamespace(warning=logged.append, info=logged.append)
    node.get_logger = lambda: log
    try:
        parameters = Parameters(node, [*guards, LIMIT])
        assert logged == ["parameter brake is false: brakes do not hold"]
        node.set_parameters([RosParameter("lock", value=False), RosParameter("limit", value=3.0)])
        assert parameters.checks_off == ("lock is false: locks do not hold", "brake is false: brakes do not hold")
        node.set_parameters([RosParameter("lock", value=True), RosParameter("brake", value=True)])
        assert logged[1:] == [
            "parameter lock is false: locks do not hold",
            "parameter lock is true again",
            "parameter brake is true again",
        ]
        assert parameters.checks_off == ()
    finally:
        node.destroy_node()


def test_the_diagnostics_warn_of_motions_that_are_not_validated(nodes, call, client):
    """Until they are validated again."""

    def turn(value):
        request = SetParameters.Request(parameters=[message("validate", value)])
        assert call("execution_node", SetParameters, "set_parameters", request).results[0].successful

    def reported(condition):
        def fits(array):
            return array.status[0].name == "execution" and condition(array.status[0].message)

        return wait_for_message(client, DiagnosticArray, "/diagnostics", reliable(10), fits).status[0]

    words = "validate is false: motions run that were not checked"
    turn(False)
    try:
        assert reported(lambda text: words in text).level == DiagnosticStatus.WARN
        nodes["execution_node"].wait_for(rf"\[WARN\].*parameter {words}")
    finally:
        turn(True)
    reported(lambda text: words not in text)
