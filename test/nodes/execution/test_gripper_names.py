"""Names of the joints of grippers: those of the parameters, or without the tool if only one gripper can have it."""

import pytest
from sensor_msgs.msg import JointState

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.nodes.execution.parameters import PARAMETERS, grippers, passive_joints
from robot_cell_planner.setup_assistant import check_parameters

DEFAULTS = {parameter.name: parameter.default for parameter in PARAMETERS}


def options(**changes):
    found = grippers({**DEFAULTS, **changes})
    return found, [each for _, each in found]


@pytest.mark.parametrize("changes", [{"gripper_joints": ["hand/finger"]}, {"gripper_joint": "hand/finger"}])
@pytest.mark.parametrize(("measured", "name"), [("finger", "finger"), ("hand/finger", "hand/finger")])
def test_a_gripper_has_the_name_of_its_joint_that_is_measured(changes, measured, name):
    found, (gripper,) = options(**changes)
    named = gripper.with_name_among(("elbow", measured))
    assert named.joint == name
    assert named.motion(0.01, 0.02, 0.0, 0.004).joints == (name,)
    for accepted in ("finger", "hand/finger"):
        assert named.command_of(JointState(name=[accepted], position=[0.02])).position == 0.02
    with pytest.raises(InvalidRequestError, match="the name if any"):
        named.command_of(JointState(name=["elbow"], position=[0.02]))
    assert passive_joints(found) == ("hand/finger", "finger")


def test_a_name_without_a_tool_is_that_of_the_joint():
    found, (gripper,) = options(gripper_joint="finger")
    assert gripper.with_name_among(("finger", "hand/finger")) == gripper
    assert gripper.with_name_among(("hand/finger",)) == gripper
    assert passive_joints(found) == ("finger",)
    with pytest.raises(InvalidRequestError):
        gripper.command_of(JointState(name=[""], position=[0.02]))


def test_a_short_name_of_several_grippers_is_that_of_none():
    found, both = options(gripper_joints=["left/finger", "right/finger"])
    assert [each.with_name_among(("finger",)).joint for each in both] == ["left/finger", "right/finger"]
    assert passive_joints(found) == ("left/finger", "right/finger")
    found, _ = options(gripper_joints=["left/finger", "right/claw"])
    assert passive_joints(found) == ("left/finger", "finger", "right/claw", "claw")


def test_the_check_of_cells_has_the_default_range():
    """It knows no nodes."""
    assert (DEFAULTS["gripper_lower"], DEFAULTS["gripper_upper"]) == (check_parameters.LOWER, check_parameters.UPPER)
