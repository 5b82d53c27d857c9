"""Lossless JSON serialization of plans."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec
import numpy as np

from ...collision.attachment_topology import ENGINES
from ...errors import FileError, RobotCellError
from ...model.arguments import public
from ...model.json_values import from_json
from ...model.name_suggestions import unknown_name
from ...model.value import plain
from .plan import Plan

FORMAT: Literal["robot_plan/1"] = "robot_plan/1"


@dataclass(frozen=True)
class _Document:
    format: Literal["robot_plan/1"]
    plan: Plan


@public
def plan_to_json(plan: Plan, *, repeatable: bool = False) -> bytes:
    """Return a plan as JSON.

    Args:
        repeatable: Omit times and revision, so that equal plans have equal bytes.
    """
    if repeatable:
        plan = replace(plan, times=(), revision=0)
    return msgspec.json.encode(_Document(FORMAT, plan), enc_hook=_encode)


@public
def plan_from_json(data: bytes | str, source: str = "plan") -> Plan:
    """Return the plan of a JSON text written by `plan_to_json`.

    Raises:
        FileError: The text is malformed, of another version, or not a plan; the message gives the position. Or the plan
            names a collision engine that does not exist.
    """
    try:
        document = msgspec.json.decode(data)
        plan = document.get("plan") if isinstance(document, dict) else None
        if isinstance(plan, dict) and plan.get("certified_fraction", math.nan) is None:
            plan["certified_fraction"] = math.nan  # NaN is null in JSON
        found = msgspec.convert(document, type=_Document, dec_hook=_decode).plan
        _check_path(found)
        if found.engine not in ENGINES:
            raise ValueError(unknown_name(f"collision engine {found.engine!r}", found.engine, ENGINES))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError, RobotCellError) as error:
        raise FileError(f"{source}: {error}", stage="read plan", subjects=(source,)) from error
    return found


def _check_path(plan: Plan) -> None:
    shape = plan.path.shape
    if len(shape) != 2 or shape[0] == 0 or shape[1] != len(plan.variables):
        raise ValueError(f"the path has shape {shape}, expected (n, {len(plan.variables)}) with at least one waypoint")
    if not np.isfinite(plan.path).all():
        raise ValueError("a joint value of the path is not a finite number")


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return plain(value)


def _decode(kind: Any, value: Any) -> Any:
    return from_json(np.ndarray, value, "an array")
