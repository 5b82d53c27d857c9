"""Bodies that are added and removed while a simulation runs."""

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from simulation_cells import EDGE, GRAVITY, body, box, workshop

from robot_cell_planner.errors import (
    DuplicateNameError,
    GeometryError,
    RobotCellError,
    SimulationError,
    UnknownNameError,
)
from robot_cell_planner.model.bodies import NamedFrame
from robot_cell_planner.model.geometry import Shape, Sphere
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.simulation.disturbances import Disturbance, DisturbanceKind
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

pytestmark = pytest.mark.usefixtures("engine")  # each test in each engine, see conftest.py

SPHERE = body("sphere", [Shape(Sphere(0.05))], 0.5)
SHELF = body("shelf", [box(0.3, 0.3, 0.02), box(0.3, 0.02, 0.1, Pose((0.0, 0.14, 0.05)))])
RACK = body("rack", [*SHELF.collisions, *(box(0.01, 0.01, 0.01, Pose((0.0, -0.14, 0.02 * k))) for k in range(16))])
ABOVE = BodyState(Pose((0.4, -0.4, 1.0)))


@pytest.fixture
def simulated(engine):
    with SimulatedCell(*workshop(), SimulationOptions(settle_time=0.1)) as cell:
        yield cell


def height_of(simulated, frame):
    return simulated.pose(frame).position[2]


def height(simulated, name):
    return simulated.body_pose(name).position[2]


def test_an_added_body_falls_and_rests_on_others(simulated):
    simulated.step(0.1)
    simulated.add_body(SPHERE, ABOVE)
    simulated.step(0.3)
    fallen = 0.5 * GRAVITY * 0.3 * (0.3 + simulated.options.time_step)
    assert height(simulated, "sphere") == pytest.approx(1.0 - fallen, abs=1e-6)
    simulated.step(1.0)
    assert height(simulated, "sphere") == pytest.approx(0.05, abs=1e-3)
    assert ("sphere", "table") in {contact.pair for contact in simulated.contacts()}
    assert simulated.body_poses().keys() >= {"sphere", "workpiece"}
    assert simulated.state().bodies["sphere"].pose == simulated.body_pose("sphere")


def test_an_added_body_without_a_mass_is_static_and_supports_others(simulated):
    simulated.add_body(SHELF, BodyState(Pose((0.4, -0.4, 0.3))))
    simulated.add_body(SPHERE, ABOVE)
    simulated.step(1.0)
    assert simulated.body_pose("shelf").position == pytest.approx((0.4, -0.4, 0.3), abs=1e-9)
    assert height(simulated, "sphere") == pytest.approx(0.36, abs=1e-3)
    simulated.remove_body("shelf")
    simulated.step(1.0)
    assert height(simulated, "sphere") == pytest.approx(0.05, abs=1e-3)
    with pytest.raises(UnknownNameError, match="shelf"):
        simulated.pose("shelf")


def test_other_objects_move_as_without_the_change(engine):
    """To the last bit in PyBullet; in MuJoCo, the equations of all bodies are solved together."""

    def run(spawn):
        with SimulatedCell(*workshop(), SimulationOptions(settle_time=0.1)) as simulated:
            simulated.set_targets({"x": 0.5, "y": -0.3, "finger": 0.01})
            simulated.step(0.3)
            if spawn:
                simulated.add_body(SPHERE, ABOVE)
                simulated.add_body(SHELF, BodyState(Pose((-0.4, -0.4, 0.3))))
            simulated.step(0.01)
            if spawn:
                simulated.remove_body("sphere")
                simulated.remove_body("shelf")
            simulated.step(0.5)
            states = simulated.joint_states()
            return np.concatenate([states.positions, states.velocities, states.efforts])

    np.testing.assert_allclose(run(True), run(False), rtol=1e-6, atol=1e-6)


def test_a_hand_closes_when_its_held_body_is_removed(simulated):
    simulated.set_targets({"x": -0.3, "z": -0.37})
    simulated.step(1.2)
    simulated.set_targets({"finger": 0.0})
    simulated.step(0.8)
    assert simulated.held_bodies == ("workpiece",)
    simulated.add_body(SPHERE, ABOVE)
    assert simulated.held_bodies == ("workpiece",)
    simulated.set_targets({"z": -0.2})
    simulated.step(0.5)
    assert height(simulated, "workpiece") > 0.1
    simulated.remove_body("workpiece")
    assert simulated.held_bodies == ()
    simulated.step(0.5)
    states = simulated.joint_states()
    assert states.positions[states.names.index("finger")] < 0.5 * EDGE - 0.01


def test_an_added_body_can_be_gripped(simulated):
    simulated.remove_body("workpiece")
    simulated.add_body(body("part", [box(EDGE, EDGE, EDGE)], 0.3), BodyState(Pose((-0.3, 0.0, EDGE / 2))))
    simulated.set_targets({"x": -0.3, "z": -0.37})
    simulated.step(1.2)
    simulated.set_targets({"finger": 0.0})
    simulated.step(0.8)
    assert simulated.held_bodies == ("part",)


def test_a_body_is_replaced_by_one_of_its_name_and_disturbances_end(simulated):
    simulated.disturb(Disturbance(DisturbanceKind.PAYLOAD, "workpiece", 1.0))
    simulated.remove_body("workpiece")
    assert simulated.disturbances == ()
    simulated.add_body(body("workpiece", [box(0.1, 0.1, 0.2)], 1.0), BodyState(Pose((-0.3, 0.0, 0.1))))
    simulated.step(0.2)
    assert height(simulated, "workpiece") == pytest.approx(0.1, abs=1e-4)
    weight = next(c.force for c in simulated.contacts() if c.pair == ("table", "workpiece"))
    assert weight == pytest.approx(GRAVITY, rel=1e-2)


ON_TABLE = BodyState(Pose((0.4, -0.4, 0.051)))


def pairs(simulated):
    return {(record.first, record.second) for record in simulated.contact_log}


def test_contacts_of_removed_bodies_are_not_kept(simulated):
    """Otherwise reports would grow for days, and a new body would have the contacts of an earlier one of its name."""
    before = pairs(simulated)
    for number in range(3):
        simulated.add_body(
            msgspec.structs.replace(SPHERE, name=f"sphere_{number}"), BodyState(Pose((0.4, -0.4, 0.051)))
        )
        simulated.step(0.1)
        assert pairs(simulated) == before | {(f"sphere_{number}", "table")}
        simulated.remove_body(f"sphere_{number}")
        assert pairs(simulated) == before
    began = simulated.time
    simulated.add_body(msgspec.structs.replace(SPHERE, name="sphere_0"), ON_TABLE)
    simulated.step(0.1)
    (record,) = [each for each in simulated.contact_log if each.first == "sphere_0"]
    assert record.begin > began


def sizes(holder):
    """Sizes of the containers of an object."""
    return {name: len(value) for name, value in vars(holder).items() if hasattr(value, "__len__")}


def test_removed_bodies_leave_nothing(simulated):
    """Otherwise a cell in which parts are spawned would become slower over days."""
    physics = simulated._physics

    def present():
        return sizes(physics._multibodies), sizes(physics.engine), simulated.pose("workpiece")

    def spawn(number):
        falling, standing = (msgspec.structs.replace(each, name=f"{each.name}_{number}") for each in (SPHERE, SHELF))
        simulated.add_body(falling, ABOVE)
        simulated.add_body(standing, BodyState(Pose((0.4, -0.4, 0.3))))
        simulated.remove_body(falling.name)
        simulated.remove_body(standing.name)

    spawn(0)
    before = present()
    for number in range(1, 6):
        spawn(number)
    assert present() == before


def test_a_body_that_cannot_be_added_leaves_nothing(simulated, monkeypatch):
    engine, physics = simulated._physics.engine, simulated._physics
    multibodies, add, tried = physics._multibodies, engine.add, []
    before = len(multibodies.items), len(multibodies.frames), sizes(engine)

    def fails_at_the_second(number, multibody):
        tried.append(number)
        if len(tried) == 2:
            raise GeometryError("a mesh cannot be used")
        return add(number, multibody)

    monkeypatch.setattr(engine, "add", fails_at_the_second)
    shelf = BodyState(Pose((0.4, -0.4, 0.3)))
    with pytest.raises(GeometryError):
        simulated.add_body(RACK, shelf)
    assert tried == [tried[0], tried[0] + 1], "it needs two multibodies"
    assert (len(multibodies.items), len(multibodies.frames), sizes(engine)) == before
    simulated.add_body(RACK, shelf)
    simulated.add_body(SPHERE, ABOVE)
    simulated.step(1.0)
    assert height(simulated, "sphere") == pytest.approx(0.36, abs=1e-3)


def test_contacts_of_a_body_that_replaces_one_at_rest_are_logged(simulated):
    assert ("table", "workpiece") in simulated.resting_pairs
    simulated.remove_body("workpiece")
    simulated.add_body(msgspec.structs.replace(SPHERE, name="workpiece"), ABOVE)
    simulated.step(1.0)
    assert ("table", "workpiece") in pairs(simulated)


def test_frames_of_a_body_follow_it_until_it_is_removed():
    cell, state = workshop()
    mark = NamedFrame("mark", "workpiece", Pose((0.0, 0.0, 0.1)))
    cell = msgspec.structs.replace(cell, frames=frozendict({"mark": mark}))
    place = state.bodies["workpiece"]
    higher = msgspec.structs.replace(place, pose=place.pose @ Pose((0.0, 0.0, 0.3)))
    with SimulatedCell(cell, state, SimulationOptions(settle_time=0.1)) as simulated:
        simulated.remove_body("workpiece")
        assert "workpiece" not in simulated.body_poses()
        assert height_of(simulated, "mark") == pytest.approx(0.1 + EDGE / 2)
        simulated.add_body(cell.bodies["workpiece"], higher)
        simulated.step(0.01)
        assert height_of(simulated, "mark") == pytest.approx(0.4 + EDGE / 2, abs=1e-3)
        assert height_of(simulated, "mark") == pytest.approx(height(simulated, "workpiece") + 0.1)


def test_a_reset_keeps_added_bodies_and_not_removed_ones(simulated):
    simulated.add_body(SPHERE, ABOVE)
    simulated.remove_body("post")
    simulated.step(0.5)
    simulated.reset()
    assert "post" not in simulated.body_poses()
    assert height(simulated, "sphere") < 1.0  # it fell during the settling time


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda s: s.add_body(body("post", [box(1, 1, 1)]), ABOVE), DuplicateNameError, "post"),
        (lambda s: s.add_body(body("palm", [box(1, 1, 1)]), BodyState(attached_to="moon")), RobotCellError, "moon"),
        (lambda s: s.add_body(SPHERE, BodyState(attached_to="gripper")), SimulationError, "attached to gripper"),
        (lambda s: s.remove_body("moon"), UnknownNameError, "moon"),
    ],
)
def test_invalid_changes_are_refused_and_change_nothing(simulated, call, error, words):
    before = simulated.body_poses().keys()
    with pytest.raises(error, match=words):
        call(simulated)
    simulated.step(0.1)
    assert simulated.body_poses().keys() == before
