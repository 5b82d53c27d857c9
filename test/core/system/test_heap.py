"""Memory that was freed goes back to the operating system."""

import subprocess
import sys

import pytest

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
