"""Cells of many static bodies, which PyBullet simulates as fewer objects."""

import numpy as np
import pytest
from simulation_cells import EDGE, GRAVITY, body, box, cell_of_bodies

from robot_cell_planner.model.geometry import Capsule, Cylinder, Shape, Sphere
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.simulation.camera_view import CameraView
from robot_cell_planner.simulation.engines import static_groups
from robot_cell_planner.simulation.multibody.multibodies import Multibodies
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell
from robot_cell_planner.system.physics import has_physics

pytestmark = pytest.mark.skipif(not has_physics(), reason="PyBullet is not installed")

SIDE = 12
COUNT = SIDE * SIDE
PITCH = 0.1  # [m]
TILES = {f"tile{i}_{j}": Pose((PITCH * i, PITCH * j, 0.0)) for i in range(SIDE) for j in range(SIDE)}
SHAPES = (box(0.1, 0.1, 0.1), Shape(Sphere(0.05)), Shape(Cylinder(0.05, 0.1)), Shape(Capsule(0.03, 0.04)))
PARTS = {"part0": (3, 4), "part1": (7, 2), "part2": (7, 3), "part3": (0, 11)}  # the tile that each one is above
OPTIONS = SimulationOptions(settle_time=0.0)


BAR = Pose.from_rpy((0.55, 0.55, 0.0), (0.0, 0.0, np.pi / 4.0))


def paved():
    """Tiles that touch their neighbours, an upright bar across them, and parts above some of them."""
    tiles = [body("bar", [box(1.6, 0.02, 0.5)]), *(body(name, [SHAPES[0]]) for name in TILES)]
    parts = [body(name, [box(EDGE, EDGE, EDGE)], 0.2) for name in PARTS]
    places = {name: Pose((PITCH * i, PITCH * j, 0.051 + EDGE / 2)) for name, (i, j) in PARTS.items()}
    return cell_of_bodies(*tiles, *parts, **TILES, **places, bar=BAR)


def engine_bodies(simulated):
    import pybullet

    return pybullet.getNumBodies(physicsClientId=simulated.engine.client)


def below(name):
    i, j = PARTS[name]
    return f"tile{i}_{j}"


def test_static_bodies_are_few_objects_of_the_engine():
    with SimulatedCell(*paved(), OPTIONS) as simulated:
        assert engine_bodies(simulated) < COUNT / 5 + len(PARTS)


def test_an_object_of_the_engine_has_bodies_that_are_close_to_each_other():
    """The engine compares all of its objects whose bounding boxes overlap."""
    side = 40
    rng = np.random.default_rng(2)
    places = [Pose((PITCH * i, PITCH * j, 0.0)) for i, j in rng.permutation(list(np.ndindex(side, side))).tolist()]
    tiles = [body(f"tile{k}", [SHAPES[0]]) for k in range(len(places))]
    multibodies = Multibodies(*cell_of_bodies(*tiles, **{f"tile{k}": pose for k, pose in enumerate(places)}))
    alone, groups = static_groups.StaticGroups(True).split(multibodies.numbered)
    assert not alone
    assert sum(map(len, groups)) == side**2
    extents = [
        np.max([each.upper for each in group], axis=0) - np.min([each.lower for each in group], axis=0)
        for group in groups
    ]
    assert np.median(extents, axis=0)[:2] == pytest.approx(0.0, abs=0.5 * side * PITCH)


def test_parts_rest_on_the_bodies_that_they_are_above():
    with SimulatedCell(*paved(), OPTIONS) as simulated:
        simulated.step(0.5)
        contacts = simulated.contacts()
        assert {contact.pair for contact in contacts} == {(name, below(name)) for name in PARTS}
        for contact in contacts:
            assert contact.force == pytest.approx(0.2 * GRAVITY, rel=1e-2)
        assert {(record.first, record.second) for record in simulated.contact_log} == {c.pair for c in contacts}


def test_the_motion_and_the_contacts_are_those_of_single_objects(monkeypatch):
    """Parts that fall beside each other, on edges and on shapes of every kind."""
    rng = np.random.default_rng(1)
    tiles = [body(name, [SHAPES[k % len(SHAPES)]]) for k, name in enumerate(TILES)]
    parts = [body(f"piece{k}", [box(EDGE, EDGE, EDGE)], 0.2) for k in range(12)]
    places = {
        each.name: Pose.from_rpy((*rng.uniform(0.2, 0.9, 2).tolist(), 0.12), rng.uniform(-1.0, 1.0, 3).tolist())
        for each in parts
    }
    cell = cell_of_bodies(*tiles, *parts, **TILES, **places)

    def run():
        with SimulatedCell(*cell, OPTIONS) as simulated:
            simulated.step(0.1)
            poses = {name: pose.position for name, pose in simulated.body_poses().items()}
            return poses, {(each.first, each.second) for each in simulated.contact_log}, engine_bodies(simulated)

    poses, contacts, bodies = run()
    monkeypatch.setattr(static_groups, "MIN_COUNT", 10 * COUNT)
    single_poses, single_contacts, single_bodies = run()
    assert bodies < single_bodies == COUNT + len(parts)
    assert contacts == single_contacts
    assert len({tile for _, tile in contacts}) > len(parts)
    for name, position in poses.items():
        assert position == pytest.approx(single_poses[name], abs=1e-6)


def test_bodies_of_many_are_removed_alone():
    with SimulatedCell(*paved(), OPTIONS) as simulated:
        simulated.step(0.1)
        for name in [each for each in TILES if each not in map(below, PARTS)]:
            simulated.remove_body(name)
        assert simulated.body_poses().keys() == {"bar", *PARTS, *map(below, PARTS)}
        simulated.remove_body(below("part0"))
        simulated.step(0.5)
        assert simulated.body_pose("part0").position[2] < 0.0
        for name in PARTS.keys() - {"part0"}:
            assert simulated.body_pose(name).position[2] == pytest.approx(0.05 + EDGE / 2, abs=1e-3)


def test_bodies_that_are_added_one_by_one_become_few_objects():
    cell, state = paved()
    parts = cell_of_bodies(*(cell.bodies[name] for name in PARTS), **{name: state.bodies[name].pose for name in PARTS})
    with SimulatedCell(*parts, OPTIONS) as simulated:
        for name, pose in TILES.items():
            simulated.add_body(cell.bodies[name], BodyState(pose))
        assert engine_bodies(simulated) < COUNT
        simulated.step(0.5)
        assert {contact.pair for contact in simulated.contacts()} == {(name, below(name)) for name in PARTS}
        simulated.remove_body(below("part1"))
        simulated.step(0.2)
        assert simulated.body_pose("part1").position[2] < 0.0


def test_images_tell_the_bodies_apart():
    with SimulatedCell(*paved(), OPTIONS) as simulated:
        view = CameraView(Pose.from_rpy((0.35, 0.45, 0.6), (np.pi, 0.0, 0.0)), 60, 60, 0.6, 0.05, 2.0)
        found = simulated.image(view)
        seen = {found.names[number] for number in np.unique(found.segmentation[found.segmentation >= 0])}
        assert {"part0", "tile3_5", "tile4_4"} <= seen
