"""The nodes and their tests run with rclpy of Jazzy and of Kilted: names that they import when they start exist in
both, and classes that are generic in Kilted alone have type arguments in annotations only.

The tests run with one of them, so the table lists names that exist in both: rclpy 7.1.6 and 9.1.2. A new name is added
after a check of the other release; names of one release only are accessed with `getattr` and a substitute.
"""

import ast
import importlib
from pathlib import Path

import robot_cell_planner

ROOT = Path(__file__).parents[2]
PACKAGE = Path(robot_cell_planner.__file__).parent
SCRIPTS = ("test", "examples", "launch", "benchmarks")
IN_BOTH_RELEASES = {
    "rclpy._rclpy_pybind11": {"InvalidHandle", "RCLError"},
    "rclpy.action": {
        "ActionClient",
        "ActionServer",
        "CancelResponse",
        "GoalResponse",
        "get_action_server_names_and_types_by_node",
    },
    "rclpy.action.client": {"ActionClient", "ClientGoalHandle"},
    "rclpy.action.graph": {"get_action_names_and_types", "get_action_server_names_and_types_by_node"},
    "rclpy.action.server": {"ActionServer", "CancelResponse", "ServerGoalHandle"},
    "rclpy.callback_groups": {"CallbackGroup", "MutuallyExclusiveCallbackGroup", "ReentrantCallbackGroup"},
    "rclpy.client": {"Client"},
    "rclpy.clock": {"Clock", "ClockType", "JumpThreshold", "ROSClock", "TimeJump"},
    "rclpy.context": {"Context"},
    "rclpy.duration": {"Duration"},
    "rclpy.event_handler": {"PublisherEventCallbacks"},
    "rclpy.exceptions": {"InvalidHandle", "InvalidTopicNameException", "ParameterException"},
    "rclpy.executors": {
        "ConditionReachedException",
        "ExternalShutdownException",
        "ShutdownException",
        "SingleThreadedExecutor",
        "TimeoutException",
        "TimeoutObject",
        "await_or_execute",
    },
    "rclpy.guard_condition": {"GuardCondition"},
    "rclpy.impl.implementation_singleton": {"rclpy_implementation"},
    "rclpy.lifecycle": {"LifecycleNode", "LifecycleNodeMixin", "TransitionCallbackReturn"},
    "rclpy.node": {"Node", "NodeNameNonExistentError"},
    "rclpy.parameter": {"Parameter", "parameter_value_to_python"},
    "rclpy.publisher": {"Publisher"},
    "rclpy.qos": {
        "DurabilityPolicy",
        "HistoryPolicy",
        "QoSCompatibility",
        "QoSProfile",
        "ReliabilityPolicy",
        "qos_check_compatible",
        "qos_profile_parameters",
        "qos_profile_sensor_data",
    },
    "rclpy.serialization": {"deserialize_message", "serialize_message"},
    "rclpy.service": {"Service"},
    "rclpy.service_introspection": {"ServiceIntrospectionState"},
    "rclpy.signals": {"SignalHandlerOptions", "uninstall_signal_handlers"},
    "rclpy.subscription": {"Subscription"},
    "rclpy.task": {"Future"},
    "rclpy.time": {"Time"},
    "rclpy.timer": {"Timer"},
    "rclpy.topic_endpoint_info": {"TopicEndpointInfo"},
    "rclpy.type_support": {"check_for_type_support"},
    "rclpy.validate_full_topic_name": {"validate_full_topic_name"},
    "rclpy.waitable": {"NumberOfEntities", "Waitable"},
}


def imported_when_started(statements):
    """The names that statements import from rclpy, without those for type checkers only."""
    for node in statements:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imported_when_started(node.orelse)
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "rclpy":
            yield from ((node.module, name.name) for name in node.names)
        else:
            yield from imported_when_started(ast.iter_child_nodes(node))


def test_imported_names_exist_in_both_releases():
    files = {path for folder in (PACKAGE, *map(ROOT.joinpath, SCRIPTS)) for path in folder.rglob("*.py")}
    found = {
        (path.as_posix(), module, name)
        for path in files
        for module, name in imported_when_started(ast.parse(path.read_text()).body)
    }
    assert len(found) > 50
    assert [entry for entry in sorted(found) if entry[2] not in IN_BOTH_RELEASES.get(entry[1], ())] == []


def test_the_table_agrees_with_the_installed_release():
    for module, names in IN_BOTH_RELEASES.items():
        assert names <= set(dir(importlib.import_module(module)))


def evaluated_subscripts(tree):
    """The names from rclpy that are subscripted outside annotations and blocks for type checkers."""
    imported, found = set(), []

    class Visitor(ast.NodeVisitor):
        def visit_ImportFrom(self, node):
            if not node.level and (node.module or "").split(".")[0] == "rclpy":
                imported.update(name.asname or name.name for name in node.names)

        def visit_If(self, node):
            for each in node.orelse if "TYPE_CHECKING" in ast.unparse(node.test) else ast.iter_child_nodes(node):
                self.visit(each)

        def visit_arg(self, node):
            """Annotations are not evaluated."""

        def visit_AnnAssign(self, node):
            if node.value is not None:
                self.visit(node.value)

        def visit_FunctionDef(self, node):
            for each in (*node.decorator_list, node.args, *node.body):
                self.visit(each)

        visit_AsyncFunctionDef = visit_FunctionDef

        def visit_Subscript(self, node):
            if isinstance(node.value, ast.Name) and node.value.id in imported:
                found.append(node.value.id)
            self.generic_visit(node)

    Visitor().visit(tree)
    return found


def test_type_arguments_of_classes_of_rclpy_are_not_evaluated():
    """`Future[T]()` is a TypeError in Jazzy."""
    text = """
from rclpy.task import Future
future: Future[int] = Future()
async def function(argument: Future[int] = None, *, other: Future[int]) -> Future[int]: return Future[int](), future[0]
"""
    assert evaluated_subscripts(ast.parse(text)) == ["Future"]
    found = {path: evaluated_subscripts(ast.parse(path.read_text())) for path in PACKAGE.rglob("*.py")}
    assert {path: names for path, names in found.items() if names} == {}


def test_annotations_of_files_that_use_rclpy_are_not_evaluated():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        if "from rclpy" in text:
            assert "from __future__ import annotations" in text, path
