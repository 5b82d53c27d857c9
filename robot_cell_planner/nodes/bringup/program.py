"""Programs of a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .respawn import RespawnRule

# [s] in which the execution node ends: its motions stop on their paths, with the lowest scale_acceleration, and results
# are sent.
STOP_TIME = 15.0


@dataclass(frozen=True)
class Program:
    """What to start.

    Attributes:
        name: Label of its output.
        command: Program and arguments.
        owns_terminal: Its output is passed through without label.
        respawn: Rule of its restarts; None: its end ends the session.
        holds_interrupt: It starts with SIGINT blocked, and unblocks it once it can handle it.
        variables: Of its environment, besides those of the session.
        is_optional: Its end does not end the session.
        ends_before_others: It is ended while the others still run, after the client.
        ends_within: In which it ends after SIGINT, if that is longer than the time limit of the session [s].
        entry: Entry point of the program, as "module:function", if it may be forked from a prepared process.
        forked_first: Whether it is forked before that process has imported everything.
    """

    name: str
    command: Sequence[str]
    owns_terminal: bool = False
    respawn: RespawnRule | None = None
    holds_interrupt: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)
    is_optional: bool = False
    ends_before_others: bool = False
    ends_within: float = 0.0
    entry: str = ""
    forked_first: bool = False
