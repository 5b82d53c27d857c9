"""Forks of a process with the client library of ROS: its tracing goes on in the children, or there are no forks."""

import subprocess
import sys

PROGRAM = """
import os, signal, threading
from importlib import import_module
from robot_cell_planner.nodes.bringup.tracing import import_forkable
{load}
threads = lambda: len(os.listdir("/proc/self/task"))
blocked = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ())
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGUSR1}})
print(threads(), *blocked(), flush=True)
for _ in range(2):  # a child, and a child of it
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        break
    print(threads(), *blocked(), flush=True)
os._exit(0)
"""


def lines(load):
    program = PROGRAM.format(load=load)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)


def test_children_have_the_threads_of_tracing_and_the_blocked_signals_of_their_parent():
    done = lines('import_forkable(lambda: import_module("rclpy"))')
    parent, child, grandchild = done.stdout.splitlines()
    assert parent.split()[1:] == ["10"], "SIGUSR1"
    assert child == grandchild == parent


def test_a_library_with_other_threads_is_not_forked():
    done = lines("import_forkable(threading.Thread(target=threading.Event().wait, daemon=True).start)")
    assert "NotSupportedError" in done.stderr
    assert "1 threads" in done.stderr
    assert done.stdout == ""


def test_a_library_without_threads_can_be_forked():
    done = lines('import_forkable(lambda: import_module("json"))')
    assert done.stdout.splitlines() == ["1 10"] * 3
