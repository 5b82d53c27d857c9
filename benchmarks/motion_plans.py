"""Figures of certified RRT-Connect and its shortcuts alone, by robot; for whole requests see `request`. Every path is
audited by the collision engine at 1/1000 rad."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import thread_time
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from robot_cell_planner.collision.certification.certifier import MotionCertifier, certifier_of
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.sphere_model.approximation import FINE_PROTRUSION
from robot_cell_planner.planning.path.simplification import densify
from robot_cell_planner.planning.problem.space import JointSpace, joint_space, values_beyond
from robot_cell_planner.planning.problem.subspace import subspace_of
from robot_cell_planner.planning.search.certified_rrt_connect import CertifiedRrtConnect, CertifiedSearchOptions
from robot_cell_planner.planning.search.planner import SearchResult

from .motion_peers import Planner, vamp_planner
from .planning_problems import FAMILIES, Problem, own_problems
from .results import Results

Floats = NDArray[np.float64]
Found: TypeAlias = "Floats | None"  # a path, if one was found
AUDIT = 1e-3  # [rad]
OWN_FAMILIES = tuple(name for name in FAMILIES if name != "bin")  # out of reach of one of the arms
SEED = 1
STATES = 300_000  # that a search may check


def problems_of_arms(arms: Sequence[str], count: int) -> list[Problem]:
    """Problems of each family for arms; no part of them or of the planner is specific to one of these."""
    return [problem for arm in arms for family in OWN_FAMILIES for problem in own_problems(arm, family, count, SEED)]


def collides(checker: CollisionChecker, path: Found) -> bool:
    """Whether the collision engine finds a collision on a path at steps of 1/1000 rad."""
    return path is not None and bool(checker.in_collision_batch(densify(path, AUDIT)[0]).any())


@dataclass
class PeerRuns:
    """Results of VAMP, run right after certified RRT-Connect on the same problem, each called from Python."""

    tried: int = 0
    times: list[float] = field(default_factory=list)  # [ms]
    ratios: list[float] = field(default_factory=list)  # certified RRT-Connect's time to its
    own_ratios: list[float] = field(default_factory=list)  # its time to its own with the seed before
    lengths: list[float] = field(default_factory=list)
    colliding: int = 0

    def run(self, planner: Planner, seed: int, certified_seconds: float | None, before: float) -> tuple[Found, float]:
        """Return its path, and the time [s]; before: of the seed before [s]."""
        began = thread_time()
        path = planner(seed)
        took = thread_time() - began
        self.tried += 1
        if path is None:
            return None, math.nan
        self.times.append(1e3 * took)
        self.lengths.append(float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum()))
        if certified_seconds is not None:
            self.ratios.append(certified_seconds / took)
        if math.isfinite(before):
            self.own_ratios.append(took / before)
        return path, took

    def report(self, results: Results, robot: str) -> None:
        if not self.times:
            return
        results.add(f"{robot}.vamp.tried", self.tried)
        results.add(f"{robot}.vamp.solved", len(self.times))
        results.add(f"{robot}.vamp.paths_colliding", self.colliding)
        results.add(f"{robot}.vamp.plan_and_simplify_median_ms", float(np.median(self.times)))
        results.add(f"{robot}.vamp.plan_and_simplify_p95_ms", float(np.percentile(self.times, 95)))
        results.add(f"{robot}.vamp.length_mean", float(np.mean(self.lengths)))
        results.add(f"{robot}.paired_ratio_median", float(np.median(self.ratios)))
        results.add(f"{robot}.paired_ratio_p95", float(np.percentile(self.ratios, 95)))
        if self.own_ratios:
            results.add(f"{robot}.vamp.ratio_to_itself_p95", float(np.percentile(self.own_ratios, 95)))


@dataclass(frozen=True)
class Search:
    """Searches of a problem as in requests: with fine spheres from the start where coarse ones do not certify its ends
    as free, and later in long searches."""

    checker: CollisionChecker
    space: JointSpace
    start: Floats
    goals: Sequence[Floats]

    @cached_property
    def certifiers(self) -> tuple[MotionCertifier, MotionCertifier]:
        """With coarse and with fine spheres; both exist, with their arrays, before a search is timed."""
        found = certifier_of(self.checker), certifier_of(self.checker, FINE_PROTRUSION)
        for certifier in found:
            certifier.packed()
        return found

    def run(self, seed: int) -> SearchResult:
        coarse, fine = self.certifiers
        planner = CertifiedRrtConnect(coarse, subspace_of(self.space, ()), lambda: fine)
        return planner.solve(self.start, self.goals, CertifiedSearchOptions(seed=seed, state_limit=STATES))


def certified_search(results: Results, robot: str, problems: Sequence[Problem], seeds: int) -> None:
    """Certified RRT-Connect and its shortcuts on problems of a robot whose ends the exact model finds free, by the time
    of this thread on the processor; the cell is known before.

    The paths of a problem are checked after all its searches: checks in between would empty the caches of the processor
    for one of the planners.
    """
    times: dict[str, list[float]] = {}
    lengths: list[float] = []
    tried = solved = colliding = 0
    peer = PeerRuns()
    for problem in problems:
        checker = CollisionChecker(problem.cell, problem.state, problem.joints)
        start = np.array(problem.start)
        goals = [np.array(goal) for goal in problem.goals]
        space = joint_space(problem.cell, problem.state, problem.group, problem.joints)
        goals = [goal for goal in goals if not checker.in_collision(goal) and not values_beyond(space, goal)]
        if checker.in_collision(start) or not goals:
            continue
        search = Search(checker, space, start, goals)
        search.run(SEED)
        others, before = vamp_planner(problem), math.nan
        found_paths: list[Found] = []
        peer_paths: list[Found] = []
        for seed in range(seeds):
            began = thread_time()
            found = search.run(seed)
            took = thread_time() - began
            tried += 1
            if others is not None:
                path, before = peer.run(others, seed, took if found.path is not None else None, before)
                peer_paths.append(path)
            if found.path is None:
                continue
            solved += 1
            times.setdefault(problem.family, []).append(1e3 * took)
            lengths.append(float(np.linalg.norm(np.diff(found.path, axis=0), axis=1).sum()))
            found_paths.append(found.path)
        colliding += sum(collides(checker, path) for path in found_paths)
        peer.colliding += sum(collides(checker, path) for path in peer_paths)
    results.add(f"{robot}.native.tried", tried)
    results.add(f"{robot}.native.solved", solved)
    results.add(f"{robot}.native.paths_colliding", colliding)
    families = {"all": [each for values in times.values() for each in values], **times}
    for family, values in families.items():
        name = family.replace(" ", "_")
        results.add(f"{robot}.native.{name}.plan_and_shorten_median_ms", float(np.median(values)))
        results.add(f"{robot}.native.{name}.plan_and_shorten_p95_ms", float(np.percentile(values, 95)))
    results.add(f"{robot}.native.length_mean", float(np.mean(lengths)))
    peer.report(results, robot)
