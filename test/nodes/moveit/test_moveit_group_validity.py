"""check_state_validity of a group, without a graph."""

import numpy as np
import pytest
from loaded_cells import loaded
from moveit_msgs.srv import GetStateValidity
from moveit_suite import FixedScene, SilentNode, result_of

from robot_cell_planner.errors import LimitExceededError
from robot_cell_planner.kinematics.transforms import WorldTransforms, world_pose
from robot_cell_planner.model.frames import FrameTree
from robot_cell_planner.model.value import WORLD
from robot_cell_planner.msg import CollisionPair, CollisionReport, StateRef
from robot_cell_planner.nodes.moveit.group_collisions import frames_moved_by, pairs_of_group
from robot_cell_planner.nodes.moveit.kinematics_services import KinematicsServices
from robot_cell_planner.nodes.moveit.motion_requests import Start
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.scene.state_changes import Attach
from robot_cell_planner.srv import CheckStates

SCENE = apply_changes(Scene(*loaded("two_arms")), [Attach("bar", "left_gripper")], world_pose)
LEFT, RIGHT = "left/manipulator", "right/manipulator"


@pytest.mark.parametrize("group", [LEFT, RIGHT, f"{LEFT}+{RIGHT}"])
def test_a_group_moves_what_its_joints_move(group):
    random = np.random.default_rng(2)
    before = WorldTransforms(SCENE.cell, SCENE.state)
    moved = set()
    for _ in range(3):
        values = {name: random.uniform(-1.0, 1.0) for name in SCENE.cell.group(group).variables}
        after = WorldTransforms(SCENE.cell, SCENE.state.with_configuration(values))
        moved |= {
            name
            for name in FrameTree(SCENE.cell, SCENE.state)
            if name != WORLD and not np.allclose(before.matrix(name), after.matrix(name))
        }
    assert frames_moved_by(SCENE, group) == moved
    assert ("bar" in moved) == (LEFT in group)
    assert any(name.startswith("right_gripper/") for name in moved) == (RIGHT in group)


def pair(first, second):
    return CollisionPair(name_a=first, name_b=second, kind_a=CollisionPair.LINK, kind_b=CollisionPair.BODY)


def links(group):
    return sorted(name for name in frames_moved_by(SCENE, group) if name.endswith("forearm_link"))


LEFT_TABLE = pair(*links(LEFT), "table")
RIGHT_TABLE = pair(*links(RIGHT), "table")
BAR_TABLE = pair("bar", "table")
BOTH = pair(*links(LEFT), *links(RIGHT))


def validity(pairs, group, **fields):
    """The reply about a state in which pairs collide."""

    class Suite:
        async def check_states(self, request):
            assert request.options.full_report
            report = CollisionReport(in_collision=bool(pairs), pairs=pairs, **fields)
            return CheckStates.Response(in_collision=[bool(pairs)], reports=[report])

    served = {}
    node = SilentNode()
    node.serve = lambda kind, name, handler, fail: served.update({kind: handler})
    KinematicsServices(node, Suite(), FixedScene(Start(SCENE, StateRef())))
    response = GetStateValidity.Response()
    result_of(served[GetStateValidity](GetStateValidity.Request(group_name=group), response))
    return response.valid, [(contact.contact_body_1, contact.contact_body_2) for contact in response.contacts]


@pytest.mark.parametrize(
    ("group", "of_group"),
    [
        (LEFT, [LEFT_TABLE, BAR_TABLE, BOTH]),
        (RIGHT, [RIGHT_TABLE, BOTH]),
        ("", [LEFT_TABLE, RIGHT_TABLE, BAR_TABLE, BOTH]),
    ],
)
def test_a_state_of_a_group_is_valid_if_nothing_that_it_moves_collides(group, of_group):
    everything = [LEFT_TABLE, RIGHT_TABLE, BAR_TABLE, BOTH]
    expected = [(each.name_a, each.name_b) for each in of_group]
    assert validity(everything, group) == (False, expected)
    others = [each for each in everything if each not in of_group]
    assert validity(others, group) == (True, [])


def test_a_report_that_ended_before_a_pair_of_the_group_is_no_proof():
    report = CollisionReport(in_collision=True, pairs=[RIGHT_TABLE], truncated=True)
    with pytest.raises(LimitExceededError, match=LEFT):
        pairs_of_group(SCENE, LEFT, report)
    assert pairs_of_group(SCENE, RIGHT, report) == [RIGHT_TABLE]
