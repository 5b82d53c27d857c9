"""Figures of certified RRT-Connect alone, and of whole requests with it. Every path is audited by the
collision engine at 1/1000 rad."""

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
from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.path.simplification import densify
from robot_cell_planner.planning.problem.plan import Plan
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.problem.space import JointSpace, joint_space, values_beyond
from robot_cell_planner.planning.problem.subspace import subspace_of
from robot_cell_planner.planning.search.certified_rrt_connect import CertifiedRrtConnect, CertifiedSearchOptions
from robot_cell_planner.planning.search.planner import SearchResult

from .motion_peers import Planner, vamp_planner
from .planning import UNSOLVABLE
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

    def report(self, results: Results) -> None:
        if not self.times:
            return
        results.add("vamp.tried", self.tried)
        results.add("vamp.solved", len(self.times))
        results.add("vamp.paths_colliding", self.colliding)
        results.add("vamp.plan_and_simplify_median_ms", float(np.median(self.times)))
        results.add("vamp.plan_and_simplify_p95_ms", float(np.percentile(self.times, 95)))
        results.add("vamp.length_mean", float(np.mean(self.lengths)))
        results.add("vamp.paired_ratio_median", float(np.median(self.ratios)))
        results.add("vamp.paired_ratio_p95", float(np.percentile(self.ratios, 95)))
        if self.own_ratios:
            results.add("vamp.ratio_to_itself_p95", float(np.percentile(self.own_ratios, 95)))


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
        """With coarse and with fine spheres; both exist before a search is timed."""
        return certifier_of(self.checker), certifier_of(self.checker, FINE_PROTRUSION)

    def run(self, seed: int) -> SearchResult:
        coarse, fine = self.certifiers
        planner = CertifiedRrtConnect(coarse, subspace_of(self.space, ()), lambda: fine)
        return planner.solve(self.start, self.goals, CertifiedSearchOptions(seed=seed, state_limit=STATES))


def certified_search(results: Results, problems: Sequence[Problem], seeds: int) -> None:
    """Certified RRT-Connect and its shortcuts on problems whose ends the exact model finds free, by processor time
    of this thread; the cell is known before.

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
    results.add("native.tried", tried)
    results.add("native.solved", solved)
    results.add("native.paths_colliding", colliding)
    families = {"all": [each for values in times.values() for each in values], **times}
    for family, values in families.items():
        name = family.replace(" ", "_")
        results.add(f"native.{name}.plan_and_shorten_median_ms", float(np.median(values)))
        results.add(f"native.{name}.plan_and_shorten_p95_ms", float(np.percentile(values, 95)))
    results.add("native.length_mean", float(np.mean(lengths)))
    peer.report(results)


def requests(results: Results, problems: Sequence[Problem], planner: str) -> None:
    """Whole requests to a planner, their second time: search and simplification, and everything until the plan."""
    search: list[float] = []
    whole: list[float] = []
    proven: list[float] = []
    lengths: list[float] = []
    tried = colliding = by_certified = 0
    for problem in problems:
        try:
            _planned(problem, planner, SEED + 1)
            began = thread_time()
            plan = _planned(problem, planner, SEED)
            whole.append(1e3 * (thread_time() - began))
        except UNSOLVABLE:
            continue
        except RobotCellError as error:
            tried += 1
            print(f"not solved: {problem.name}: {error}", flush=True)
            continue
        tried += 1
        stages = {stage.stage: stage.seconds for stage in plan.times}
        search.append(1e3 * (stages["search"] + stages.get("simplify", 0.0)))
        proven.append(plan.certified_fraction)
        lengths.append(plan.path_length)
        by_certified += plan.planner == "CertifiedRRTConnect"
        colliding += collides(CollisionChecker(problem.cell, problem.state, problem.joints), np.array(plan.path))
    name = f"request.{planner}"
    results.add(f"{name}.tried", tried)
    results.add(f"{name}.solved", len(whole))
    results.add(f"{name}.paths_colliding", colliding)
    results.add(f"{name}.by_native_share", by_certified / max(len(whole), 1))
    results.add(f"{name}.plan_and_simplify_median_ms", float(np.median(search)))
    results.add(f"{name}.plan_and_simplify_p95_ms", float(np.percentile(search, 95)))
    results.add(f"{name}.whole_median_ms", float(np.median(whole)))
    results.add(f"{name}.whole_p95_ms", float(np.percentile(whole, 95)))
    results.add(f"{name}.proven_share_mean", float(np.mean(proven)))
    results.add(f"{name}.length_mean", float(np.mean(lengths)))


def _planned(problem: Problem, planner: str, seed: int) -> Plan:
    goals = Goals(joint_goals=tuple(dict(zip(problem.joints, goal, strict=True)) for goal in problem.goals))
    options = PlanningOptions(planner=planner, seed=seed, state_limit=STATES)
    request = MotionRequest(goals, problem.group, problem.joints, options, timing=None)
    return plan_motion(problem.cell, problem.state, request)
