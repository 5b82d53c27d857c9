"""The supervisor: starts the nodes of a cell as processes, shows their output, and ends them together.

`command_line` says what to start, `processes` starts and ends single processes, `session` runs them as one, and
`output` prints their lines.
"""

from .command_line import main

__all__ = ["main"]
