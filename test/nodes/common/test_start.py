"""Output of executables before they start: help, limits that are too small, folders that cannot be written."""

import os
import signal
import subprocess
import sys

import pytest
from running import DEMO, MODULES

START = "import sys; sys.argv[0] = {name!r}; from robot_cell_planner.nodes.common import start; start.{name}()"


def run(name, *arguments, limits="", **environment):
    """Exit status and output of an executable; limits: shell commands that run first."""
    command = [sys.executable, "-c", START.format(name=name), *arguments]
    shell = ["sh", "-c", f'{limits}\nexec "$@"', "sh", *command]
    return subprocess.run(shell, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120)


def test_an_interrupt_before_the_node_handles_it_ends_it_without_output(tmp_path):
    (tmp_path / "entry.py").write_text("import os, signal\ndef main(): os.kill(os.getpid(), signal.SIGINT)\n")
    code = (
        "import sys; from robot_cell_planner.nodes.common.dependencies import start; sys.exit(start('n', 'entry:main'))"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "")


# rclpy wakes the executor before it shuts the context down, so that a wake-up can be lost. A node ends without it, too.
QUIET_NODE = """
import os, signal, sys
from rclpy.signals import uninstall_signal_handlers
from robot_cell_planner.nodes.common.node import CellNode, run
class QuietNode(CellNode):
    def __init__(self):
        super().__init__("quiet_node", namespace="{name}")
    def start(self):
        uninstall_signal_handlers()
        self.create_timer(0.01, lambda: os.kill(os.getpid(), signal.{name}))
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in a background job of a shell
sys.exit(run(QuietNode, "quiet_node"))
"""


# Fast DDS may wait for ever where an entity is destroyed, with Python's global lock.
HANG = "ctypes.PyDLL(None).pause()"
HANGING_NODE = """
import ctypes, os, signal, sys
from robot_cell_planner.nodes.common import node
class HangingNode(node.CellNode):
    def __init__(self):
        super().__init__("hanging_node")
        self.on_release(self.release_topics)
    def start(self):
        self.create_timer(0.01, lambda: os.kill(os.getpid(), signal.SIGINT))
    def release_topics(self):
        {release}
        print("released", flush=True)
    def destroy_node(self):
        {close}
node.RELEASE_TIME = node.CLOSING_TIME = 1.0
sys.exit(node.run(HangingNode, "hanging_node"))
"""


@pytest.mark.parametrize(
    ("release", "close", "place", "printed"),
    [("pass", HANG, "destroy_node", "released\n"), (HANG, "pass", "release_topics", "")],
)
def test_a_node_ends_although_its_middleware_does_not_close(domain, release, close, place, printed):
    code = HANGING_NODE.format(release=release, close=close)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (found.returncode, found.stdout) == (-signal.SIGALRM, printed)
    assert f"in {place}" in found.stderr


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_a_node_although_rclpy_did_not_handle_it(domain, name):
    code = QUIET_NODE.format(name=name)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


@pytest.mark.parametrize("name", MODULES)
def test_help_is_printed_and_nothing_started(name):
    found = run(name, "--help")
    assert found.returncode == 0, found.stderr
    assert f"usage: {name}" in found.stdout
    assert "diagnostics_period (1.0): 0.1 to 3600" in found.stdout


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ("ulimit -n 64", ("open files is 64", "ulimit -n")),
        ("ulimit -v 1000000", ("976 MB", "ulimit -v")),
    ],
)
def test_a_limit_that_is_too_small_is_named_in_one_line(limits, words):
    found = run("planning_node", limits=limits)
    assert found.returncode == 1
    assert found.stderr.count("\n") == 1, found.stderr
    assert found.stderr.startswith("planning_node: start: ")
    assert all(word in found.stderr for word in words), found.stderr


@pytest.mark.parametrize("allowed", [0, 1, 40])
def test_a_limit_of_threads_that_is_too_small_is_named_in_one_line(allowed):
    """The kernel does not limit root: the check runs as another user, before imports that this user cannot read."""
    few = (
        "import os, resource, sys; sys.argv[0] = 'planning_node'; from robot_cell_planner.nodes.common import start; "
        f"resource.setrlimit(resource.RLIMIT_NPROC, ({allowed}, {allowed})); "
        "os.getuid() or os.setresuid(65534, 65534, 65534); start.planning_node()"
    )
    found = subprocess.run([sys.executable, "-c", few], capture_output=True, text=True, timeout=120)
    assert found.returncode == 1
    assert found.stderr.count("\n") == 1, found.stderr
    assert "planning_node: start: the limit of threads allows " in found.stderr
    assert "`ulimit -u`" in found.stderr


def test_an_unwritable_home_is_named_and_replaced(domain):
    """The node starts, and ends because the folder of its journal does not exist."""
    parameters = ["--ros-args", "-p", f"cell_file:={DEMO}", "-p", "journal_file:=/proc/none/journal"]
    found = run("scene_node", *parameters, HOME="/proc", ROS_LOG_DIR="", ROS_HOME="", XDG_CACHE_HOME="")
    assert "cannot write to /proc/.ros/log, /proc/.cache: logs and caches are written to" in found.stderr
    assert "Traceback" not in found.stderr, found.stderr
    assert found.returncode == 1


@pytest.mark.parametrize("name", ["kinematics_node", "execution_node"])
def test_no_node_runs_unprotected_where_security_is_enforced(name, domain, tmp_path):
    """Without a keystore for it, and with a Fast DDS that has no security, as that of the Python index."""
    (tmp_path / "enclaves").mkdir()
    security = {"ROS_SECURITY_ENABLE": "true", "ROS_SECURITY_STRATEGY": "Enforce"}
    found = run(name, **security, ROS_SECURITY_KEYSTORE=str(tmp_path))
    assert found.returncode == 1
    assert "Traceback" not in found.stderr
    assert found.stderr.splitlines()[-1].startswith(f"{name}: start: ")
    assert found.stderr.splitlines()[-1].endswith("docs/security.md lists DDS libraries with security.")
    assert "ROS_SECURITY_ENABLE=true" in found.stderr


def test_a_malformed_file_of_parameters_ends_the_start_with_one_line(tmp_path):
    (tmp_path / "given.yaml").write_text("kinematics_node:\n  ik_restarts: 5\n")
    found = run("kinematics_node", "--ros-args", "--params-file", str(tmp_path / "given.yaml"))
    assert found.returncode == 1
    *_, line = found.stderr.splitlines()  # after those of rcl
    assert "Traceback" not in found.stderr
    assert line.startswith("kinematics_node: start: failed to initialize rcl")
    assert "Error: Cannot have a value before ros__parameters at line 2. Correct the arguments" in line
