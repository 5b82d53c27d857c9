"""Tests whose process a library blocks for good: the process ends, and the test runs again in another one.

Fast DDS may block a process when another one leaves (its issue 6502): a thread holds the lock of discovery and waits
for the thread of timers, which waits for the lock. No signal handler of Python runs then, so that pytest-timeout cannot
end the test. A test that is blocked twice, or elsewhere than in the library, fails.
"""

from __future__ import annotations

import faulthandler
import os
import re
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

LIBRARY = "/rclpy/"
# The main thread is the last one, and its innermost frame comes first.
INNERMOST = re.compile(r"Thread 0x\w+.* \(most recent call first\):\n +File \"([^\"]*)\"")


class FileScheduling(LoadFileScheduling):
    """Distributes files of tests, and goes on after a worker has ended (issues 1323, 1327, 1364 and 1378 of
    pytest-xdist): files that it had completed are not assigned again, each worker has two tests, if there are any,
    since it begins one when it knows the next, and a test runs twice at most."""

    def __init__(self, config, log):
        super().__init__(config, log)
        self._ended: set[str] = set()  # tests in which a worker ended

    def remove_node(self, node):
        units = self.assigned_work.pop(node)
        running = next(
            ((file, test) for file, tests in units.items() for test, done in tests.items() if not done), None
        )
        if running is None:
            return None
        file, test = running
        units[file][test] = test in self._ended
        self._ended.add(test)
        self.registered_collections.pop(node, None)
        self.workqueue.update({file: tests for file, tests in units.items() if not all(tests.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return test

    def _reschedule(self, node):
        if node not in self.registered_collections:
            return
        super()._reschedule(node)
        while self.workqueue and not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            self._assign_work_unit(node)


class BlockedTests:
    """Ends the process of a test that takes longer than a limit [s], and repeats the test once if the innermost frame
    is one of a library.

    folder: of the traces of processes.
    """

    def __init__(self, folder: Path, limit: float, library: str = LIBRARY) -> None:
        self._folder = folder
        self._limit = limit
        self._library = library
        self._repeated: set[str] = set()
        worker = os.environ.get("PYTEST_XDIST_WORKER")
        self._trace = self._trace_of(worker).open("w") if worker else os.fdopen(os.dup(2), "w")  # not that of a test

    def _trace_of(self, worker: str) -> Path:
        return self._folder / f"{worker}.txt"

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config, log):
        return FileScheduling(config, log) if config.getoption("dist") == "loadfile" else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self):
        faulthandler.dump_traceback_later(self._limit, exit=True, file=self._trace)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem, report, sched):
        """Print the trace of a process that ended, and count a test that a library blocked as skipped: the scheduler
        assigns it again."""
        trace = self._trace_of(report.node.gateway.id)
        text = trace.read_text() if trace.exists() else ""
        frames = INNERMOST.findall(text)
        if not frames:
            return
        sched.config.pluginmanager.get_plugin("terminalreporter").write_line(f"\n{crashitem} was blocked: {text}")
        if crashitem not in self._repeated and self._library in frames[-1]:
            self._repeated.add(crashitem)
            report.outcome = "skipped"
            reason = f"{self._library.strip('/')} blocked its process; it is repeated in another one"
            report.longrepr = (crashitem.split("::")[0], 0, reason)
