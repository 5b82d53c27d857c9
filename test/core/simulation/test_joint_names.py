"""Joints of tools have a full and a short name: both are accepted where only one joint has them."""

import pytest
from frozendict import frozendict
from simulation_cells import by_name, gantry, gripper, workshop

from robot_cell_planner.errors import InvalidRequestError, UnknownNameError
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.mechanism import JointLimits
from robot_cell_planner.model.state import ToolState
from robot_cell_planner.simulation.commands import JointCommand
from robot_cell_planner.simulation.disturbances import Disturbance, DisturbanceKind
from robot_cell_planner.simulation.joint_names import JointNames
from robot_cell_planner.simulation.multibody.multibodies import JointModel
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

QUICK = SimulationOptions(settle_time=0.0)


def model(tool, name, source=""):
    full = f"{tool}/{name}" if tool else name
    return JointModel(full, name, tool, True, (0.0, 0.0, 1.0), JointLimits(), 0.0, source)


ONE = JointNames.of([model("", "elbow"), model("hand", "finger"), model("hand", "thumb", "hand/finger")])
TWO = JointNames.of([model("left", "finger"), model("right", "finger"), model("right", "claw")])


def test_both_names_of_a_joint_of_a_tool_are_accepted_and_the_short_one_is_published():
    assert ONE.all == ("elbow", "finger", "thumb")
    assert ONE.driven == ("elbow", "finger")
    assert ONE.published_names(("hand/finger", "elbow"), "stage") == ("finger", "elbow")
    assert ONE.published_names(("elbow", "finger"), "stage") == ("elbow", "finger")
    assert [ONE.full_name(name) for name in ("finger", "hand/finger", "elbow")] == ["hand/finger"] * 2 + ["elbow"]


def test_a_short_name_of_several_joints_is_refused_with_their_full_names():
    assert TWO.all == TWO.driven == ("left/finger", "right/finger", "claw")
    assert TWO.published_names(("right/claw", "left/finger"), "stage") == ("claw", "left/finger")
    for call in (TWO.full_name, lambda name: TWO.published_names(("claw", name), "joint command")):
        with pytest.raises(InvalidRequestError, match="finger is ambiguous; use one of left/finger, right/finger"):
            call("finger")


def test_both_names_of_a_joint_in_one_message_are_refused():
    with pytest.raises(InvalidRequestError, match="joint finger is named more than once: also as hand/finger"):
        ONE.published_names(("elbow", "finger", "hand/finger"), "joint command")


def test_the_name_of_a_robots_joint_is_never_that_of_a_tools_joint():
    names = JointNames.of([model("", "finger"), model("hand", "finger")])
    assert names.all == ("finger", "hand/finger")
    assert names.published_names(("finger", "hand/finger"), "stage") == ("finger", "hand/finger")
    assert names.full_name("finger") == "finger"


@pytest.mark.parametrize(("name", "words"), [("fingr", "'fingr' does not exist; nearest: finger"), ("thumb", "mimic")])
def test_other_names_are_refused(name, words):
    with pytest.raises(UnknownNameError, match=words):
        ONE.full_name(name)


def two_grippers():
    cell, state = workshop()
    spare = gripper()
    spare = type(spare)("spare", spare.mechanism, spare.tcp)
    cell = RobotCell("two", by_name([gantry()]), by_name([*cell.tools.values(), spare]))
    start = cell.default_state().with_tool("gripper", state.tools["gripper"])
    held = ToolState(configuration=frozendict({"finger": 0.02}))
    return cell, start.with_tool("spare", held)


def test_a_simulation_refuses_a_short_name_of_two_tools_and_moves_nothing():
    with SimulatedCell(*two_grippers(), QUICK) as simulated:
        assert simulated.driven_joints == ("x", "y", "z", "turn", "gripper/finger", "spare/finger")
        calls = (
            lambda: simulated.set_targets({"finger": 0.0}),
            lambda: simulated.command(JointCommand({"finger": 0.0})),
            lambda: simulated.disturb(Disturbance(DisturbanceKind.STUCK_JOINT, "finger")),
        )
        for call in calls:
            with pytest.raises(InvalidRequestError, match="ambiguous; use one of gripper/finger, spare/finger"):
                call()
        simulated.set_targets({"spare/finger": 0.03})
        simulated.step(0.5)
        tools = simulated.state().tools
        assert tools["spare"].configuration["finger"] == pytest.approx(0.03, abs=1e-4)
        assert tools["gripper"].configuration["finger"] == pytest.approx(0.04, abs=1e-4)
