"""Certified motions, curves and plans, checked by an auditor that shares no code with the library that certified them.

    make bench AREA=audit                                                          all robots, the figures that are kept
    tools/with_environment python -m benchmarks.audit --count 400 --robots panda,pincer --seed 7
    tools/with_environment python -m benchmarks.audit --robots robotiq --robot-folder FOLDER     a UR5 with its gripper

Every cell has obstacles of all kinds of shapes and uses of meshes, every second one a tool, every second one a held
body. A third of the motions end at the last configuration that is certified, a quarter begin 0 to 10 um from contact.
Steps are as long as distances allow, and 1/2000 rad near contact (1/1000 rad for segments without a certificate, and 10
kHz at least for trajectories). The tolerance is 10 um, as in docs/collision.md, plus twice the 1e-6 of coal.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product, repeat
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np

from benchmarks.results import FOLDER, Results

from .cells import write_cell
from .generate import Generator, described
from .model import AuditModel
from .motion import FINE, Motion, Straight, closest_approach
from .plans import OPTIONS, SAME, PlanCase, plans
from .record import Record
from .robots import ROBOTIQ, ROBOTS

VARIANTS = 4
COARSER = 1.0 / 1000.0  # [rad or m] between samples of segments that are not certified
RATE = 1e4  # [1/s] of samples of trajectories, at least
AGREE_STATES = 20


@dataclass(frozen=True)
class Task:
    """A cell to audit: `count` motions and curves, and `plans` plans. given: the folder of a robot that lies outside of
    the project."""

    robot: str
    variant: int
    count: int
    seed: int
    folder: Path
    given: Path | None = None
    plans: int = 2


def audit_cell(record: Record, task: Task) -> None:
    """Audit one cell."""
    robot, seed = task.robot, task.seed + task.variant
    file = write_cell(robot, task.variant, task.seed, task.folder, task.given)
    generator = Generator(file, seed)
    model = AuditModel(described(file, generator.cell, generator.state))
    _compare_models(record, generator, model)
    for case in generator.cases(task.count):
        found = closest_approach(model, generator.names, case.motion, case.margin)
        record.note("motions", robot, file.name, generator.names, case.motion, case.margin, found)
        record.counts[f"kind.{case.kind.replace(' ', '_')}"] += 1
        record.counts["motions.by_exact_distances"] += case.exact_states > 0
    for plan in plans(generator, task.plans, seed):
        audit_plan(record, robot, file.name, model, plan)
    record.counts["asked"] += generator.asked
    record.counts["undecided"] += generator.undecided


def _compare_models(record: Record, generator: Generator, model: AuditModel) -> None:
    """How far the smallest distances of both sides are apart at random configurations, and whether they have the same
    pairs, so that a misread description is found before it can hide anything."""
    checker = generator.checker
    ours = {(frozenset((pair.first, pair.second)), round(pair.margin, 9)) for pair in model.pairs}
    theirs = {(frozenset((pair.first, pair.second)), round(pair.margin, 9)) for pair in checker.allowed_pairs.checked()}
    for pair, margin in sorted(ours ^ theirs, key=str):
        whose = "auditor" if (pair, margin) in ours else "library"
        record.violation("pairs.different", generator.file.name, pair=sorted(pair), margin=margin, checked_by=whose)
    for _ in range(AGREE_STATES):
        q = generator.free_state()
        found = checker.distance(q)
        if found.first and found.distance > 0.0:
            difference = abs(model.smallest_gap(generator.names, q) - found.distance)
            record.worst["distances"] = max(record.worst.get("distances", 0.0), difference)


def audit_plan(record: Record, robot: str, cell: str, model: AuditModel, plan: PlanCase) -> None:
    """Audit the segments and the trajectory of a plan, and its certified fraction."""
    record.counts["plans"] += 1
    record.counts[f"plans.{plan.kind.replace(' ', '_')}"] += 1
    same = (
        math.isnan(plan.certified_fraction)
        if math.isnan(plan.recomputed)
        else abs(plan.certified_fraction - plan.recomputed) <= SAME
    )
    record.counts["proven.different"] += not same
    if not same:
        facts = {"said": plan.certified_fraction, "recomputed": plan.recomputed, "escaped": plan.escaped}
        record.violation("proven.different", cell, kind=plan.kind, names=plan.names, motion=plan.path.tolist(), **facts)
    for index in range(len(plan.path) - 1):
        motion = Straight(plan.path[index], plan.path[index + 1])
        certified = bool(len(plan.certified)) and bool(plan.certified[index])
        if index < plan.escaped and not certified:
            record.counts["escapes"] += 1  # it leads out of a collision
            continue
        what, step = ("segments", FINE) if certified else ("segments_not_certified", COARSER)
        found = closest_approach(model, plan.names, motion, plan.margin, step=step)
        hidden = 0.0 if certified else plan.hidden
        record.note(what, robot, cell, plan.names, motion, plan.margin, found, hidden)
    if plan.trajectory is not None and not plan.escaped:
        what = "trajectories" if len(plan.certified) and plan.certified.all() else "trajectories_not_certified"
        _audit_trajectory(record, what, robot, cell, model, plan, plan.trajectory)


def _audit_trajectory(
    record: Record, what: str, robot: str, cell: str, model: AuditModel, plan: PlanCase, motion: Motion
) -> None:
    samples = math.ceil(RATE * (motion.end - motion.begin))
    found = closest_approach(model, plan.names, motion, plan.margin, step=COARSER, samples=samples)
    record.note(what, robot, cell, plan.names, motion, plan.margin, found, plan.hidden)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=20_000, help="certified motions and curves, of all robots")
    parser.add_argument("--robots", default=",".join(ROBOTS), help="names, with commas between")
    parser.add_argument("--variants", type=int, default=VARIANTS, help="cells of each robot")
    parser.add_argument("--plans", type=int, default=len(OPTIONS), help="to ask for in each cell")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which no cell is begun")
    parser.add_argument("--jobs", type=int, default=1, help="cells to audit side by side")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--robot-folder", type=Path, help=f"folder of ur5.urdf, for the robot {ROBOTIQ}")
    parser.add_argument("--name", default="audit", help="of the file of results")
    options = parser.parse_args()
    names = options.robots.split(",")
    if options.robot_folder is not None and ROBOTIQ not in names:
        names.append(ROBOTIQ)
    elif options.robot_folder is None:
        print(f"{ROBOTIQ} is left out: --robot-folder does not say where its description is")
        names = [name for name in names if name != ROBOTIQ]
    share = -(-options.count // (len(names) * options.variants))
    record, began = Record(), perf_counter()
    deadline = began + 60.0 * options.minutes
    with TemporaryDirectory(prefix="audit-") as folder:
        tasks = [
            Task(robot, variant, share, options.seed, Path(folder), options.robot_folder, options.plans)
            for variant, robot in product(range(options.variants), names)
        ]
        for task, found in zip(tasks, _records(tasks, options.jobs, deadline), strict=True):
            if found is None:
                print(f"    {task.robot} {task.variant}: left out, {options.minutes:g} minutes are over")
                continue
            record.add(found)
            done = record.counts["motions.looked_at"]
            print(f"    {task.robot} {task.variant}: {done} motions after {perf_counter() - began:.0f} s", flush=True)
    _write(record, options.name, options.seed, len(names))


def _records(tasks: list[Task], jobs: int, deadline: float) -> Iterator[Record | None]:
    """The results of each cell; None for those that were not begun before the deadline."""
    if jobs == 1:
        yield from (_one(task, deadline) for task in tasks)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_one, tasks, repeat(deadline))


def _one(task: Task, deadline: float) -> Record | None:
    if perf_counter() > deadline:
        return None
    record, began = Record(), process_time()
    audit_cell(record, task)
    record.seconds = process_time() - began
    return record


def _write(record: Record, name: str, seed: int, robots: int) -> None:
    results = Results(name, seed)
    results.add("audit.robots", robots)
    for key, count in sorted(record.counts.items()):
        if not key.endswith(".kept"):
            results.add(f"audit.{key}", int(count))
    results.add("audit.violations", sum(count for key, count in record.counts.items() if key.endswith(".kept")))
    for key, worst in sorted(record.worst.items()):
        results.add(f"audit.worst.{key}_m", worst if np.isfinite(worst) else -1.0)
    results.add("audit.processor_time_s", record.seconds)
    results.finish()
    record.write(FOLDER / f"{name}_violations.json", " ".join(sys.argv))
