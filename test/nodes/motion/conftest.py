"""Fixtures of tests of motions: a stream of commands with a clock that the test sets."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from robot_cell_planner.nodes.motion.command_stream import CommandStream


@pytest.fixture
def clock():
    return SimpleNamespace(now=0.0)


@pytest.fixture
def stream(clock):
    made = CommandStream(MagicMock(), MagicMock(), rate=250.0, clock=lambda: clock.now)
    yield made
    made.close()
