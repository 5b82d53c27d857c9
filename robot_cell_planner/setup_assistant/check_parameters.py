"""Check of a file of node parameters against a cell: the ranges that grippers may be commanded in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import RobotCellError
from ..io.common.resources import read_text
from ..io.common.yaml_reader import parse_yaml
from ..model.cell import RobotCell
from ..model.mechanism import Variable
from ..model.name_suggestions import unknown_name
from .finding import WARNING, Finding

STAGE = "parameters"
SECTION, NODE = "ros__parameters", "execution_node"
LOWER, UPPER = 0.0, 0.1  # defaults of gripper_lower and gripper_upper of the execution node
TOLERANCE = 1e-9  # [rad or m]
NAME_REMEDY = "Name the joint as joint_states does, or as <tool>/<joint>."


def parameter_findings(cell: RobotCell, file: Path) -> Iterator[Finding]:
    """Find joints of grippers that a file of parameters gives to the execution node and the cell does not have, and
    ranges of commands that exceed the limits of these joints."""
    try:
        content = parse_yaml(read_text(file, STAGE), str(file), STAGE)
    except RobotCellError as error:
        yield Finding(WARNING, STAGE, error.message, error.remedy or "Correct the file.")
        return
    given = dict(_of_node(content, ""))
    several = given.get("gripper_joints")
    names = [given.get("gripper_joint"), *(several if isinstance(several, list) else ())]
    lower, upper = (_number(given, *default) for default in (("gripper_lower", LOWER), ("gripper_upper", UPPER)))
    known = _joints(cell)
    for name in (name for name in names if name and isinstance(name, str)):
        variable = known.get(name) or _by_short_name(known, name)
        if variable is None:
            yield Finding(
                WARNING, STAGE, unknown_name(f"{file.name}: gripper joint {name!r}", name, known), NAME_REMEDY
            )
        elif lower < variable.limits.lower - TOLERANCE or upper > variable.limits.upper + TOLERANCE:
            yield _beyond(file, name, variable, (lower, upper))


def _beyond(file: Path, name: str, variable: Variable, given: tuple[float, float]) -> Finding:
    limits, unit = variable.limits, variable.unit
    text = (
        f"{file.name}: gripper joint {name} may be commanded from {given[0]:g} to {given[1]:g} {unit}, and its limits "
        f"are {limits.lower:g} to {limits.upper:g} {unit}"
    )
    lower, upper = (min(max(value, limits.lower), limits.upper) for value in given)
    remedy = (
        f"Set gripper_lower to {lower:g} and gripper_upper to {upper:g} (they are {LOWER:g} and {UPPER:g} by default), "
        "or correct the limits in the description."
    )
    return Finding(WARNING, STAGE, text, remedy)


def _of_node(content: object, node: str) -> Iterator[tuple[str, Any]]:
    """Yield the parameters that the content of a file gives to the execution node, in the order of the file."""
    if not isinstance(content, dict):
        return
    for key, value in content.items():
        if key != SECTION:
            yield from _of_node(value, str(key).rpartition("/")[2])
        elif isinstance(value, dict) and (node == NODE or "*" in node):
            yield from value.items()


def _number(given: Mapping[str, Any], name: str, default: float) -> float:
    value = given.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default


def _joints(cell: RobotCell) -> dict[str, Variable]:
    """Return the joint variables of robots and tools, those of tools with the name of the tool before a slash."""
    found = {name: variable for robot in cell.robots.values() for name, variable in robot.variables.items()}
    for tool in cell.tools.values():
        found.update({f"{tool.name}/{variable.name}": variable for variable in tool.mechanism.variables})
    return found


def _by_short_name(known: Mapping[str, Variable], name: str) -> Variable | None:
    """Return the joint of a tool by its name without the tool; None if it is of no tool, or of several."""
    found = [variable for full, variable in known.items() if full.rpartition("/")[2] == name]
    return found[0] if len(found) == 1 else None
