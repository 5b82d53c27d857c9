"""A gripper picks up a workpiece, moves it fast, and places it accurately."""

import math

import pytest
from simulation_cells import EDGE, FINGERS, FLANGE_HEIGHT, body, box, workshop

from robot_cell_planner.model.geometry import Cylinder, MeshUse, Shape, Triangles
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.simulated_robot import MotorControl, PidControl
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

pytestmark = pytest.mark.usefixtures("engine")  # each test in each engine, see conftest.py

RATE = 250
TCP = 0.105  # [m] from the flange
CONTACT_DEPTH = {"bullet": 1e-4, "mujoco": 5e-4}  # [m] of fingers, whose contacts are springs in MuJoCo
GRASP_HEIGHT = TCP - FLANGE_HEIGHT + EDGE / 2  # of the joint z, with the workpiece on the table


def move(simulated, begin, end):
    """All joints move from rest to rest (10 s^3 - 15 s^4 + 6 s^5), at up to 0.8 m/s, 3 m/s2, 1.6 rad/s and
    6 rad/s2."""
    names = ("x", "y", "z", "turn")
    way = max(abs(b - a) / scale for a, b, scale in zip(begin, end, (1.0, 1.0, 1.0, 2.0), strict=True))
    duration = max(1.875 * way / 0.8, math.sqrt(5.78 * way / 3.0))
    for index in range(1, round(duration * RATE) + 1):
        s = index / (duration * RATE)
        way, speed = s**3 * (10 - 15 * s + 6 * s * s), 30 * s * s * (1 - s) ** 2 / duration
        place = {n: a + way * (b - a) for n, a, b in zip(names, begin, end, strict=True)}
        speeds = {n: speed * (b - a) for n, a, b in zip(names, begin, end, strict=True)}
        simulated.set_targets(place, speeds, simulated.time + 1.0 / RATE)
        simulated.step(1.0 / RATE)


def carry(simulated):
    """From (-0.3, 0) around the post to (0.3, 0.1), turned by a quarter, with changes of height on the path."""
    above = GRASP_HEIGHT + 0.15
    home = (0.0, 0.0, 0.0, 0.0)
    stops = [
        (-0.3, 0.0, above, 0.0), (-0.3, 0.0, GRASP_HEIGHT, 0.0), None, (-0.3, 0.0, above, 0.0),
        (-0.2, -0.4, 0.3, -1.0), (0.3, 0.1, above, math.pi / 2), (0.3, 0.1, GRASP_HEIGHT + 0.01, math.pi / 2), None,
    ]  # fmt: skip
    place, opening = home, 0.0
    for stop in stops:
        if stop is None:
            simulated.set_targets({"finger": opening})
            simulated.step(0.5)
            opening = 0.04
        else:
            move(simulated, place, stop)
            place = stop
    move(simulated, place, (0.3, 0.1, above, math.pi / 2))
    simulated.step(0.2)


def prism(half):
    """A box of triangles, to be used as a hull."""
    corners = tuple((x, y, z) for x in (-half, half) for y in (-half, half) for z in (-half, half))
    return Triangles(corners, ((0, 1, 3), (0, 3, 2), (4, 7, 5), (4, 6, 7)), MeshUse.HULL)


@pytest.mark.parametrize(
    ("shape", "mass", "assist"),
    [
        (box(EDGE, EDGE, EDGE), 0.3, False),
        (box(EDGE, EDGE, EDGE), 2.0, True),
        (Shape(Cylinder(EDGE / 2, EDGE)), 0.1, True),
        (Shape(prism(EDGE / 2)), 0.3, True),
    ],
    ids=["box by friction alone", "heavy box", "light cylinder", "mesh"],
)
def test_pick_and_place_within_a_millimetre(shape, mass, assist):
    cell, state = workshop(body("workpiece", [shape], mass))
    with SimulatedCell(cell, state, SimulationOptions(settle_time=0.1, grasp_assist=assist)) as simulated:
        carry(simulated)
        assert simulated.held_bodies == ()
        goal = Pose.from_rpy((0.3, 0.1, 0.01 + EDGE / 2), (0.0, 0.0, -math.pi / 2))
        distance, angle = goal.distance_to(simulated.body_pose("workpiece"))
        touched = {(record.first, record.second) for record in simulated.contact_log}
    assert distance < 1e-3
    if not isinstance(shape.geometry, Cylinder):
        assert math.degrees(angle) < 0.5
    assert touched == {*((finger, "workpiece") for finger in FINGERS), ("bin", "workpiece")}


def grip(simulated):
    """Close the gripper on the workpiece."""
    move(simulated, (0.0, 0.0, 0.0, 0.0), (-0.3, 0.0, GRASP_HEIGHT, 0.0))
    simulated.set_targets({"finger": 0.0})
    simulated.step(0.6)


@pytest.mark.parametrize("assist", [False, True])
def test_a_workpiece_does_not_creep_in_a_long_grasp(assist):
    cell, state = workshop()
    with SimulatedCell(cell, state, SimulationOptions(settle_time=0.1, grasp_assist=assist)) as simulated:
        grip(simulated)
        assert simulated.held_bodies == (("workpiece",) if assist else ())
        move(simulated, (-0.3, 0.0, GRASP_HEIGHT, 0.0), (-0.3, 0.0, 0.0, 0.0))
        held = simulated.pose("gripper/tcp").inverse() @ simulated.body_pose("workpiece")
        simulated.step(3.0)
        later = simulated.pose("gripper/tcp").inverse() @ simulated.body_pose("workpiece")
    distance, angle = held.distance_to(later)
    assert distance < 1e-5
    assert angle < 1e-4


@pytest.mark.parametrize("assist", [False, True])
@pytest.mark.parametrize(("mass", "follows"), [(1.2, True), (2.2, False)])
def test_friction_limits_the_payload(assist, mass, follows):
    """2 x 30 N x 0.3 = 18 N equal the weight of 1.83 kg, or hold 1.2 kg at an acceleration of 5 m/s2."""
    cell, state = workshop(body("workpiece", [box(EDGE, EDGE, EDGE)], mass))
    options = SimulationOptions(settle_time=0.1, friction=0.3, grasp_assist=assist)
    with SimulatedCell(cell, state, options) as simulated:
        grip(simulated)
        for height in range(1, 6):
            before, after = ((-0.3, 0.0, GRASP_HEIGHT + 0.01 * i, 0.0) for i in (height - 1, height))
            move(simulated, before, after)
        lifted = simulated.body_pose("workpiece").position[2] - EDGE / 2
    assert lifted == pytest.approx(0.05, abs=1e-3) if follows else lifted < 0.03


def test_an_eccentric_workpiece_is_centred():
    cell, state = workshop(start=BodyState(Pose((-0.3, 0.008, EDGE / 2))))
    with SimulatedCell(cell, state, SimulationOptions(settle_time=0.1)) as simulated:
        grip(simulated)
        assert simulated.body_pose("workpiece").position[1] == pytest.approx(0.0, abs=2e-4)


def test_a_held_workpiece_is_reported_and_released_at_once(engine):
    cell, state = workshop()
    with SimulatedCell(cell, state, SimulationOptions(settle_time=0.1)) as simulated:
        grip(simulated)
        states = simulated.joint_states()
        finger = states.names.index("finger")
        assert states.positions[finger] == pytest.approx(EDGE / 2, abs=CONTACT_DEPTH[engine])
        assert states.velocities[finger] == pytest.approx(0.0, abs=1e-6)
        assert states.efforts[finger] == -60.0
        forces = {contact.pair: contact.force for contact in simulated.contacts()}
        assert sum(forces[finger, "workpiece"] for finger in FINGERS) == pytest.approx(60.0, rel=0.05)
        simulated.set_targets({"finger": 0.03})
        simulated.step(0.05)
        assert simulated.held_bodies == ()
        simulated.step(0.2)
        assert not {contact.pair for contact in simulated.contacts()} & {(finger, "workpiece") for finger in FINGERS}


@pytest.mark.parametrize("controller", [MotorControl(), PidControl()])
def test_fingers_that_hold_a_body_stay_at_it_when_an_effort_is_commanded(engine, controller):
    """They closed through it; an effort that opens the gripper lets the body go."""
    cell, state = workshop()
    with SimulatedCell(cell, state, SimulationOptions(settle_time=0.1)) as simulated:
        grip(simulated)
        simulated.set_controller(controller, "gripper")
        finger = simulated.joint_names.index("finger")

        def closed(effort, duration):
            for _ in range(round(duration / 0.01)):
                simulated.set_efforts({"finger": effort})
                simulated.step(0.01)
            return simulated.joint_states().positions[finger]

        assert closed(-20.0, 0.3) == pytest.approx(EDGE / 2, abs=2.0 * CONTACT_DEPTH[engine])
        if isinstance(controller, MotorControl):
            assert simulated.joint_states().efforts[finger] == -20.0
        assert simulated.held_bodies == ("workpiece",)
        simulated.step(0.5)  # the effort expires
        assert simulated.joint_states().positions[finger] == pytest.approx(EDGE / 2, abs=2.0 * CONTACT_DEPTH[engine])
        assert simulated.held_bodies == ("workpiece",)
        assert closed(20.0, 0.2) > EDGE / 2 + 0.01
        assert simulated.held_bodies == ()


def test_a_held_workpiece_that_hits_an_obstacle_slips():
    cell, state = workshop()
    with SimulatedCell(cell, state, SimulationOptions(settle_time=0.1)) as simulated:
        grip(simulated)
        # The palm passes over the post, the workpiece doesn't.
        low = (-0.3, 0.0, GRASP_HEIGHT + 0.14, 0.0)
        move(simulated, (-0.3, 0.0, GRASP_HEIGHT, 0.0), low)
        assert simulated.held_bodies == ("workpiece",)
        move(simulated, low, (0.1, 0.0, GRASP_HEIGHT + 0.14, 0.0))
        assert simulated.held_bodies == ()
        assert ("post", "workpiece") in {(record.first, record.second) for record in simulated.contact_log}


def test_pushing_is_not_gripping():
    cell, state = workshop()
    with SimulatedCell(cell, state, SimulationOptions(settle_time=0.1)) as simulated:
        beside = (-0.38, 0.0, GRASP_HEIGHT, 0.0)
        move(simulated, (0.0, 0.0, 0.0, 0.0), (-0.38, 0.0, 0.0, 0.0))
        simulated.set_targets({"finger": 0.015})
        move(simulated, (-0.38, 0.0, 0.0, 0.0), beside)
        move(simulated, beside, (-0.25, 0.0, GRASP_HEIGHT, 0.0))
        assert simulated.held_bodies == ()
        assert simulated.body_pose("workpiece").position[0] == pytest.approx(-0.25 + 0.01 + EDGE / 2, abs=2e-3)
