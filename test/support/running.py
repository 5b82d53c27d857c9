"""Nodes in processes of their own, over real DDS, in a domain of their own.

As in `robot_cell`, they are forked from one process that has imported their libraries. Nodes with code that runs before
their imports, and those with other variables of the environment, are started from their files.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import ClassVar

from robot_cell_planner.nodes.bringup.command_line import FIRST, NODES
from robot_cell_planner.nodes.bringup.prepared import Forked, PreparedProcess
from robot_cell_planner.nodes.bringup.program import Program
from robot_cell_planner.nodes.common.start import MODULES

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "config" / "demo" / "cell.yaml"
# Tests do not depend on how fast the computer is: requests that name no time limit have almost that of a test.
# The viewer takes any free port.
DEFAULTS = {"planning_node": {"time_limit": 240.0}, "viewer_node": {"port": 0}}
# As in the executables, an interrupt ends a node during its imports, some of which lose KeyboardInterrupt. Until then
# it is blocked: the start of Python loses it, too, and in a background job it is ignored. A node ends with the process
# of the tests (prctl of Linux), also when that one is killed.
PRELUDE = (
    "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT}); "
)
if sys.platform == "linux":
    PRELUDE += f"import ctypes; ctypes.CDLL(None).prctl(1, {int(signal.SIGTERM)}); "
RUN = "import sys; from robot_cell_planner.nodes.{module} import main; sys.argv[0] = '{name}'; main()"


def wait_for_message(client, kind, topic, qos, condition):
    """The first message that fulfils a condition."""
    found, arrived = [], threading.Event()

    def take(message):
        if not found and condition(message):
            found.append(message)
            arrived.set()

    subscription = client.node.create_subscription(kind, topic, take, qos)
    assert arrived.wait(120), topic
    client.node.destroy_subscription(subscription)
    return found[0]


def wait_until_answered(client, request, attempts=60, timeout=1.0):
    """Call until a reply arrives: on a busy computer the first replies of a node that has just appeared can be lost."""
    assert client.wait_for_service(60.0), client.srv_name
    for _ in range(attempts):
        answered = threading.Event()
        client.call_async(request).add_done_callback(lambda _, answered=answered: answered.set())
        if answered.wait(timeout):
            return
    raise AssertionError(f"{client.srv_name} did not answer")


class PreparedNodes:
    """The process that nodes are forked from. It is started with the first of them, and ends with the tests."""

    OWN = ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE", "PYTEST_CURRENT_TEST")  # variables that each node may have
    ENTRIES = "robot_cell_planner.nodes.common.start"
    FORKED = frozenset(f"{name}_node" for name in NODES)

    def __init__(self):
        self._lock = threading.Lock()
        self._process, self._environment, self._is_complete = None, {}, False

    def fork(self, name, arguments, environment):
        """The process of a node; None if it is started from its file, as are those with further variables."""
        if name not in self.FORKED:
            return None
        with self._lock:
            if self._process is None:
                self._environment = dict(environment)
                self._process = PreparedProcess(environment)
                self._process.wait(lambda: True)
            if self._without_own(environment) != self._without_own(self._environment):
                return None
            if not self._is_complete and name.removesuffix("_node") not in FIRST:
                self._is_complete = True
                self._process.load()
                self._process.wait(lambda: True)
            own = {key: environment[key] for key in self.OWN if key in environment}
            entry = f"{self.ENTRIES}:{name}"
            return self._process.fork(
                Program(name, (name, *arguments), holds_interrupt=True, variables=own, entry=entry)
            )

    def _without_own(self, environment):
        return {key: value for key, value in environment.items() if key not in self.OWN}


PREPARED = PreparedNodes()


class RunningNode:
    """A node's process; its output is stored. before: Python code to run in it first, to inject faults. namespace: of
    the node, where another one of its name runs in the domain.

    started: those that have not been stopped; their output is in the reports of failures.
    """

    started: ClassVar[list[RunningNode]] = []

    def __init__(self, name, domain, before="", namespace="", **parameters):
        arguments = ["--ros-args", *(["-r", f"__ns:=/{namespace}"] if namespace else [])]
        for key, value in {**DEFAULTS.get(name, {}), **parameters}.items():
            arguments += ["-p", f"{key}:={value}"]
        environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        environment["PYTHONFAULTHANDLER"] = "1"  # see `stop`
        self.name = name
        self._interrupted = False
        self.process = None if before else PREPARED.fork(name, arguments, environment)
        if self.process is None:
            code = PRELUDE + before + RUN.format(module=MODULES[name], name=name)
            self.process = self._start(code, arguments, environment)
        self.lines = []
        self._printed = threading.Condition()
        self.started.append(self)
        pipes = [self.process.stdout, *([self.process.stderr] if isinstance(self.process, Forked) else [])]
        self._readers = [threading.Thread(target=self._read, args=(pipe,), daemon=True) for pipe in pipes]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _start(code, arguments, environment):
        before_start = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the process inherits it
        try:
            return subprocess.Popen(
                [sys.executable, "-c", code, *arguments],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before_start)

    def _read(self, pipe):
        with open(pipe.fileno(), encoding="utf-8", errors="replace", closefd=False) as stream:
            for line in stream:
                with self._printed:
                    self.lines.append(line)
                    self._printed.notify_all()
        pipe.close()

    def _join(self, timeout):
        for reader in self._readers:
            reader.join(timeout)

    @property
    def output(self):
        return "".join(self.lines)

    def wait_for(self, pattern, timeout=280.0):
        """Wait until it has printed what matches a pattern; returns the match."""
        with self._printed:
            found = self._printed.wait_for(lambda: re.search(pattern, self.output), timeout)
        assert found, f"{self.name} does not print {pattern}:\n{self.output}"
        return found

    def wait(self, timeout=200):
        status = self.process.wait(timeout)
        self._join(timeout)
        return status

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.wait()

    def interrupt(self):
        """Interrupt it, once, without waiting for its end."""
        if not self._interrupted and self.process.poll() is None:
            self._interrupted = True
            self.process.send_signal(signal.SIGINT)

    def stop(self):
        if self in self.started:
            self.started.remove(self)
        if self.process.poll() is None:
            self.interrupt()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGABRT)  # prints the tracebacks of its threads
                self.process.wait(60)
                self._join(15)
                raise AssertionError(f"{self.name} did not end on SIGINT:\n{self.output}") from None
        self._join(15)


def start_demo_with_parallel_gripper(start_node, **joint):
    """Start the simulation and the execution of the demonstration; joint: parameter that names the gripper's joint."""
    start_node("simulated_robot_node", cell_file=DEMO)
    start_node(
        "execution_node",
        **joint,
        gripper_upper=0.042,
        gripper_action_type="ParallelGripperCommand",
        joint_state_timeout=1.5,
        goal_time=20.0,
        gripper_goal_time=30.0,
        gripper_start_timeout=20.0,
        stall_timeout=2.0,
    )
