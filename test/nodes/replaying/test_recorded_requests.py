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
    StaleStateError,
    TransformExtrapolationError,
)
from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.msg import ErrorReport, SceneUpdate
from robot_cell_planner.nodes.replaying.replay import replay

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


def test_a_replay_that_repeats_nothing_is_no_success(record, tmp_path, capsys):
    record.add(
        "execution/control_motion", "robot_cell_planner/srv/ControlMotion_Event",
        srv.ControlMotion.Request(), srv.ControlMotion.Response(),
    )  # fmt: skip
    record.bag.close()
    options = {"recorded_namespace": "", "folders": (), "namespace": "", "domain_id": None, "timeout": 1.0}
    assert command(tmp_path / "bag", offline=True, as_json=False, **options) == 1
    assert "no request was repeated" in capsys.readouterr().out
