"""The suite at rest: processor share and memory of its nodes with their children, as `robot_cell` starts them.

    make bench AREA=idle                             [--no-fork]

The six nodes of the demonstration's cell, with the simulation, when the planning node is ready. Proportional set size:
memory that several processes share is divided among them.
"""

from __future__ import annotations

import argparse

from robot_cell_planner.nodes.client import CellClient

from .kinematics_node import CELL_FILE
from .request_node import SEED
from .results import Results
from .scene_node import own_domain
from .suite import idle, supervisor

GIVE_UP = 600.0  # [s]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--no-fork", action="store_true", help="start each node from its file")
    options = parser.parse_args()
    results = Results("idle", SEED)
    with own_domain(), supervisor(CELL_FILE, ["--no-fork"] if options.no_fork else []) as pid:
        with CellClient(discovery_timeout=GIVE_UP) as client:
            client.wait_until_ready(GIVE_UP)
        idle(results, pid, "idle.separate" if options.no_fork else "idle")
    results.finish(update=True)


if __name__ == "__main__":
    main()
