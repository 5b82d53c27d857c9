"""The planners that a request can name, with their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from frozendict import frozendict

from ...errors import InvalidRequestError, UnknownNameError
from ...model.name_suggestions import unknown_name
from .planner_parameters import (
    BIT_STAR,
    FMT_STAR,
    INFORMED,
    KPIECE,
    LONGEST,
    RANGE,
    ROADMAP,
    RRT_STAR,
    TREE,
    WIDE_RANGE,
    PlannerParameter,
    Setting,
)

Settings: TypeAlias = dict[str, Setting]


class Drive(str, Enum):
    """How a planner of OMPL is driven so that it ends where it shall and repeats.

    TREE: it ends at its first path, and goes on with the same trees if it is called again. ANYTIME: it goes on
    improving until it is told to end. BATCH: it ends by itself with the samples that it was given. ROADMAP: a graph
    that is grown by counted states and searched by us.
    """

    TREE = "tree"
    ANYTIME = "anytime"
    BATCH = "batch"
    ROADMAP = "roadmap"


@dataclass(frozen=True)
class PlannerInfo:
    """A planner: the library and there the class behind it, what it is good for, and its parameters.

    improves: goes on improving its path. constraints: takes constraints on frames; all take combinations of joints.
    restriction: what is known to go wrong with it; "": nothing.
    """

    name: str
    library: str
    description: str
    drive: Drive = Drive.TREE
    parameters: tuple[PlannerParameter, ...] = ()
    constraints: bool = False
    restriction: str = ""

    @property
    def improves(self) -> bool:
        return self.drive in (Drive.ANYTIME, Drive.ROADMAP)

    def settings(self, given: Mapping[str, str]) -> Settings:
        """Value by setter of every parameter; those not given have their defaults.

        Raises:
            UnknownNameError: the planner has no parameter of a name.
            InvalidRequestError: a value of another type or out of range, or two that exclude each other.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                text = unknown_name(f"parameter {name!r} of planner {self.name}", name, known)
                raise UnknownNameError(text, stage="request", subjects=(name,))
        settings = {
            parameter.setter: parameter.parse(given[name]) if name in given else parameter.default
            for name, parameter in known.items()
        }
        if settings.get("setInformedSampling") and settings.get("setSampleRejection"):
            text = "planner parameters informed_sampling and sample_rejection exclude each other"
            raise InvalidRequestError(text, stage="request", subjects=("informed_sampling", "sample_rejection"))
        return settings


AUTOMATIC, NATIVE, RRT_CONNECT = "Automatic", "Native", "RRTConnect"
OVER_LIMIT = "It may overrun the limit on states by some hundreds."
_STAR_TEXT = "Grows one tree from the start and rewires it to shorter ways"
_LIST = (
    PlannerInfo(
        AUTOMATIC,
        "robot_cell_planner",
        "Native where it can serve a request, RRTConnect for all others and where Native finds nothing with a quarter "
        "of the states. The plan names the one that found its path, and says why Native did not.",
        constraints=True,
    ),
    PlannerInfo(
        RRT_CONNECT,
        "ompl",
        "Two trees, from start and goals, that reach for each other (Kuffner and LaValle, 2000). Fast; its path is the "
        "first one found. On constraints on frames the trees grow in steps that are projected onto them.",
        parameters=(WIDE_RANGE,),
        constraints=True,
    ),
    PlannerInfo(
        NATIVE,
        "robot_cell_planner",
        "RRTConnect and shortcuts, compiled as a whole, on motions that are proven free: the robot as balls, exact "
        "distances near start and goals. Fastest; keeps about 15 mm from things on the way. Needs engine coal.",
        parameters=(LONGEST,),
    ),
    PlannerInfo(
        "RRT",
        "ompl",
        "One tree from the start towards random states, now and then towards a goal (LaValle, 1998).",
        parameters=TREE,
    ),
    PlannerInfo(
        "KPIECE1",
        "ompl",
        "One tree that prefers the border of what it covers (Sucan and Kavraki, 2008). For many joints without a good "
        "idea of distance.",
        parameters=(*TREE, *KPIECE),
    ),
    PlannerInfo(
        "BKPIECE1",
        "ompl",
        "KPIECE with trees from start and goals.",
        parameters=(RANGE, *KPIECE),
    ),
    PlannerInfo(
        "LBKPIECE1",
        "ompl",
        "KPIECE with two trees whose motions are checked only once they are part of a path (lazily).",
        parameters=(RANGE, *KPIECE[:2]),
    ),
    PlannerInfo(
        "RRTstar",
        "ompl",
        f"{_STAR_TEXT} (Karaman and Frazzoli, 2011).",
        Drive.ANYTIME,
        (*TREE, *RRT_STAR),
    ),
    PlannerInfo(
        "InformedRRTstar",
        "ompl",
        f"{_STAR_TEXT}; once there is a path, it samples only where a shorter one can pass (Gammell and others, 2014).",
        Drive.ANYTIME,
        (*TREE, *INFORMED),
    ),
    PlannerInfo(
        "SORRTstar",
        "ompl",
        f"{_STAR_TEXT}; samples where a shorter path can pass, in the order of how short (Gammell and others, 2014).",
        Drive.ANYTIME,
        (*TREE, *INFORMED),
    ),
    PlannerInfo(
        "BITstar",
        "ompl",
        "Batches of samples searched in the order of the length that a path through them can have (Gammell and others, "
        "2015).",
        Drive.ANYTIME,
        BIT_STAR,
        restriction=f"{OVER_LIMIT} With many samples its own work takes longer than the checks.",
    ),
    PlannerInfo(
        "AORRTC",
        "ompl",
        "RRTConnect again and again, each time for a shorter path (Wilson and others, 2025).",
        Drive.ANYTIME,
        (RANGE,),
    ),
    PlannerInfo(
        "FMT",
        "ompl",
        "A tree over a batch of samples, in the order of cost (Janson and others, 2015). Without a path it begins "
        "again with twice the samples.",
        Drive.BATCH,
        FMT_STAR,
        restriction="Draws all of its samples before its first motion: a small limit on states ends it without a tree.",
    ),
    PlannerInfo(
        "BFMT",
        "ompl",
        "FMT with trees from start and goal (Starek and others, 2015).",
        Drive.BATCH,
        FMT_STAR,
        restriction="Goes to the nearest goal alone. Draws all of its samples before its first motion.",
    ),
    PlannerInfo(
        "PRM",
        "ompl",
        "A roadmap of random states (Kavraki and others, 1996), grown by a counted number of states and searched here.",
        Drive.ROADMAP,
        ROADMAP,
        restriction="OMPL's own solve() of it does not repeat and can hang with several goals; it is not called.",
    ),
    PlannerInfo(
        "PRMstar",
        "ompl",
        "PRM with as many neighbours as it takes to approach the shortest path (Karaman and Frazzoli, 2011).",
        Drive.ROADMAP,
        restriction="OMPL's own solve() of it does not repeat and can hang with several goals; it is not called.",
    ),
)
PLANNERS: Mapping[str, PlannerInfo] = frozendict({planner.name: planner for planner in _LIST})


def planner_info(name: str) -> PlannerInfo:
    """The planner of that name.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in PLANNERS:
        raise UnknownNameError(unknown_name(f"planner {name!r}", name, PLANNERS), stage="request", subjects=(name,))
    return PLANNERS[name]
