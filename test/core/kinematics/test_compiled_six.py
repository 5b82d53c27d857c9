"""Compiled closed forms of six revolute joints are compared with EAIK and forward kinematics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from eaik.pybindings.EAIK import Robot as EaikRobot
from numpy.typing import NDArray

from benchmarks.arms import arm
from robot_cell_planner.kinematics._kernels import chain_kernels
from robot_cell_planner.kinematics.forward import chain_to
from robot_cell_planner.kinematics.ik.analytic import _axes_and_offsets, closed_form
from robot_cell_planner.kinematics.ik.compiled_six import compiled_six

Array = NDArray[np.float64]
POSES = 200
ORIGINS = np.array(
    ((0.1, 0.0, 0.3), (0.1, 0.2, 0.4), (0.3, 0.1, 0.7), (0.2, 0.1, 1.0), (0.3, 0.2, 1.1), (0.4, 0.2, 1.0))
)
X, Y, Z = np.eye(3)


def six_of(name: str) -> Array:
    """The table of six joints of an arm; for an arm of seven joints, those without the last or the first."""
    cell = arm(name)
    table = chain_to(cell, cell.default_state(), cell.tip_link(), cell.group().variables).table
    if len(table) == 8:
        table = (table[1:] if name == "rail" else table[:7]).copy()
        table[:-1, chain_kernels.VARIABLE] = np.arange(6)
    return np.ascontiguousarray(table)


def exact(rows: Array, forward: Callable[[Array], Array], pose: Array, tolerance: float) -> Array:
    """The candidates that reach a pose, without repetitions by whole turns."""
    found: list[Array] = []
    for q in rows:
        if np.abs(forward(q.copy()) - pose).max() > tolerance:
            continue
        if all(np.abs((q - other + np.pi) % (2.0 * np.pi) - np.pi).max() > 1e-4 for other in found):
            found.append(q)
    return np.array(found).reshape(-1, 6)


@pytest.mark.parametrize("name", ["ur5", "ur10", "panda", "j2s6s200", "demo", "rail"])
def test_the_solutions_are_those_of_eaik(name: str) -> None:
    table = six_of(name)
    geometry = _axes_and_offsets(table)
    solve, peer = compiled_six(*geometry), EaikRobot(*geometry, [], True)
    assert solve is not None
    configurations = np.random.default_rng(3).uniform(-3.0, 3.0, (POSES, 6))
    poses = chain_kernels.forward_many(table, configurations)
    rows, counts = solve.candidates(poses)

    def forward(q: Array) -> Array:
        return chain_kernels.forward(table, q)

    for pose, found in zip(poses, np.split(rows, np.cumsum(counts)[:-1]), strict=True):
        ours = exact(found, forward, pose, 1e-4)
        theirs = exact(np.array(peer.calculate_IK(pose).Q).reshape(-1, 6), forward, pose, 1e-4)
        assert len(ours) == len(theirs)


# Three intersecting axes, then two that intersect or are parallel; or three parallel axes before two that intersect.
ARRANGEMENTS = {
    "two meet": ((Z, Y, X, Y, Z, X), {0: 0, 1: 0, 2: 0, 5: 4}),
    "two parallel": ((Z, Y, X, Y, Y, Z), {0: 0, 1: 0, 2: 0}),
    "two opposite": ((Z, Y, X, Y, -Y, Z), {0: 0, 1: 0, 2: 0}),
    "three parallel": ((Z, Y, Y, Y, Z, Y), {5: 4}),
    "three parallel, some opposite": ((Z, Y, -Y, -Y, Z, Y), {5: 4}),
}


@pytest.mark.parametrize(
    ("kind", "backwards"),
    [(kind, backwards) for kind in ARRANGEMENTS for backwards in (False, True) if not backwards or "two" in kind],
)
def test_configurations_are_among_the_candidates_of_their_poses(kind: str, backwards: bool) -> None:
    axes, same = ARRANGEMENTS[kind]
    turn = np.linalg.qr(np.random.default_rng(4).normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    directions = np.array(axes) @ turn.T
    origins = np.array([ORIGINS[same.get(row, row)] for row in range(6)]) @ turn.T
    if backwards:
        directions, origins = directions[::-1], origins[::-1]
    tip = origins[5] + (0.05, 0.1, 0.15)
    offsets = np.diff(np.vstack((np.zeros(3), origins, tip)), axis=0)
    solve = compiled_six(directions.T.copy(), offsets.T.copy(), turn)
    assert solve is not None
    rng = np.random.default_rng(5)
    for _ in range(50):
        q = rng.uniform(-3.0, 3.0, 6)
        found, counts = solve.candidates(screws(directions, origins, turn, tip, q)[None])
        assert 0 < len(found) == counts[0] <= 8
        gaps = (found - q + np.pi) % (2.0 * np.pi) - np.pi
        assert np.abs(gaps).max(axis=1).min() < 1e-6


def screws(directions: Array, origins: Array, rotation: Array, tip: Array, q: Array) -> Array:
    """The pose of the tip after all rotations, from the last joint to the first."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, tip
    for axis, origin, angle in zip(directions[::-1], origins[::-1], q[::-1], strict=True):
        cross = np.cross(np.eye(3), axis)
        turn = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
        pose[:3, :3], pose[:3, 3] = turn @ pose[:3, :3], origin + turn @ (pose[:3, 3] - origin)
    return pose


def test_a_pose_out_of_reach_has_no_candidates_and_others_keep_theirs() -> None:
    table = six_of("ur5")
    solve = compiled_six(*_axes_and_offsets(table))
    assert solve is not None
    reached = chain_kernels.forward(table, np.full(6, 0.5))
    far = reached.copy()
    far[:3, 3] += 9.0
    rows, counts = solve.candidates(np.array((reached, far, reached)))
    assert counts[1] == 0
    assert counts[0] == counts[2] > 0
    np.testing.assert_array_equal(rows[: counts[0]], rows[counts[0] :])


def test_axes_in_general_directions_have_no_compiled_closed_form() -> None:
    rng = np.random.default_rng(6)
    axes = rng.normal(size=(3, 6))
    assert compiled_six(axes / np.linalg.norm(axes, axis=0), rng.normal(size=(3, 7)), np.eye(3)) is None


@pytest.mark.parametrize("name", ["panda", "xarm7", "rail"])
def test_candidates_of_seven_joints_have_the_value_of_the_locked_one(name: str) -> None:
    cell = arm(name)
    chain = chain_to(cell, cell.default_state(), cell.tip_link(), cell.group().variables)
    form = closed_form(chain)
    assert form is not None
    assert form.locked is not None
    assert form.compiled
    q = np.full(7, 0.4)
    pose, values = chain.forward(q), np.array((0.4, 0.1))
    rows, counts = form.candidates(np.array((pose, pose)), values, q)
    assert counts.sum() == len(rows)
    np.testing.assert_array_equal(rows[:, form.locked], np.repeat(values, counts))
    assert np.abs(rows[: counts[0]] - q).max(axis=1).min() < 1e-4
