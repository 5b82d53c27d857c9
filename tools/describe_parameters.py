"""Writes docs/parameters.md: the parameters of every node, from their declarations. `--print` prints it instead."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from robot_cell_planner.nodes.common.parameters import KINDS, Parameter
from robot_cell_planner.nodes.common.start import MODULES, NODES

DOCUMENT = Path(__file__).parents[1] / "docs" / "parameters.md"
HEAD = """# Parameters

Made by `tools/describe_parameters.py` from the declarations in the nodes' sources.
`ros2 param describe /planning_node time_limit` shows the same for a running node.

Parameters are set at start, as in `config/parameters.yaml` or with `--ros-args -p name:=value`. Those that are marked
*run time* also change while the node runs, by `ros2 param set`; the others are read-only. A value of another type or
outside its range ends the start with one line that names the parameter, and is refused at run time. A parameter that
the node does not have is a warning at the start, with the nearest names, unless a file gives it to all nodes (`/**`).
An integer is not converted to a double: write `100.0`. In a list, an empty string counts as no entry, since ROS 2
cannot determine the type of an empty list. Every node also has the parameters of rclpy, such as `use_sim_time`.
"""
COLUMNS = """
| Name | Type | Default | Range | Change | Meaning |
|---|---|---|---|---|---|
"""


def document() -> str:
    """The whole text of docs/parameters.md."""
    return HEAD + "".join(section(name) for name in MODULES)


def section(name: str) -> str:
    """Heading and table of one node."""
    parameters: tuple[Parameter, ...] = import_module(f"{NODES}.{MODULES[name]}").PARAMETERS
    rows = "".join(row(parameter) for parameter in sorted(parameters, key=lambda parameter: parameter.name))
    return f"\n## {name}\n{COLUMNS}{rows}"


def row(parameter: Parameter) -> str:
    """One line of a table."""
    allowed = "; ".join(text for text in (parameter.range_text, parameter.constraint_text) if text)
    change = "run time" if parameter.running else "start"
    columns = (f"`{parameter.name}`", KINDS[parameter.type], default_text(parameter), allowed, change)
    meaning = parameter.description.replace("<", "\\<")  # would begin a tag of HTML
    return f"| {' | '.join((*columns, meaning))} |\n"


def default_text(parameter: Parameter) -> str:
    """The default as in a YAML file; "empty" for an empty string or a list of it."""
    default = parameter.default
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, list):
        return f"`[{', '.join(default)}]`" if any(default) else "empty"
    if isinstance(default, str):
        return f"`{default}`" if default else "empty"
    return str(default)


if __name__ == "__main__":
    if "--print" in sys.argv[1:]:
        sys.stdout.write(document())
    else:
        DOCUMENT.write_text(document(), encoding="utf-8")
