"""The auditor of benchmarks/audit shares no code with the library, finds planted errors, and confirms certificates."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin
import pytest
import trimesh

from benchmarks.audit import cells, motion
from benchmarks.audit import run as audit
from benchmarks.audit.description import Description, read_cell
from benchmarks.audit.model import TOUCHING, AuditModel, directions_apart
from benchmarks.audit.motion import Polynomials, Sampled, Straight, closest_approach, hermite
from benchmarks.audit.record import Record
from robot_cell_planner.io.cell_file.cell_file import load_cell

FOLDER = Path(audit.__file__).parent
# These use the library to make cells, motions and plans; the check of a motion needs none of them.
MAKERS = {"__main__", "run", "cells", "generate", "plans"}
LIBRARIES = {"coal", "numpy", "pinocchio", "xacro", "yaml"}
# A hand of two fingers on a slide, and a plate 0.1 mm thick across its path; one variable drives both fingers.
ROBOT = """<robot name="hand">
<link name="rail"/>
<link name="palm"><collision><geometry><box size="0.02 0.2 0.02"/></geometry></collision></link>
<link name="left"><collision><geometry><box size="0.02 0.01 0.08"/></geometry></collision></link>
<link name="right"><collision><geometry><box size="0.02 0.01 0.08"/></geometry></collision></link>
<joint name="slide" type="prismatic"><parent link="rail"/><child link="palm"/><axis xyz="1 0 0"/>
  <limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
<joint name="left" type="prismatic"><parent link="palm"/><child link="left"/><origin xyz="0 0.05 0.06"/>
  <axis xyz="0 -1 0"/><limit lower="0" upper="0.05" velocity="1" effort="1"/></joint>
<joint name="right" type="prismatic"><parent link="palm"/><child link="right"/><origin xyz="0 -0.05 0.06"/>
  <axis xyz="0 1 0"/><limit lower="0" upper="0.05" velocity="1" effort="1"/>
  <mimic joint="left" multiplier="1.0" offset="0.001"/></joint>
</robot>"""
SRDF = """<robot name="hand"><group name="manipulator"><chain base_link="rail" tip_link="palm"/></group>
<disable_collisions link1="palm" link2="left"/><disable_collisions link1="palm" link2="right"/></robot>"""
CELL = """format: robot_cell/1
robots: {hand: {urdf: hand.urdf, srdf: hand.srdf}}
bodies:
  plate: {collisions: [{type: box, size: [0.0001, 0.5, 0.5]}], pose: {position: [0.7353, 0, 0]}}
"""
NAMES = ("slide", "left")


@pytest.fixture
def hand(tmp_path: Path) -> AuditModel:
    (tmp_path / "hand.urdf").write_text(ROBOT)
    (tmp_path / "hand.srdf").write_text(SRDF)
    (tmp_path / "cell.yaml").write_text(CELL)
    return AuditModel(read_cell(tmp_path / "cell.yaml"))


def _robot_model(robot: str, variant: int, folder: Path) -> AuditModel:
    file = cells.write_cell(robot, variant, 1, folder)
    return AuditModel(audit.described(file, *load_cell(file.path, file.roots)))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_the_check_of_motions_imports_nothing_of_the_library(path: Path) -> None:
    if path.stem in MAKERS:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules = [str(node.module).partition(".")[0]]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 1
            assert str(node.module) not in MAKERS, f"{path.stem} imports {node.module}"
            continue
        else:
            continue
        assert set(modules) <= LIBRARIES | sys.stdlib_module_names, f"{path.stem} imports {modules}"


@pytest.mark.parametrize("turn", [(0.0, 0.0, 0.0), (0.3, -0.7, 1.9)])
@pytest.mark.parametrize(("depth", "touches"), [(1e-9, True), (8e-6, True), (1.5e-5, False), (1e-3, False)])
def test_skins_that_touch_come_apart(turn: tuple[float, ...], depth: float, touches: bool) -> None:
    """A box on another one; coal's depth of their triangles is several centimetres."""
    placed = pin.SE3(pin.rpy.rpyToMatrix(*turn), np.zeros(3))
    above = placed * pin.SE3(np.eye(3), np.array((0.01, 0.02, 0.1 - depth)))
    pose, other_pose = (coal.Transform3s(each.rotation, each.translation) for each in (above, placed))
    one, other = skin_of_a_box(0.05), skin_of_a_box(0.05)
    request, result = coal.CollisionRequest(), coal.CollisionResult()
    request.enable_contact, request.num_max_contacts = True, 256
    coal.collide(one, pose, other, other_pose, request, result)
    contacts = [result.getContact(k) for k in range(result.numContacts())]
    assert min(contact.penetration_depth for contact in contacts) < -0.01
    directions = directions_apart(one, pose, other, other_pose, contacts)
    gaps = []
    for direction in directions:
        moved = coal.Transform3s(pose.getRotation(), pose.getTranslation() + TOUCHING * direction)
        gaps.append(coal.distance(one, moved, other, other_pose, coal.DistanceRequest(), coal.DistanceResult()))
    assert (max(gaps) > 0.0) == touches


def skin_of_a_box(half: float) -> Any:
    mesh = trimesh.creation.box((2.0 * half,) * 3)
    skin = coal.BVHModelOBBRSS()
    skin.beginModel(len(mesh.faces), len(mesh.vertices))
    skin.addVertices(np.array(mesh.vertices))
    skin.addTriangles(np.array(mesh.faces, dtype=np.int64))
    skin.endModel()
    skin.computeLocalAABB()
    return skin


def test_a_thin_obstacle_between_coarse_samples_is_found(hand: AuditModel) -> None:
    way = Straight(np.array((0.0, 0.0)), np.array((1.4, 0.0)))
    coarse = way.at(np.linspace(0.0, 1.0, 21))
    assert min(hand.smallest_gap(NAMES, q) for q in coarse) > 0.0
    found = closest_approach(hand, NAMES, way)
    assert found.excess > 0.0
    assert {found.first, found.second} & {"plate"}
    assert abs(found.configuration[0] - 0.7353) < 0.02


def test_fingers_that_one_variable_drives_into_each_other_collide(hand: AuditModel) -> None:
    # Between the fingers are 0.1 - 0.01 - 0.001 - 2 * left.
    open_hand, closed = np.array((0.0, 0.0)), np.array((0.0, 0.0446))
    found = closest_approach(hand, NAMES, Straight(open_hand, closed))
    assert (found.first, found.second) == ("left", "right")
    assert found.gap == pytest.approx(0.089 - 2 * 0.0446, abs=2e-6)
    assert found.excess > 0.0
    assert closest_approach(hand, NAMES, Straight(open_hand, np.array((0.0, 0.0444)))).excess < 0.0


def test_the_deepest_overlap_of_a_curve_is_found_between_samples(hand: AuditModel) -> None:
    def curve(times: np.ndarray) -> np.ndarray:
        return np.column_stack((np.zeros_like(times), 0.0446 - 0.02 * (times - 0.3003) ** 2))

    found = closest_approach(hand, NAMES, Sampled(curve, 0.0, 1.0))
    assert found.parameter == pytest.approx(0.3003, abs=2e-3)
    assert found.gap == pytest.approx(-2e-4, abs=2e-6)


def test_a_margin_counts(hand: AuditModel) -> None:
    way = Straight(np.array((0.0, 0.0)), np.array((0.5, 0.0)))
    gap = closest_approach(hand, NAMES, way).gap
    assert gap > 0.05
    assert closest_approach(hand, NAMES, way, gap + 1e-4).excess > 0.0
    assert closest_approach(hand, NAMES, way, gap - 1e-4).excess < 0.0


@pytest.mark.parametrize("robot", ["pincer", "slides"])
def test_no_pair_approaches_faster_than_its_bound(robot: str, tmp_path: Path) -> None:
    model = _robot_model(robot, 0, tmp_path)
    names = [name for name in model.joints if not model.cell.joints[name].mimic]
    matrix, base = model.expansion(names)
    rng = np.random.default_rng(3)
    for _ in range(40):
        q, step = rng.uniform(-0.15, 0.15, len(names)), rng.uniform(-1e-3, 1e-3, len(names))
        values = [matrix @ q + base, matrix @ (q + step) + base]
        bounds = model.speeds(np.abs(values[1] - values[0]), np.maximum(*np.abs(values)))
        gaps = []
        for row in model.configurations(np.array(values)):
            model.place(row)
            gaps.append([model.gap(number) for number in range(len(bounds))])
        apart = np.min(gaps, axis=0) > 1e-4
        assert (np.abs(np.diff(gaps, axis=0)[0]) <= bounds + 2e-6)[apart].all()


def test_mimics_of_mimics_are_driven(tmp_path: Path) -> None:
    model = _robot_model("pincer", 0, tmp_path)
    matrix, base = model.expansion(["grip"])
    values = dict(zip(model.joints, (matrix @ [0.02] + base).tolist(), strict=True))
    between = -12.0 * 0.02 + 0.2
    assert values["between"] == pytest.approx(between)
    assert values["rock"] == pytest.approx(1.5 * between + 0.1)


def test_hermite_interpolation_reproduces_a_quintic() -> None:
    true = Polynomials(np.array((0.0, 2.0)), np.random.default_rng(1).normal(size=(1, 6, 3)))
    times = np.array((0.0, 0.7, 2.0))
    powers = np.arange(6)
    found = hermite(
        times,
        true.at(times),
        Polynomials(true.breaks, (true.coefficients * powers[:, None])[:, 1:]).at(times),
        Polynomials(true.breaks, (true.coefficients * (powers * (powers - 1))[:, None])[:, 2:]).at(times),
    )
    fine = np.linspace(0.0, 2.0, 50)
    assert np.abs(found.at(fine) - true.at(fine)).max() < 1e-9


def test_an_error_of_50_micrometres_in_a_cell_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Motions that end in contact with obstacles are audited with slightly larger obstacles."""
    true = audit.described

    def larger(*cell: object) -> Description:
        found = true(*cell)  # type: ignore[arg-type]
        found.margins["*"] = found.margins.get("*", 0.0) + 2.5e-5
        return found

    monkeypatch.setattr(audit, "described", larger)
    record = Record()
    audit.audit_cell(record, audit.Task("pincer", 0, 12, 1, tmp_path, plans=0))
    assert record.counts["motions.colliding"] > 0


@pytest.mark.parametrize("robot", ["pincer", "slides", "ur3"])
def test_no_certified_motion_collides(robot: str, tmp_path: Path) -> None:
    record = Record()
    for variant in (0, 3):
        audit.audit_cell(record, audit.Task(robot, variant, 33, 5, tmp_path))
    counts = record.counts
    assert counts["motions.looked_at"] == 66
    assert min(counts["kind.planted"], counts["kind.contact"]) > 5
    assert counts["motions.near"] > 20
    assert not counts["motions.colliding"] + counts["segments.colliding"] + counts["trajectories.colliding"]
    assert not counts["proven.different"]
    assert not counts["pairs.different.kept"]
    assert record.worst["distances"] < 2e-6
    assert motion.FINE <= 1.0 / 2000.0
