"""Wait for the end of a process with a timeout."""

import os
import subprocess
import sys

import pytest

from robot_cell_planner.system.process_end import wait_for_end


@pytest.fixture
def process():
    """A process that ends when its standard input is closed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_it_returns_after_the_end_and_leaves_the_status(process):
    process.kill()
    assert 0.0 < wait_for_end(process.pid, 60.0) < 60.0
    assert process.wait(0.0) == -9


def test_it_returns_when_the_time_is_over(process):
    assert wait_for_end(process.pid, 0.01) == 0.0
    assert process.poll() is None


def test_without_descriptors_of_processes_it_does_not_wait(process, monkeypatch):
    monkeypatch.delattr(os, "pidfd_open")
    assert wait_for_end(process.pid, 60.0) > 0.0
    assert process.poll() is None
