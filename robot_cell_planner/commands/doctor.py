"""Declaration of `robot_cell doctor`."""

from __future__ import annotations

import click

from .deferred import deferred
from .numbers import FiniteRange
from .reporting import json_option

MAX_WAIT = 600.0  # [s]


@click.command()
@click.option("--wait", "seconds", type=FiniteRange(0.0, MAX_WAIT), default=3.0, show_default=True,
              help="Time to listen to the graph [s]; 0: do not.")  # fmt: skip
@json_option
@deferred
def doctor(**options: object) -> None:
    """Examine the installation and the running nodes, and print what to do about each finding.

    Installation: real-time priority, locked memory, descriptors, socket buffers, caches, domain, discovery range,
    and security if ROS_SECURITY_ENABLE is set.
    Graph of this shell's domain: quality of service, types, names, publishers of commands, clocks, joint states,
    several publishers of one joint or frame (not with ROS 2 Jazzy), and diagnostics. The exit status is 1 if there is
    an error.
    """
