"""Counts nodes that died, replies of code 900, replies that did not arrive in time or contain numbers that are not
finite although their code is 0; records memory and descriptors of each node before, between and after.

    make bench AREA=fuzz
    python -m benchmarks.fuzz --requests 10000 --seed 1 --nodes scene_node planning_node
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from ..results import Results
from .attack import Attack, Findings
from .cell import NODES, cell_of_nodes

FAULTS = ("died", "unexpected", "late", "not_finite")
COUNTS = ("requests", "messages", "repeated", "cancelled")


def add_findings(results: Results, name: str, found: Findings) -> None:
    """Add the findings of a node to the figures."""
    for what in FAULTS:
        results.add(f"{name}.{what}", len(getattr(found, what)))
    for what in COUNTS:
        results.add(f"{name}.{what}", getattr(found, what))
    results.add(f"{name}.slowest_s", found.slowest)
    for share, usage in (("before", found.usage[0]), ("quarter", found.settled), ("after", found.usage[-1])):
        results.add(f"{name}.{share}.memory_MB", usage.memory)
        results.add(f"{name}.{share}.workers_memory_MB", usage.workers_memory)
        results.add(f"{name}.{share}.workers", usage.workers)
        results.add(f"{name}.{share}.descriptors", usage.descriptors)


def attacked(name: str, seed: int, requests: int) -> Findings:
    """The findings of a node, in a cell of its own."""
    with cell_of_nodes() as cell:
        found = Attack(cell, name, seed).run(requests, restart=True)
        others = [each for each, process in cell.processes.items() if process.poll() is not None]
        found.died += [f"{each}, while {name} was attacked" for each in others]
    return found


def main() -> int:
    """Attack the nodes; the exit status is 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000, help="for each node")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", nargs="*", default=NODES)
    parser.add_argument("--jobs", type=int, default=1, help="nodes that are attacked at the same time")
    arguments = parser.parse_args()
    results = Results("fuzz", arguments.seed)
    faults: list[str] = []
    spawn = get_context("spawn")  # the middleware does not survive a fork
    with ProcessPoolExecutor(arguments.jobs, mp_context=spawn, max_tasks_per_child=1) as pool:
        runs = {pool.submit(attacked, name, arguments.seed, arguments.requests): name for name in arguments.nodes}
        for run in as_completed(runs):
            found = run.result()
            add_findings(results, runs[run], found)
            faults += found.faults
            print("\n".join([*map(str, found.usage), *found.faults]), file=sys.stderr, flush=True)
            results.finish()
    return 1 if faults else 0
