"""Soft limits of URDF and of limits files narrow the position limits, with a warning that gives both ranges."""

import math

import pytest
from frozendict import frozendict

from robot_cell_planner import RobotCell, load_robot
from robot_cell_planner.model.cell_warnings import model_warnings
from robot_cell_planner.setup_assistant import check_cell
from robot_cell_planner.setup_assistant.finding import WARNING

URDF = """<robot name="r"><link name="a"/><link name="b"/>
<joint name="j" type="{kind}"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
  <limit {bounds} velocity="1" effort="1"/><safety_controller k_velocity="1" {soft}/></joint></robot>"""
SOFT = 'soft_lower_limit="-0.5" soft_upper_limit="0.75"'


@pytest.fixture
def load(tmp_path):
    def loaded(soft=SOFT, limits="", kind="revolute", bounds='lower="-2" upper="2"', strict=False):
        (tmp_path / "r.urdf").write_text(URDF.format(kind=kind, bounds=bounds, soft=soft))
        (tmp_path / "limits.yaml").write_text(f"joint_limits: {{j: {{{limits}}}}}")
        file = tmp_path / "limits.yaml" if limits else ""
        robot = load_robot("r", tmp_path / "r.urdf", limits=file, strict=strict)
        found = robot.mechanism.joints["j"].limits
        return (found.lower, found.upper), robot

    return loaded


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_soft_limits_of_a_urdf_narrow_the_limits_and_are_reported(load, kind, strict):
    bounds, robot = load(kind=kind, strict=strict)
    assert bounds == (-0.5, 0.75)
    (text,) = robot.sources.warnings
    assert text.endswith("r.urdf: soft limits narrow the position limits of j from -2..2 to -0.5..0.75")
    assert any(text in warning for warning in model_warnings(robot))


@pytest.mark.parametrize(
    ("soft", "expected"),
    [
        ('soft_lower_limit="-9" soft_upper_limit="9"', (-2.0, 2.0)),
        ('soft_lower_limit="-9" soft_upper_limit="1"', (-2.0, 1.0)),
        ('soft_upper_limit="1"', (-2.0, 1.0)),
        ("", (-2.0, 2.0)),
    ],
)
def test_soft_limits_never_widen_limits(load, soft, expected):
    bounds, robot = load(soft)
    assert bounds == expected
    assert len(robot.sources.warnings) == (expected != (-2.0, 2.0))


@pytest.mark.parametrize("soft", ['soft_lower_limit="0" soft_upper_limit="0"', 'soft_lower_limit="3"'])
def test_soft_limits_without_a_range_have_no_effect_and_are_reported(load, soft):
    bounds, robot = load(soft)
    assert bounds == (-2.0, 2.0)
    (text,) = robot.sources.warnings
    assert "soft limits of j (" in text
    assert "no effect" in text


def test_soft_limits_of_a_continuous_joint_have_no_effect_and_are_reported(load):
    bounds, robot = load(kind="continuous", bounds="")
    assert bounds == (-math.inf, math.inf)
    (text,) = robot.sources.warnings
    assert "soft limits of j (-0.5 to 0.75) have no effect" in text


def test_position_limits_of_a_limits_file_replace_the_soft_limits_of_the_urdf(load):
    bounds, robot = load(limits="min_position: -2, max_position: 1.5")
    assert bounds == (-2.0, 1.5)
    assert robot.sources.warnings == ()
    assert load(limits="has_position_limits: false, min_position: -2, max_position: 1.5")[0] == (-0.5, 0.75)
    assert load(limits="max_velocity: 1")[0] == (-0.5, 0.75)


def test_soft_limits_of_a_limits_file_narrow_its_position_limits(load):
    soft = "has_soft_limits: true, soft_lower_limit: -1, soft_upper_limit: 3"
    bounds, robot = load(limits=f"min_position: -2, max_position: 1.5, {soft}")
    assert bounds == (-1.0, 1.5)
    (text,) = robot.sources.warnings
    assert text.endswith("limits.yaml: soft limits narrow the position limits of j from -2..1.5 to -1..1.5")
    assert load(limits=soft)[0] == (-1.0, 2.0)
    assert load(limits=soft.replace("true", "false"))[0] == (-0.5, 0.75)


def test_soft_limits_of_a_limits_file_without_numbers_are_reported(load):
    bounds, robot = load(soft="", limits="has_soft_limits: true")
    assert bounds == (-2.0, 2.0)
    (text,) = robot.sources.warnings
    assert "limits.yaml: joint j: has_soft_limits with" in text
    assert "no effect" in text


def test_the_check_of_a_cell_reports_soft_limits_as_limits(load):
    _, robot = load()
    cell = RobotCell("c", frozendict({"r": robot}))
    found = [finding for finding in check_cell(cell, cell.default_state()) if "soft limits narrow" in finding.text]
    assert [(finding.level, finding.topic) for finding in found] == [(WARNING, "limits")]
