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


WAITING = """
from robot_cell_planner.nodes.client import CellClient

with CellClient(discovery_timeout=80_000.0) as client:
    print("waiting", flush=True)
    {wait}
"""


@pytest.mark.parametrize("wait", ["client.wait_until_ready(80_000.0)", "client.simulation()", "client.plan_motion({})"])
def test_a_script_that_is_terminated_does_not_go_on_waiting(domain, wait):
    """SIGTERM shuts ROS down; the script would wait until its timeout for replies that nobody receives."""
    program = subprocess.Popen(
        [sys.executable, "-c", WAITING.format(wait=wait)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert program.stdout.readline() == "waiting\n"
    program.terminate()
    _, errors = program.communicate(timeout=120.0)
    assert program.returncode == 1
    assert "ROS was shut down in this process, as by SIGTERM" in errors.splitlines()[-1]


@pytest.mark.parametrize(("user", "handled"), [("command", "NO"), ("script", "SIGTERM")])
def test_a_signal_that_python_handles_is_left_to_it(user, handled):
    done = subprocess.run([sys.executable, "-c", PROGRAM, user], capture_output=True, text=True, check=True)
    assert done.stdout == f"{handled}\n"


NOT_CLOSED = """
import atexit
from robot_cell_planner.nodes.client import CellClient

atexit.register(lambda: print("runs" if client._thread.is_alive() else "ended"))
client = CellClient(discovery_timeout=1.0)
{end}
"""


@pytest.mark.parametrize(("end", "status"), [("", 0), ("raise SystemExit(3)", 3), ("raise KeyboardInterrupt", -2)])
def test_a_script_that_does_not_close_its_client_ends_with_its_own_status(domain, end, status):
    """The interpreter can abort if it ends while the thread of the client is in rclpy."""
    done = subprocess.run([sys.executable, "-c", NOT_CLOSED.format(end=end)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (status, "ended\n"), done.stderr
