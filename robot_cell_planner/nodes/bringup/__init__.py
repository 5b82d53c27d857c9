"""The supervisor: starts the nodes of a cell as processes, prints their output, and ends them together.

`command_line` selects the programs, `processes` starts and ends single processes, `session` runs them together, and
`output` prints their lines.
"""

from .command_line import main

__all__ = ["main"]
