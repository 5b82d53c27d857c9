"""Walks along motions: the closest approach of every pair, by steps that skip no contact but within 1/2000 rad."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .model import AuditModel

Floats = NDArray[np.float64]
FINE = 1.0 / 2000.0  # [rad or m] between samples near contact
NEAR = 5e-5  # [m] of slack below which the closest samples are refined
REFINED = 4  # of them, for each motion
ROUNDS = 4  # of refining
MOST_SAMPLES = 2_000_000
Found = tuple[float, float, int, float]  # excess, gap, pair of geometries, sample


class Motion(Protocol):
    """A motion over a parameter from `begin` to `end`."""

    @property
    def begin(self) -> float: ...

    @property
    def end(self) -> float: ...

    def at(self, parameters: Floats) -> Floats:
        """Configurations (n, dof) at parameters (n,)."""
        ...


@dataclass(frozen=True, eq=False)
class Straight:
    """From one configuration (dof,) straight to another, over 0 to 1."""

    first: Floats
    last: Floats
    begin: float = 0.0
    end: float = 1.0

    def at(self, parameters: Floats) -> Floats:
        return np.asarray(np.outer(1.0 - parameters, self.first) + np.outer(parameters, self.last))


@dataclass(frozen=True, eq=False)
class Polynomials:
    """Pieces of polynomials: breaks (m + 1,), coefficients (m, degree + 1, dof) in ascending powers of the time since
    the break of the piece."""

    breaks: Floats
    coefficients: Floats

    @property
    def begin(self) -> float:
        return float(self.breaks[0])

    @property
    def end(self) -> float:
        return float(self.breaks[-1])

    def at(self, parameters: Floats) -> Floats:
        pieces = np.clip(np.searchsorted(self.breaks, parameters, side="right") - 1, 0, len(self.breaks) - 2)
        since = (parameters - self.breaks[pieces])[:, None]
        value = np.zeros((len(parameters), self.coefficients.shape[2]))
        for power in range(self.coefficients.shape[1] - 1, -1, -1):
            value = value * since + self.coefficients[pieces, power]
        return value


@dataclass(frozen=True, eq=False)
class Sampled:
    """Any curve that gives configurations (n, dof) at parameters (n,)."""

    curve: Callable[[Floats], Floats]
    begin: float
    end: float

    def at(self, parameters: Floats) -> Floats:
        return np.asarray(self.curve(parameters))


@dataclass(frozen=True)
class Approach:
    """The worst of a motion. slack [m]: gap less margin, both in [m], of a pair of links at a parameter and the joint
    values there. excess [m]: by how much that is more below zero than is tolerated; above zero it is a collision.
    samples: configurations that were checked. distances: of pairs that were measured."""

    slack: float
    gap: float
    margin: float
    excess: float
    first: str
    second: str
    parameter: float
    configuration: tuple[float, ...]
    samples: int
    distances: int


def closest_approach(
    model: AuditModel,
    names: Sequence[str],
    motion: Motion,
    margin: float = 0.0,
    *,
    step: float = FINE,
    samples: int = 64,
) -> Approach:
    """The worst approach along a motion of named joints; margin [m]: beyond those of the cell; step [rad or m]: between
    samples where a pair is close, with `samples` of them at least."""
    return _Walk(model, names, motion, margin, step, samples).run()


class _Walk:
    """One walk. Every pair of geometries has a sample of its own at which it is due next."""

    def __init__(
        self, model: AuditModel, names: Sequence[str], motion: Motion, margin: float, step: float, samples: int
    ) -> None:
        self._model, self._motion = model, motion
        self._matrix, self._base = model.expansion(names)
        self._parameters, configurations = _samples(motion, step, samples)
        values = configurations @ self._matrix.T + self._base
        self._placements = model.configurations(values)
        steps = np.abs(np.diff(values, axis=0)).max(axis=0, initial=0.0)
        # Between two samples of a curve a joint can move a little more than their difference.
        self._speeds = model.speeds(1.1 * steps + 1e-12, 1.01 * np.abs(values).max(axis=0) + 1e-3).tolist()
        self._needed = (model.margins + margin).tolist()
        self._distances = 0

    def run(self) -> Approach:
        last = len(self._parameters) - 1
        # Samples at which pairs are due, those that are due first in front.
        due = [(0, number) for number in range(len(self._needed))]
        worst: Found = (-math.inf, math.inf, -1, 0.0)
        close: list[Found] = []
        place, samples = -1, 0
        while due:
            if due[0][0] != place:
                place = due[0][0]
                self._model.place(self._placements[place])
                samples += 1
            number = due[0][1]
            gap = self._gap(number)
            slack = gap - self._needed[number]
            if slack < NEAR or slack < -worst[0]:
                found = self._excess(number, gap), gap, number, float(place)
                worst = max(worst, found)
                if slack < NEAR:
                    close.append(found)
            if place == last:
                heapq.heappop(due)
            else:
                heapq.heapreplace(due, (min(last, place + self._stride(number, slack)), number))
        for found in sorted(close, reverse=True)[:REFINED]:
            worst = max(worst, self._refined(found))
        return self._approach(worst, samples)

    def _gap(self, number: int) -> float:
        """A lower bound of the distance of a pair: of triangles that are far away by spheres, else measured."""
        if self._model.has_skin[number]:
            sphere_gap = self._model.sphere_gap(number)
            if sphere_gap - self._needed[number] > max(0.05, 50.0 * self._speeds[number]):
                return sphere_gap
        self._distances += 1
        return self._model.gap(number)

    def _stride(self, number: int, slack: float) -> int:
        speed = self._speeds[number]
        if speed <= 0.0 or slack / speed > len(self._parameters):
            return len(self._parameters)
        return max(1, int(slack / speed))

    def _excess(self, number: int, gap: float) -> float:
        return float(self._needed[number] - gap - self._model.tolerance(number))

    def _refined(self, found: Found) -> Found:
        """The worst of one pair around a sample, between those beside it."""
        number, middle, width, best = found[2], found[3], 1.0, found
        last = len(self._parameters) - 1
        for _ in range(ROUNDS):
            for at in np.clip(middle + width * np.linspace(-1.0, 1.0, 9), 0.0, last).tolist():
                values = self._matrix @ self._configuration(at) + self._base
                self._model.place(self._model.configurations(values[None])[0])
                self._distances += 1
                gap = self._model.gap(number)
                best = max(best, (self._excess(number, gap), gap, number, at))
            middle, width = best[3], 0.25 * width
        return best

    def _configuration(self, place: float) -> Floats:
        index = np.arange(len(self._parameters))
        return np.asarray(self._motion.at(np.array([np.interp(place, index, self._parameters)]))[0])

    def _approach(self, worst: Found, samples: int) -> Approach:
        excess, gap, number, place = worst
        if number < 0:
            return Approach(math.inf, math.inf, 0.0, -math.inf, "", "", self._motion.begin, (), samples, 0)
        pair, needed = self._model.pairs[self._model.pair_of[number]], self._needed[number]
        parameter = float(np.interp(place, np.arange(len(self._parameters)), self._parameters))
        q = tuple(self._configuration(place).tolist())
        return Approach(
            gap - needed, gap, needed, excess, pair.first, pair.second, parameter, q, samples, self._distances
        )


def _samples(motion: Motion, step: float, count: int) -> tuple[Floats, Floats]:
    """Parameters (n,), equally far apart, and configurations (n, dof), no joint moving by more than `step` between;
    more than `count`."""
    while True:
        parameters = np.linspace(motion.begin, motion.end, count + 1)
        configurations = motion.at(parameters)
        widest = float(np.abs(np.diff(configurations, axis=0)).max(initial=0.0))
        if widest <= step or count >= MOST_SAMPLES:
            return parameters, configurations
        count = min(MOST_SAMPLES, max(count + 1, math.ceil(1.05 * count * widest / step)))


def hermite(times: Floats, positions: Floats, velocities: Floats | None, accelerations: Floats | None) -> Polynomials:
    """Samples (n,) and (n, dof) with polynomials between them that have the values, speeds and accelerations of both
    ends, as far as these are known: solved for numerically, piece by piece."""
    known = [rows for rows in (positions, velocities, accelerations) if rows is not None]
    order = len(known)
    pieces = []
    for index, span in enumerate(np.diff(times).tolist()):
        matrix, values = np.zeros((2 * order, 2 * order)), np.zeros((2 * order, positions.shape[1]))
        for derivative, rows in enumerate(known):
            for end, at in enumerate((0.0, 1.0)):
                row = 2 * derivative + end
                for power in range(derivative, 2 * order):
                    matrix[row, power] = math.perm(power, derivative) * at ** (power - derivative)
                values[row] = rows[index + end] * span**derivative
        scaled = np.linalg.solve(matrix, values)
        pieces.append(scaled / span ** np.arange(2 * order)[:, None])
    return Polynomials(times, np.array(pieces))
