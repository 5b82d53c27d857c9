"""The check of a cell names effort limits that are too small for the masses."""

import re

import pytest
from frozendict import frozendict
from simulation_cells import joint, link, mechanism, point_mass

from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.mechanism import JointKind, JointLimits, Link
from robot_cell_planner.model.robot import Robot
from robot_cell_planner.setup_assistant.check import check_cell


def weak(effort, mass=2.0, length=0.5):
    """Findings for a pendulum with a horizontal axis on a turntable."""
    limits = JointLimits(-3.0, 3.0, 1.0, 4.0, 40.0, effort)
    turn = joint("turn", JointKind.REVOLUTE, "base", "column", (0.0, 0.0, 1.0), limits)
    swing = joint("swing", JointKind.REVOLUTE, "column", "rod", (0.0, 1.0, 0.0), limits)
    links = [link("base"), link("column", mass=5.0), Link("rod", inertial=point_mass(mass, (length, 0.0, 0.0)))]
    cell = RobotCell("pendulum", frozendict(arm=Robot("arm", mechanism("arm", links, [turn, swing]))))
    return [finding.text for finding in check_cell(cell, cell.default_state()) if "effort limits" in finding.text]


def test_a_limit_below_the_weight_is_named_with_the_required_effort():
    (text,) = weak(5.0)
    needed = re.search(r"swing \(5 Nm, ([0-9.]+) needed", text)
    assert float(needed[1]) == pytest.approx(2.0 * 0.5 * 9.80665, rel=0.01)
    assert "turn" not in text


def test_limits_that_hold_the_masses_and_unknown_ones_are_not_named():
    assert weak(9.9) == []
    assert weak(None) == []
