"""Programs forked from a process with preloaded libraries behave like programs started from their files."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robot_cell_planner.nodes.bringup.prepared import PreparedProcess
from robot_cell_planner.nodes.bringup.processes import Process
from robot_cell_planner.nodes.bringup.program import Program

LIBRARY = "import os\nloaded_by = os.getpid()\n"
ENTRIES = """
import os, signal, sys, time
from pathlib import Path
def report():
    import a_library
    numbers = os.getppid(), os.getpid(), os.getsid(0), a_library.loaded_by
    print(*numbers, os.environ["OF_THE_PROGRAM"], *sys.argv, sep="|")
    print(*Path("/proc/self/cmdline").read_bytes().rstrip(b"\\0").decode().split("\\0")[1:], sep="|")
    print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()), "PYTHONSAFEPATH" in os.environ, sep="|")
    print("to err", file=sys.stderr)
    sys.exit(7)
def loaded():
    print("another_library" in sys.modules)
def fail():
    raise ValueError("as any program")
def wait():
    os.write(1, b"waits\\n")
    while True: time.sleep(0.05)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modules")
    (folder / "a_library.py").write_text(LIBRARY)
    (folder / "another_library.py").write_text("")
    (folder / "entries.py").write_text(ENTRIES)
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", "")))}


@pytest.fixture
def prepared(environment):
    process = PreparedProcess(environment, ("a_library",))
    process.wait(lambda: True)
    yield process
    process.close()


def program(entry, command=("/nowhere/program", "an argument"), **keywords):
    return Program("one", command, variables={"OF_THE_PROGRAM": "x"}, entry=f"entries:{entry}", **keywords)


def finish(process):
    """Exit status, standard output and standard error of a process."""
    outputs = []
    for pipe in process.pipes:
        with open(pipe, "rb", closefd=False) as stream:
            outputs.append(stream.read().decode())
    while (status := process.ended()) is None:
        time.sleep(0.01)
    process.close()
    return status, *outputs


def test_a_forked_program_is_a_child_of_the_supervisor_with_imported_libraries(prepared, environment):
    process = Process(program("report", holds_interrupt=True), environment, prepared)
    status, out, err = finish(process)
    assert (status, err) == (7, "to err\n")
    first, second, third = (line.split("|") for line in out.splitlines())
    parent, pid, session, loaded_by, variable, *argv = first
    assert int(parent) == os.getpid()
    assert int(pid) == int(session) == process.pid
    assert int(loaded_by) not in (process.pid, os.getpid())
    assert variable == "x"
    assert argv == ["/nowhere/program", "an argument"]
    assert second == ["/nowhere/program", "an argument"], "its own command line is shown"
    assert third == ["True", "False"]


def test_programs_share_libraries_imported_before_they_were_forked(prepared, environment):
    entry = program("loaded")
    before = finish(Process(entry, environment, prepared))
    prepared.load(("another_library",))
    prepared.wait(lambda: True)
    after = finish(Process(entry, environment, prepared))
    assert (before, after) == ((0, "False\n", ""), (0, "True\n", ""))


def test_a_program_that_does_not_block_interrupts_receives_them(prepared, environment):
    _, out, _ = finish(Process(program("report"), environment, prepared))
    assert out.splitlines()[2] == "False|False"


def test_an_exception_ends_it_with_a_traceback(prepared, environment):
    status, out, err = finish(Process(program("fail"), environment, prepared))
    assert (status, out) == (1, "")
    assert "ValueError: as any program" in err


def test_it_is_killed_with_its_group(prepared, environment):
    process = Process(program("wait"), environment, prepared)
    assert os.read(process.pipes[0], 100) == b"waits\n"
    process.kill()
    assert process.ended() == -signal.SIGKILL


def test_it_continues_without_the_prepared_process(prepared, environment):
    process = Process(program("wait"), environment, prepared)
    assert os.read(process.pipes[0], 100) == b"waits\n"
    prepared.close()
    assert process.ended() is None
    process.send(signal.SIGTERM)
    assert finish(process)[0] == -signal.SIGTERM


def test_it_ends_with_the_supervisor(environment):
    code = (
        "import os, sys\n"
        "from robot_cell_planner.nodes.bringup.prepared import PreparedProcess\n"
        "from robot_cell_planner.nodes.bringup.program import Program\n"
        "prepared = PreparedProcess(os.environ, ('a_library',))\n"
        "prepared.wait(lambda: True)\n"
        "forked = prepared.fork(Program('one', ('one',), entry='entries:wait'))\n"
        "forked.stdout.read(6)\n"
        "print(forked.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    supervisor = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    descriptor = os.pidfd_open(int(supervisor.stdout.readline()))
    supervisor.kill()
    supervisor.communicate()

    assert select.select([descriptor], [], [], 60)[0], "it still runs"
    os.close(descriptor)


@pytest.mark.parametrize("modules", [("not_there",), ("entries_that_exit",)])
def test_programs_are_started_from_their_files_if_libraries_are_missing(modules, environment, tmp_path):
    (tmp_path / "entries_that_exit.py").write_text("import os; os._exit(3)")
    path = os.pathsep.join((str(tmp_path), environment["PYTHONPATH"]))
    prepared = PreparedProcess({**environment, "PYTHONPATH": path}, modules)
    prepared.wait(lambda: True)
    own = program("report", (sys.executable, "-c", "print('from its file')"))
    assert finish(Process(own, environment, prepared)) == (0, "from its file\n", "")
    prepared.close()


def test_descriptors_of_the_supervisor_are_not_inherited(prepared, environment):
    read, write = os.pipe()
    os.set_inheritable(write, True)
    process = Process(program("wait"), environment, prepared)
    assert os.read(process.pipes[0], 100) == b"waits\n"
    opened = {os.readlink(entry) for entry in Path(f"/proc/{process.pid}/fd").iterdir()}
    assert os.readlink(f"/proc/self/fd/{write}") not in opened
    assert len(opened) == 3
    process.kill()
    os.close(read)
    os.close(write)
