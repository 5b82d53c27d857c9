"""Forks of a process with the ROS client library: tracing continues in the children, or the process is not forked."""

import subprocess
import sys

PROGRAM = """
import os, signal, threading
from importlib import import_module
from robot_cell_planner.nodes.bringup.tracing import traced_forks
{load}
threads = lambda: len(os.listdir("/proc/self/task"))
blocked = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ())
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGUSR1}})
print(threads(), *blocked(), flush=True)
traced_forks.before()
between = os.fork()
if between == 0:
    pid = os.fork()
    if pid == 0:
        os.closerange(3, 100)
        traced_forks.in_child()
        print(threads(), *blocked(), flush=True)
    else:
        os.waitpid(pid, 0)
    os._exit(0)
traced_forks.in_parent()
os.waitpid(between, 0)
print(threads(), *blocked(), flush=True)
"""


def lines(load):
    program = PROGRAM.format(load=load)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)


def test_children_have_the_threads_of_tracing_and_the_blocked_signals_of_their_parent():
    done = lines('traced_forks.import_forkable(lambda: import_module("rclpy"))')
    before, child, after = done.stdout.splitlines()
    assert before.split()[1:] == ["10"], "SIGUSR1"
    assert before == child == after


def test_a_library_with_other_threads_is_not_forked():
    done = lines("traced_forks.import_forkable(threading.Thread(target=threading.Event().wait, daemon=True).start)")
    assert "NotSupportedError" in done.stderr
    assert "1 threads" in done.stderr
    assert done.stdout == ""


def test_a_library_without_threads_can_be_forked():
    done = lines('traced_forks.import_forkable(lambda: import_module("json"))')
    assert done.stdout.splitlines() == ["1 10"] * 3
