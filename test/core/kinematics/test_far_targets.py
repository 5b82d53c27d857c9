"""Targets far away on a mobile base or long slides are reached, and the distance out of reach is that of the arm."""

import numpy as np
import pytest
from frozendict import frozendict

from robot_cell_planner import RobotCell, forward_kinematics, inverse_kinematics, load_robot
from robot_cell_planner.errors import OutOfReachError
from robot_cell_planner.kinematics.ik.options import IkOptions
from robot_cell_planner.kinematics.targets import FrameTarget
from robot_cell_planner.model.pose import Pose

LENGTHS = (0.2, 0.2, 0.4, 0.4, 0.2, 0.2)
AXES = ("0 0 1", "0 1 0", "0 1 0", "0 0 1", "0 1 0", "0 0 1")
ENDS = '<parent link="floor"/><child link="l0"/>'
SLIDE = '<limit lower="-1000" upper="1000" velocity="1" effort="1"/>'
BASES = {
    "planar": f'<joint name="base" type="planar">{ENDS}<axis xyz="0 0 1"/></joint>',
    "floating": f'<joint name="base" type="floating">{ENDS}</joint>',
    "slides": f"""<link name="m"/>
        <joint name="x" type="prismatic"><parent link="floor"/><child link="m"/><axis xyz="1 0 0"/>{SLIDE}</joint>
        <joint name="y" type="prismatic"><parent link="m"/><child link="l0"/><axis xyz="0 1 0"/>{SLIDE}</joint>""",
}


def mobile(base, tmp_path):
    """An arm of six joints, 1.6 m long when it is straight, on a base."""
    text = '<robot name="mobile"><link name="floor"/>' + "".join(f'<link name="l{i}"/>' for i in range(7))
    for index, (length, axis) in enumerate(zip(LENGTHS, AXES, strict=True)):
        text += (
            f'<joint name="j{index}" type="revolute"><parent link="l{index}"/><child link="l{index + 1}"/>'
            f'<origin xyz="0 0 {length}"/><axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" velocity="1" effort="10"/></joint>'
        )
    (tmp_path / "mobile.urdf").write_text(text + BASES[base] + "</robot>")
    group = '<group name="all"><chain base_link="floor" tip_link="l6"/></group>'
    (tmp_path / "mobile.srdf").write_text(f'<robot name="mobile">{group}</robot>')
    robot = load_robot("mobile", tmp_path / "mobile.urdf", tmp_path / "mobile.srdf")
    return RobotCell(robots=frozendict({"mobile": robot}))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("far", [1.0, 30.0, 500.0])
def test_targets_are_reached(base, far, tmp_path):
    cell = mobile(base, tmp_path)
    random, state = np.random.default_rng(3), cell.default_state()
    for _ in range(5):
        values = {}
        for name, variable in cell.variables.items():
            values[name] = float(random.uniform(-2.0, 2.0) if variable.angular else random.uniform(-far, far))
        target = FrameTarget(pose=forward_kinematics(cell, state.with_configuration(values), "all"))
        found = inverse_kinematics(cell, state, target, "all", IkOptions(max_solutions=1))
        reached = state.with_configuration(dict(zip(found.variables, found.solutions[0].tolist(), strict=True)))
        assert max(forward_kinematics(cell, reached, "all").distance_to(target.pose)) < 1.1e-6


@pytest.mark.parametrize("base", ["planar", "slides"])
def test_the_distance_out_of_reach_is_that_from_the_straight_arm(base, tmp_path):
    cell = mobile(base, tmp_path)
    target = FrameTarget(pose=Pose((300.0, -200.0, 21.6)))
    with pytest.raises(OutOfReachError) as caught:
        inverse_kinematics(cell, cell.default_state(), target, "all")
    assert caught.value.values[0].value == pytest.approx(20.0, abs=1e-3)
