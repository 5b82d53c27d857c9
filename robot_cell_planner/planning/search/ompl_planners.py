"""OMPL planners of the registry, except RRTConnect."""

from __future__ import annotations

from ..problem.planner_info import PlannerInfo
from ..problem.planner_parameters import (
    BIT_STAR,
    FMT_STAR,
    INFORMED,
    KPIECE,
    RANGE,
    ROADMAP,
    RRT_STAR,
    TREE,
    PlannerParameter,
)
from .ompl_search import OmplPlanner, SearchMode

OVER_LIMIT = "It may exceed the state limit by some hundreds."
_STAR_TEXT = "Grows one tree from the start and rewires it to shorter paths"


def _planner(
    name: str,
    description: str,
    mode: SearchMode = SearchMode.TREE,
    parameters: tuple[PlannerParameter, ...] = (),
    restriction: str = "",
) -> OmplPlanner:
    improves = mode in (SearchMode.ANYTIME, SearchMode.ROADMAP)
    return OmplPlanner(PlannerInfo(name, "ompl", description, parameters, improves, restriction=restriction), mode)


OMPL_PLANNERS = (
    _planner(
        "RRT",
        "One tree from the start towards random states, now and then towards a goal (LaValle, 1998).",
        parameters=TREE,
    ),
    _planner(
        "KPIECE1",
        "One tree that prefers the border of the explored space (Sucan and Kavraki, 2008). For many joints without a "
        "useful metric.",
        parameters=(*TREE, *KPIECE),
    ),
    _planner(
        "BKPIECE1",
        "KPIECE with trees from start and goals.",
        parameters=(RANGE, *KPIECE),
    ),
    _planner(
        "LBKPIECE1",
        "KPIECE with two trees whose motions are checked only once they are part of a path (lazily).",
        parameters=(RANGE, *KPIECE[:2]),
    ),
    _planner(
        "RRTstar",
        f"{_STAR_TEXT} (Karaman and Frazzoli, 2011).",
        SearchMode.ANYTIME,
        (*TREE, *RRT_STAR),
    ),
    _planner(
        "InformedRRTstar",
        f"{_STAR_TEXT}; once there is a path, it samples only where a shorter one can pass (Gammell and others, 2014).",
        SearchMode.ANYTIME,
        (*TREE, *INFORMED),
    ),
    _planner(
        "SORRTstar",
        f"{_STAR_TEXT}; samples where a shorter path can pass, in the order of how short (Gammell and others, 2014).",
        SearchMode.ANYTIME,
        (*TREE, *INFORMED),
    ),
    _planner(
        "BITstar",
        "Batches of samples searched in the order of the length that a path through them can have (Gammell and others, "
        "2015).",
        SearchMode.ANYTIME,
        BIT_STAR,
        restriction=f"{OVER_LIMIT} With many samples its own computations take longer than the checks.",
    ),
    _planner(
        "AORRTC",
        "Repeated RRTConnect, each time for a shorter path (Wilson and others, 2025).",
        SearchMode.ANYTIME,
        (RANGE,),
    ),
    _planner(
        "FMT",
        "A tree over a batch of samples, in the order of cost (Janson and others, 2015). Without a path it restarts "
        "with twice the samples.",
        SearchMode.BATCH,
        FMT_STAR,
        restriction="Draws all of its samples before its first motion: a small state limit ends it without a tree.",
    ),
    _planner(
        "BFMT",
        "FMT with trees from start and goal (Starek and others, 2015).",
        SearchMode.BATCH,
        FMT_STAR,
        restriction="Uses only the nearest goal. Draws all of its samples before its first motion.",
    ),
    _planner(
        "PRM",
        "A roadmap of random states (Kavraki and others, 1996), grown by a counted number of states and searched here.",
        SearchMode.ROADMAP,
        ROADMAP,
        restriction="OMPL's own solve() of it does not repeat and can hang with several goals; it is not called.",
    ),
    _planner(
        "PRMstar",
        "PRM with as many neighbours as it takes to approach the shortest path (Karaman and Frazzoli, 2011).",
        SearchMode.ROADMAP,
        restriction="OMPL's own solve() of it does not repeat and can hang with several goals; it is not called.",
    ),
)
