"""Requests and goals without a reply in a record: those after them are replayed, however many there are."""

import pytest
from service_events import Record

from robot_cell_planner import srv
from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.nodes.conversions.models import ModelReader
from robot_cell_planner.nodes.replaying import exchanges
from robot_cell_planner.nodes.replaying.history import SceneHistory

LIMIT = 5
UNANSWERED = 12


@pytest.mark.parametrize("of_goals", [False, True])
def test_requests_after_many_without_a_reply_are_replayed(tmp_path, monkeypatch, of_goals):
    monkeypatch.setattr(exchanges, "MAX_OPEN", LIMIT)
    record = Record(tmp_path / "bag")
    for number in range(UNANSWERED + 1):
        answered = number == UNANSWERED
        if of_goals:
            record.goal(number, answered)
        else:
            reply = srv.GetCell.Response() if answered else None
            record.add("s", "robot_cell_planner/srv/GetCell_Event", srv.GetCell.Request(), reply)
    record.bag.close()
    reader = exchanges.RecordReader(tmp_path / "bag", SceneHistory(ModelReader(NO_ROOTS)))
    assert [exchange.name for exchange in reader.exchanges()] == ["p" if of_goals else "s"]
    assert reader.unanswered == UNANSWERED
