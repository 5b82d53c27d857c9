"""Times of the files of tests, in the summary of a run."""

from __future__ import annotations

import resource
import time
from collections import defaultdict

import pytest

SHOWN = 40  # the slowest files


def processor_time():
    """The processor time [s] of this process and of those that it started and has waited for."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class FileTimes:
    """Adds the processor time to each report, and sums the reports of each file, also over pytest-xdist."""

    def __init__(self):
        self._before = processor_time()
        self._began = time.monotonic()
        self._totals = defaultdict(lambda: [0.0, 0.0])  # file: seconds, processor seconds

    def pytest_collection_finish(self):
        self._before = processor_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        now = processor_time()
        report.processor_time, self._before = now - self._before, now
        return report

    def pytest_runtest_logreport(self, report):
        total = self._totals[report.nodeid.partition("::")[0]]
        total[0] += report.duration
        total[1] += getattr(report, "processor_time", 0.0)  # a worker that has died sends none

    def pytest_terminal_summary(self, terminalreporter):
        totals = sorted(self._totals.items(), key=lambda item: -item[1][0])
        everything = [sum(times) for times in zip(*self._totals.values(), strict=True)] or [0.0, 0.0]
        lines = [(f"all, in {time.monotonic() - self._began:.0f} s", everything), *totals[:SHOWN]]
        terminalreporter.section(f"slowest {len(lines) - 1} of {len(totals)} files, with their processor time")
        for name, (seconds, processor) in lines:
            terminalreporter.line(f"{seconds:8.1f} s {processor:8.1f} s  {name}")
