"""A goal gets its result even if its response is handled before the sending thread continues."""

import re
import threading
from pathlib import Path
from typing import ClassVar

import pytest
from folders import SUPPORT
from rclpy.action import ActionClient, ActionServer

from benchmarks import moveit
from robot_cell_planner import action
from robot_cell_planner.nodes.client.client import CellClient

NAME = "planning/plan_motion"
TIMEOUT = 60.0  # [s] for a response


class Lock:
    """A lock that the main thread leaves only after the response to its goal was handled, as on a busy computer."""

    def __init__(self, lock, handled):
        self._lock, self._handled = lock, handled

    def __enter__(self):
        return self._lock.__enter__()

    def __exit__(self, *error):
        self._lock.__exit__(*error)
        if threading.current_thread() is threading.main_thread():
            assert self._handled.wait(TIMEOUT)


class SlowSender(ActionClient):
    senders: ClassVar[list[threading.Thread]] = []

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.handled = threading.Event()
        if hasattr(self, "_lock"):  # rclpy of Jazzy has none
            self._lock = Lock(self._lock, self.handled)

    def send_goal_async(self, *arguments, **keywords):
        self.senders.append(threading.current_thread())
        return super().send_goal_async(*arguments, **keywords)

    async def execute(self, taken_data):
        is_response = "goal" in taken_data
        await super().execute(taken_data)
        if is_response:
            self.handled.set()


def end(goal):
    goal.succeed()
    return action.PlanMotion.Result()


@pytest.fixture
def client(domain):
    with CellClient("test_sending_thread", discovery_timeout=60.0) as client:
        server = client._made(lambda: ActionServer(client.node, action.PlanMotion, NAME, end))
        yield client
        client._made(server.destroy)


def test_the_benchmark_of_actions_loses_no_response(client, monkeypatch):
    monkeypatch.setattr(moveit, "ActionClient", SlowSender)
    SlowSender.senders.clear()
    send = moveit.sender(client, action.PlanMotion, NAME, action.PlanMotion.Goal())
    assert send() > 0.0
    assert SlowSender.senders == [client._thread]


def test_only_the_client_and_the_nodes_send_goals_by_rclpy():
    """`CellConnection._send_goal_async` does it in the thread of the executor, which is the only one of a node."""
    folders = [SUPPORT.parents[1] / name for name in ("benchmarks", "examples", "test")]
    one_thread = SUPPORT.parents[1] / "test/nodes/common/test_goal_requests.py"
    programs = {path for folder in folders for path in folder.rglob("*.py")} - {Path(__file__), one_thread}
    assert not [path.name for path in programs if re.search(r"[.]send_goal_async\b", path.read_text(encoding="utf-8"))]
