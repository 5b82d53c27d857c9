"""Nodes end with the launch process that has started them, whatever ends it."""

import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from robot_cell_planner.nodes.bringup.adoption import adopting
from robot_cell_planner.nodes.common.launched import LAUNCH_PROCESS, end_with_launch, launch_variables
from robot_cell_planner.nodes.execution import shutdown

TIME_LIMIT = 60.0  # [s]
# Starts a node as launch does, and waits, with several threads. Arguments: a program before it, the code of the node.
LAUNCH = """
import os, subprocess, sys, threading
from robot_cell_planner.nodes.common.launched import launch_variables
before, node = sys.argv[1:]
process = subprocess.Popen([*before.split(), sys.executable, "-c", node], env={**os.environ, **launch_variables()})
for _ in range(20):
    threading.Thread(target=process.wait, daemon=True).start()
print(process.pid, flush=True)
process.wait()
"""
NODE = f"""
import os, signal, sys
from types import ModuleType
module = sys.modules["stand_in"] = ModuleType("stand_in")
def main():
    try:
        print("variable", {LAUNCH_PROCESS!r} in os.environ, flush=True)
        sys.stdin.read()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, lambda *_: print("interrupted again", flush=True))
        print("interrupted", flush=True)
        sys.stdin.readline()
        return 7
module.main = main
from robot_cell_planner.nodes.common.dependencies import start
sys.exit(start("stand_in", "stand_in:main"))
"""


@pytest.fixture
def launch():
    """Function that returns a launch process, whose node runs, and the number of its child."""
    started = []

    def launch(before=""):
        process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, before, NODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append((process, threading.Timer(TIME_LIMIT, process.stdin.close)))
        started[-1][1].start()
        number, variable = sorted(process.stdout.readline() for _ in range(2))  # of both processes, in any order
        assert variable == "variable False\n", "its own processes do not end with the launch"
        return process, int(number)

    with adopting():
        yield launch
        for process, timer in started:
            timer.cancel()
            process.stdin.close()
            process.stdout.close()
            process.kill()
            process.wait()


def assert_interrupted_once(process):
    """A second signal would end the execution node without waiting for the robot to stop."""
    assert process.stdout.readline() == "interrupted\n"
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.read() == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_node_is_interrupted_when_its_launch_ends(launch, number):
    process, node = launch()
    process.send_signal(number)
    assert process.wait() == -number
    assert_interrupted_once(process)
    assert os.waitstatus_to_exitcode(os.waitpid(node, 0)[1]) == 7


@pytest.mark.parametrize("error", [AttributeError, OSError])
def test_a_node_starts_where_there_are_no_descriptors_of_processes(monkeypatch, error):
    """Before Linux 5.3, and in Pythons that were built for older ones."""

    def missing(_):
        raise error

    monkeypatch.setenv(LAUNCH_PROCESS, named(os.getppid()))
    monkeypatch.setattr(os, "pidfd_open", missing)
    threads = threading.active_count()
    end_with_launch()
    assert threading.active_count() == threads
    assert LAUNCH_PROCESS not in os.environ


@pytest.mark.parametrize(
    ("names", "at_once"),
    [
        (("SIGTERM",), False),
        (("SIGTERM", "SIGTERM"), True),
        (("SIGHUP",), False),
        (("SIGHUP", "SIGHUP"), False),
        (("SIGTERM", "SIGHUP"), False),
        (("SIGHUP", "SIGTERM", "SIGINT"), True),
    ],
)
@pytest.mark.parametrize("launch_ends", [False, True])
def test_signals_that_others_repeat_are_no_second_request_to_end(monkeypatch, names, at_once, launch_ends):
    """A service manager ends launch and nodes by one signal each, and launch interrupts the nodes by its end. When a
    terminal is closed, the kernel and the shell send SIGHUP."""
    ended = threading.Event()
    monkeypatch.setattr(shutdown, "LAUNCH_ENDED", ended)
    monkeypatch.setattr(shutdown, "steady_timer", lambda *_, **__: None)
    access = SimpleNamespace(owner="a goal", cancel_all=lambda reason: None)
    ends = []
    monkeypatch.setattr(shutdown, "GuardedExecutor", SimpleNamespace)
    executor = SimpleNamespace(end=lambda: ends.append("ended"))
    node = SimpleNamespace(configured=True, requests=SimpleNamespace(refuse=lambda reason: None), executor=executor)
    requested = shutdown.RequestedShutdown(node, lambda: [access])
    if launch_ends:
        ended.set()
        requested.request()
    for name in names:
        requested.request(signal.Signals[name])
    requested._end_if_requested()
    assert bool(ends) == at_once


def test_a_program_between_that_becomes_the_node_changes_nothing(launch):
    """As with a `launch-prefix` such as `nice` or `taskset`."""
    process, node = launch("env")
    process.kill()
    process.wait()
    assert_interrupted_once(process)
    assert os.waitstatus_to_exitcode(os.waitpid(node, 0)[1]) == 7


def run_node(launch):
    """Run a node that a launch process is said to have started, without input."""
    variables = {**os.environ, LAUNCH_PROCESS: launch}
    return subprocess.run(
        [sys.executable, "-c", NODE], env=variables, capture_output=True, check=False, input=b"\n", timeout=TIME_LIMIT
    )


def named(number):
    """A launch process of this namespace, by its number."""
    own = launch_variables()[LAUNCH_PROCESS]
    return f"{own.removesuffix(str(os.getpid()))}{number}"


def ended_process(collected=True):
    """The number of a process that has ended. collected: Whether its parent, this process, has taken note of it."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    if collected:
        process.wait()
    return process.pid


def test_a_node_with_a_program_between_is_left_to_it():
    """As with a debugger, whose child the node is."""
    node = run_node(named(os.getppid()))
    assert (node.returncode, node.stdout) == (0, b"variable False\n")


@pytest.mark.parametrize("collected", [True, False])
def test_a_node_whose_launch_has_ended_while_it_started_ends(collected):
    node = run_node(named(ended_process(collected)))
    assert node.returncode in {-signal.SIGINT, 7}  # 7: a thread waits for the end of launch, and is later


def test_a_node_in_another_container_than_launch_is_left_alone():
    """Its processes have other numbers: none, or another one, may have that of launch."""
    node = run_node(f"pid:[1]/{ended_process()}")
    assert (node.returncode, node.stdout) == (0, b"variable False\n")
