"""Worker process of a draft: searches pairs of links for collisions."""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from ..system.lifeline import end_when_closed
from .pair_search import PairSearch

if TYPE_CHECKING:
    from ..system.worker_process import AnyConnection


def main() -> None:
    """Serve the connection whose file descriptor is a command line argument: receive a robot, pairs and a seed, and
    send the distances of the pairs. Ends when the pipe named after it is closed."""
    end_when_closed(int(sys.argv[2]))
    connection: AnyConnection = Connection(int(sys.argv[1]))
    robot, pairs, seed = connection.recv()
    search = PairSearch(robot)
    connection.send([search.smallest_distance(pair, seed) for pair in pairs])


if __name__ == "__main__":
    main()
