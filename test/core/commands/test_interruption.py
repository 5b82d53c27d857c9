"""SIGTERM and SIGHUP end a command as Ctrl-C does: nothing that it started or made for the time being is left."""

import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial

import pytest

from robot_cell_planner.commands import interruption
from robot_cell_planner.commands.main import main

ENDS_WITHIN = 30.0  # [s] for a process that was killed
# In place of V-HACD: says its process, and waits for its end.
PROGRAM = """
import os, subprocess, sys, tempfile
import click
from robot_cell_planner.commands import main as module
from robot_cell_planner.commands.group import commands

@click.command()
def slow():
    with tempfile.TemporaryDirectory(dir=sys.argv[1]):
        subprocess.run([sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"])

commands.add_command(slow)
module.COMMANDS = (*module.COMMANDS, "slow")
sys.exit(module.main(["slow"]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_command_that_is_ended_leaves_no_process_and_no_files(number, tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    # Signals that this process ignores, for example below `nohup`, would be ignored there as well.
    by_default = partial(signal.signal, number, signal.SIG_DFL)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=by_default
    )
    inner = int(process.stdout.readline())
    watched = os.pidfd_open(inner)
    process.send_signal(number)
    process.wait()
    end = select.poll()
    end.register(watched)
    try:
        assert end.poll(1000.0 * ENDS_WITHIN), "the inner process goes on"
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(watched, signal.SIGKILL)
        os.close(watched)
    _, errors = process.communicate()
    assert (process.returncode, errors.strip()) == (1, "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cause", [KeyboardInterrupt(), None])
def test_ctrl_c_in_a_compiled_kernel_ends_a_command_as_elsewhere(cause):
    """Numba raises SystemError with the interrupt as its cause; without this cause, it is a defect that is shown."""
    with (
        pytest.raises(KeyboardInterrupt if cause else SystemError, match=None if cause else "exception set"),
        interruption.ended_as_by_ctrl_c(),
    ):
        raise SystemError("CPUDispatcher(<function search>) returned a result with an exception set") from cause


def test_signals_have_their_handlers_again_after_a_command():
    before = {number: signal.getsignal(number) for number in interruption.ENDS}
    assert main(["--version"]) == 0
    assert {number: signal.getsignal(number) for number in interruption.ENDS} == before


def test_signals_that_are_ignored_stay_so():
    own = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruption.ended_as_by_ctrl_c():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, own)


def test_a_command_can_run_in_another_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(main(["--version"])))
    thread.start()
    thread.join()
    assert found == [0]
