"""OMPL's planners, but for RRTConnect, as planners of the registry."""

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
from .ompl_search import Drive, OmplPlanner

OVER_LIMIT = "It may overrun the limit on states by some hundreds."
_STAR_TEXT = "Grows one tree from the start and rewires it to shorter ways"


def _planner(
    name: str,
    description: str,
    drive: Drive = Drive.TREE,
    parameters: tuple[PlannerParameter, ...] = (),
    restriction: str = "",
) -> OmplPlanner:
    improves = drive in (Drive.ANYTIME, Drive.ROADMAP)
    return OmplPlanner(PlannerInfo(name, "ompl", description, parameters, improves, restriction=restriction), drive)


OMPL_PLANNERS = (
    _planner(
        "RRT",
        "One tree from the start towards random states, now and then towards a goal (LaValle, 1998).",
        parameters=TREE,
    ),
    _planner(
        "KPIECE1",
        "One tree that prefers the border of what it covers (Sucan and Kavraki, 2008). For many joints without a good "
        "idea of distance.",
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
        Drive.ANYTIME,
        (*TREE, *RRT_STAR),
    ),
    _planner(
        "InformedRRTstar",
        f"{_STAR_TEXT}; once there is a path, it samples only where a shorter one can pass (Gammell and others, 2014).",
        Drive.ANYTIME,
        (*TREE, *INFORMED),
    ),
    _planner(
        "SORRTstar",
        f"{_STAR_TEXT}; samples where a shorter path can pass, in the order of how short (Gammell and others, 2014).",
        Drive.ANYTIME,
        (*TREE, *INFORMED),
    ),
    _planner(
        "BITstar",
        "Batches of samples searched in the order of the length that a path through them can have (Gammell and others, "
        "2015).",
        Drive.ANYTIME,
        BIT_STAR,
        restriction=f"{OVER_LIMIT} With many samples its own work takes longer than the checks.",
    ),
    _planner(
        "AORRTC",
        "RRTConnect again and again, each time for a shorter path (Wilson and others, 2025).",
        Drive.ANYTIME,
        (RANGE,),
    ),
    _planner(
        "FMT",
        "A tree over a batch of samples, in the order of cost (Janson and others, 2015). Without a path it begins "
        "again with twice the samples.",
        Drive.BATCH,
        FMT_STAR,
        restriction="Draws all of its samples before its first motion: a small limit on states ends it without a tree.",
    ),
    _planner(
        "BFMT",
        "FMT with trees from start and goal (Starek and others, 2015).",
        Drive.BATCH,
        FMT_STAR,
        restriction="Goes to the nearest goal alone. Draws all of its samples before its first motion.",
    ),
    _planner(
        "PRM",
        "A roadmap of random states (Kavraki and others, 1996), grown by a counted number of states and searched here.",
        Drive.ROADMAP,
        ROADMAP,
        restriction="OMPL's own solve() of it does not repeat and can hang with several goals; it is not called.",
    ),
    _planner(
        "PRMstar",
        "PRM with as many neighbours as it takes to approach the shortest path (Karaman and Frazzoli, 2011).",
        Drive.ROADMAP,
        restriction="OMPL's own solve() of it does not repeat and can hang with several goals; it is not called.",
    ),
)
