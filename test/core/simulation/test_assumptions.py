"""Missing masses and efforts are assumed such that motors can hold the robot, and assumptions are reported."""

import math

import pytest
from simulation_cells import GRAVITY, box, joint, link, pendulums, point_mass

from robot_cell_planner.model.mechanism import JointKind, JointLimits, Link
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.simulation.assumptions import assume_masses_and_efforts
from robot_cell_planner.simulation.multibody.multibodies import Multibodies
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

CUBE = (box(0.1, 0.1, 0.1),)  # 1 kg at a density of 1000 kg/m3
Y = (0.0, 1.0, 0.0)


def completed(*joints, links):
    """The parts of a robot by object name, and the assumptions."""
    (item,) = Multibodies(*pendulums(*joints, links=links)).items
    texts = assume_masses_and_efforts(item, 1000.0)
    return {part.object_name: part for part in item.parts}, texts


def masses(parts):
    return {name: part.mass_properties.mass for name, part in parts.items()}


def limits(effort):
    return JointLimits(-math.pi, math.pi, 1.0, 5.0, 50.0, effort)


def arm(effort):
    """Two links without mass: cubes 0.5 m and 1 m from a shoulder with the effort limit."""
    out = Pose((0.5, 0.0, 0.0))
    far = (box(0.1, 0.1, 0.1, out),)
    shoulder = joint("shoulder", JointKind.REVOLUTE, "base", "upper", Y, limits(effort))
    elbow = joint("elbow", JointKind.REVOLUTE, "upper", "fore", Y, limits(None), out)
    return (shoulder, elbow), [Link("upper", collisions=far), Link("fore", collisions=far)]


def test_links_with_shapes_have_an_assumed_mass_with_a_warning():
    joints = [
        joint("solid", JointKind.REVOLUTE, "base", "block", (0.0, 0.0, 1.0)),
        joint("empty", JointKind.REVOLUTE, "base", "nothing", (0.0, 0.0, 1.0)),
        joint("dummy", JointKind.REVOLUTE, "base", "between", (0.0, 0.0, 1.0)),
        joint("end", JointKind.REVOLUTE, "between", "weight", (1.0, 0.0, 0.0)),
    ]
    links = [Link("block", collisions=CUBE), Link("nothing"), Link("between"), link("weight", mass=1.0)]
    parts, texts = completed(*joints, links=links)
    expected = {"base": 0.0, "block": 1.0, "nothing": 0.001, "between": 0.0, "weight": 1.0}
    assert masses(parts) == pytest.approx(expected)
    assert texts == [
        "no mass is given for block; a density of 1000 kg/m3 is assumed",
        "nothing that joint empty moves has a mass; a mass of 0.001 kg is assumed",
    ]


def test_an_arm_with_a_heavy_tool_has_a_mass():
    joints = [
        joint("shoulder", JointKind.REVOLUTE, "base", "arm", Y),
        joint("wrist", JointKind.REVOLUTE, "arm", "hand", Y),
        joint("mount", JointKind.FIXED, "hand", "tool", Y),
    ]
    links = [Link("arm", collisions=CUBE), Link("hand", collisions=CUBE), link("tool", CUBE, 3.0)]
    parts, _ = completed(*joints, links=links)
    assert masses(parts) == pytest.approx({"base": 0.0, "arm": 1.0, "hand": 0.0, "tool": 3.0})


def test_assumed_masses_need_half_of_an_effort_limit_when_the_arm_is_stretched():
    joints, links = arm(effort=10.0)
    parts, texts = completed(*joints, links=links)
    upper, fore = (parts[name].mass_properties.mass for name in ("upper", "fore"))
    assert upper == pytest.approx(fore)
    assert GRAVITY * (0.5 * upper + 1.0 * fore) == pytest.approx(0.5 * 10.0)
    assert "which the effort limits hold" in texts[0]
    strong, _ = completed(*arm(effort=1000.0)[0], links=links)
    assert strong["upper"].mass_properties.mass == pytest.approx(1.0)


def test_a_missing_effort_limit_is_twice_the_effort_of_a_stretched_arm():
    joints, links = arm(effort=None)
    parts, _ = completed(*joints, links=links)
    assert parts["upper"].joint.assumed_effort == pytest.approx(2.0 * GRAVITY * (0.5 + 1.0))
    assert parts["fore"].joint.assumed_effort == pytest.approx(2.0 * GRAVITY * 0.5)


@pytest.mark.parametrize("effort", [5.0, None])
def test_motors_hold_assumed_masses(effort):
    joints, _ = arm(effort)
    heavy = (box(0.5, 0.5, 0.5, Pose((0.5, 0.0, 0.0))),)
    cell, state = pendulums(*joints, links=[Link("upper", collisions=heavy), Link("fore", collisions=heavy)])
    with SimulatedCell(cell, state) as simulated:
        simulated.step(1.0)
        held = simulated.state().configuration
        assert held == pytest.approx(state.configuration, abs=0.01)
        assert len(simulated.warnings) == 2


def heavy():
    """A turntable with an arm of two masses of 2 kg, 0.5 m and 1 m from the shoulder; the effort limit of shoulder and
    turntable is a fourth of the effort that holds them."""
    out = Pose((0.5, 0.0, 0.0))
    turn = joint("turn", JointKind.REVOLUTE, "base", "table", (0.0, 0.0, 1.0), limits(7.0))
    shoulder = joint("shoulder", JointKind.REVOLUTE, "table", "upper", Y, limits(7.0))
    elbow = joint("elbow", JointKind.REVOLUTE, "upper", "fore", Y, limits(50.0), out)
    links = [Link(name, inertial=point_mass(2.0, (0.5, 0.0, 0.0))) for name in ("upper", "fore")]
    return pendulums(turn, shoulder, elbow, links=links)


def test_motors_that_cannot_hold_their_arm_are_strengthened_with_a_warning():
    cell, state = heavy()
    with SimulatedCell(cell, state) as simulated:
        simulated.step(1.0)
        assert simulated.state().configuration == pytest.approx(state.configuration, abs=0.01)
        (text,) = simulated.warnings
    assert "shoulder (7 Nm, 29" in text
    assert "elbow" not in text
    assumed = dict(item.split() for item in text.rpartition(": ")[2].split(", "))
    assert float(assumed["shoulder"]) >= 2.0 * 2.0 * GRAVITY * 1.4
    assert float(assumed["turn"]) >= 2.0 * 7.0


def test_a_robot_with_such_limits_follows_its_acceleration_limits():
    """The turntable carries 2.5 kg m2, which 7 Nm would accelerate at 2.8 rad/s2 instead of 5."""
    cell, state = heavy()
    with SimulatedCell(cell, state) as simulated:
        for step in range(1, 21):
            time = 0.01 * step
            simulated.set_targets({"turn": 2.4 * time**2}, {"turn": 4.8 * time})
            simulated.step(0.01)
        assert simulated.state().configuration["turn"] == pytest.approx(2.4 * 0.2**2, abs=0.01)


def test_motors_without_gravity_keep_their_limits():
    cell, state = heavy()
    with SimulatedCell(cell, state, SimulationOptions(gravity=(0.0, 0.0, 0.0))) as simulated:
        assert simulated.warnings == ()
