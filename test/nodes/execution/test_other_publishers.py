"""Another publisher of commands ends whatever this node commands: motions, servo, and the hold between them."""

from types import SimpleNamespace

import pytest

from robot_cell_planner.errors import ExecutionError
from robot_cell_planner.nodes.execution.node import POLLS_PER_STREAM_CHECK, ExecutionNode

FOUND = ExecutionError("joint_commands has other publishers", stage="command topic")


class Part:
    """A motion, or servo; records why it is stopped."""

    def __init__(self, active=True):
        self.active, self.errors = active, []

    def stop(self, error):
        self.errors.append(error)


def check():
    raise FOUND


@pytest.mark.parametrize("motions", [0, 1, 2])
@pytest.mark.parametrize("servo", [False, True])
def test_another_publisher_of_commands_stops_all_that_moves(motions, servo):
    node, checked = ExecutionNode.__new__(ExecutionNode), []
    moving, session = [Part() for _ in range(motions)], Part(servo)
    node._polls, node._runner, node._servo = 0, SimpleNamespace(motions=moving), session
    held = SimpleNamespace(check=lambda: checked.append(True), release_lost=lambda: None)
    node._streamed = SimpleNamespace(check=check, held=held)
    for _ in range(POLLS_PER_STREAM_CHECK):
        node._check_stream()
    assert [part.errors for part in moving] == [[FOUND]] * motions
    assert session.errors == [FOUND] * bool(motions or servo)
    assert len(checked) == (not motions and not servo)
