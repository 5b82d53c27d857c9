"""Collision checks compared with bare calls of the libraries, by numbers of obstacles, and with peers.

Cell: a UR10 with its maker's meshes as convex hulls, a gripper, a held body, and obstacles around. All figures are
medians in microseconds over random configurations unless they say otherwise; compared calls are measured in turns.
`bare` is the library itself on the same pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import msgspec
import numpy as np
import pinocchio as pin
import pybullet
from frozendict import frozendict

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.engines.bullet_shapes import shape_arguments
from robot_cell_planner.collision.engines.coal_shapes import coal_geometry
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.kinematics._kernels.chain_kernels import positions_and_quaternions
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Cylinder, Shape, Sphere
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState, RobotCellState

from .collision_peers import compas_fab_check, gestalt_checks
from .results import Results

ROOT = Path(__file__).resolve().parents[1]
SEED = 1
STATES = 600
TURNS = 9
HUNDRED = 100
COUNTS = (10, 100, 1_000, 10_000)


def cell_with_obstacles(count: int, near: int = 20) -> tuple[RobotCell, RobotCellState]:
    """The cell with `near` obstacles within reach and the rest spread further out, as dense as in a large
    hall."""
    cell, state = load_cell(ROOT / "config" / "ur10" / "cell.yaml")
    rng = np.random.default_rng(SEED)
    bodies = {"part": RigidBody("part", (Shape(Box((0.05, 0.05, 0.1))),))}
    placed = {"part": BodyState(Pose((0.0, 0.0, 0.15)), "gripper")}
    for index in range(count):
        reach = (0.35, 1.3) if index < near else (1.3, 4.0 + 0.02 * count ** (2 / 3) * 10)
        name, angle = f"obstacle{index}", rng.uniform(-np.pi, np.pi)
        radius, height = rng.uniform(*reach), rng.uniform(0.0, 1.8)
        size = rng.uniform(0.05, 0.2, 3).tolist()
        geometry = (Box(tuple(size)), Sphere(0.5 * size[0]), Cylinder(0.5 * size[0], size[1]))[index % 3]
        bodies[name] = RigidBody(name, (Shape(geometry),))
        position = (float(radius * np.cos(angle)), float(radius * np.sin(angle)), float(height))
        placed[name] = BodyState(Pose.from_rpy(position, rng.uniform(-3.0, 3.0, 3).tolist()))
    cell = msgspec.structs.replace(cell, bodies=frozendict(bodies), frames=frozendict())
    return cell, msgspec.structs.replace(state, bodies=frozendict(placed))


def configurations(checker: CollisionChecker, count: int = STATES) -> Any:
    """Random configurations (count, dof) within half a turn of zero."""
    return np.random.default_rng(SEED).uniform(-np.pi, np.pi, (count, len(checker.variables)))


def medians(calls: dict[str, Callable[[Any], Any]], samples: Sequence[Any], turns: int = TURNS) -> dict[str, float]:
    """Median over the samples of the time of each call [us].

    The calls take turns of all samples each, and of each sample the shortest time counts, so that other load on the
    machine affects all of them equally and is excluded as far as possible.
    """
    shortest = {name: np.full(len(samples), np.inf) for name in calls}
    for _ in range(turns):
        for name, call in calls.items():
            for index, sample in enumerate(samples):
                start = perf_counter_ns()
                call(sample)
                taken = (perf_counter_ns() - start) / 1e3
                shortest[name][index] = min(shortest[name][index], taken)
    return {name: float(np.median(found)) for name, found in shortest.items()}


@dataclass
class BareCoal:
    """Pinocchio's own collision check on the pairs of a checker, in one geometry model with one tree."""

    checker: CollisionChecker

    def __post_init__(self) -> None:
        table = self.checker.geometry_model
        self.model = self.checker._engine._model
        self.data = self.model.createData()
        geometry = pin.GeometryModel()
        for index, solid in enumerate(table.geometries):
            placement = pin.SE3(table.joint_T_geometry[index])
            item = pin.GeometryObject(str(index), int(table.joints[index]), placement, coal_geometry(solid))
            geometry.addGeometryObject(item)
        pairs = [*table.moving_pairs.tolist(), *table.rigid_pairs.tolist()]
        for block in table.blocks:
            pairs.extend((i, j) for i in block.moving.tolist() for j in block.static.tolist())
        for first, second in pairs:
            geometry.addCollisionPair(pin.CollisionPair(first, second))
        self.geometry = geometry
        self.geometry_data = geometry.createData()
        for request in self.geometry_data.collisionRequests:
            request.enable_contact = False
        arguments = (self.model, geometry, self.geometry_data)
        self.manager = pin.BroadPhaseManager_DynamicAABBTreeCollisionManager(*arguments)
        self.callback = pin.CollisionCallBackDefault(geometry, self.geometry_data, True)

    def one_call(self, q: Any) -> bool:
        return bool(pin.computeCollisions(self.model, self.data, self.manager, q, True))

    def three_calls(self, q: Any) -> bool:
        """The same in three calls, which spares Boost.Python the search among overloads of
        `computeCollisions`."""
        pin.updateGeometryPlacements(self.model, self.data, self.geometry, self.geometry_data, q)
        self.manager.update()
        self.manager.collide(self.callback)
        return bool(self.callback.collision)


@dataclass
class BareBullet:
    """PyBullet's own check: bodies are placed, contacts are detected and fetched. Poses are given, not
    computed."""

    checker: CollisionChecker

    def __post_init__(self) -> None:
        table = self.checker.geometry_model
        self.client = pybullet.connect(pybullet.DIRECT)
        self.count = table.moving_count
        bodies = []
        for index, solid in enumerate(table.geometries):
            shape = pybullet.createCollisionShape(physicsClientId=self.client, **shape_arguments(solid))
            mass = 1.0 if index < self.count else 0.0
            bodies.append(pybullet.createMultiBody(mass, shape, physicsClientId=self.client))
            self._put(bodies[-1], table.joint_T_geometry[index])
        self.bodies = bodies
        wanted = {tuple(sorted(pair)) for pair in table.moving_pairs.tolist()}
        for block in table.blocks:
            wanted.update((i, j) for i in block.moving.tolist() for j in block.static.tolist())
        for i in range(self.count):
            for j in range(i + 1, len(bodies)):
                if (i, j) not in wanted:
                    pybullet.setCollisionFilterPair(bodies[i], bodies[j], -1, -1, 0, physicsClientId=self.client)

    def _put(self, body: int, pose: Any) -> None:
        numbers = pin.SE3ToXYZQUAT(pin.SE3(pose)).tolist()
        pybullet.resetBasePositionAndOrientation(body, numbers[:3], numbers[3:], physicsClientId=self.client)

    def check(self, q: Any) -> bool:
        """q: (nq,) of the model; kinematics are those of the engine."""
        numbers = positions_and_quaternions(self.checker._engine._poses.at(q)).tolist()
        for body, n in zip(self.bodies, numbers, strict=False):
            pybullet.resetBasePositionAndOrientation(body, n[:3], n[3:], physicsClientId=self.client)
        pybullet.performCollisionDetection(physicsClientId=self.client)
        return any(point[8] < 0.0 for point in pybullet.getContactPoints(physicsClientId=self.client))


def measure_coal(results: Results) -> None:
    checker = CollisionChecker(*cell_with_obstacles(20))
    samples = list(configurations(checker))
    bare = BareCoal(checker)
    full = {id(q): checker._expand(q) for q in samples}
    found = medians(
        {
            "coal.state": checker.in_collision,
            "coal.bare_call": lambda q: bare.one_call(full[id(q)]),
            "coal.bare_three_calls": lambda q: bare.three_calls(full[id(q)]),
            "coal.first_pair": checker.first_pair,
            "coal.report": checker.report,
            "coal.distance": checker.distance,
        },
        samples,
    )
    verdicts = checker.in_collision_batch(np.array(samples))
    differing = sum(bare.one_call(full[id(q)]) != verdict for q, verdict in zip(samples, verdicts, strict=True))
    results.add("coal.share_colliding", float(verdicts.mean()))
    results.add("coal.verdicts_unlike_bare", float(differing))
    for name, value in found.items():
        results.add(f"{name}_us", value)
    batch, loop = batch_times(checker, bare, np.array(samples))
    results.add("coal.batch_us_per_state", batch)
    results.add("coal.bare_loop_us_per_state", loop)
    state = found["coal.state"]
    results.add("coal.ratio_state_to_bare", state / found["coal.bare_call"])
    results.add("coal.ratio_state_to_bare_three_calls", state / found["coal.bare_three_calls"])
    results.add("coal.ratio_batch_to_bare", batch / loop)
    results.add("coal.ratio_first_pair_to_bare", found["coal.first_pair"] / found["coal.bare_call"])
    results.add("coal.ratio_report_to_bare", found["coal.report"] / found["coal.bare_call"])
    colliding = [q for q, verdict in zip(samples, verdicts, strict=True) if verdict]
    calls = {"state": checker.in_collision, "first_pair": checker.first_pair, "report": checker.report}
    for name, value in medians(calls, colliding).items():
        results.add(f"coal.colliding.{name}_us", value)


def batch_times(checker: CollisionChecker, bare: BareCoal, batch: Any) -> tuple[float, float]:
    """Shortest time for one state [us]: of a batch, and of a loop over bare calls, in turns of a hundred states."""
    rows = list(checker._expand_batch(batch))
    sums = np.zeros(2)
    for first in range(0, len(rows), HUNDRED):
        part, full = batch[first : first + HUNDRED], rows[first : first + HUNDRED]
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(3 * TURNS):
            start = perf_counter_ns()
            checker.in_collision_batch(part)
            middle = perf_counter_ns()
            for row in full:
                bare.one_call(row)
            end = perf_counter_ns()
            times[0].append((middle - start) / 1e3)
            times[1].append((end - middle) / 1e3)
        sums += (min(times[0]), min(times[1]))
    batched, looped = (sums / len(rows)).tolist()
    return batched, looped


def measure_bullet(results: Results) -> None:
    checker = CollisionChecker(*cell_with_obstacles(20), engine="bullet")
    bare = BareBullet(checker)
    samples = list(configurations(checker, 200))
    full = {id(q): checker._expand(q) for q in samples}
    calls = {
        "bullet.state": checker.in_collision,
        "bullet.bare_calls": lambda q: bare.check(full[id(q)]),
        "bullet.first_pair": checker.first_pair,
        "bullet.report": checker.report,
        "bullet.distance": checker.distance,
    }
    found = medians(calls, samples)
    for name, value in found.items():
        results.add(f"{name}_us", value)
    for name in ("state", "first_pair", "report"):
        results.add(f"bullet.ratio_{name}_to_bare", found[f"bullet.{name}"] / found["bullet.bare_calls"])


def measure_growth(results: Results) -> None:
    """The same twenty obstacles within reach, and ever more beyond."""
    medians_by_count = {}
    for count in COUNTS:
        start = perf_counter_ns()
        cell, state = cell_with_obstacles(count, near=min(20, count))
        made = perf_counter_ns()
        checker = CollisionChecker(cell, state)
        built = perf_counter_ns()
        found = medians({"state": checker.in_collision}, list(configurations(checker, 300)))
        medians_by_count[count] = found["state"]
        results.add(f"growth.{count}.state_us", found["state"])
        results.add(f"growth.{count}.build_ms", (built - made) / 1e6)
        results.add(f"growth.{count}.cell_ms", (made - start) / 1e6)
    results.add("growth.ratio_1000_to_10", medians_by_count[1_000] / medians_by_count[10])
    results.add("growth.ratio_10000_to_10", medians_by_count[10_000] / medians_by_count[10])


def measure_peers(results: Results) -> None:
    """The same cell and pairs in other projects, as far as they are installed."""
    checker = CollisionChecker(*cell_with_obstacles(20))
    samples = list(configurations(checker, 100))
    verdicts = [checker.in_collision(q) for q in samples]
    calls: dict[str, Callable[[Any], Any]] = {"ours": checker.in_collision}
    compas = compas_fab_check(checker)
    if compas is not None:
        calls["compas_fab"] = compas
    gestalt = gestalt_checks(checker)
    if gestalt is not None:
        calls["gestalt"] = gestalt[0]
    found = medians(calls, samples, turns=1)
    for name in [name for name in calls if name != "ours"]:
        unlike = sum(calls[name](q) != verdict for q, verdict in zip(samples, verdicts, strict=True))
        results.add(f"peers.{name}.state_us", found[name])
        results.add(f"peers.{name}.ratio_to_ours", found[name] / found["ours"])
        results.add(f"peers.{name}.verdicts_unlike_ours", float(unlike))
    if gestalt is not None:
        free = np.array([q for q, verdict in zip(samples, verdicts, strict=True) if not verdict])
        start = perf_counter_ns()
        gestalt[1](free)
        results.add("peers.gestalt.batch_us_per_state", (perf_counter_ns() - start) / len(free) / 1e3)


def main() -> None:
    results = Results("collision", SEED)
    measure_coal(results)
    measure_bullet(results)
    measure_growth(results)
    measure_peers(results)
    results.finish()


if __name__ == "__main__":
    main()
