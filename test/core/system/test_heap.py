"""Freed memory is returned to the operating system."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from robot_cell_planner.system import heap

PROGRAM = """
import ctypes, sys
from robot_cell_planner.system.heap import return_free_memory
if not hasattr(ctypes.CDLL(None), "malloc_trim"):
    print("no glibc")
    sys.exit()
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
blocks = [bytes(3000) for _ in range(40_000)]  # 120 MB
kept = blocks[::40]  # hold the heap in place
before = resident()
del blocks
freed = resident()
assert return_free_memory()
print(before - freed, freed - resident())
"""


def test_pages_between_blocks_in_use_are_returned():
    answer = subprocess.run([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, check=True).stdout
    if answer.startswith("no glibc"):
        pytest.skip("the C library is not glibc")
    by_itself, on_request = map(int, answer.split())
    assert by_itself < 20e6
    assert on_request > 80e6


class EnoughError(Exception):
    """Ends the loop of the thread."""


def test_memory_is_returned_more_often_at_first(monkeypatch):
    slept, threads, started, returned = [], [], [], []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 8:
            raise EnoughError

    def thread(target, **options):
        threads.append((target, options))
        return SimpleNamespace(start=lambda: started.append(target))

    monkeypatch.setattr(heap, "time", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(heap, "threading", SimpleNamespace(Thread=thread))
    monkeypatch.setattr(heap, "return_free_memory", lambda: returned.append(len(slept)))
    heap.keep_heap_small()
    ((run, options),) = threads
    assert started == [run]
    assert options == {"name": "heap", "daemon": True}
    with pytest.raises(EnoughError):
        run()
    assert slept == [4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]
    assert returned == [1, 2, 3, 4, 5, 6, 7]  # after each wait
