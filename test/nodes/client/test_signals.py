"""A signal that raises KeyboardInterrupt does not end the client's context, so that it can still cancel goals."""

import subprocess
import sys

import pytest

PROGRAM = """
import signal, sys
from rclpy.signals import get_current_signal_handlers_options
from robot_cell_planner.commands.interruption import ended_as_by_ctrl_c
from robot_cell_planner.nodes.client.connection import CellConnection

if sys.argv[1] == "command":
    with ended_as_by_ctrl_c(), CellConnection("signals", "", 1.0):
        print(get_current_signal_handlers_options().name)
else:
    with CellConnection("signals", "", 1.0):
        print(get_current_signal_handlers_options().name)
"""


@pytest.mark.parametrize(("user", "handled"), [("command", "NO"), ("script", "SIGTERM")])
def test_a_signal_that_python_handles_is_left_to_it(user, handled):
    done = subprocess.run([sys.executable, "-c", PROGRAM, user], capture_output=True, text=True, check=True)
    assert done.stdout == f"{handled}\n"
