"""Which requests of a bag are repeated: those to the nodes in a namespace, unless the reply depends on time."""

import pytest
from service_events import Record

from robot_cell_planner import srv
from robot_cell_planner.commands.actions.replay import replay as command
from robot_cell_planner.errors import (
    CancelledError,
    FileError,
    InvalidRequestError,
    NotActiveError,
    ServiceUnavailableError,
    StaleStateError,
    TimedOutError,
    TransformExtrapolationError,
)
from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.msg import ErrorReport, ErrorValue, IkResult, SceneUpdate
from robot_cell_planner.nodes.conversions.plain_values import message_to_plain
from robot_cell_planner.nodes.replaying.exchanges import RecordReader, joint_topics
from robot_cell_planner.nodes.replaying.replay import is_ended_by_time, replay

UPDATE_AGAIN = 7


def add(record, name, error=None, previous_revision=0):
    """Add a change that was applied by a scene node, or refused by an error."""
    report = ErrorReport() if error is None else ErrorReport(code=error.code, name=error.__name__)
    reply = srv.ApplyChanges.Response(error=report, update=SceneUpdate(previous_revision=previous_revision))
    record.add(name, "robot_cell_planner/srv/ApplyChanges_Event", srv.ApplyChanges.Request(), reply)


def replayed(folder, namespace="", answer=lambda exchange, _scene: exchange.reply):
    """The outcome of a replay, whose answers are the recorded ones by default."""
    return replay(folder, answer, NO_ROOTS, namespace)


@pytest.fixture
def record(tmp_path):
    return Record(tmp_path / "bag")


@pytest.mark.parametrize(("namespace", "count"), [("", 1), ("cell", 2), ("/cell/", 2), ("cell1/scene", 3)])
def test_the_requests_of_one_namespace_are_repeated(record, tmp_path, namespace, count):
    for prefix, number in (("", 1), ("cell/", 2), ("cell1/scene/", 3)):
        for _ in range(number):
            add(record, f"{prefix}scene/apply_changes")
    record.bag.close()
    outcome = replayed(tmp_path / "bag", namespace)
    assert outcome.repeated == {"scene/apply_changes": count}
    assert not outcome.skipped


@pytest.mark.parametrize(
    ("recorded", "asked", "text"),
    [
        (["cell1/", "cell2/"], "", "without a namespace, but to nodes in namespace /cell1, in namespace /cell2"),
        (["cell1/"], "cell", "in namespace /cell, but to nodes in namespace /cell1"),
        ([""], "cell", "in namespace /cell, but to nodes without a namespace"),
    ],
)
def test_a_record_without_requests_in_the_namespace_is_refused(record, tmp_path, recorded, asked, text):
    for prefix in recorded:
        add(record, f"{prefix}scene/apply_changes")
    record.bag.close()
    with pytest.raises(FileError, match="has no requests to nodes") as raised:
        replayed(tmp_path / "bag", asked)
    assert text in raised.value.message
    assert "--recorded-namespace" in raised.value.remedy


@pytest.mark.parametrize("error", [StaleStateError, CancelledError, NotActiveError, TransformExtrapolationError])
def test_errors_that_depend_on_time_are_not_expected_again(record, tmp_path, error):
    add(record, "scene/apply_changes", error)
    add(record, "scene/apply_changes", InvalidRequestError)
    record.bag.close()
    outcome = replayed(tmp_path / "bag")
    assert (outcome.repeated, outcome.skipped) == ({"scene/apply_changes": 1}, {"scene/apply_changes": 1})
    assert outcome.reasons["scene/apply_changes"] == f"its reply, {error.__name__}, depends on time"


def test_numbers_of_revisions_are_not_compared(record, tmp_path):
    add(record, "scene/apply_changes", previous_revision=1)
    record.bag.close()

    def answer(exchange, _scene):
        return srv.ApplyChanges.Response(update=SceneUpdate(previous_revision=UPDATE_AGAIN))

    assert replayed(tmp_path / "bag", answer=answer).differences == []


@pytest.mark.parametrize("asked", ["", "cell2"])
def test_a_wrong_namespace_is_refused_before_anything_is_read_or_repeated(record, tmp_path, monkeypatch, asked):
    add(record, "cell1/scene/apply_changes")
    record.bag.close()
    monkeypatch.setattr(RecordReader, "exchanges", lambda _: pytest.fail("the messages were read"))
    with pytest.raises(FileError, match="but to nodes in namespace /cell1"):
        replay(tmp_path / "bag", pytest.fail, NO_ROOTS, asked, on_start=lambda: pytest.fail("nodes were searched"))


def test_nodes_that_do_not_answer_are_reported_before_anything_is_repeated(record, tmp_path):
    add(record, "scene/apply_changes")
    record.bag.close()

    def start():
        raise ServiceUnavailableError("no node")

    with pytest.raises(ServiceUnavailableError):
        replay(tmp_path / "bag", pytest.fail, NO_ROOTS, on_start=start)


def timed_out(*values):
    report = ErrorReport(code=TimedOutError.code, name=TimedOutError.__name__)
    report.values = [ErrorValue(name=name, value=value, limit=limit, unit=unit) for name, value, limit, unit in values]
    return report


BY_TIME, LATER = timed_out(("time", 1.01, 1.0, "s")), timed_out(("time", 1.07, 1.0, "s"))
BY_WORK = timed_out(("states checked", 101.0, 100.0, ""))
SUCCESS = ErrorReport()


@pytest.mark.parametrize(
    ("recorded", "present", "limits", "differences"),
    [
        (BY_TIME, SUCCESS, [True], 0),
        (SUCCESS, BY_TIME, [False], 0),
        (BY_TIME, LATER, [], 0),
        (BY_WORK, SUCCESS, [], 1),
        (BY_WORK, BY_WORK, [], 0),
    ],
)
def test_a_time_limit_that_ends_differently_is_no_difference(record, tmp_path, recorded, present, limits, differences):
    """Unlike a limit of counted work, which ends alike each time."""
    kind = "robot_cell_planner/srv/ApplyChanges_Event"
    record.add("scene/apply_changes", kind, srv.ApplyChanges.Request(), srv.ApplyChanges.Response(error=recorded))
    record.bag.close()
    outcome = replayed(tmp_path / "bag", answer=lambda *_: srv.ApplyChanges.Response(error=present))
    assert [limit.in_record for limit in outcome.time_limits] == limits
    assert (len(outcome.differences), outcome.compared) == (differences, 1 - len(limits))


def test_a_time_limit_of_a_part_of_a_reply_is_found():
    results = [IkResult(error=SUCCESS), IkResult(error=BY_TIME)]
    assert is_ended_by_time(message_to_plain(srv.InverseKinematics.Response(results=results)))
    assert not is_ended_by_time(message_to_plain(srv.InverseKinematics.Response(results=results[:1])))


@pytest.mark.parametrize(
    ("topics", "prefix", "expected"),
    [
        (["/joint_states"], "", {"/joint_states": ""}),
        (["/joint_states", "/cell1/scene/get_state/_service_event"], "/cell1", {"/joint_states": ""}),
        (["/joint_states", "/cell1/joint_states"], "/cell1", {"/cell1/joint_states": ""}),
        (
            ["/left/joint_states", "/right/joint_states"],
            "",
            {"/left/joint_states": "left/", "/right/joint_states": "right/"},
        ),
        (["/joint_states", "/b/left/joint_states", "/b/scene/get_cell/_service_event"], "", {"/joint_states": ""}),
        (
            ["/joint_states", "/b/left/joint_states", "/b/scene/get_cell/_service_event"],
            "/b",
            {"/b/left/joint_states": "left/"},
        ),
        ([], "/cell1", {"/cell1/joint_states": ""}),
    ],
)
def test_joint_states_are_those_that_the_nodes_may_have_read(topics, prefix, expected):
    assert joint_topics(topics, prefix) == expected


def test_a_replay_that_repeats_nothing_is_no_success(record, tmp_path, capsys):
    record.add(
        "execution/control_motion", "robot_cell_planner/srv/ControlMotion_Event",
        srv.ControlMotion.Request(), srv.ControlMotion.Response(),
    )  # fmt: skip
    record.bag.close()
    options = {"recorded_namespace": "", "folders": (), "namespace": "", "domain_id": None, "timeout": 1.0}
    assert command(tmp_path / "bag", offline=True, as_json=False, **options) == 1
    assert "no request was repeated" in capsys.readouterr().out
