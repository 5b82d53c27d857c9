"""The state in which a motion is validated: that of the request, with the robot where it was measured."""

import pytest

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.msg import Configuration, RobotCellState, StateRef
from robot_cell_planner.nodes.common.joint_states import Measurement
from robot_cell_planner.nodes.conversions.basic import configuration_from_message
from robot_cell_planner.nodes.motion.planning_calls import fresh_state

NAMES, MEASURED = ("arm/shoulder",), {"shoulder": Measurement(0.3, 0.0, 0.0, 5_000_000_000, 0.0, 0.0)}


def own_state(names, positions):
    given = Configuration(joint_names=names, positions=positions)
    return StateRef(own_state=[RobotCellState()], configuration=given)


def test_joints_that_do_not_move_keep_the_values_of_a_state_of_the_request():
    reference = own_state(["arm/shoulder", "gripper/finger"], [0.0, 0.04])
    state = fresh_state(reference, NAMES, MEASURED)
    values = configuration_from_message(state.configuration, "configuration")
    assert values == {"arm/shoulder": 0.3, "gripper/finger": 0.04}
    assert state.own_state == reference.own_state


def test_the_request_of_the_client_is_not_changed():
    reference = own_state(["gripper/finger"], [0.04])
    fresh_state(reference, NAMES, MEASURED)
    assert reference == own_state(["gripper/finger"], [0.04])


def test_a_malformed_configuration_is_refused():
    with pytest.raises(InvalidRequestError, match=r"state\.configuration"):
        fresh_state(own_state(["gripper/finger"], []), NAMES, MEASURED)


def test_a_state_of_the_scene_has_to_be_as_new_as_the_measurements():
    state = fresh_state(StateRef(), NAMES, MEASURED)
    assert state.min_joint_stamp.sec == 5
    assert not state.configuration.joint_names
