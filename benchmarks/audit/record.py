"""Results of an audit: counts, the worst case, and every violation with all data to reproduce it."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .motion import Approach, Motion, Polynomials, Straight

CLOSE = 1e-3  # [m] of slack within which a motion counts as close to an obstacle
MOST_KEPT = 200  # violations of each kind that are written with all their numbers


@dataclass
class Record:
    """Counts by name, the worst excess [m] by name, violations, and the processor time that it took [s]."""

    counts: Counter[str] = field(default_factory=Counter)
    worst: dict[str, float] = field(default_factory=dict)
    violations: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, other: Record) -> None:
        """Add the results of another record."""
        self.counts.update(other.counts)
        for key, worst in other.worst.items():
            self.worst[key] = max(self.worst.get(key, -math.inf), worst)
        self.violations.extend(other.violations)
        self.seconds += other.seconds

    def note(
        self,
        what: str,
        robot: str,
        cell: str,
        names: tuple[str, ...],
        motion: Motion,
        margin: float,
        found: Approach,
        hidden: float = 0.0,
    ) -> bool:
        """Count a motion that was checked; whether it collides.

        hidden: the depth of an overlap [m] that a warning reports as possible; overlaps that are no deeper are counted,
        but are no violation.
        """
        warned = found.excess > 0.0 and -found.slack <= hidden
        collides = found.excess > 0.0 and not warned
        for key in (what, f"{what}.{robot}"):
            self.counts[f"{key}.looked_at"] += 1
            self.counts[f"{key}.near"] += found.slack < CLOSE
            self.counts[f"{key}.colliding"] += collides
            if hidden:
                self.counts[f"{key}.with_a_warning"] += 1
                self.counts[f"{key}.overlapping_as_warned"] += warned
            self.worst[key] = max(self.worst.get(key, -math.inf), found.excess)
        if collides:
            self.violation(
                f"{what}.colliding", cell, names=names, motion=numbers(motion), asked=margin, **asdict(found)
            )
        return collides

    def violation(self, what: str, cell: str, **facts: Any) -> None:
        """Keep the facts of a violation, and print the beginning of them."""
        self.counts[f"{what}.kept"] += 1
        if self.counts[f"{what}.kept"] <= MOST_KEPT:
            self.violations.append({"what": what, "cell": cell, **facts})
            short = {name: value for name, value in facts.items() if name not in ("motion", "names", "configuration")}
            print(f"    {what} in {cell}: {short}", flush=True)

    def write(self, path: Path, command: str) -> None:
        """All violations as JSON; none removes the file."""
        if not self.violations:
            path.unlink(missing_ok=True)
            return
        path.write_text(json.dumps({"command": command, "violations": self.violations}, indent=1) + "\n")
        print(f"violations are in {path}")


def numbers(motion: Motion) -> dict[str, Any]:
    """A motion as lists of numbers."""
    if isinstance(motion, Straight):
        return {"first": motion.first.tolist(), "last": motion.last.tolist()}
    if isinstance(motion, Polynomials):
        return {"breaks": motion.breaks.tolist(), "coefficients": motion.coefficients.tolist()}
    return {"samples": motion.at(np.linspace(motion.begin, motion.end, 101)).tolist()}
