"""Attached tools and bodies have the poses of compas_fab 2.0.1, with compas_robots 1.0.1 for the robot.

The numbers were computed with those packages for random poses and joints of the UR10 of example-robot-data. Poses are
position and quaternion xyzw. There, a body on a tool is attached to the tool's tip; here that is the frame "tool/tcp".
"""

import json
from pathlib import Path

import numpy as np
import pytest
from frozendict import frozendict
from reference import box

from robot_cell_planner.errors import StateError, TargetModeMismatchError
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.kinematics.targets import TargetMode
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.bodies import RigidBody, rigid_tool
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.scene.state_changes import Attach, SetBasePose, SetJoints

CASES = json.loads((Path(__file__).parent / "data" / "compas_fab_frames.json").read_text())
UR10 = "package://example-robot-data/robots/ur_description/urdf/ur10_robot.urdf"
SRDF = Path(__file__).parents[3] / "config" / "ur10" / "ur10.srdf"


@pytest.fixture(scope="module")
def robot():
    return load_robot("ur10", UR10, SRDF)


def pose(numbers):
    return Pose(*map(tuple, numbers))


def cell_with(robot, tcp):
    bodies = {name: RigidBody(name, (box(),)) for name in ("part", "clip")}
    tools = {name: rigid_tool(name, (box(),), tcp=tcp) for name in ("tool", "spare")}
    return RobotCell("cell", frozendict(ur10=robot), frozendict(tools), frozendict(bodies))


@pytest.mark.parametrize("number", range(len(CASES)))
def test_frames(robot, number):
    case = CASES[number]
    cell, base = cell_with(robot, pose(case["tcp"])), pose(case["base"])
    changes = [
        SetBasePose("", base.position, base.quaternion),
        SetJoints(case["joints"]),
        Attach("tool", "manipulator", pose(case["tool_on_flange"])),
        Attach("part", "tool/tcp", pose(case["part_on_tool"])),
        Attach("clip", "forearm_link", pose(case["clip_on_forearm"])),
    ]
    scene = apply_changes(Scene(cell, cell.default_state()), changes, world_pose)
    for mode in (TargetMode.ROBOT, TargetMode.TOOL, TargetMode.WORKPIECE):
        found = forward_kinematics(scene.cell, scene.state, "manipulator", mode)
        assert max(found.distance_to(pose(case[mode.value]))) < 1e-9
    for frame, name in (("tool", "tool_frame"), ("clip", "clip")):
        assert max(world_pose(scene.cell, scene.state, frame).distance_to(pose(case[name]))) < 1e-9
    scaled = forward_kinematics(scene.cell, scene.state, "manipulator", TargetMode.WORKPIECE, native_scale=0.001)
    np.testing.assert_allclose(scaled.position, case["workpiece_in_millimetres"], atol=1e-6)


def test_a_mode_that_the_state_does_not_support(robot):
    cell = cell_with(robot, Pose())
    for mode in (TargetMode.TOOL, TargetMode.WORKPIECE):
        with pytest.raises(TargetModeMismatchError):
            forward_kinematics(cell, cell.default_state(), "manipulator", mode)


def test_a_second_tool_is_refused_where_compas_fab_detaches_the_first(robot):
    cell = cell_with(robot, Pose())
    scene = apply_changes(Scene(cell, cell.default_state()), [Attach("tool", "manipulator", Pose())], world_pose)
    with pytest.raises(StateError, match=r"tool and spare|spare and tool"):
        apply_changes(scene, [Attach("spare", "manipulator", Pose())], world_pose)
