"""Fixtures of the nodes' tests: a free domain for each module, and nodes that end with the test."""

import contextlib
import os

import pytest

from robot_cell_planner.nodes.common.domain import reserve_domain

MOST_OUTPUT = 3000  # [characters] of each node, in the report of a failure


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Add the output of the running nodes to the report of a test that fails."""
    report = yield
    if report.failed:
        from running import RunningNode

        sections = ((f"output of {node.name}", node.output[-MOST_OUTPUT:]) for node in RunningNode.started)
        report.sections += [(name, text) for name, text in sections if text]
    return report


@pytest.fixture(scope="module")
def domain():
    """A domain of this module alone; rclpy in this process takes part in it."""
    reserved = reserve_domain()
    before = {name: os.environ.get(name) for name in ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE")}
    os.environ["ROS_DOMAIN_ID"] = str(reserved.number)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    yield reserved.number
    reserved.close()
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.fixture(scope="module")
def start_node(domain):
    """Start a node; all that were started are stopped at the end of the module, also if one does not end."""
    from running import RunningNode

    started = []
    with contextlib.ExitStack() as nodes:

        def start(name, **parameters):
            node = RunningNode(name, domain, **parameters)
            nodes.callback(node.stop)
            started.append(node)
            return node

        yield start
        for node in reversed(started):  # they end at the same time
            node.interrupt()


@pytest.fixture(scope="module")
def client(domain):
    """A client of the nodes, in the module's domain."""
    from robot_cell_planner.nodes.client.client import CellClient

    with CellClient("test_client", discovery_timeout=60.0) as client:
        yield client


@pytest.fixture
def node(domain):
    """A node in the process of the test, in the module's domain."""
    import rclpy

    from robot_cell_planner.nodes.common.node import CellNode

    rclpy.init()
    node = CellNode("tested", sole=False)
    yield node
    node.destroy_node()
    rclpy.shutdown()


@pytest.fixture
def executor(node):
    """The executor of `node`."""
    from robot_cell_planner.nodes.common.callback_guard import GuardedExecutor

    executor = GuardedExecutor(node.faults)
    executor.add_node(node)
    yield executor
    executor.shutdown()
