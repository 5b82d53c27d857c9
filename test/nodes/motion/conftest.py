"""Fixtures of tests of motions: a stream of commands with a clock that the test sets."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from robot_cell_planner.nodes.motion.command_stream import CommandStream
from robot_cell_planner.nodes.motion.motion_clock import SteadyClock


@pytest.fixture
def clock():
    return SimpleNamespace(now=0.0)


@pytest.fixture
def stream(clock):
    node = MagicMock()
    made = CommandStream(node, MagicMock(), rate=250.0, clock=SteadyClock(node, lambda: clock.now))
    yield made
    made.close()
