"""Registry of planners by name. A planner is added by a line in `_PLANNERS`."""

from __future__ import annotations

from collections.abc import Mapping

from frozendict import frozendict

from ...errors import UnknownNameError
from ...model.name_suggestions import unknown_name
from ..problem.planner_info import AUTOMATIC, PlannerInfo
from .certified_planner import CertifiedPlanner
from .fallback import Attempt, FallbackPlanner
from .ompl_planners import OMPL_PLANNERS
from .planner import Planner
from .rrt_connect import RrtConnect

# The certified planner checks 500,000 states in some tenths of a second, RRTConnect a tenth of them in that time.
_AUTOMATIC = FallbackPlanner(
    PlannerInfo(
        AUTOMATIC,
        "robot_cell_planner",
        "CertifiedRRTConnect if it supports the request; RRTConnect otherwise, and if CertifiedRRTConnect finds no "
        "path with three quarters of the states. The plan names the planner that found its path; warnings give the "
        "reason.",
        constraints=True,
    ),
    (Attempt(CertifiedPlanner(), fraction=0.75, max_states=500_000), Attempt(RrtConnect())),
)
_PLANNERS: tuple[Planner, ...] = (
    _AUTOMATIC,
    RrtConnect(),
    CertifiedPlanner(),
    *OMPL_PLANNERS,
)
PLANNERS: Mapping[str, Planner] = frozendict({planner.info.name: planner for planner in _PLANNERS})


def planner_named(name: str) -> Planner:
    """Return the planner of a name.

    Raises:
        UnknownNameError: There is none.
    """
    if name not in PLANNERS:
        raise UnknownNameError(unknown_name(f"planner {name!r}", name, PLANNERS), stage="request", subjects=(name,))
    return PLANNERS[name]
