"""Parameters of planners: types, defaults, ranges, and the OMPL methods that set them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from ...errors import InvalidRequestError, Value

Setting: TypeAlias = bool | int | float
BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True)
class PlannerParameter:
    """Parameter of a planner.

    Attributes:
        setter: Key in `SearchProblem.parameters`; for planners of OMPL, the method that sets it.
        default: Default value; its type is the type of the parameter.
        low, high: Allowed range of numbers.
    """

    name: str
    setter: str
    default: Setting
    low: float
    high: float
    description: str

    @property
    def type(self) -> str:
        """Name of the type: "bool", "int" or "float"."""
        return type(self.default).__name__

    @property
    def range(self) -> str:
        """Allowed values, as text."""
        return "true, false" if self.type == "bool" else f"{self.low:g} .. {self.high:g}"

    def parse(self, text: str) -> Setting:
        """Return the value given by a text.

        Raises:
            InvalidRequestError: The text does not match the type, or the value is out of range.
        """
        if isinstance(self.default, bool):
            if text.strip().lower() not in BOOLEANS:
                raise self._error(f"is {text[:40]!r}, expected true or false")
            return BOOLEANS[text.strip().lower()]
        try:
            value: int | float = int(text) if isinstance(self.default, int) else float(text)
        except ValueError as error:
            kind = "a whole number" if isinstance(self.default, int) else "a number"
            raise self._error(f"is {text[:40]!r}, expected {kind}") from error
        if not self.low <= value <= self.high:
            limit = self.low if value < self.low else self.high
            # A whole number may be larger than any float.
            values = (Value(self.name, float(text), limit),)
            raise self._error(f"is {text.strip()[:40]}, expected {self.range}", values)
        return value

    def _error(self, text: str, values: tuple[Value, ...] = ()) -> InvalidRequestError:
        message = f"planner parameter {self.name} {text}"
        return InvalidRequestError(message, stage="request", subjects=(self.name,), values=values)


def _boolean(name: str, setter: str, default: bool, description: str) -> PlannerParameter:
    return PlannerParameter(name, setter, default, 0.0, 1.0, description)


RANGE = PlannerParameter(
    "range", "setRange", 0.5, 1e-3, 100.0, "Longest motion that is added to a tree at once, rad or m in joint space."
)
# Bidirectional planners perform best with longer motions: fewer of them, of which as many are free.
CONNECT_RANGE = replace(RANGE, default=1.0)
CERTIFIED_RANGE = PlannerParameter(
    "range", "longest", 2.0, 1e-3, 100.0, "Longest motion that is added to a tree at once, rad or m in joint space."
)
GOAL_BIAS = PlannerParameter(
    "goal_bias", "setGoalBias", 0.05, 0.0, 1.0, "Fraction of the samples that are goals instead of random states."
)
TREE = (RANGE, GOAL_BIAS)
KPIECE = (
    PlannerParameter(
        "border_fraction", "setBorderFraction", 0.9, 1e-6, 1.0, "Fraction of expansions that start at the border."
    ),
    PlannerParameter(
        "min_valid_path_fraction",
        "setMinValidPathFraction",
        0.5,
        1e-6,
        1.0,
        "Min fraction of a motion that must be free for that part of it to be added.",
    ),
    PlannerParameter(
        "failed_expansion_factor",
        "setFailedExpansionCellScoreFactor",
        0.5,
        1e-6,
        1.0,
        "Factor on the score of a cell when expansion from it fails.",
    ),
)
REWIRE_FACTOR = PlannerParameter(
    "rewire_factor", "setRewireFactor", 1.1, 1.0, 100.0, "Factor on the number or distance of neighbours to rewire."
)
INFORMED = (
    REWIRE_FACTOR,
    _boolean("k_nearest", "setKNearest", True, "Rewire a number of neighbours instead of those within a distance."),
    _boolean(
        "delay_collision_checks", "setDelayCC", True, "Check the motions to a new state in the order of their cost."
    ),
    PlannerParameter(
        "prune_threshold",
        "setPruneThreshold",
        0.05,
        0.0,
        1.0,
        "Prune only if the cost decreased by this fraction since the last pruning.",
    ),
)
RRT_STAR = (
    *INFORMED,
    _boolean("tree_pruning", "setTreePruning", False, "Drop states through which no shorter path can go."),
    _boolean("informed_sampling", "setInformedSampling", False, "Sample only where a shorter path can go."),
    _boolean("sample_rejection", "setSampleRejection", False, "Reject samples through which no shorter path goes."),
    _boolean(
        "new_state_rejection", "setNewStateRejection", False, "Reject new states through which no shorter path goes."
    ),
)
BIT_STAR = (
    PlannerParameter("samples_per_batch", "setSamplesPerBatch", 100, 1, 100_000, "Samples that a batch adds."),
    REWIRE_FACTOR,
    _boolean("k_nearest", "setUseKNearest", True, "Connect a number of neighbours instead of those within a distance."),
    _boolean("pruning", "setPruning", True, "Drop samples through which no shorter path can go."),
    PlannerParameter(
        "prune_threshold",
        "setPruneThresholdFraction",
        0.05,
        0.0,
        1.0,
        "Prune only if the cost decreased by this fraction since the last pruning.",
    ),
    _boolean("drop_samples_on_prune", "setDropSamplesOnPrune", False, "Drop all unconnected samples when pruning."),
)
FMT_STAR = (
    PlannerParameter("num_samples", "setNumSamples", 1000, 10, 1_000_000, "Samples of the first batch."),
    PlannerParameter(
        "radius_multiplier", "setRadiusMultiplier", 1.1, 0.1, 100.0, "Factor on the radius or number of neighbours."
    ),
    _boolean("k_nearest", "setNearestK", True, "Connect a number of neighbours instead of those within a distance."),
    _boolean("cache_collision_checks", "setCacheCC", True, "Cache motions that are not free."),
    _boolean("heuristics", "setHeuristics", False, "Expand first where the remaining path can be short."),
    _boolean("extended", "setExtendedFMT", True, "Add samples where the tree cannot be expanded."),
)
ROADMAP = (
    PlannerParameter(
        "max_nearest_neighbors", "setMaxNearestNeighbors", 8, 1, 1000, "Neighbours that a new state is connected to."
    ),
)
