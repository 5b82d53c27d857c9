"""Kernels that are loaded from disk have the results of compiled ones, also if other kernels inline them later."""

import subprocess
import sys

import pytest

from robot_cell_planner.system.stored_kernels import is_supported

KERNELS = """
import numpy as np
from robot_cell_planner.system.compiled import compiled

@compiled
def inner(x):
    return 2.0 * x + 1.0

@compiled
def factorial(n):
    return 1.0 if n < 2.0 else n * factorial(n - 1.0)

@compiled
def filled(n, value):
    found = np.empty(n)
    for i in range(n):
        found[i] = inner(value) + i
    return found

@compiled
def outer(x):
    return inner(x) + factorial(x) + filled(int(x), x)[1]
"""
FIRST = """
from some_kernels import *
print(inner(1.0), factorial(5.0), filled(3, 1.0).tolist())
"""
LATER = """
from some_kernels import *
print(inner(1.0), factorial(5.0), filled(3, 1.0).tolist())
kernels = inner, factorial, filled
loaded = [result.library for kernel in kernels for result in kernel.overloads.values()]
hits = sum(sum(kernel.stats.cache_hits.values()) for kernel in kernels)
print(hits, sum(library._bitcode is not None for library in loaded))
print(outer(4.0), inner(3), sum(outer.stats.cache_hits.values()))
print(sum(library._bitcode is not None for library in loaded))
"""


def test_required_internals_of_numba_exist():
    assert is_supported()


@pytest.fixture
def run(tmp_path):
    """Function that runs a program beside the kernels and returns the lines of its output."""
    (tmp_path / "some_kernels.py").write_text(KERNELS)

    def run(program):
        path = tmp_path / "program.py"
        path.write_text(program)
        done = subprocess.run([sys.executable, path], stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout.splitlines()

    return run


def test_loaded_kernels_are_inlined_in_others_when_these_are_compiled(run):
    values = "3.0 120.0 [3.0, 4.0, 5.0]"
    assert run(FIRST) == [values]
    # inner(4) + 4! + the second of filled; then all three were parsed
    assert run(LATER) == [values, "3 3", "43.0 7.0 0", "0"]
    assert run(LATER)[2] == "43.0 7.0 1"
