"""JSON-RPC: results equal those of the library; every request has a response; logs can be replayed."""

import io
import json
import typing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loaded_cells import loaded

from robot_cell_planner import FrameTarget, Goals, MotionRequest, PlanningOptions, inverse_kinematics, plan_motion
from robot_cell_planner import scene as scene_package
from robot_cell_planner.errors import ERRORS_BY_CODE, FileError, OutOfReachError
from robot_cell_planner.io.cell_file.simulation_section import load_simulated_robot
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.simulated_robot import SimulatedRobot
from robot_cell_planner.offline import OfflineCell
from robot_cell_planner.rpc.methods import AnyChange, methods
from robot_cell_planner.rpc.replay import replay
from robot_cell_planner.rpc.session import MAX_REQUEST, RpcSession, discover
from robot_cell_planner.simulation import simulated_cell

DEMO = Path(__file__).parents[3] / "config" / "demo" / "cell.yaml"
GOAL = {"elbow_joint": 1.2, "wrist_2_joint": -1.0}
MOTION = {"goals": {"joint_goals": [GOAL]}, "options": {"seed": 4}}


@pytest.fixture
def session():
    made = RpcSession()
    made.load_cell(str(DEMO))
    yield made
    made.close()


def test_every_change_of_a_scene_can_be_sent():
    exported = [getattr(scene_package, name) for name in dir(scene_package)]
    changes = {kind for kind in exported if hasattr(kind, "__struct_fields__") and hasattr(kind, "apply")}
    assert len(changes) > 10
    assert changes == set(typing.get_args(AnyChange))


def call(session, method, **params):
    """The result of a call, or its error."""
    text = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
    response = json.loads(session.answer(text))
    assert response["id"] == 7
    return response["result"] if "result" in response else response["error"]


def test_a_plan_is_that_of_the_library(session):
    found = call(session, "plan_motion", request=MOTION)
    cell, state = loaded()
    plan = plan_motion(cell, state, MotionRequest(Goals(joint_goals=(GOAL,)), options=PlanningOptions(seed=4)))
    assert np.array_equal(found["path"], plan.path)
    assert np.array_equal(found["trajectory"]["positions"], plan.trajectory.positions)
    assert (found["planner"], found["certified_fraction"]) == (plan.planner, plan.certified_fraction)


def test_solutions_are_those_of_the_library(session):
    pose = {"position": [0.4, 0.2, 0.5], "quaternion": [1.0, 0.0, 0.0, 0.0]}
    found = call(session, "inverse_kinematics", target={"type": "frame_target", "pose": pose})
    cell, state = loaded()
    target = FrameTarget(pose=Pose((0.4, 0.2, 0.5), (1.0, 0.0, 0.0, 0.0)))
    assert np.array_equal(found["solutions"], inverse_kinematics(cell, state, target).solutions)


def test_calls_change_the_state_of_the_session(session):
    before = call(session, "state")["configuration"]
    call(session, "apply", changes=[{"type": "SetJoints", "values": GOAL}])
    assert call(session, "state")["configuration"] == before | GOAL
    assert call(session, "CollisionChecker.report")["pairs"] == []
    call(session, "add_box", name="block", size=[3.0, 3.0, 3.0], pose={"position": [0.0, 0.0, 0.5]})
    pairs = call(session, "CollisionChecker.report")["pairs"]
    assert any("block" in (pair["first"], pair["second"]) for pair in pairs)


def test_an_error_has_code_subjects_numbers_and_remedy(session):
    error = call(session, "inverse_kinematics", target={"type": "frame_target", "pose": {"position": [9.0, 0.0, 0.0]}})
    assert error["code"] == OutOfReachError.code
    assert error["data"]["name"] == "OutOfReachError"
    assert error["data"]["values"][0]["value"] > 7.0
    assert error["data"]["remedy"]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"request": {"goal": {}}}, "has no field 'goal'"),
        ({"request": {}}, "needs goals"),
        ({"cell": {}}, "has no parameter 'cell'"),
        ({}, "needs parameter 'request'"),
        ({"request": MOTION | {"group": 3}}, "request.group is 3"),
        ({"request": {"goals": {"targets": [{"type": "Nothing"}]}}}, "expected one of frame_target, point_axis_target"),
        ({"request": {"goals": {"joint_goals": [{"elbow": 1.0}]}}}, "joint 'elbow' of joint goal 0 does not exist"),
    ],
)
def test_the_wrong_parameter_is_named(session, params, words):
    error = call(session, "plan_motion", **params)
    assert words in error["message"]
    assert error["code"] in set(ERRORS_BY_CODE)
    assert error["data"]["name"] == ERRORS_BY_CODE[error["code"]].__name__  # as in docs/errors.md


def test_an_invalid_value_has_the_name_of_its_code(session):
    error = call(session, "time_joint_path", path=[[0.0], [1.0]], variables=["elbow_joint"], timing={"period": -1.0})
    assert (error["code"], error["data"]["name"]) == (100, "InvalidRequestError")


def test_without_a_cell_the_error_has_a_remedy():
    assert "load_cell" in call(RpcSession(), "state")["message"]


def test_batches_notifications_and_an_order_of_parameters(session):
    notice = {"jsonrpc": "2.0", "method": "version"}
    ask = {"jsonrpc": "2.0", "id": "a", "method": "forward_kinematics", "params": ["manipulator"]}
    (answer,) = json.loads(session.answer(json.dumps([notice, ask])))
    assert answer["id"] == "a"
    assert set(answer["result"]) == {"position", "quaternion"}
    assert session.answer(json.dumps(notice)) == ""


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", -32700),
        (b"\xff\xfe", -32700),
        ("[" * 100_000, -32700),
        ("[]", -32600),
        ('{"id": 1}', -32600),
        ('{"id": 1, "method": "load_cell", "params": {"file": "cell.yaml"}}', -32600),
        ('{"id": 1, "method": 5, "params": []}', -32600),
        ('{"jsonrpc": 2.0, "id": 1, "method": "version"}', -32600),
        (json.dumps({"jsonrpc": "2.0", "id": 1, "method": "no_such"}), -32601),
        (b" " * (MAX_REQUEST + 1), -32600),
    ],
)
def test_invalid_requests_have_the_error_of_the_specification(text, code):
    assert json.loads(RpcSession().answer(text))["error"]["code"] == code


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(sorted(name for name in methods() if name not in ("save_cell", "save_state", "new_cell"))),
    st.dictionaries(st.sampled_from(("request", "target", "path", "plan", "q", "configurations", "twist")), JSON),
)
def test_any_parameters_have_a_response(method, params):
    """No Python exception is returned: `code` is one of the library or of the specification."""
    session = _KEPT.setdefault("session", RpcSession())
    if not _KEPT.get("loaded"):
        session.load_cell(str(DEMO))
        _KEPT["loaded"] = True
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    response = json.loads(session.answer(text))
    assert response["jsonrpc"] == "2.0"
    if "error" in response:
        assert response["error"]["code"] != -32000, response


_KEPT = {}


def test_the_description_is_complete():
    document = discover()
    names = [method["name"] for method in document["methods"]]
    assert {"plan_motion", "CollisionChecker.report", "load_cell", "rpc.discover"} <= set(names)
    assert len(names) == len(set(names))
    schemas = document["components"]["schemas"]
    references = [value for key, value in _entries(document) if key == "$ref"]
    assert {reference.rpartition("/")[2] for reference in references} == set(schemas)
    assert all(method["summary"].endswith(".") for method in document["methods"])
    assert json.loads(RpcSession().answer('{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}'))["result"] == document


def _entries(value):
    """All keys and values of nested objects."""
    if isinstance(value, dict):
        yield from value.items()
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _entries(item)


def test_a_log_replays_and_a_changed_result_is_found():
    log = io.StringIO()
    session = RpcSession(log=log)
    call(session, "load_cell", file=str(DEMO))
    call(session, "plan_motion", request=MOTION)
    call(session, "no_such")
    session.answer("nonsense")
    session.answer(b"\xff nonsense")
    lines = log.getvalue().splitlines()
    assert len(lines) == 5
    assert list(replay(lines, RpcSession())) == [None] * 5
    changed = lines[1].replace('\\"seed\\": 4', '\\"seed\\": 5', 1)
    assert changed != lines[1]
    found = list(replay([lines[0], changed], RpcSession()))
    assert found[0] is None
    assert (found[1].line, found[1].method, found[1].place) == (2, "plan_motion", "result.seed")


@pytest.mark.parametrize("where", ["request", "parameters", "batch"])
def test_repeated_keys_are_refused(session, where):
    twice = '{"frame": "table", "frame": "tool0"}'
    call = f'{{"jsonrpc": "2.0", "id": 1, "method": "forward_kinematics", "params": {twice}}}'
    texts = {
        "request": '{"jsonrpc": "2.0", "id": 1, "method": "cell", "method": "state"}',
        "parameters": call,
        "batch": f'[{{"jsonrpc": "2.0", "id": 0, "method": "version"}}, {call}]',
    }
    error = json.loads(session.answer(texts[where]))["error"]
    assert error["code"] == -32600
    assert "twice" in error["message"]


BIG = int("1" + "0" * 400)


@pytest.mark.parametrize(
    ("q", "place"),
    [
        (["1.0", 0, 0, 0, 0, 0], "q[0]"),
        ([0, 0, 0, 0, 0, True], "q[5]"),
        ([0, 0, [0, False], 0, 0, 0], "q[2][1]"),
        ("0", "q"),
        (True, "q"),
        ([{}], "q[0]"),
        ([BIG, 0, 0, 0, 0, 0], "q"),
        (json.loads("[" * 400 + "]" * 400), "q[0]"),
    ],
)
def test_items_of_arrays_are_numbers(session, q, place):
    error = call(session, "CollisionChecker.in_collision", q=q)
    assert error["code"] == 100
    assert error["message"].split(" is ")[0].startswith(place)


@pytest.mark.parametrize("number", [True, "1.0", [1.0], {}])
def test_numbers_are_numbers(session, number):
    for method, params, name in (
        ("command", {"name": "grip", "positions": {}, "duration": number}, "duration"),
        ("command", {"name": "grip", "positions": {"elbow_joint": number}, "duration": 1.0}, "positions.elbow_joint"),
        ("add_box", {"name": "box", "size": [1.0, 1.0, number]}, "size[2]"),
        ("plan_motion", {"request": MOTION | {"options": {"seed": number}}}, "request.options.seed"),
    ):
        error = call(session, method, **params)
        assert (error["code"], error["message"].split(" is ")[0]) == (100, name)


@pytest.mark.parametrize("duration", [-1.0, 0.0, 1e300, None])
def test_durations_of_commands_are_finite_and_above_zero(session, duration):
    error = call(session, "command", name="grip", positions={"elbow_joint": 0.0}, duration=duration)
    assert error["code"] == 100
    assert "duration is" in error["message"]


def test_a_changed_time_of_a_trajectory_is_found_in_a_replay():
    log = io.StringIO()
    session = RpcSession(log=log)
    call(session, "load_cell", file=str(DEMO))
    call(session, "plan_motion", request=MOTION)
    lines = log.getvalue().splitlines()
    entry = json.loads(lines[1])
    response = json.loads(entry["response"])
    response["result"]["trajectory"]["times"][3] *= 1.5
    response["result"]["times"][0]["seconds"] += 1.0
    changed = json.dumps(entry | {"response": json.dumps(response)})
    found = list(replay([lines[0], changed], RpcSession()))
    assert found[0] is None
    assert found[1].place == "result.trajectory.times[3]"


def test_a_cell_has_the_simulated_robot_of_its_file(session, monkeypatch):
    made = []

    def simulated(_cell, _state, options):
        made.append(options.robot)
        raise FileError("no simulation", stage="test")

    monkeypatch.setattr(simulated_cell, "SimulatedCell", simulated)
    assert "no simulation" in call(session, "command", name="nothing", positions={}, duration=0.01)["message"]
    assert made == [load_simulated_robot(DEMO)]
    assert made != [SimulatedRobot()]


def test_an_error_of_another_kind_has_a_response_with_its_text(session, monkeypatch):
    def fails(*_, **__):
        raise TypeError(SimulatedRobot())  # whose argument has no JSON form

    monkeypatch.setattr(OfflineCell, "pose", fails)
    error = call(session, "pose", frame="world")
    assert error["code"] == -32000
    assert "internal error, see the log: TypeError: SimulatedRobot" in error["message"]
    assert error["data"]["name"] == "TypeError"


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        ("load_cell", {"fil": "x"}, "load_cell has no parameter 'fil'"),
        ("load_cell", {}, "load_cell needs parameter 'file'"),
        ("load_cell", {"file": 7}, "file is 7"),
        ("load_cell", {"file": "cell.yaml\0"}, "null byte"),
        ("cell", {"a": 1}, "cell has no parameter 'a'"),
        ("rpc.discover", {"a": 1}, "discover has no parameter 'a'"),
    ],
)
def test_parameters_of_the_sessions_own_methods_are_checked(session, method, params, words):
    error = call(session, method, **params)
    assert words in error["message"]
    assert error["code"] in set(ERRORS_BY_CODE)


@pytest.mark.parametrize("value", [True, False, 1.5, [], {}])
def test_an_id_of_another_type_is_refused(value):
    answer = json.loads(RpcSession().answer(json.dumps({"jsonrpc": "2.0", "id": value, "method": "version"})))
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    shown = "a list" if value == [] else "an object" if value == {} else json.dumps(value)
    assert f"id of the request is {shown}, expected a string, an integer or null" in answer["error"]["message"]


def test_each_request_of_a_batch_has_its_own_response():
    """The example of the specification."""
    batch = [
        {"jsonrpc": "2.0", "method": "version", "params": [], "id": "1"},
        {"jsonrpc": "2.0", "method": "version", "params": [7]},
        {"foo": "boo"},
        {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
        {"jsonrpc": "2.0", "method": "version", "id": True},
        1,
        {"jsonrpc": "2.0", "method": "version", "id": "9"},
    ]
    answers = json.loads(RpcSession().answer(json.dumps(batch)))
    codes = [(answer["id"], answer.get("error", {}).get("code")) for answer in answers]
    assert codes == [("1", None), (None, -32600), ("5", -32601), (None, -32600), (None, -32600), ("9", None)]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"method": "plan_moton"}, "method 'plan_moton' does not exist; nearest: plan_motion"),
        ({"method": 5}, "the method of the request is 5, expected a string"),
        ({"params": "up"}, 'the params of the request are "up", expected an object or a list'),
        ({"extra": 1}, 'the request has the key "extra"; its keys are'),
        ({"jsonrpc": "1.0"}, 'the request has "jsonrpc": "1.0", expected "jsonrpc": "2.0"'),
    ],
)
def test_the_error_of_an_invalid_request_has_the_reason_and_its_id(changed, words):
    request = {"jsonrpc": "2.0", "id": 3, "method": "version"} | changed
    answer = json.loads(RpcSession().answer(json.dumps(request)))
    assert answer["id"] == 3
    assert words in answer["error"]["message"]


def test_the_error_of_a_text_that_is_no_json_has_the_place():
    assert "line 1 column 10" in json.loads(RpcSession().answer('{"id": 1 "method"'))["error"]["message"]


def test_an_unknown_value_of_an_enumeration_is_refused_with_all_values(session):
    pose = {"position": [0.4, 0.2, 0.5]}
    error = call(session, "inverse_kinematics", target={"type": "frame_target", "mode": "tol", "pose": pose})
    assert error["message"] == "target.mode is 'tol', expected one of robot, tool, workpiece, frame"
    error = call(session, "inverse_kinematics", target={"mode": "tool", "pose": pose})
    assert error["message"] == "target has no field 'type', expected one of frame_target, point_axis_target"


@pytest.mark.parametrize("value", ["a", "", 0, -3, 2**70, None])
def test_ids_of_the_specification_are_returned(value):
    answer = json.loads(RpcSession().answer(json.dumps({"jsonrpc": "2.0", "id": value, "method": "version"})))
    assert answer["id"] == value
    assert "result" in answer
