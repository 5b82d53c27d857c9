"""Limits files narrow and complete the limits of a URDF; missing limits have documented defaults."""

import math

import pytest

from robot_cell_planner.errors import FileError
from robot_cell_planner.io.common.defects import Defects
from robot_cell_planner.io.robot_description.limits import read_limits, with_default_limits
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.model.cell_warnings import assumed_limits

URDF = """<robot name="r"><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
<joint name="turn" type="revolute"><parent link="a"/><child link="b"/>
  <limit lower="-2" upper="2" velocity="3" effort="4"/></joint>
<joint name="spin" type="continuous"><parent link="b"/><child link="c"/></joint>
<joint name="slide" type="prismatic"><parent link="c"/><child link="d"/>
  <limit lower="0" upper="1" velocity="0"/></joint>
</robot>"""


@pytest.fixture(scope="module")
def mechanism():
    return read_urdf(URDF)


def read(mechanism, lines):
    return read_limits("joint_limits:\n" + lines, mechanism, "limits.yaml").joints


def test_a_file_narrows_and_completes(mechanism):
    joints = read(
        mechanism,
        """
  turn: {has_position_limits: true, min_position: -1, max_position: !degrees 90, has_velocity_limits: true,
         max_velocity: 1e-1, has_acceleration_limits: true, max_acceleration: 5, has_jerk_limits: true, max_jerk: 50,
         has_effort_limits: true, max_effort: 2}
  spin: {has_position_limits: true, min_position: -10, max_position: 10}""",
    )
    turn, spin, slide = (joints[name].limits for name in ("turn", "spin", "slide"))
    assert (turn.lower, turn.upper) == (-1.0, math.pi / 2)
    assert (turn.velocity, turn.acceleration, turn.jerk, turn.effort) == (0.1, 5.0, 50.0, 2.0)
    assert (spin.lower, spin.upper, spin.velocity) == (-10.0, 10.0, None)
    assert slide == mechanism.joints["slide"].limits


def test_limits_with_a_false_flag_are_ignored(mechanism):
    line = "  turn: {has_velocity_limits: false, max_velocity: 1, has_jerk_limits: false, max_jerk: 0}"
    joints = read(mechanism, line)
    assert joints["turn"].limits == mechanism.joints["turn"].limits


def test_limits_without_a_flag_are_used(mechanism):
    assert read(mechanism, "  turn: {max_velocity: 1}")["turn"].limits.velocity == 1.0


def test_limits_beyond_the_urdf_by_rounding_are_those_of_the_urdf(mechanism):
    joints = read(mechanism, "  turn: {min_position: -2.00005, max_position: 2.00005}")
    assert (joints["turn"].limits.lower, joints["turn"].limits.upper) == (-2.0, 2.0)


def test_keys_of_moveit_and_ros2_control_are_accepted(mechanism):
    read(mechanism, "  turn: {has_soft_limits: true, k_velocity: 10, angle_wraparound: true, max_deceleration: 2}")
    read_limits("default_velocity_scaling_factor: 0.1\njoint_limits: {}", mechanism)
    read_limits("", mechanism)


def test_the_smaller_of_acceleration_and_deceleration_is_the_acceleration_limit(mechanism):
    assert read(mechanism, "  turn: {max_acceleration: 3, max_deceleration: 2}")["turn"].limits.acceleration == 2.0
    assert read(mechanism, "  turn: {max_acceleration: 3, max_deceleration: -4}")["turn"].limits.acceleration == 3.0
    assert read(mechanism, "  turn: {max_deceleration: -2}")["turn"].limits.acceleration == 2.0
    line = "  turn: {max_acceleration: 3, has_deceleration_limits: false, max_deceleration: 2}"
    assert read(mechanism, line)["turn"].limits.acceleration == 3.0


@pytest.mark.parametrize("key", ["default_velocity_scaling_factor", "default_acceleration_scaling_factor"])
def test_scaling_factors_without_effect_are_reported(mechanism, key):
    defects = Defects(strict=True)
    read_limits(f"{key}: 0.1", mechanism, "limits.yaml", defects=defects)
    (text,) = defects.texts
    assert text.startswith(f"limits.yaml: {key} 0.1 has no effect")
    defects = Defects()
    read_limits(f"{key}: 1", mechanism, defects=defects)
    assert not defects.texts


def test_wrapping_of_a_bounded_joint_is_reported(mechanism):
    defects = Defects()
    text = "joint_limits: {turn: {angle_wraparound: true}, spin: {angle_wraparound: true}}"
    joints = read_limits(text, mechanism, "limits.yaml", defects=defects).joints
    assert joints["turn"].limits == mechanism.joints["turn"].limits
    (text,) = defects.texts
    assert "joint turn: angle_wraparound has no effect, as the URDF limits its position to -2..2" in text


def test_prefix():
    mechanism = read_urdf(URDF, prefix="left_")
    joints = read_limits("joint_limits: {turn: {max_jerk: 9}}", mechanism, prefix="left_").joints
    assert joints["left_turn"].limits.jerk == 9.0


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("turm: {}", "nearest: turn"),
        ("turn: {max_velocity: fast}", "expected a number"),
        ("turn: {max_velocity: .nan}", "finite"),
        ("turn: {max_velocity: 0}", "above 0"),
        ("turn: {max_jerk: -1}", "above 0"),
        ("turn: {has_jerk_limits: true}", "lacks 'max_jerk'"),
        ("turn: {has_jerk_limits: 1, max_jerk: 1}", "true or false"),
        ("turn: {has_position_limits: true, min_position: 0}", "lacks 'max_position'"),
        ("turn: {min_position: 1, max_position: 0}", "above max_position"),
        ("turn: {min_position: -3, max_position: 0}", "leave those of the URDF"),
        ("turn: {max_velocty: 1}", "nearest: max_velocity"),
        ("turn: {max_deceleration: 0}", "expected another number"),
        ("turn: 5", "expected a mapping"),
    ],
)
def test_mistakes_are_refused_with_their_line(mechanism, line, expected):
    with pytest.raises(FileError, match=expected) as caught:
        read(mechanism, f"  {line}")
    assert caught.value.message.startswith("limits.yaml:2: ")


@pytest.mark.parametrize("text", ["joint_limits: []", "limits: {}", "- 1", "joint_limits: {turn: [1]}"])
def test_other_files_are_refused(mechanism, text):
    with pytest.raises(FileError):
        read_limits(text, mechanism)


def test_defaults_are_named(mechanism):
    joints = with_default_limits(mechanism).joints
    turn, spin, slide = (joints[name].limits for name in ("turn", "spin", "slide"))
    assert (turn.velocity, turn.acceleration, turn.jerk) == (3.0, 12.0, 120.0)
    assert turn.defaulted == ("acceleration", "jerk")
    assert (spin.velocity, spin.acceleration, spin.jerk) == (1.0, 4.0, 40.0)
    assert spin.defaulted == ("velocity", "acceleration", "jerk")
    assert (slide.velocity, slide.acceleration) == (0.25, 1.0)
    assert with_default_limits(with_default_limits(mechanism)) == with_default_limits(mechanism)


def test_the_sentence_about_assumed_limits_holds_for_a_limit_of_zero(mechanism):
    """The file gives a velocity limit of 0 for `slide`, and none for `spin`."""
    text = assumed_limits(with_default_limits(mechanism), ("spin", "slide"))
    assert text.startswith("velocity limits of all joints, ")
    assert text.endswith(" are assumed, because no file gives values above 0")


BASE = """<robot name="r"><link name="a"/><link name="b"/>
<joint name="base" type="{kind}"><parent link="a"/><child link="b"/>{limit}</joint></robot>"""
LINEAR, ANGULAR = (0.25, 1.0, 10.0), (1.0, 4.0, 40.0)  # velocity, acceleration, jerk


def rates_of_base(kind, limit="", lines=""):
    """Velocity, acceleration and jerk limit of each variable of a base joint, with whether it is an angle."""
    found = read_urdf(BASE.format(kind=kind, limit=limit))
    if lines:
        found = read_limits(f"joint_limits: {{base: {{{lines}}}}}", found)
    variables = with_default_limits(found).variables
    return [(v.angular, (v.limits.velocity, v.limits.acceleration, v.limits.jerk)) for v in variables]


@pytest.mark.parametrize("lines", ["", "max_velocity: 1, max_acceleration: 4, assumed: [velocity, acceleration]"])
@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_assumed_limits_of_linear_variables_are_those_of_a_prismatic_joint(kind, lines):
    rates = rates_of_base(kind, lines=lines)
    assert {angular for angular, _ in rates} == {False, True}
    for angular, rate in rates:
        assert rate == (ANGULAR if angular else LINEAR)


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_limits_of_a_file_apply_to_all_variables_of_a_joint(kind):
    for _, rate in rates_of_base(kind, '<limit velocity="0.5" effort="1"/>', "max_jerk: 3"):
        assert rate == (0.5, 2.0, 3.0)


@pytest.mark.parametrize(("kind", "suffix"), [("planar", "theta"), ("floating", "z")])
def test_an_entry_for_a_variable_is_refused_with_the_name_of_its_joint(kind, suffix):
    with pytest.raises(FileError, match=f"'base/{suffix}' is a variable of base; write base"):
        read_limits(
            f"joint_limits: {{base/{suffix}: {{max_velocity: 1}}}}", read_urdf(BASE.format(kind=kind, limit=""))
        )
