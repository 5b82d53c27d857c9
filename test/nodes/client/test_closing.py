"""A client whose middleware blocks for good is closed in bounded time, and so does the program end."""

import signal
import subprocess
import sys
import threading

import pytest
import rclpy

from robot_cell_planner.nodes.client import CellClient

PROGRAM = """
import ctypes, signal, sys, threading
from robot_cell_planner.nodes.client import CellClient, closing

closing.CLOSED_WITHIN, closing.ENDED_WITHIN, closing.EXIT_WITHIN = 0.5, {ended_within}, {exit_within}

def destroy_blocked():
    {block}

client = CellClient("script", discovery_timeout=1.0)
client.node.destroy_node = destroy_blocked
{end}
"""
RELEASES_LOCK = "threading.Event().wait()"
HOLDS_LOCK = "ctypes.PyDLL(None).pause()"  # as rclpy does


def run(block, end, ended_within=60.0, exit_within=60.0):
    """A program with time limits that a busy computer does not exceed, unless a test expects that."""
    program = PROGRAM.format(block=block, end=end, ended_within=ended_within, exit_within=exit_within)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120.0)


@pytest.mark.parametrize("end", ["client.close(); print('goes on'); sys.exit(3)", "print('goes on'); sys.exit(3)"])
def test_a_program_goes_on_without_a_client_that_is_not_closed(domain, end):
    done = run(RELEASES_LOCK, end)
    assert (done.returncode, done.stdout) == (3, "goes on\n"), done.stderr
    assert "script: warning: the client is not closed after 0.5 s" in done.stderr
    assert "in destroy_blocked" in done.stderr


def test_a_callback_that_does_not_end_is_named(domain):
    end = "client.node.create_timer(0.01, destroy_blocked); threading.Event().wait(0.5); client.close(); sys.exit(3)"
    done = run(RELEASES_LOCK, end)
    assert done.returncode == 3, done.stderr
    assert "in destroy_blocked" in done.stderr


@pytest.mark.parametrize("end", ["client.close()", ""])
def test_a_program_whose_lock_is_held_for_good_ends_with_tracebacks(domain, end):
    """No code of Python runs any more: the kernel ends the process."""
    done = run(HOLDS_LOCK, end, ended_within=2.0)
    assert done.returncode == -signal.SIGALRM
    assert "in destroy_blocked" in done.stderr


def test_an_interpreter_that_the_middleware_does_not_let_end_is_ended(domain):
    """Destructors of the middleware run after the interpreter has ended."""
    register = "libc = ctypes.PyDLL(None); getattr(libc, '__cxa_atexit')(libc.pause, None, None)"
    done = run(RELEASES_LOCK, f"{register}; client.close(); print('goes on', flush=True)", exit_within=2.0)
    assert (done.returncode, done.stdout) == (-signal.SIGALRM, "goes on\n")
    assert "script: warning" in done.stderr


def test_a_timer_and_a_handler_of_the_program_are_left_as_they_are(domain):
    handler = "signal.signal(signal.SIGALRM, print); signal.setitimer(signal.ITIMER_REAL, 1000.0)"
    check = "print(signal.getsignal(signal.SIGALRM) is print, signal.getitimer(signal.ITIMER_REAL)[0] > 0.0)"
    done = run("pass", f"{handler}; client.close(); {check}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "True True\n", "")


def test_a_client_is_closed_after_ros_was_shut_down(domain):
    """Its thread runs no callbacks any more, and destroys the executor as soon as it may."""
    client = CellClient("script")
    rclpy.shutdown()
    may_destroy = client._closing.set

    def destroyed():
        may_destroy()
        client._thread.join()

    client._closing.set = destroyed
    client.close()
    assert not client._thread.is_alive()


def test_an_unexpected_end_of_the_thread_is_reported_at_once(domain, monkeypatch):
    class Broken(CellClient):
        def _spin(self):
            raise RuntimeError("the middleware is lost")

    found, is_reported = [], threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda given: (found.append(given.exc_value), is_reported.set()))
    with Broken("script") as client:
        assert is_reported.wait(60.0)
        assert client._thread.is_alive()
    assert [str(error) for error in found] == ["the middleware is lost"]
