"""Arms with fewer than six joints: errors of unreachable poses name the missing directions and the options for them."""

import numpy as np
import pytest

from robot_cell_planner.errors import InverseKinematicsError, MPNoIKSolutionError, OutOfReachError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.targets import FrameTarget, PointAxisTarget
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning import (
    CartesianRequest,
    FrameWaypoints,
    Goals,
    MotionRequest,
    plan_cartesian,
    plan_motion,
)

# Axes of a yaw joint and pitch joints, and of a roll joint at the flange.
ARMS = {3: "zyy", 4: "zyyy", 5: "zyyyx"}
SCARA = ("z", "z", "-z linear", "z")


def joint(number, axis, parent, child, height):
    kind, limits = ("prismatic", "0 0.3") if "linear" in axis else ("revolute", "-2.5 2.5")
    lower, upper = limits.split()
    xyz = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1", "-": "0 0 -1"}[axis[0]]
    origin = "0 0 0.1" if number == 0 else height
    return (
        f'<link name="{child}"/><joint name="joint_{number}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="{origin}"/><axis xyz="{xyz}"/>'
        f'<limit lower="{lower}" upper="{upper}" velocity="2" effort="10"/></joint>'
    )


def arm(folder, axes, offset):
    links = ["base", *(f"link_{number}" for number in range(len(axes)))]
    joints = "".join(joint(k, axis, links[k], links[k + 1], offset) for k, axis in enumerate(axes))
    tip = f'<link name="tip"/><joint name="tip_joint" type="fixed"><parent link="{links[-1]}"/><child link="tip"/>'
    tip += f'<origin xyz="{offset}"/></joint>'
    (folder / "arm.urdf").write_text(f'<robot name="arm"><link name="base"/>{joints}{tip}</robot>')
    (folder / "arm.srdf").write_text(
        '<robot name="arm"><group name="arm"><chain base_link="base" tip_link="tip"/></group></robot>'
    )
    (folder / "cell.yaml").write_text("format: robot_cell/1\nrobots: {arm: {urdf: arm.urdf, srdf: arm.srdf}}\n")
    cell, state = load_cell(folder / "cell.yaml")
    names = cell.group("arm").variables
    bent = 0.1 if len(axes[2]) > 1 else 0.7
    return cell, state.with_configuration(dict(zip(names, (0.3, 0.4, bent, 0.5, 0.2)[: len(names)], strict=True)))


def turned(cell, state):
    """A pose at the position of the tip, in an orientation that the joints do not reach."""
    pose = forward_kinematics(cell, state, "arm")
    return pose @ Pose.from_rpy((0.0, 0.0, 0.0), (0.3, 0.2, 0.5))


@pytest.mark.parametrize("count", ARMS)
def test_poses_that_constrain_more_directions_than_the_joints_move_are_named(tmp_path, count):
    cell, state = arm(tmp_path, ARMS[count], "0.2 0 0")
    with pytest.raises(InverseKinematicsError) as failure:
        inverse_kinematics(cell, state, FrameTarget(pose=turned(cell, state)), "arm")
    error = failure.value
    assert f"it constrains 6 directions, and the {count} joints of the chain move the frame in {count}" in error.message
    assert "tolerance_angles 3.14" in error.message
    assert ("PointAxisTarget" in error.message) is (count == 5)
    assert "\n" not in error.message
    moved = next(value for value in error.values if value.name == "directions moved")
    assert (moved.value, moved.limit) == (count, 6)


@pytest.mark.parametrize("count", ARMS)
def test_the_options_that_the_message_names_help(tmp_path, count):
    cell, state = arm(tmp_path, ARMS[count], "0.2 0 0")
    pose = turned(cell, state)
    position = FrameTarget(pose=pose, tolerance_angle=3.14)
    found = inverse_kinematics(cell, state, position, "arm").best
    reached = state.with_configuration(dict(zip(cell.group("arm").variables, found.tolist(), strict=True)))
    np.testing.assert_allclose(forward_kinematics(cell, reached, "arm").position, pose.position, atol=2e-6)
    inverse_kinematics(cell, state, FrameTarget(pose=pose, tolerance_angles=(3.14, 3.14, 3.14)), "arm")
    inverse_kinematics(cell, state, FrameTarget(pose=forward_kinematics(cell, state, "arm")), "arm")


def test_a_scara_names_the_directions_that_its_joints_do_not_move(tmp_path):
    cell, state = arm(tmp_path, SCARA, "0.2 0 0")
    pose = forward_kinematics(cell, state, "arm")
    inverse_kinematics(cell, state, FrameTarget(pose=pose @ Pose.from_rpy((-0.02, 0.0, 0.02), (0.0, 0.0, 0.1))), "arm")
    with pytest.raises(InverseKinematicsError, match="6 directions, and the 4 joints of the chain move the frame in 4"):
        inverse_kinematics(cell, state, FrameTarget(pose=turned(cell, state)), "arm")
    axis = PointAxisTarget(point=pose.position, axis=(0.0, 0.5, 1.0))
    with pytest.raises(InverseKinematicsError, match="5 directions, and the 4 joints of the chain move the frame in 3"):
        inverse_kinematics(cell, state, axis, "arm")


@pytest.mark.parametrize("rounded", [3.14159, 3.1416, 3.14])
def test_a_rounded_angle_is_not_reported_as_too_few_joints(tmp_path, rounded):
    """The tool of a SCARA points down; free rotations would not make 3.14159 rad reachable about the other axes."""
    cell, state = arm(tmp_path, SCARA, "0.2 0 0")
    tilted = forward_kinematics(cell, state, "arm") @ Pose.from_rpy((0.0, 0.0, 0.0), (np.pi - rounded, 0.0, 0.0))
    expected = rf"differs by {abs(np.pi - rounded):.3g} rad .* give more digits"
    with pytest.raises(InverseKinematicsError, match=expected) as failure:
        inverse_kinematics(cell, state, FrameTarget(pose=tilted), "arm")
    assert "directions moved" not in {value.name for value in failure.value.values}
    inverse_kinematics(cell, state, FrameTarget(pose=tilted, tolerance_angle=0.002), "arm")


def test_targets_that_are_too_far_away_are_out_of_reach_whatever_the_joints_move(tmp_path):
    cell, state = arm(tmp_path, ARMS[4], "0.2 0 0")
    with pytest.raises(OutOfReachError, match="m out of reach"):
        inverse_kinematics(cell, state, FrameTarget(pose=Pose((3.0, 0.0, 0.0))), "arm")


def test_planning_errors_name_the_directions_too(tmp_path):
    cell, state = arm(tmp_path, ARMS[4], "0.2 0 0")
    pose = forward_kinematics(cell, state, "arm")
    x, y, z = pose.position
    with pytest.raises(MPNoIKSolutionError, match="6 directions, and the 4 joints"):
        plan_motion(cell, state, MotionRequest(Goals(targets=(FrameTarget(pose=turned(cell, state)),)), "arm"))
    aside = FrameWaypoints((Pose((x, y + 0.1, z), pose.quaternion),))
    with pytest.raises(MPNoIKSolutionError, match="6 directions, and the 4 joints"):
        plan_cartesian(cell, state, CartesianRequest(aside, "arm"))
