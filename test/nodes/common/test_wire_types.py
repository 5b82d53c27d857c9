"""No message can abort a process, whatever values its fields have: every type, with every kind of number."""

import importlib
import itertools
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Pose, Vector3
from rclpy.serialization import deserialize_message, serialize_message
from rosidl_parser.definition import AbstractGenericString, AbstractNestedType, Array, BasicType, NamespacedType
from trajectory_msgs.msg import JointTrajectoryPoint

from robot_cell_planner import action, msg, srv
from robot_cell_planner.errors import LimitExceededError
from robot_cell_planner.nodes.conversions.basic import duration_to_message, time_to_message
from robot_cell_planner.nodes.conversions.wire_types import NOT_FINITE, to_wire

ROOT = Path(__file__).parents[3]
DEPTH = 3  # names and indices; deeper fields are those of types that are checked themselves


def types():
    """Every message, request, response, goal, result and feedback of the package, and other published types."""
    found = [kind for kind in vars(msg).values() if hasattr(kind, "SLOT_TYPES")]
    for kind in vars(srv).values():
        if hasattr(kind, "Request"):
            found += [kind.Request, kind.Response]
    for kind in vars(action).values():
        if hasattr(kind, "Goal"):
            found += [kind.Goal, kind.Result, kind.Feedback]
    for package in (
        "sensor_msgs.JointState",
        "tf2_msgs.TFMessage",
        "visualization_msgs.MarkerArray",
        "diagnostic_msgs.DiagnosticArray",
        "trajectory_msgs.JointTrajectory",
        "rosgraph_msgs.Clock",
    ):
        module, name = package.split(".")
        found.append(getattr(importlib.import_module(f"{module}.msg"), name))
    return found


def filled(kind, number):
    """A message whose fields hold numbers of another type than declared: number(x) makes one of them."""
    message = kind()
    for name, declared in zip(kind.get_fields_and_field_types(), kind.SLOT_TYPES, strict=False):
        setattr(message, name, value_for(declared, number))
    return message


def value_for(declared, number):
    if isinstance(declared, NamespacedType):
        return filled(getattr(importlib.import_module(".".join(declared.namespaces)), declared.name), number)
    if isinstance(declared, AbstractNestedType):
        count = declared.size if isinstance(declared, Array) else 2
        return [value_for(declared.value_type, number) for _ in range(count)]
    if isinstance(declared, AbstractGenericString):
        return "text"
    if declared.typename == "octet":
        return b"\x01"
    if declared.typename == "boolean":
        return np.bool_(True)
    return number(1, declared.typename in ("float", "double"))


NUMBERS = {
    "int": lambda value, is_float: int(value),
    "NumPy int": lambda value, is_float: np.int64(value),
    "NumPy float32": lambda value, is_float: np.float32(value) if is_float else np.uint8(value),
    "NumPy array without axes": lambda value, is_float: np.array(value) if is_float else np.array(value, dtype=int),
    "bool": lambda value, is_float: True,
}


@pytest.mark.parametrize("number", NUMBERS)
def test_every_field_of_every_type_is_converted(number):
    for kind in types():
        message = to_wire(filled(kind, NUMBERS[number]))
        # Ones everywhere: deserialization returns the serialized values.
        assert deserialize_message(serialize_message(message), kind) == to_wire(filled(kind, NUMBERS["int"])), kind


def test_a_field_that_is_not_converted_aborts_the_process():
    """The reason for the conversions: typesupport in C aborts the process; no exception can be caught."""
    code = (
        "from rclpy.serialization import serialize_message as s; from robot_cell_planner.msg import PlanningFeedback;"
        "import sys; from robot_cell_planner.nodes.conversions.wire_types import to_wire;"
        "m = PlanningFeedback(); m.best_cost = 0; s(to_wire(m) if sys.argv[1:] else m)"
    )
    run = [sys.executable, "-c", code]
    environment = {**os.environ, "ROS_PYTHON_CHECK_FIELDS": ""}
    assert subprocess.run([*run, "convert"], env=environment, capture_output=True).returncode == 0
    assert subprocess.run(run, env=environment, capture_output=True).returncode < 0


def places(kind, prefix=(), free=False):
    """Paths of the numbers of a type, and whether they may be anything; sequences by their first element."""
    for name, declared in zip(kind.get_fields_and_field_types(), kind.SLOT_TYPES, strict=False):
        is_free = free or name in NOT_FINITE.get(kind.__name__, ())
        many = isinstance(declared, AbstractNestedType)
        element = declared.value_type if many else declared
        path = (*prefix, name, 0) if many else (*prefix, name)
        if isinstance(element, NamespacedType) and len(prefix) < DEPTH:
            yield from places(
                getattr(importlib.import_module(".".join(element.namespaces)), element.name), path, is_free
            )
        elif isinstance(element, BasicType) and element.typename in ("float", "double"):
            yield path, is_free


def put(message, path, value):
    *parents, last = path
    for step in parents:
        message = message[step] if isinstance(step, int) else getattr(message, step)
    if isinstance(last, int):
        message[last] = value
    else:
        setattr(message, last, value)


def test_every_number_that_is_not_finite_is_found_and_named():
    bad = itertools.cycle((math.nan, math.inf, -math.inf))
    for kind in types():
        message = to_wire(filled(kind, NUMBERS["int"]))
        for path, is_free in places(kind):
            number = next(bad)
            put(message, path, number)
            if is_free:
                to_wire(message)
            else:
                name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
                with pytest.raises(LimitExceededError, match=re.escape(f"reply{name} would be {number}")):
                    to_wire(message, "reply")
            put(message, path, 1.0)


def test_fields_that_may_hold_any_number_are_documented():
    """The table agrees with the comments in msg/."""
    documented = {}
    for file in (ROOT / "msg").glob("*.msg"):
        comment = ""
        for line in file.read_text().splitlines():
            if line.startswith("#"):
                comment += line
                continue
            is_number = "=" not in line and line.strip() and not line.startswith("string")
            if is_number and re.search(r"\bNaN\b|\b[Ii]nfinite\b", comment):
                documented.setdefault(file.stem, set()).add(line.split()[1])
            if not ("=" in line and comment):
                comment = ""
    table = {name: set(fields) for name, fields in NOT_FINITE.items()}
    table["ErrorValue"].discard("value")  # an invalid value may be any number
    documented["SceneChange"].add("pose")  # at MOVE
    assert documented == table


def test_large_finite_numbers_pass():
    point = JointTrajectoryPoint(positions=[1.7e308, 1.7e308, -1.7e308])
    assert list(to_wire(point).positions) == [1.7e308, 1.7e308, -1.7e308]
    assert to_wire(Point(x=1.7e308, y=1.7e308)).x == 1.7e308


@pytest.mark.parametrize("bad", ["text", None, b"x", [1.0]])
def test_a_value_that_is_no_number_is_a_fault(bad):
    pose = Pose()
    pose.position.x = bad
    with pytest.raises(TypeError):
        to_wire(pose)


def test_another_message_than_declared_is_a_fault():
    with pytest.raises(TypeError, match="position is a Vector3"):
        to_wire(Pose(position=Vector3()))
    with pytest.raises(TypeError, match="reports"):
        to_wire(srv.CheckStates.Response(reports=[Pose()]))


def test_integers_that_do_not_fit_are_named():
    with pytest.raises(LimitExceededError, match=r"response.step would be -1"):
        to_wire(msg.PlanningFeedback(step=-1))
    with pytest.raises(LimitExceededError, match=r"response.step"):
        to_wire(msg.PlanningFeedback(step=2**32))


def test_text_without_utf8_is_escaped():
    report = to_wire(msg.ErrorReport(message="a\ud800b", subjects=["\udcff"]))
    assert (report.message, list(report.subjects)) == ("a\\ud800b", ["\\udcff"])
    serialize_message(report)


@pytest.mark.parametrize("seconds", [0.0, 1.5, -1.5, 1e-9, 2.0**31, 1e300, math.inf, -math.inf, np.float32(2.5), 3])
def test_durations_are_clamped(seconds):
    found = duration_to_message(seconds)
    serialize_message(to_wire(found))
    longest = 2**31 - 1e-9
    truth = min(max(float(seconds), -longest), longest)
    assert found.sec + found.nanosec * 1e-9 == pytest.approx(truth, abs=1e-9, rel=1e-9)
    assert 0 <= found.nanosec < 10**9


def test_a_duration_is_a_number():
    with pytest.raises(LimitExceededError):
        duration_to_message(math.nan)


@pytest.mark.parametrize("nanoseconds", [0, -1, 10**18, 2**63, -(2**63), 10**30, np.int64(5)])
def test_times_are_clamped(nanoseconds):
    found = time_to_message(nanoseconds)
    assert isinstance(found, Time)
    serialize_message(to_wire(found))
    assert found.sec * 10**9 + found.nanosec == min(max(int(nanoseconds), -(2**31 - 1) * 10**9), 2**31 * 10**9 - 1)
    assert isinstance(Duration(sec=found.sec), Duration)
