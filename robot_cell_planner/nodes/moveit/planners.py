"""Names of MoveIt's planning pipelines and planners, and what serves them here."""

from __future__ import annotations

import re
from collections.abc import Iterable

from moveit_msgs.msg import PlannerInterfaceDescription

from robot_cell_planner import msg, srv

from ...errors import NotSupportedError, UnknownNameError
from ...model.name_suggestions import unknown_name
from ...planning.search.registry import PLANNERS

OMPL = "ompl"
PILZ = "pilz_industrial_motion_planner"
DEFAULT_PIPELINE = OMPL
PIPELINES = {OMPL: "OMPL", PILZ: "Pilz Industrial Motion Planner"}
OTHER_NAMES = {"": OMPL, "move_group": OMPL, "pilz": PILZ}
PTP, LIN, CIRC = "PTP", "LIN", "CIRC"
MOTIONS = (PTP, LIN, CIRC)
OTHER_PLANNERS = {"kpiece": "KPIECE1", "bkpiece": "BKPIECE1", "lbkpiece": "LBKPIECE1"}  # by MoveIt's names
# Planners of MoveIt's OMPL pipeline that are not here: the default planner serves them, with a warning in the reply.
MISSING = frozenset(
    "BiEST ProjEST EST SBL STRIDE PDST TRRT BiTRRT LBTRRT LazyPRM LazyPRMstar SPARS SPARStwo RRTsharp RRTXstatic "
    "AnytimePathShortening TrajOptDefault".lower().split()
)


def pipeline_named(name: str) -> str:
    """Return a pipeline by its name in requests.

    Raises:
        UnknownNameError: There is none of this name.
    """
    found = OTHER_NAMES.get(name, name)
    if found not in PIPELINES:
        text = unknown_name(f"planning pipeline {name!r}", name, PIPELINES)
        raise UnknownNameError(text, stage="request", subjects=(name,))
    return found


def planner_named(name: str) -> tuple[str, str]:
    """Return the planner ("": the default) for MoveIt's name, such as "RRTConnectkConfigDefault", "geometric::RRTstar"
    or "arm[RRTConnect]", and a warning or "".

    Raises:
        UnknownNameError: Neither this package nor MoveIt has such a planner.
    """
    plain = re.sub(r"kConfigDefault$", "", name.rpartition("::")[2].rpartition("[")[2].rstrip("]"))
    if not plain:
        return "", ""
    by_lower = {**{planner.lower(): planner for planner in PLANNERS}, **OTHER_PLANNERS}
    if plain.lower() in by_lower:
        return by_lower[plain.lower()], ""
    if plain.lower() in MISSING:
        return "", f"planner {plain} is not available, the default planner was used"
    text = unknown_name(f"planner {name!r}", plain, [*PLANNERS, *MOTIONS])
    raise UnknownNameError(text, stage="request", subjects=(name,))


def planner_of(reply: srv.ListPlanners.Response, name: str) -> msg.PlannerInfo:
    """Return the description of a planner from a list of planners.

    Raises:
        NotSupportedError: It cannot be loaded.
        UnknownNameError: The list does not contain it: the planning node runs in another environment.
    """
    for report in reply.unavailable:
        if name in report.subjects:
            raise NotSupportedError(report.message, stage=report.stage, subjects=tuple(report.subjects))
    for planner in reply.planners:
        if planner.name == name:
            return planner
    text = unknown_name(f"planner {name!r}", name, [planner.name for planner in reply.planners])
    raise UnknownNameError(text, stage="request", subjects=(name,))


def interface_descriptions(planners: Iterable[str]) -> list[PlannerInterfaceDescription]:
    """Return the pipelines with their planners, as RViz lists them."""
    return [
        PlannerInterfaceDescription(name=PIPELINES[OMPL], pipeline_id=OMPL, planner_ids=list(planners)),
        PlannerInterfaceDescription(name=PIPELINES[PILZ], pipeline_id=PILZ, planner_ids=list(MOTIONS)),
    ]
