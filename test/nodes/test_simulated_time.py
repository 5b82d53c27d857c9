"""Running nodes that are switched to simulated time by their parameter services."""

import threading

import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.qos import qos_profile_parameters
from rosgraph_msgs.msg import Clock
from running import DEMO

from robot_cell_planner import srv
from robot_cell_planner.nodes.common.node import reliable

NODES = {"scene_node": {"cell_file": DEMO}, "collision_node": {}}


@pytest.fixture(scope="module")
def nodes(start_node, client):
    found = {name: start_node(name, **parameters) for name, parameters in NODES.items()}
    client.scene()
    return found


class Diagnostics:
    """Waits for diagnostics of a node that are stamped in some way."""

    def __init__(self, client):
        self._conditions = []
        client.node.create_subscription(DiagnosticArray, "/diagnostics", self._take, reliable(50))

    def _take(self, message):
        for name, holds, event in list(self._conditions):
            if message.status[0].name == name and holds(message.header.stamp):
                event.set()

    def wait_for(self, name, holds):
        event = threading.Event()
        self._conditions.append((name, holds, event))
        assert event.wait(60.0), f"{name} published nothing of that time"


@pytest.fixture(scope="module")
def diagnostics(client):
    return Diagnostics(client)


def set_simulated(client, name, on):
    caller = client.node.create_client(SetParameters, f"{name}/set_parameters", qos_profile=qos_profile_parameters)
    assert caller.wait_for_service(60.0)
    value = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=on)
    answered = threading.Event()
    future = caller.call_async(SetParameters.Request(parameters=[Parameter(name="use_sim_time", value=value)]))
    future.add_done_callback(lambda _: answered.set())
    assert answered.wait(60.0)
    assert future.result().results[0].successful


def test_a_clock_that_stops_and_jumps_delays_neither_replies_nor_diagnostics(client, nodes, diagnostics):
    clock = client.node.create_publisher(Clock, "/clock", 10)

    def check(holds):
        for name in NODES:
            diagnostics.wait_for(name.removesuffix("_node"), holds)
        client.call_service(srv.CheckStates, "collision/check_states", srv.CheckStates.Request())
        client.call_service(srv.GetCell, "scene/get_cell", srv.GetCell.Request())

    for name in NODES:
        set_simulated(client, name, True)
    check(lambda stamp: stamp.sec == 0)
    for second in (2**31 - 1, 5):
        timer = client.node.create_timer(0.05, lambda second=second: clock.publish(Clock(clock=Time(sec=second))))
        check(lambda stamp, second=second: stamp.sec == second)
        client.node.destroy_timer(timer)
    clock.publish(Clock(clock=Time(sec=-1)))  # refused: rclpy has no times before 0
    check(lambda stamp: stamp.sec == 5)
    for name in NODES:
        set_simulated(client, name, False)
    check(lambda stamp: stamp.sec > 10**9)
    assert all(node.process.poll() is None for node in nodes.values())
