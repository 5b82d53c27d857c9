"""The reasons why requests of a bag are not repeated."""

from types import SimpleNamespace

import pytest

from robot_cell_planner.nodes.replaying.offline import Library
from robot_cell_planner.nodes.replaying.online import RunningNodes
from robot_cell_planner.nodes.replaying.replay import NotRepeatedError


@pytest.mark.parametrize("answers", [Library(None), RunningNodes(None)], ids=["offline", "online"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("execution/execute_trajectory", "robots do not move in a replay"),
        ("scene/wait_for_state", "its reply depends on time"),
        ("scene/save_cell", "it writes a file"),
    ],
)
def test_the_reason_is_the_same_with_and_without_nodes(answers, name, reason):
    with pytest.raises(NotRepeatedError) as raised:
        answers(SimpleNamespace(name=name), None)
    assert raised.value.message == reason
