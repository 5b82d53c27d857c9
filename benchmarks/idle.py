"""The suite at rest: processor share and memory of its nodes with their children, in processes of their own.

    make bench AREA=idle

The six nodes of the demonstration's cell, with the simulation. The figures of `benchmarks.request_node`, without plans.
"""

from __future__ import annotations

from .request_node import SEED, idle, suite
from .results import Results


def main() -> None:
    results = Results("idle", SEED)
    with suite() as pids:
        idle(results, pids)
    results.finish()


if __name__ == "__main__":
    main()
