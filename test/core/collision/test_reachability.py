"""Reachability: reached poses have a free solution; poses out of reach and in collision are classified."""

import json
import math

import msgspec
import pytest
from frozendict import frozendict
from robots import MANIPULATORS
from sources import ROOT

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.reach import Reach, pose_grid, reachability
from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import InvalidRequestError, InvalidValueError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.kinematics.forward import all_link_poses, forward_kinematics
from robot_cell_planner.kinematics.targets import TargetMode
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup

DEMO = ROOT / "config" / "demo" / "cell.yaml"
DOWN = Pose.from_rpy((0.6, 0.0, 0.95), (math.pi, 0.0, 0.0))


def test_solutions_of_reached_poses_are_free_and_at_the_pose():
    cell, state = load_cell(DEMO)
    found = reachability(cell, state, pose_grid(DOWN, (0.8, 0.8, 0.0), 0.4))
    assert len(found.results) == 9
    assert found.counts()[Reach.REACHED] >= 3
    checker = CollisionChecker(cell, state, found.variables)
    for pose, result, q in zip(found.poses, found.results, found.configurations, strict=True):
        assert (q is None) == (result is not Reach.REACHED)
        if q is not None:
            reached = state.with_configuration(dict(zip(found.variables, q, strict=True)))
            position, angle = forward_kinematics(cell, reached, mode=TargetMode.TOOL).distance_to(pose)
            assert position < 1e-5
            assert angle < 1e-4
            assert not checker.in_collision(q)


def test_far_poses_are_out_of_reach_and_poses_in_the_table_collide():
    cell, state = load_cell(DEMO)
    poses = (Pose((3.0, 0.0, 1.0), DOWN.quaternion), Pose((0.6, -0.2, 0.65), DOWN.quaternion))
    assert reachability(cell, state, poses).results == (Reach.OUT_OF_REACH, Reach.COLLISION)


def test_a_grid_is_centred_and_bounded():
    poses = pose_grid(Pose((1.0, 2.0, 3.0)), (0.2, 0.1, 0.0), 0.1)
    found = [tuple(round(value, 6) for value in pose.position) for pose in poses]
    assert found == [(x, y, 3.0) for y in (1.95, 2.05) for x in (0.9, 1.0, 1.1)]
    for step in (0.0, 1e-4, 1e-320, math.inf, math.nan):
        with pytest.raises(InvalidRequestError, match="grid"):
            pose_grid(Pose(), (1, 1, 1), step)
    for size in ((1, 1, -1), (1, 1), (1, math.nan, 1), (1e6, 1e6, 1e6)):
        with pytest.raises(InvalidRequestError, match="grid"):
            pose_grid(Pose(), size, 0.1)
    with pytest.raises(InvalidValueError, match="size"):
        pose_grid(Pose(), ("a", 1, 1), 0.1)


def test_a_pose_at_which_a_numerical_search_finds_no_solution_is_not_called_out_of_reach():
    """An arm of seven joints has no analytic solver, so that only lengths of its links prove anything."""
    arm = load_robot("arm", MANIPULATORS["bullet kuka"])
    group = PlanningGroup("arm", tuple(arm.variables), base_link=arm.mechanism.root, tip_link="lbr_iiwa_link_7")
    cell = RobotCell("cell", frozendict({"arm": msgspec.structs.replace(arm, groups=frozendict({"arm": group}))}))
    state = cell.default_state()
    tip = forward_kinematics(cell, state, mode=TargetMode.ROBOT)  # the arm is stretched upwards
    turned = Pose.from_rpy((0.0, 0.0, tip.position[2] - 1e-4), (math.pi, 0.0, 0.0))
    far = Pose((5.0, 0.0, 0.0), turned.quaternion)
    # Its wrist is in the shoulder, which is nearer than the difference of the links between them.
    last = arm.mechanism.joints["lbr_iiwa_joint_7"].origin
    shoulder = all_link_poses(cell, state)["lbr_iiwa_link_2"]
    folded = Pose(shoulder.position, turned.quaternion) @ Pose((0.0, 0.0, last.position[1]))
    found = reachability(cell, state, (turned, far, folded), TargetMode.ROBOT)
    assert found.results == (Reach.OUT_OF_REACH, Reach.OUT_OF_REACH, Reach.NOT_FOUND)
    assert found.configurations == (None, None, None)


def test_command(capsys):
    pose = ",".join(map(str, (*DOWN.position, math.pi, 0, 0)))
    words = ["reach", str(DEMO), "--pose", pose, "--size", "0.8", "0.8", "0", "--step", "0.8"]
    assert main(words) == 0
    assert "# reached: " in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["poses"]) == 4
