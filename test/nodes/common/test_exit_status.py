"""The exit status of a node says whether it could not start, or had started and failed: then it is started again."""

import subprocess
import sys

import pytest

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.nodes.bringup.respawn import NODE_RULE

NODE = """
import sys
from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.nodes.common.node import CellNode, run
WRONG = InvalidRequestError("no cell file", stage="parameters")
class FailingNode(CellNode):
    def __init__(self):
        super().__init__("failing_node")
    def start(self):
        {start}
def broken(*_):
    raise KeyError("an internal error")
def interrupted(*_):
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        raise SystemError("take returned a result with an exception set") from error
sys.exit(run(FailingNode, "failing_node"))
"""
STARTS_NOT = {"refusal": "raise WRONG", "internal error": "broken()"}
FAILS_LATER = {
    "its own failure": "self.create_timer(0.01, lambda: self.fail(WRONG))",
    "internal error": "self.executor.spin = broken",
}


def status(start):
    """Return the exit status of a node, with its errors."""
    code = NODE.format(start=start)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr


def ends_session(exit_status, lasted=1.0):
    """Return whether an end after the first run ends the session."""
    return NODE_RULE.gives_up(NODE_RULE.failures_after(0, lasted, exit_status), exit_status, first=True)


@pytest.mark.parametrize("start", STARTS_NOT.values(), ids=STARTS_NOT)
def test_a_node_that_cannot_start_is_not_started_again(domain, start):
    found, errors = status(start)
    assert found == 1, errors
    assert ends_session(found)


def test_a_node_that_cannot_start_prints_what_to_do(domain):
    error = InvalidRequestError("no cell file", stage="parameters")
    assert status("raise WRONG")[1].splitlines()[-1] == f"failing_node: {error}. {error.remedy}"


@pytest.mark.parametrize("start", FAILS_LATER.values(), ids=FAILS_LATER)
def test_a_node_that_fails_soon_after_its_first_start_is_started_again(domain, start):
    found, errors = status(start)
    assert found == 4, errors
    assert "no cell file" in errors or "KeyError: 'an internal error'" in errors
    assert not ends_session(found)


def test_an_interrupt_while_a_message_is_converted_is_no_failure(domain):
    """Python reports it as an error of the function that takes the message."""
    assert status("self.executor.spin = interrupted") == (0, "")


def test_a_node_that_fails_soon_after_each_start_is_given_up():
    failures = 0
    for _ in range(NODE_RULE.failures):
        assert not NODE_RULE.gives_up(failures, 4, first=failures == 0)
        failures = NODE_RULE.failures_after(failures, 1.0, 4)
    assert NODE_RULE.gives_up(failures, 4, first=False)
