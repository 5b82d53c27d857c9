"""Generator of an initial SRDF: planning groups from the kinematic tree, and disabled collision pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec
import numpy as np
from frozendict import frozendict
from numpy.typing import NDArray

from ..collision.checker import CollisionChecker
from ..errors import InvalidValueError, NotSupportedError
from ..model.arguments import checked_fields, public
from ..model.cell import RobotCell
from ..model.robot import DisabledPair, PlanningGroup, Robot
from .groups_and_limits import draft_groups, limits_text, srdf_text


@checked_fields
@dataclass(frozen=True)
class DraftOptions:
    """Options of the generator.

    Attributes:
        samples: Number of random configurations.
        seed: Seed of the random configurations.
        always: Min fraction [0 to 1] of colliding samples for a pair to count as always in collision.

    Raises:
        InvalidValueError: A value is out of range.
    """

    samples: int = 10_000
    seed: int = 1
    always: float = 0.95

    def __post_init__(self) -> None:
        if not 1 <= self.samples <= 10_000_000:
            raise InvalidValueError(f"samples is {self.samples}, expected 1 to 10,000,000")
        if not 0.0 < self.always <= 1.0:
            raise InvalidValueError(f"always is {self.always}, expected above 0 and at most 1")


@dataclass(frozen=True)
class Draft:
    """Texts of an SRDF and a limits file, and their content."""

    srdf: str
    limits: str
    groups: tuple[PlanningGroup, ...]
    disabled_pairs: tuple[DisabledPair, ...]


@public
def draft_robot(robot: Robot, options: DraftOptions = DraftOptions()) -> Draft:
    """Generate an initial SRDF and limits file of a robot, to be reviewed and edited.

    Pairs of links are disabled if they are fixed to each other or connected by a joint ("Adjacent"), or if they collide
    in nearly all random configurations ("Always") or in none of them ("Never"). "Never" depends on the number of
    samples: rare collisions can be missed.

    Raises:
        NotSupportedError: The names of the robot have a prefix, which files do not.
        GeometryError: A mesh cannot be read.
    """
    if robot.prefix:
        raise NotSupportedError(f"robot {robot.name} has the prefix {robot.prefix!r}; draft it without", stage="draft")
    groups = draft_groups(robot.mechanism)
    pairs = _disabled_pairs(robot, options)
    note = f"Drafted from {options.samples} random configurations of seed {options.seed}: check it before use."
    srdf = srdf_text(robot.mechanism, groups, pairs, note)
    return Draft(srdf, limits_text(robot.mechanism), groups, pairs)


Pair = tuple[str, str]


def _disabled_pairs(robot: Robot, options: DraftOptions) -> tuple[DisabledPair, ...]:
    checker = _checker(robot, ())
    reasons = {(pair.first, pair.second): "Adjacent" for pair in checker.allowed_pairs.skipped()}
    counts = {(pair.first, pair.second): 0 for pair in checker.allowed_pairs.checked()}
    max_misses = (1.0 - options.always) * options.samples
    settled: set[Pair] = set()
    done = 0
    for chunk in np.split(_configurations(robot, options), _rounds(options.samples)):
        for q in chunk:
            for found in checker.report(q).pairs:
                counts[found.first, found.second] += 1
        done += len(chunk)
        # Pairs that collide sometimes are neither "Always" nor "Never"; skipping them speeds up the remaining samples.
        settled |= {pair for pair, count in counts.items() if count and done - count > max_misses}
        checker = _checker(robot, tuple(DisabledPair(*pair) for pair in sorted({*settled, *reasons})))
    for pair, count in counts.items():
        if pair not in settled:
            reasons[pair] = "Always" if count else "Never"
    return tuple(DisabledPair(first, second, reason) for (first, second), reason in sorted(reasons.items()))


def _rounds(samples: int) -> list[int]:
    """Return the boundaries of sample batches of increasing size."""
    return [cut for cut in (50, 200, 1_000, 5_000, 20_000, 100_000, 1_000_000) if cut < samples]


def _checker(robot: Robot, disabled: tuple[DisabledPair, ...]) -> CollisionChecker:
    """Return a checker of the robot alone, without its own SRDF."""
    sources = msgspec.structs.replace(robot.sources, srdf="")
    bare = msgspec.structs.replace(
        robot, groups=frozendict(), named_states=frozendict(), disabled_pairs=disabled, sources=sources
    )
    cell = RobotCell(name=robot.name, robots=frozendict({robot.name: bare}))
    return CollisionChecker(cell, cell.default_state())


def _configurations(robot: Robot, options: DraftOptions) -> NDArray[np.float64]:
    """Random configurations (samples, dof) within the limits, or within pi or 1 m of zero for unlimited joints."""
    lower, upper = [], []
    for variable in robot.variables.values():
        span = math.pi if variable.angular else 1.0
        lower.append(max(variable.limits.lower, -span) if math.isinf(variable.limits.lower) else variable.limits.lower)
        upper.append(min(variable.limits.upper, span) if math.isinf(variable.limits.upper) else variable.limits.upper)
    generator = np.random.default_rng(options.seed)
    return generator.uniform(np.array(lower), np.array(upper), (options.samples, len(lower)))
