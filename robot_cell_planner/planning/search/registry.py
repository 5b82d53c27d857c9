"""Registry of planners by name."""

from __future__ import annotations

from ...errors import UnknownNameError
from ...errors.remedies import LIST_PLANNERS
from ...model.name_suggestions import unknown_name
from ..problem.planner_info import AUTOMATIC, PlannerInfo
from .certified_planner import CertifiedPlanner
from .fallback import Attempt, FallbackPlanner
from .installed_planners import Planners
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
PLANNERS = Planners((_AUTOMATIC, RrtConnect(), CertifiedPlanner(), *OMPL_PLANNERS))


def register_planner(planner: Planner) -> None:
    """Add a planner for this process alone; see `installed_planners` for planners that all processes know.

    Raises:
        InvalidRequestError: It is not a planner.
        DuplicateNameError: A planner of this library or of an installed distribution has its name.
    """
    PLANNERS.add(planner)


def planner_named(name: str) -> Planner:
    """Return the planner of a name.

    Raises:
        UnknownNameError: There is none.
        NotSupportedError: It cannot be loaded.
    """
    if name not in PLANNERS:
        text = unknown_name(f"planner {name!r}", name, PLANNERS)
        raise UnknownNameError(text, stage="request", subjects=(name,), remedy=LIST_PLANNERS)
    return PLANNERS[name]
