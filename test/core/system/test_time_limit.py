"""A library call that does not return cannot block a process beyond its time limit."""

import signal
import subprocess
import sys

# `PyDLL` keeps Python's global lock, as extension modules do.
PROGRAM = """
import ctypes, signal
from robot_cell_planner.system.time_limit import end_process_after
signal.signal(signal.SIGALRM, lambda *_: print("own handler"))
def library():
    {call}
with end_process_after(1.0):
    library()
signal.raise_signal(signal.SIGALRM)
"""


def run(call):
    command = [sys.executable, "-c", PROGRAM.format(call=call)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_call_that_never_returns_ends_the_process_and_is_named():
    found = run("ctypes.PyDLL(None).pause()")
    assert found.returncode == -signal.SIGALRM
    assert "in library" in found.stderr


def test_a_call_within_the_time_limit_has_no_effect():
    found = run("pass")
    assert (found.returncode, found.stdout, found.stderr) == (0, "own handler\n", "")
