"""Nodes in processes of their own, over real DDS, in a domain of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import ClassVar

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


def wait_until_answered(client, request, attempts=12, timeout=5.0):
    """Call until a reply arrives: on a busy computer the first replies of a node that has just appeared can be lost."""
    assert client.wait_for_service(60.0), client.srv_name
    for _ in range(attempts):
        answered = threading.Event()
        client.call_async(request).add_done_callback(lambda _, answered=answered: answered.set())
        if answered.wait(timeout):
            return
    raise AssertionError(f"{client.srv_name} did not answer")


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
        code = PRELUDE + before + RUN.format(module=MODULES[name], name=name)
        self.name = name
        self._interrupted = False
        before_start = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the process inherits it
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code, *arguments],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before_start)
        self.lines = []
        self._printed = threading.Condition()
        self.started.append(self)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self._printed:
                self.lines.append(line)
                self._printed.notify_all()

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
        self._reader.join(timeout)
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
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"{self.name} did not end on SIGINT:\n{self.output}") from None
        self._reader.join(15)


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
