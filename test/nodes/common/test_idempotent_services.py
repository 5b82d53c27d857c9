"""Services of rclpy by which every node is read may be called again without a reply."""

import pytest
import rclpy
from rclpy.lifecycle import LifecycleNode

from robot_cell_planner.nodes.common.server_monitor import is_idempotent

READING = ("get_", "list_", "describe_")


@pytest.fixture
def services(domain):
    """Names of the services of a managed node with all that rclpy may add."""
    context = rclpy.Context()
    rclpy.init(context=context, args=[])
    node = LifecycleNode("read", context=context, enable_logger_service=True)
    yield {service.service_name for service in node.services} | {
        name for name, _ in node.get_service_names_and_types_by_node("read", "/")
    }
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_services_that_read_a_node_are_idempotent_and_others_are_not(services):
    names = {name.rpartition("/")[2] for name in services}
    assert {"get_parameters", "get_state", "get_type_description", "get_logger_levels", "set_parameters"} <= names
    assert {name for name in names if is_idempotent(f"read/{name}")} == {
        name for name in names if name.startswith(READING)
    }
