"""Limits of mimic joints narrow those of the joint that they follow, for plans, validations and checks of states."""

import numpy as np
import pytest
from frozendict import frozendict
from hypothesis import given
from hypothesis import strategies as st

from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.kinematics.pinocchio_model import mechanism_model
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.cell_warnings import model_warnings
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism, Mimic
from robot_cell_planner.model.mimic_limits import TOLERANCE
from robot_cell_planner.model.robot import Robot
from robot_cell_planner.model.start_limits import states_beyond_limits
from robot_cell_planner.planning import Goals, MotionRequest, plan_motion

LENGTHS = st.floats(-3.0, 3.0)
COUPLINGS = st.tuples(st.floats(0.1, 3.0), st.sampled_from((1, -1)), LENGTHS)


def mechanism(driving, couplings, limits):
    """A chain of one joint and joints that mimic it, each the one before."""
    links = {"l0": Link("l0"), "l1": Link("l1")}
    joints = {"q": Joint("q", JointKind.REVOLUTE, "l0", "l1", limits=driving)}
    for n, ((size, sign, offset), own) in enumerate(zip(couplings, limits, strict=True), 2):
        links[f"l{n}"] = Link(f"l{n}")
        source = f"m{n - 1}" if n > 2 else "q"
        mimic = Mimic(source, size * sign, offset)
        joints[f"m{n}"] = Joint(f"m{n}", JointKind.PRISMATIC, f"l{n - 1}", f"l{n}", limits=own, mimic=mimic)
    return Mechanism("chain", frozendict(links), frozendict(joints))


@given(st.lists(st.tuples(COUPLINGS, LENGTHS, LENGTHS), min_size=1, max_size=3))
def test_the_variable_has_all_values_at_which_every_joint_is_within_its_limits_and_no_others(drawn):
    couplings, own = [c for c, *_ in drawn], [JointLimits(*sorted(ends)) for _, *ends in drawn]
    chain = mechanism(JointLimits(-2.0, 2.0), couplings, own)
    (variable,) = chain.variables
    samples = np.linspace(-2.0, 2.0, 401)
    inside = np.ones(len(samples), bool)
    clear = np.ones(len(samples), bool)  # of rounding
    unused = chain.narrowed_limits["q"].without_effect
    for joint in chain.joints.values():
        if joint.mimic is None or joint.name in unused or joint.limits.lower == joint.limits.upper:
            continue
        _, multiplier, offset = chain.mimic_source(joint.name)
        values = multiplier * samples + offset
        inside &= (values >= joint.limits.lower) & (values <= joint.limits.upper)
        for end in (joint.limits.lower, joint.limits.upper):
            clear &= np.abs(values - end) > 1.01 * TOLERANCE
    within = (samples >= variable.limits.lower) & (samples <= variable.limits.upper)
    np.testing.assert_array_equal(within[clear], inside[clear])
    if not unused:
        assert variable.limits.lower < variable.limits.upper or not inside.any()


def test_rates_of_mimic_joints_that_a_file_gives_bound_those_of_the_joint_that_they_follow():
    own = JointLimits(velocity=1.0, acceleration=1.0, jerk=5.0, defaulted=("acceleration",))
    chain = mechanism(JointLimits(-2.0, 2.0, 3.0, 12.0, None), [(2.0, -1, 0.0)], [own])
    limits = chain.variables[0].limits
    assert (limits.velocity, limits.acceleration, limits.jerk) == (0.5, 12.0, 2.5)


def test_pinocchio_has_the_narrowed_limits_of_both_joints():
    chain = mechanism(JointLimits(-2.0, 2.0), [(2.0, 1, 0.5)], [JointLimits(-0.5, 1.5)])
    cell = RobotCell("cell", frozendict({"arm": Robot("arm", chain)}))
    model = mechanism_model(cell, cell.default_state()).pin_model
    np.testing.assert_allclose((model.lowerPositionLimit, model.upperPositionLimit), ((-0.5, -0.5), (0.5, 1.5)))


URDF = """<robot name="arm"><link name="base"/><link name="upper"/><link name="lower"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="upper"/>
<limit lower="-2" upper="2" velocity="2" effort="1"/></joint>
<joint name="follower" type="revolute"><parent link="upper"/><child link="lower"/>
<limit lower="{lower}" upper="{upper}" velocity="9" effort="1"/><mimic joint="turn" multiplier="2"/></joint></robot>"""
SRDF = '<robot name="arm"><group name="all"><joint name="turn"/></group></robot>'


def cell_with(folder, lower=-1.0, upper=3.0, start=0.0):
    (folder / "arm.urdf").write_text(URDF.format(lower=lower, upper=upper))
    (folder / "arm.srdf").write_text(SRDF)
    text = f"""format: robot_cell/1
robots: {{arm: {{urdf: arm.urdf, srdf: arm.srdf}}}}
state: {{configuration: {{turn: {start}}}}}
"""
    (folder / "cell.yaml").write_text(text)
    return load_cell(folder / "cell.yaml")


def test_a_plan_within_the_limits_of_a_mimic_joint_is_found_and_one_beyond_them_is_refused(tmp_path):
    cell, state = cell_with(tmp_path)
    plan = plan_motion(cell, state, MotionRequest(group="all", goals=Goals(joint_goals=({"turn": 1.4},))))
    assert plan.path[-1, 0] == 1.4
    with pytest.raises(RobotCellError, match=r"1\.6.*1\.5") as caught:
        plan_motion(cell, state, MotionRequest(group="all", goals=Goals(joint_goals=({"turn": 1.6},))))
    assert "turn" in caught.value.subjects


def test_a_state_that_moves_a_mimic_joint_beyond_its_limits_is_reported(tmp_path):
    (text,) = states_beyond_limits(*cell_with(tmp_path, start=-0.75))
    assert "turn" in text
    assert "-0.5" in text


def test_the_warning_names_both_ranges(tmp_path):
    cell_with(tmp_path)
    robot = load_robot("arm", tmp_path / "arm.urdf")
    text = "limits of mimic joints narrow those of the joints that they follow"
    assert f"robot arm: {text}: turn from -2..2 to -0.5..1.5 (by follower)" in model_warnings(robot)
