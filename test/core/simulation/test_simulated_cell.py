"""The interface of the simulated cell: commands are followed, invalid ones refused, and results reproducible."""

import hashlib
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from folders import SUPPORT
from simulation_cells import EDGE, body, box, cell_of_bodies, joint, pendulums, workshop

from robot_cell_planner.errors import InvalidRequestError, RobotCellError, StateError, UnknownNameError
from robot_cell_planner.model.mechanism import JointKind
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.simulation.commands import JointCommand
from robot_cell_planner.simulation.options import BOUNDS, SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

pytestmark = pytest.mark.usefixtures("engine")  # each test in each engine, see conftest.py

CONTACT_DEPTH = {"bullet": 1e-4, "mujoco": 5e-4}  # [m] of fingers, whose contacts are springs in MuJoCo
JOINTS = ("x", "y", "z", "turn")


@pytest.fixture
def simulated(engine):
    with SimulatedCell(*workshop(), SimulationOptions(settle_time=0.1)) as cell:
        yield cell


def positions(simulated, names=JOINTS):
    states = simulated.joint_states()
    return np.array([states.positions[states.names.index(name)] for name in names])


def wave(time):
    """Positions and velocities of the gantry's joints within all limits, from rest."""
    size = np.array([0.3, -0.25, 0.1, 0.8])
    return size * (1.0 - math.cos(2.0 * time)), 2.0 * size * math.sin(2.0 * time)


def follow(simulated, rate, duration):
    """Stream the wave; the largest errors of positions and velocities after each period."""
    worst = np.zeros(2)
    for index in range(round(duration * rate)):
        place, speed = wave(index / rate)
        simulated.set_targets(dict(zip(JOINTS, place, strict=True)), dict(zip(JOINTS, speed, strict=True)))
        simulated.step(1.0 / rate)
        place, speed = wave((index + 1) / rate)
        states = simulated.joint_states()
        chosen = [states.names.index(name) for name in JOINTS]
        errors = np.abs(states.positions[chosen] - place).max(), np.abs(states.velocities[chosen] - speed).max()
        worst = np.maximum(worst, errors)
    return worst


@pytest.mark.parametrize("rate", [250, 500])
def test_a_stream_of_commands_is_followed_closely(simulated, rate):
    position_error, velocity_error = follow(simulated, rate, 1.5)
    assert position_error < 1e-4
    assert velocity_error < 2e-2


def test_a_motion_known_in_advance_equals_its_single_commands():
    """One call gives the same bytes as a command for the end of each engine step."""
    fingerprints = []
    for at_once in (True, False):
        with SimulatedCell(*workshop(), SimulationOptions(settle_time=0.1)) as simulated:
            step = simulated.options.time_step
            rows = [wave(index * step) for index in range(1, 101)]
            if at_once:
                simulated.follow(JOINTS, np.array([row[0] for row in rows]), np.array([row[1] for row in rows]))
            else:
                for place, speed in rows:
                    time = simulated.time + step
                    speeds = dict(zip(JOINTS, speed, strict=True))
                    simulated.set_targets(dict(zip(JOINTS, place, strict=True)), speeds, time)
                    simulated.step_to(time)
            np.testing.assert_allclose(positions(simulated), rows[-1][0], atol=1e-4)
            simulated.step(0.01)  # both continue from the same time
            assert simulated.time == pytest.approx(0.21)
            states = simulated.joint_states()
            fingerprints.append(states.positions.tobytes() + states.velocities.tobytes() + states.efforts.tobytes())
    assert fingerprints[0] == fingerprints[1]


@pytest.mark.parametrize(
    ("joints", "shapes", "kind", "words"),
    [
        (("x", "w"), ((3, 2), (3, 2)), UnknownNameError, "'w'"),
        (("x", "finger_2"), ((3, 2), (3, 2)), UnknownNameError, "finger_2"),
        (("x",), ((3, 2), (3, 2)), InvalidRequestError, r"\(3, 2\).*expected \(k, 1\)"),
        (("x", "y"), ((3, 2), (2, 2)), InvalidRequestError, r"expected \(k, 2\)"),
    ],
)
def test_a_motion_of_unknown_joints_or_of_another_size_is_refused(simulated, joints, shapes, kind, words):
    with pytest.raises(kind, match=words):
        simulated.follow(joints, *(np.zeros(shape) for shape in shapes))
    assert simulated.time == 0.0


def test_a_motion_that_is_not_finite_is_refused(simulated):
    with pytest.raises(InvalidRequestError, match="not finite"):
        simulated.follow(("x",), np.array([[0.0], [math.nan]]), np.zeros((2, 1)))
    assert simulated.time == 0.0


def test_names_with_and_without_prefix_are_accepted(simulated):
    assert simulated.joint_names == ("x", "y", "z", "turn", "finger", "finger_2")
    assert simulated.driven_joints == ("x", "y", "z", "turn", "finger")
    simulated.set_targets({"gripper/finger": 0.03})
    simulated.step(0.5)
    assert positions(simulated, ["finger", "finger_2"]) == pytest.approx([0.03, 0.03], abs=1e-4)


def test_joints_hold_without_commands(simulated):
    before = positions(simulated)
    simulated.step(0.5)
    np.testing.assert_allclose(positions(simulated), before, atol=1e-6)


def test_the_state_agrees_with_the_frames(simulated):
    simulated.set_targets({"x": 0.1, "turn": 0.5, "finger": 0.02})
    simulated.step(0.6)
    state = simulated.state()
    assert state.configuration["x"] == pytest.approx(0.1, abs=1e-3)
    assert state.tools["gripper"].configuration["finger"] == pytest.approx(0.02, abs=1e-3)
    assert state.bodies["workpiece"].pose.distance_to(simulated.body_pose("workpiece")) == pytest.approx((0.0, 0.0))
    with SimulatedCell(workshop()[0], state, SimulationOptions(settle_time=0.0)) as copy:
        for frame in ("gripper/tcp", "gripper/left", "flange", "workpiece"):
            distance, angle = copy.pose(frame).distance_to(simulated.pose(frame))
            assert distance < 1e-6
            assert angle < 1e-5


def test_commands_as_ros2_control_sends_them(simulated):
    simulated.command(JointCommand({"x": 0.05, "finger": 0.0}, {"x": 0.0, "y": 0.1}, {"finger": 5.0, "turn": 0.5}))
    simulated.step(0.09)
    states = simulated.joint_states()
    found = dict(zip(states.names, zip(states.positions, states.velocities, states.efforts, strict=True), strict=True))
    assert found["x"][0] > 0.005
    assert found["y"][1] == pytest.approx(0.1, abs=1e-3)
    assert found["turn"][2] == 0.5
    assert found["turn"][1] > 0.1
    assert abs(found["finger"][2]) <= 5.0 + 1e-9
    simulated.step(1.0)
    x, y, _, _ = positions(simulated)
    assert x == pytest.approx(0.05, abs=1e-4)
    assert y == pytest.approx(0.1 * simulated.options.command_timeout, abs=2e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        JointCommand({"x": 0.1}, {"nothing": 0.1}),
        JointCommand({"x": 0.1}, {"x": 0.0, "y": math.nan}),
        JointCommand({"x": 0.1}, {}, {"nothing": 1.0}),
        JointCommand({"x": 0.1, "finger": 0.0}, {}, {"finger": math.inf}),
        JointCommand({"x": 0.1}, {}, {"turn": math.inf}),
    ],
)
def test_no_part_of_a_wrong_command_is_set(simulated, wrong):
    before = positions(simulated)
    with pytest.raises((UnknownNameError, InvalidRequestError)):
        simulated.command(wrong)
    simulated.step(0.2)
    np.testing.assert_allclose(positions(simulated), before, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda s: s.set_targets({"elbow": 0.0}), UnknownNameError, "elbow"),
        (lambda s: s.set_targets({"finger_2": 0.0}), UnknownNameError, "finger_2"),
        (lambda s: s.set_targets({"x": math.nan}), InvalidRequestError, "position of joint x is nan"),
        (lambda s: s.set_targets({"x": 0.1}, {"x": math.inf}), InvalidRequestError, "velocity of joint x is inf"),
        (lambda s: s.set_targets({"x": 0.1}, {"y": 0.1}), InvalidRequestError, "different joints: x, y"),
        (lambda s: s.set_targets({"x": 0.1}, None, math.nan), InvalidRequestError, "time is nan"),
        (lambda s: s.set_velocities({"x": math.nan}), InvalidRequestError, "velocity of joint x"),
        (lambda s: s.set_efforts({"x": math.inf}), InvalidRequestError, "effort of joint x"),
        (lambda s: s.limit_efforts({"finger": -1.0}), InvalidRequestError, "limit of joint finger is -1.0"),
        (lambda s: s.step(-1.0), InvalidRequestError, "duration is -1.0"),
        (lambda s: s.step(math.nan), InvalidRequestError, "duration is nan"),
        (lambda s: s.pose("nowhere"), UnknownNameError, "nowhere"),
        (lambda s: s.body_pose("gripper"), UnknownNameError, "gripper"),
    ],
)
def test_invalid_calls_are_refused_with_a_name_and_change_nothing(simulated, call, error, words):
    before = positions(simulated)
    with pytest.raises(error, match=words):
        call(simulated)
    simulated.step(0.1)
    np.testing.assert_allclose(positions(simulated), before, atol=1e-6)


@pytest.mark.parametrize("name", sorted(BOUNDS))
def test_options_out_of_bounds_are_refused_by_name(name):
    lower, upper = BOUNDS[name]
    for value in (lower - 1e-3 - abs(lower), upper * 1.01, math.nan):
        with pytest.raises(InvalidRequestError, match=name):
            SimulationOptions(**{name: value})
    with pytest.raises(InvalidRequestError, match="engine is 'gazebo', expected one of: bullet, mujoco"):
        SimulationOptions(engine="gazebo")
    with pytest.raises(InvalidRequestError, match="gravity"):
        SimulationOptions(gravity=(0.0, 0.0, math.inf))


def test_a_state_of_another_cell_is_refused():
    cell, _ = workshop()
    with pytest.raises(StateError):
        SimulatedCell(cell, cell_of_bodies(body("table", [box(1, 1, 1)]))[1])


def test_time_advances_in_whole_steps(simulated):
    for _ in range(1000):
        simulated.step(0.0007)
    assert simulated.time == pytest.approx(0.7, abs=simulated.options.time_step / 2)


def test_time_advances_to_a_given_time_but_never_back(simulated):
    simulated.step_to(0.1)
    assert simulated.time == pytest.approx(0.1)
    simulated.step_to(0.05)
    simulated.step(0.02)
    assert simulated.time == pytest.approx(0.12)


def test_a_joint_that_starts_beyond_its_limits_stays_until_it_is_commanded():
    cell, state = workshop()
    with SimulatedCell(cell, state.with_configuration({"x": 0.7}), SimulationOptions(settle_time=0.1)) as simulated:
        simulated.step(0.2)
        assert positions(simulated, ["x"])[0] == pytest.approx(0.7, abs=1e-5)
        simulated.set_targets({"x": 0.9})
        simulated.step(0.5)
        assert positions(simulated, ["x"])[0] == pytest.approx(0.7, abs=1e-5)
        simulated.set_targets({"x": 0.5})
        simulated.step(0.8)
        assert positions(simulated, ["x"])[0] == pytest.approx(0.5, abs=1e-4)


def test_end_stops_hold_a_joint_that_is_pushed(simulated):
    for _ in range(40):
        simulated.set_efforts({"y": 100.0})
        simulated.step(0.05)
    assert positions(simulated, ["y"])[0] == pytest.approx(0.6, abs=5e-3)


def test_a_missing_effort_limit_is_reported():
    cell, state = pendulums(joint("hinge", JointKind.REVOLUTE, "base", "bob", (0.0, 1.0, 0.0)))
    with SimulatedCell(cell, state, SimulationOptions(settle_time=0.0)) as simulated:
        assert simulated.warnings == ("no effort limit is given for hinge; 500 Nm or 500 N is assumed",)


def test_motions_before_the_start_are_reported():
    stone, table = body("stone", [box(0.1, 0.1, 0.1)], 1.0), body("table", [box(1, 1, 0.1, Pose((0.0, 0.0, -0.05)))])
    high = cell_of_bodies(stone, table, stone=Pose((0.0, 0.0, 0.07)))
    with SimulatedCell(*high) as simulated:
        assert simulated.warnings == ("body stone moved by 20.0 mm and 0.0 degrees before it came to rest",)
        assert simulated.time == 0.0
        assert simulated.resting_pairs == (("stone", "table"),)


def test_contacts_are_logged_with_time_force_and_depth_except_resting_ones(engine, simulated):
    assert simulated.contact_log == ()
    assert simulated.resting_pairs == (("table", "workpiece"),)
    # The gripper runs into the post, its fingers to both sides of it.
    simulated.set_targets({"x": -0.2, "z": -0.35})
    simulated.step(1.5)
    assert simulated.contact_log == ()
    simulated.set_targets({"x": 0.2})
    simulated.step(1.0)
    pairs = {(record.first, record.second): record for record in simulated.contact_log}
    assert set(pairs) == {("gripper/palm", "post")}
    touch = pairs["gripper/palm", "post"]
    # The palm, 60 mm wide, meets the side of the post 25 mm before its middle; 500 N push it into the post a little.
    assert positions(simulated, ["x"])[0] == pytest.approx(-0.055, abs=2e-3)
    assert 1.5 < touch.begin < 2.5
    assert touch.end == pytest.approx(simulated.time)
    assert touch.steps == round((touch.end - touch.begin) / simulated.options.time_step) + 1
    assert touch.max_force > 20.0
    assert 0.0 < touch.max_depth < (5e-3 if engine == "bullet" else 8e-3)
    assert ("gripper/palm", "post") in {contact.pair for contact in simulated.contacts()}


def test_a_gripper_presses_no_harder_than_it_is_commanded(engine):
    cell, state = workshop()
    for limit, expected in ((40.0, 20.0), (0.0, 30.0)):
        with SimulatedCell(cell, state, SimulationOptions(settle_time=0.1)) as simulated:
            simulated.set_targets({"x": -0.3, "z": -0.37})
            simulated.step(1.2)
            simulated.limit_efforts({"finger": limit})
            simulated.set_targets({"finger": 0.0})
            simulated.step(0.8)
            forces = {contact.pair: contact.force for contact in simulated.contacts()}
            # The motor drives both fingers by their gear, so each has half of its effort.
            assert forces["gripper/left", "workpiece"] == pytest.approx(expected, rel=0.1)
            assert forces["gripper/right", "workpiece"] == pytest.approx(expected, rel=0.1)
            assert positions(simulated, ["finger"])[0] == pytest.approx(EDGE / 2, abs=CONTACT_DEPTH[engine])


SCRIPT = """
import hashlib, sys
sys.path.insert(0, {folder!r})
from test_simulated_cell import fingerprint
print(fingerprint({engine!r}))
"""


def fingerprint(engine):
    with SimulatedCell(*workshop(), SimulationOptions(settle_time=0.05, engine=engine)) as simulated:
        follow(simulated, 250, 0.2)
        states = simulated.joint_states()
        numbers = np.concatenate([states.positions, states.velocities, states.efforts])
        pose = simulated.body_pose("workpiece")
        return hashlib.sha256(numbers.tobytes() + repr((pose, simulated.contact_log)).encode()).hexdigest()


def test_the_same_calls_give_the_same_bytes_in_another_process(engine):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONSAFEPATH": "1", "PYTHONHASHSEED": "7"}
    script = SCRIPT.format(folder=str(SUPPORT), engine=engine)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert result.stdout.split()[-1] == fingerprint(engine)


def test_closing_twice_is_harmless_and_cells_do_not_disturb_each_other():
    first, second = SimulatedCell(*workshop()), SimulatedCell(*workshop())
    first.set_targets({"x": 0.3})
    first.step(0.5)
    assert positions(second, ["x"])[0] == pytest.approx(0.0, abs=1e-6)
    first.close()
    first.close()
    second.step(0.1)
    second.close()
    assert issubclass(UnknownNameError, RobotCellError)
