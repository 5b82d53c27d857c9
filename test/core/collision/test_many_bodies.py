"""Cells with many bodies: bounding boxes exclude no colliding pair; a changed checker equals a new one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_cell_planner.collision.certification._kernels.arrays import (
    HITS,
    LANES,
    MotionArrays,
    Packed,
    work_space,
)
from robot_cell_planner.collision.certification._kernels.obstacle_boxes import obstacle_boxes, spatial_order
from robot_cell_planner.collision.certification._kernels.schedule import FREE, certify_straight
from robot_cell_planner.collision.certification.certifier import COARSE, MotionCertifier
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.bodies import NamedFrame, RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Cylinder, Shape, Sphere, Triangles
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState, RobotCellState

ROOT = Path(__file__).parents[3]
BODIES = 200


def _pose(rng: np.random.Generator) -> Pose:
    radius, angle = rng.uniform(0.35, 2.5), rng.uniform(-np.pi, np.pi)
    position = (float(radius * np.cos(angle)), float(radius * np.sin(angle)), float(rng.uniform(0.0, 1.8)))
    return Pose.from_rpy(position, rng.uniform(-3.0, 3.0, 3).tolist())


def _tetrahedron(a: float, b: float, c: float) -> Triangles:
    corners = ((0.0, 0.0, 0.0), (a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c))
    return Triangles(corners, ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)))


@pytest.fixture(scope="module")
def crowded() -> tuple[RobotCell, RobotCellState]:
    """A UR10 with a gripper among 200 bodies, one of them attached."""
    cell, state = load_cell(ROOT / "config" / "ur10" / "cell.yaml")
    rng = np.random.default_rng(7)
    bodies = {"part": RigidBody("part", (Shape(Box((0.05, 0.05, 0.1))),))}
    placed = {"part": BodyState(Pose((0.0, 0.0, 0.15)), "gripper")}
    for index in range(BODIES):
        a, b, c = rng.uniform(0.03, 0.1, 3).tolist()
        geometry = (Box((a, b, c)), Sphere(0.5 * a), Cylinder(0.5 * a, b), _tetrahedron(a, b, c))[index % 4]
        bodies[f"body{index}"] = RigidBody(f"body{index}", (Shape(geometry),))
        placed[f"body{index}"] = BodyState(_pose(rng))
    cell = msgspec.structs.replace(cell, bodies=frozendict(bodies), frames=frozendict())
    return cell, msgspec.structs.replace(state, bodies=frozendict(placed))


def _overlapping(boxes: Any, children: Any, low: Any, high: Any) -> list[int]:
    """Obstacles whose boxes overlap a box, by the tree."""
    found: list[int] = []
    waiting = [len(children) - 1]
    while waiting:
        node = waiting.pop()
        corners = boxes[6 * node : 6 * node + 6]
        lanes = np.flatnonzero((corners[:3] < high[:, None]).all(0) & (corners[3:] > low[:, None]).all(0))
        first = int(children[node])
        if first < 0:
            found.extend(-1 - first + lane for lane in lanes.tolist())
        else:
            waiting.extend(first + lane for lane in reversed(lanes.tolist()))
    return found


@given(st.integers(0, 700), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_the_tree_finds_every_overlapping_box_in_order(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    spheres = np.column_stack((rng.uniform(-5.0, 5.0, (count, 3)), rng.uniform(0.01, 2.0, count)))
    allowances = rng.uniform(0.0, 0.1, count)
    boxes, children = obstacle_boxes(spheres, allowances)
    assert boxes.shape == (6 * len(children), LANES)
    low = rng.uniform(-6.0, 6.0, 3)
    high = low + rng.uniform(0.0, 4.0, 3)
    found = _overlapping(boxes, children, low, high)
    assert found == sorted(set(found))
    radii = (spheres[:, 3] + allowances)[:, None]
    near = (spheres[:, :3] - radii < high) & (spheres[:, :3] + radii > low)
    assert set(np.flatnonzero(near.all(axis=1)).tolist()) <= set(found)
    assert all(0 <= index < count for index in found)


@given(st.integers(0, 400), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_the_spatial_order_is_a_permutation_and_the_identity_for_few_obstacles(count: int, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    order = spatial_order(points).tolist()
    assert sorted(order) == list(range(count))
    assert count > 4 * LANES or order == list(range(count))


def _verdicts(arrays: MotionArrays, motions: Any) -> list[tuple[int, list[float]]]:
    scene, work = Packed(arrays), Packed(work_space(arrays, motions.shape[2]))
    found = []
    for start, end in motions:
        work.arrays[HITS].fill(0)
        counters = np.zeros(3)
        verdict = certify_straight(scene.address, work.address, start.copy(), end.copy(), COARSE, counters)
        found.append((int(verdict), counters.tolist()))
    return found


def test_boxes_change_no_verdict(crowded: tuple[RobotCell, RobotCellState]) -> None:
    checker = CollisionChecker(*crowded, group="")
    arrays = MotionCertifier(checker).scene.arrays()
    everywhere = np.where(np.arange(len(arrays.boxes)) % 6 < 3, np.float32(-1e20), np.float32(1e20))
    without = arrays._replace(boxes=np.repeat(everywhere[:, None], LANES, axis=1).astype(np.float32))
    # Lanes without a box remain empty.
    unused = arrays.boxes == np.float32(1e30)
    without.boxes[unused] = 1e30
    rng = np.random.default_rng(3)
    starts = rng.uniform(-2.5, 2.5, (400, len(checker.variables)))
    motions = np.stack((starts, starts + rng.normal(scale=0.3, size=starts.shape)), axis=1)
    found = _verdicts(arrays, motions)
    assert found == _verdicts(without, motions)
    free = [motion for motion, (verdict, _) in zip(motions, found, strict=True) if verdict == FREE]
    assert 20 < len(free) < 380
    for start, end in free:
        fractions = np.linspace(0.0, 1.0, 40)[:, None]
        assert not checker.in_collision_batch(start + fractions * (end - start)).any()


def _answers(checker: CollisionChecker, configurations: Any) -> tuple[Any, ...]:
    arrays = MotionCertifier(checker).scene.arrays()
    return (
        checker.in_collision_batch(configurations).tolist(),
        [checker.report(q) for q in configurations[:8]],
        [checker.clearances(q, 3) for q in configurations[:8]],
        b"".join(array.tobytes() for array in arrays),
    )


def test_a_moved_body_gives_the_results_of_a_new_checker(crowded: tuple[RobotCell, RobotCellState]) -> None:
    cell, state = crowded
    rng = np.random.default_rng(11)
    first = CollisionChecker(cell, state, group="")
    configurations = rng.uniform(-2.5, 2.5, (60, len(first.variables)))
    checkers, expected = [first], []
    for step in range(4):
        for name in (f"body{7 * step + 3}", f"body{7 * step + 4}")[: 1 + step % 2]:
            body = state.bodies[name]
            state = state.with_body(name, msgspec.structs.replace(body, pose=_pose(rng)))
        checkers.append(CollisionChecker(cell, state, group=""))
        # An equal cell that is another object shares nothing.
        expected.append(_answers(CollisionChecker(msgspec.structs.replace(cell), state, group=""), configurations))
    assert all(checker.allowed_pairs is first.allowed_pairs for checker in checkers)
    # In any order: checkers of the same cell share their trees.
    for place in (3, 1, 4, 2, 1, 4):
        assert _answers(checkers[place], configurations) == expected[place - 1]
    assert len({answer[3] for answer in expected}) == len(expected)


def test_distances_belong_to_the_checker_that_placed_them(crowded: tuple[RobotCell, RobotCellState]) -> None:
    """Another checker that shares the trees is used between the placement and the distances."""
    cell, state = crowded
    rng = np.random.default_rng(5)
    first = CollisionChecker(cell, state, group="")
    moved = msgspec.structs.replace(state.bodies["body3"], pose=_pose(rng))
    second = CollisionChecker(cell, state.with_body("body3", moved), group="")
    q, other = rng.uniform(-2.0, 2.0, (2, len(first.variables)))
    near = first.near_geometries(q, 0.3)
    expected = [first.geometry_distance(each.first, each.second) for each in near]
    near = first.near_geometries(q, 0.3)
    second.in_collision(other)
    assert [first.geometry_distance(each.first, each.second) for each in near] == expected


def test_near_geometries_are_in_order_and_no_closer_than_their_boxes(
    crowded: tuple[RobotCell, RobotCellState],
) -> None:
    cell, state = crowded
    checker = CollisionChecker(cell, state, group="")
    rng = np.random.default_rng(8)
    penetrating = 0
    for q in rng.uniform(-2.0, 2.0, (40, len(checker.variables))):
        near = checker.near_geometries(q, 0.3)
        distances = [checker.geometry_distance(each.first, each.second) for each in near]
        assert all(each.min_distance <= distance + 1e-6 for each, distance in zip(near, distances, strict=True))
        assert any(each.min_distance > 0.0 for each in near)
        penetrating += sum(distance < 0.0 for distance in distances)
    assert penetrating
    model = checker.geometry_model
    listed = [model.listed_pair(row) for row in range(model.listed_count)]
    assert listed == sorted(model.entry(each.first, each.second, each.pair.margin) for each in listed)


def test_geometries_fixed_to_each_other_are_near_where_their_boxes_are(
    crowded: tuple[RobotCell, RobotCellState],
) -> None:
    """Random bodies held by one tool; all colliding pairs are among the near pairs."""
    cell, state = crowded
    rng = np.random.default_rng(9)
    for _ in range(10):
        held = state
        for name in list(state.bodies)[:8]:
            held = held.with_body(name, BodyState(_pose(rng), "gripper"))
        checker = CollisionChecker(cell, held, group="")
        model, engine = checker.geometry_model, checker._engine
        assert len(model.rigid_pairs) > 20
        near = set(model.near_rigid_pairs(engine.place(np.zeros(len(checker._base)))).tolist())
        rows = zip(model.rigid_pairs.tolist(), model.rigid_margins.tolist(), strict=True)
        colliding = {row for row, ((i, j), margin) in enumerate(rows) if engine.contact(i, j, margin) is not None}
        assert colliding <= near
        assert len(near) < len(model.rigid_pairs)
        assert checker.in_collision(checker.default) or not colliding


def test_a_moved_body_takes_its_named_frames_with_it(crowded: tuple[RobotCell, RobotCellState]) -> None:
    """Such as those of grasps; the checker of the moved body shares what does not depend on its pose."""
    cell, state = crowded
    frames = (
        NamedFrame("grasp", "body3", Pose((0.0, 0.0, 0.1))),
        NamedFrame("approach", "grasp", Pose((0.0, 0.2, 0.0))),
    )
    cell = msgspec.structs.replace(cell, frames=frozendict({frame.name: frame for frame in frames}))
    before = CollisionChecker(cell, state, group="")
    poses = {name: world_pose(cell, state, name) for name in ("grasp", "approach")}
    rng = np.random.default_rng(4)
    moved = state.with_body("body3", msgspec.structs.replace(state.bodies["body3"], pose=_pose(rng)))
    after = CollisionChecker(cell, moved, group="")
    assert after.allowed_pairs is before.allowed_pairs
    q = rng.uniform(-2.0, 2.0, (30, len(after.variables)))
    alone = msgspec.structs.replace(cell)
    assert _answers(after, q) == _answers(CollisionChecker(alone, moved, group=""), q)
    for name, pose in poses.items():
        assert world_pose(cell, moved, name) == world_pose(alone, moved, name) != pose
        assert world_pose(cell, state, name) == pose
        placed = [cell_model(of, moved).frame(name).placement.homogeneous for of in (cell, alone)]
        np.testing.assert_array_equal(*placed)


def test_a_body_that_is_gripped_and_released_gives_the_results_of_a_new_checker(
    crowded: tuple[RobotCell, RobotCellState],
) -> None:
    """Wherever it is released, checkers share what does not depend on its pose; nothing of when it is gripped."""
    cell, state = crowded
    rng = np.random.default_rng(6)
    released, carried, alone = [], [], msgspec.structs.replace(cell)
    for _ in range(3):
        state = state.with_body("body3", BodyState(_pose(rng)))
        gripped = state.with_body("body3", BodyState(Pose((0.0, 0.0, float(rng.uniform(0.1, 0.3)))), "gripper"))
        for checkers, each in ((released, state), (carried, gripped)):
            checker = CollisionChecker(cell, each, group="")
            checkers.append((checker, CollisionChecker(alone, each, group="")))
    assert len({id(checker.allowed_pairs) for checker, _ in released}) == 1
    assert released[0][0].allowed_pairs not in [checker.allowed_pairs for checker, _ in carried]
    q = rng.uniform(-2.0, 2.0, (30, len(released[0][0].variables)))
    for checker, new in (*reversed(released), *carried, *released):
        assert _answers(checker, q) == _answers(new, q)


@pytest.mark.parametrize("change", ["attached", "touching", "hidden", "carrying", "carrying by a frame"])
def test_changes_other_than_poses_build_a_new_engine(crowded: tuple[RobotCell, RobotCellState], change: str) -> None:
    cell, state = crowded
    frames = (NamedFrame("holder", "body0"), NamedFrame("seat", "holder", Pose((0.0, 0.0, 0.1))))
    cell = msgspec.structs.replace(cell, frames=frozendict({frame.name: frame for frame in frames}))
    carrier = "seat" if change == "carrying by a frame" else "body0"
    state = state.with_body("body1", BodyState(Pose((0.0, 0.0, 0.2)), carrier))
    before = CollisionChecker(cell, state, group="")
    body = state.bodies["body0" if change.startswith("carrying") else "body5"]
    changed = {
        "attached": msgspec.structs.replace(body, attached_to="gripper"),
        "touching": msgspec.structs.replace(body, touch_links=("base_link",)),
        "hidden": msgspec.structs.replace(body, hidden=True),
        "carrying": msgspec.structs.replace(body, pose=Pose((0.4, 0.3, 0.5))),
        "carrying by a frame": msgspec.structs.replace(body, pose=Pose((0.4, 0.3, 0.5))),
    }[change]
    state = state.with_body("body0" if change.startswith("carrying") else "body5", changed)
    after = CollisionChecker(cell, state, group="")
    assert after.allowed_pairs is not before.allowed_pairs
    q = np.random.default_rng(1).uniform(-2.0, 2.0, (30, len(after.variables)))
    alone = CollisionChecker(msgspec.structs.replace(cell), state, group="")
    assert _answers(after, q) == _answers(alone, q)
