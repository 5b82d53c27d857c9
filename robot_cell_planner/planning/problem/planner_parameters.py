"""Parameters of planners: their types, defaults, ranges, and the methods of OMPL's planners that take them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from ...errors import InvalidRequestError, Value

Setting: TypeAlias = bool | int | float
WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True)
class PlannerParameter:
    """Something that a planner can be given: its default, whose type is the parameter's, and for numbers the range from
    `low` to `high` that is allowed.

    setter: the method of OMPL's planner that takes it.
    """

    name: str
    setter: str
    default: Setting
    low: float
    high: float
    description: str

    @property
    def type(self) -> str:
        """ "bool", "int" or "float"."""
        return type(self.default).__name__

    @property
    def range(self) -> str:
        """Values allowed, for people."""
        return "true, false" if self.type == "bool" else f"{self.low:g} .. {self.high:g}"

    def parse(self, text: str) -> Setting:
        """The value that a text gives.

        Raises:
            InvalidRequestError: not of the parameter's type, or outside its range.
        """
        if isinstance(self.default, bool):
            if text.strip().lower() not in WORDS:
                raise self._refused(f"is {text!r}, expected true or false")
            return WORDS[text.strip().lower()]
        try:
            value: int | float = int(text) if isinstance(self.default, int) else float(text)
        except ValueError as error:
            kind = "a whole number" if isinstance(self.default, int) else "a number"
            raise self._refused(f"is {text[:40]!r}, expected {kind}") from error
        if not self.low <= value <= self.high:
            limit = self.low if value < self.low else self.high
            raise self._refused(f"is {value:g}, expected {self.range}", (Value(self.name, value, limit),))
        return value

    def _refused(self, text: str, values: tuple[Value, ...] = ()) -> InvalidRequestError:
        message = f"planner parameter {self.name} {text}"
        return InvalidRequestError(message, stage="request", subjects=(self.name,), values=values)


def _switch(name: str, setter: str, default: bool, description: str) -> PlannerParameter:
    return PlannerParameter(name, setter, default, 0.0, 1.0, description)


RANGE = PlannerParameter(
    "range", "setRange", 0.5, 1e-3, 100.0, "Longest motion that is added to a tree at once, rad or m in joint space."
)
# Two trees that reach for each other do best with longer ones: fewer motions, of which as many are free.
WIDE_RANGE = replace(RANGE, default=1.0)
LONGEST = PlannerParameter(
    "range", "longest", 1.0, 1e-3, 100.0, "Longest motion that is added to a tree at once, rad or m in joint space."
)
GOAL_BIAS = PlannerParameter(
    "goal_bias", "setGoalBias", 0.05, 0.0, 1.0, "Share of the samples that are goals instead of random states."
)
TREE = (RANGE, GOAL_BIAS)
KPIECE = (
    PlannerParameter(
        "border_fraction", "setBorderFraction", 0.9, 1e-6, 1.0, "Share of the growth that begins at the border."
    ),
    PlannerParameter(
        "min_valid_path_fraction",
        "setMinValidPathFraction",
        0.5,
        1e-6,
        1.0,
        "Share of a motion that must be free for that part of it to be kept.",
    ),
    PlannerParameter(
        "failed_expansion_factor",
        "setFailedExpansionCellScoreFactor",
        0.5,
        1e-6,
        1.0,
        "What the score of a cell is multiplied by when growth from it fails.",
    ),
)
REWIRE_FACTOR = PlannerParameter(
    "rewire_factor", "setRewireFactor", 1.1, 1.0, 100.0, "Factor on the number or distance of neighbours to rewire."
)
INFORMED = (
    REWIRE_FACTOR,
    _switch("k_nearest", "setKNearest", True, "Rewire a number of neighbours instead of those within a distance."),
    _switch("delay_collision_checks", "setDelayCC", True, "Check the ways to a new state in the order of their cost."),
    PlannerParameter(
        "prune_threshold",
        "setPruneThreshold",
        0.05,
        0.0,
        1.0,
        "Prune only if the cost fell by this share since the last time.",
    ),
)
RRT_STAR = (
    *INFORMED,
    _switch("tree_pruning", "setTreePruning", False, "Drop states through which no shorter path can go."),
    _switch("informed_sampling", "setInformedSampling", False, "Sample only where a shorter path can go."),
    _switch("sample_rejection", "setSampleRejection", False, "Throw away samples through which no shorter path goes."),
    _switch("new_state_rejection", "setNewStateRejection", False, "The same for states that are added to the tree."),
)
BIT_STAR = (
    PlannerParameter("samples_per_batch", "setSamplesPerBatch", 100, 1, 100_000, "Samples that a batch adds."),
    REWIRE_FACTOR,
    _switch("k_nearest", "setUseKNearest", True, "Connect a number of neighbours instead of those within a distance."),
    _switch("pruning", "setPruning", True, "Drop samples through which no shorter path can go."),
    PlannerParameter(
        "prune_threshold",
        "setPruneThresholdFraction",
        0.05,
        0.0,
        1.0,
        "Prune only if the cost fell by this share since the last time.",
    ),
    _switch("drop_samples_on_prune", "setDropSamplesOnPrune", False, "Drop all unconnected samples when pruning."),
)
FMT_STAR = (
    PlannerParameter("num_samples", "setNumSamples", 1000, 10, 1_000_000, "Samples of the first batch."),
    PlannerParameter(
        "radius_multiplier", "setRadiusMultiplier", 1.1, 0.1, 100.0, "Factor on the radius or number of neighbours."
    ),
    _switch("k_nearest", "setNearestK", True, "Connect a number of neighbours instead of those within a distance."),
    _switch("cache_collision_checks", "setCacheCC", True, "Remember motions that are not free."),
    _switch("heuristics", "setHeuristics", False, "Go on first where the rest of the way can be short."),
    _switch("extended", "setExtendedFMT", True, "Add samples where the tree cannot grow any more."),
)
ROADMAP = (
    PlannerParameter(
        "max_nearest_neighbors", "setMaxNearestNeighbors", 8, 1, 1000, "Neighbours that a new state is connected to."
    ),
)
