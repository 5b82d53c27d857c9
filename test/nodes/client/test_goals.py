"""Goals of a client: a name, joint values, a target, or several of these."""

import pytest

from robot_cell_planner import Pose
from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.msg import GoalSpec
from robot_cell_planner.nodes.client.messages import make_goal, make_pose_target
from robot_cell_planner.nodes.conversions.basic import configuration_to_message

JOINTS = {"elbow_joint": 1.2, "wrist_1_joint": -0.3}


@pytest.mark.parametrize(
    ("short", "message"),
    [
        ("home", GoalSpec(named_states=["home"])),
        (JOINTS, GoalSpec(joint_goals=[configuration_to_message(JOINTS)])),
        (make_pose_target("above_pick"), GoalSpec(targets=[make_pose_target("above_pick")])),
        (["home", "ready"], GoalSpec(named_states=["home", "ready"])),
        (
            (make_pose_target("pick"), JOINTS),
            GoalSpec(targets=[make_pose_target("pick")], joint_goals=[configuration_to_message(JOINTS)]),
        ),
        (GoalSpec(named_states=["home"]), GoalSpec(named_states=["home"])),
    ],
)
def test_short_forms_are_the_message(short, message):
    assert make_goal(short) == message


@pytest.mark.parametrize("wrong", [[1.0, 2.0], [None], (0.4, 0.0, 0.3), Pose((0.4, 0.0, 0.3)), 5, None])
def test_other_types_are_refused_with_how_to_give_a_goal(wrong):
    text = "a goal is .*, expected the name of a state, joint values by name, or a Target"
    with pytest.raises(InvalidRequestError, match=text) as refused:
        make_goal(wrong)
    assert "make_pose_target" in refused.value.remedy
