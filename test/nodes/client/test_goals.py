"""Goals of a client: a name, joint values, a target, or several of these."""

import pytest

from robot_cell_planner.msg import GoalSpec
from robot_cell_planner.nodes.client.messages import goal_of, pose_target, to_goal

JOINTS = {"elbow_joint": 1.2, "wrist_1_joint": -0.3}


@pytest.mark.parametrize(
    ("short", "message"),
    [
        ("home", goal_of(named_states=["home"])),
        (JOINTS, goal_of(joint_goals=[JOINTS])),
        (pose_target("above_pick"), goal_of(targets=[pose_target("above_pick")])),
        (["home", "ready"], goal_of(named_states=["home", "ready"])),
        ((pose_target("pick"), JOINTS), goal_of(targets=[pose_target("pick")], joint_goals=[JOINTS])),
        (GoalSpec(named_states=["home"]), goal_of(named_states=["home"])),
    ],
)
def test_short_forms_are_the_message(short, message):
    assert to_goal(short) == message


@pytest.mark.parametrize("wrong", [[1.0, 2.0], [None]])
def test_other_types_are_refused(wrong):
    with pytest.raises(TypeError, match="expected the name of a state, joint values by name or a Target"):
        to_goal(wrong)
