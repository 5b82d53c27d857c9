"""Efforts of paths in a cell: torques of a timed motion use the whole state, including the joints of tools."""

import numpy as np
import pytest
from frozendict import frozendict
from msgspec.structs import replace

from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.kinematics.dynamics import Dynamics
from robot_cell_planner.model.bodies import Tool
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.planning.path.timing import PathTiming, time_joint_path
from robot_cell_planner.planning.problem.request import PlanningOptions
from robot_cell_planner.trajectory.timing import TimingMethod, TimingOptions

INERTIA = '<inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/>'
ARM = f"""<robot name="arm"><link name="base"/><link name="plate"><inertial><mass value="1"/>{INERTIA}</inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="plate"/><axis xyz="0 0 1"/>
  <limit lower="-2" upper="2" velocity="2" effort="3"/></joint></robot>"""
BOOM = f"""<robot name="boom"><link name="palm"/>
<link name="load"><inertial><mass value="2"/>{INERTIA}</inertial></link>
<joint name="slide" type="prismatic"><parent link="palm"/><child link="load"/><axis xyz="1 0 0"/>
  <limit lower="0" upper="1" velocity="1" effort="100"/></joint></robot>"""
LIMIT = 3.0


def arm_with_boom(length):
    """An arm that turns a load of 2 kg at the end of a boom; the length of the boom is a joint of the tool [m]."""
    mechanism = read_urdf(ARM)
    joint = mechanism.joints["turn"]
    limits = replace(joint.limits, acceleration=20.0, jerk=1000.0)
    mechanism = replace(mechanism, joints=frozendict(turn=replace(joint, limits=limits)))
    groups = frozendict(arm=PlanningGroup("arm", ("turn",), (), "base", "plate"))
    robots = frozendict(arm=Robot("arm", mechanism, groups))
    cell = RobotCell(robots=robots, tools=frozendict(boom=Tool("boom", read_urdf(BOOM))))
    state = cell.default_state()
    boom = replace(state.tools["boom"], attached_to="arm", configuration=frozendict(slide=length))
    return cell, state.with_tool("boom", boom)


@pytest.mark.parametrize("method", TimingMethod)
@pytest.mark.parametrize("length", [0.0, 0.5, 1.0])
def test_torques_keep_their_limits_for_any_joint_values_of_tools(method, length):
    cell, state = arm_with_boom(length)
    timing = TimingOptions(limit_effort=True, method=method)
    path = np.array([[0.0], [0.5], [1.0]])
    found = time_joint_path(cell, state, PathTiming(("turn",), path, timing, PlanningOptions())).trajectory
    dynamics = Dynamics(cell, state)
    columns = {"turn": 0, "boom/slide": 1}
    order = [columns[name] for name in dynamics.variables]

    def full(values, slide):
        return np.column_stack([values[:, 0], np.full(len(values), slide)])[:, order]

    efforts = dynamics.inverse(
        full(found.positions, length), full(found.velocities, 0.0), full(found.accelerations, 0.0)
    )
    assert np.abs(efforts[:, dynamics.variables.index("turn")]).max() <= LIMIT
