"""Every value is restored from JSON and YAML to the last bit; invalid values are refused with their name."""

import json
import os
import subprocess
import sys

import pytest
from folders import SUPPORT
from hypothesis import HealthCheck, given, settings
from reference import small_cell
from strategies import bodies, mechanisms, states

from robot_cell_planner.errors import DuplicateNameError, FileError, LimitExceededError, ModelError
from robot_cell_planner.io.common.serialisation import (
    from_document,
    from_json,
    to_json,
    to_json_document,
    to_yaml_document,
)
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.mechanism import Mechanism
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import RobotCellState

slow = settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=60)


def check(value):
    kind, text = type(value), to_json(value)
    for again in (
        from_json(text, kind),
        from_document(to_json_document(value).decode(), kind),
        from_document(to_yaml_document(value), kind),
    ):
        assert again == value
        assert hash(again) == hash(value)
        assert to_json(again) == text  # equality ignores the sign of zeros and the order of mappings; the text does not


@slow
@given(states)
def test_states(state):
    check(state)
    assert from_json(to_json(state), RobotCellState).digest() == state.digest()


@slow
@given(bodies)
def test_bodies(body):
    check(body)


@slow
@given(mechanisms())
def test_mechanisms(mechanism):
    check(mechanism)


def test_whole_cells():
    cell, state = small_cell()
    check(cell)
    check(state)


def test_the_same_bytes_in_another_process():
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from reference import small_cell\n"
        "from robot_cell_planner.io.common.serialisation import to_json\n"
        "sys.stdout.buffer.write(b''.join(map(to_json, small_cell())))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program, str(SUPPORT)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert texts == {b"".join(map(to_json, small_cell()))}


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("", Pose, "Pose"),
        ("{", Pose, "Pose"),
        ("[]", Pose, "object"),
        ('{"position": [1, 2]}', Pose, "position"),
        ('{"position": [1, 2, "3"]}', Pose, "position"),
        ('{"position": [1, 2, null]}', Pose, "position"),
        ('{"position": [1, 2, 1e999]}', Pose, "range"),
        ('{"quaternion": [1, 1, 1, 1]}', Pose, "length 2"),
        ('{"place": [1, 2, 3]}', Pose, "place"),
        ('{"configuration": {"j": "1"}}', RobotCellState, "float"),
        ('{"bodies": {"b": {"pose": 1}}}', RobotCellState, "pose"),
        ('{"bodies": [1]}', RobotCellState, "object"),
        ('{"name": "b"}', RigidBody, "no shape"),
        ('{"name": "b", "collisions": [{"geometry": {"type": "torus"}}]}', RigidBody, "torus"),
        ('{"name": "b", "collisions": [{"geometry": {"type": "box", "size": [1, 0, 1]}}]}', RigidBody, "above 0"),
        ("\xff", Pose, "Pose"),
        ("[" * 100_000, Pose, "Pose"),
    ],
)
def test_invalid_values_are_refused(text, kind, expected):
    with pytest.raises(FileError, match=expected):
        from_json(text.encode("latin-1"), kind)


def test_values_that_contradict_themselves_are_refused():
    with pytest.raises(ModelError):
        from_json('{"name": "m", "links": {}, "joints": {}}', Mechanism)
    with pytest.raises(FileError, match="'y' is listed under the name 'x'"):
        from_json('{"name": "m", "links": {"x": {"name": "y"}}, "joints": {}}', Mechanism)
    twice = {"x": {"name": "x", "collisions": [{"geometry": {"type": "sphere", "radius": 1.0}}]}}
    with pytest.raises(DuplicateNameError):
        from_json(json.dumps({"bodies": twice, "frames": {"x": {"name": "x"}}}), RobotCell)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "value: {}",
        "format: robot_cell_planner/Pose\nvalue: {}",
        "format: other/Pose\nversion: 1\nvalue: {}",
        "format: robot_cell_planner/Pose\nversion: 2\nvalue: {}",
        "format: robot_cell_planner/Pose\nversion: true\nvalue: {}",
        "format: robot_cell_planner/Pose\nversion: 1\nvalue: 5",
        "format: robot_cell_planner/RobotCellState\nversion: 1\nvalue: {}",
        "format: robot_cell_planner/Pose\nversion: 1",
    ],
)
def test_documents_of_another_kind_or_version_are_refused(text):
    with pytest.raises(FileError):
        from_document(text, Pose, "pose.yaml")


def test_documents_are_bounded():
    with pytest.raises(LimitExceededError):
        from_document("a: " + "[" * 1000, Pose)
