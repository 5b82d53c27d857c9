"""All planners, by the names that requests know them by. A planner is added by a line in `_PLANNERS`."""

from __future__ import annotations

from collections.abc import Mapping

from frozendict import frozendict

from ...errors import UnknownNameError
from ...model.name_suggestions import unknown_name
from ..problem.planner_info import AUTOMATIC, PlannerInfo
from .certified_planner import CertifiedPlanner
from .in_turn import InTurn, Turn
from .ompl_planners import OMPL_PLANNERS
from .planner import Planner
from .rrt_connect import RrtConnect

# 250,000 states of the certified planner take some hundredths of a second.
_AUTOMATIC = InTurn(
    PlannerInfo(
        AUTOMATIC,
        "robot_cell_planner",
        "Native where it can serve a request, RRTConnect for all others and where Native finds nothing with a quarter "
        "of the states. The plan names the one that found its path, and says why Native did not.",
        constraints=True,
    ),
    (Turn(CertifiedPlanner(), fraction=0.25, max_states=250_000), Turn(RrtConnect())),
)
_PLANNERS: tuple[Planner, ...] = (
    _AUTOMATIC,
    RrtConnect(),
    CertifiedPlanner(),
    *OMPL_PLANNERS,
)
PLANNERS: Mapping[str, Planner] = frozendict({planner.info.name: planner for planner in _PLANNERS})


def planner_named(name: str) -> Planner:
    """The planner of that name.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in PLANNERS:
        raise UnknownNameError(unknown_name(f"planner {name!r}", name, PLANNERS), stage="request", subjects=(name,))
    return PLANNERS[name]
