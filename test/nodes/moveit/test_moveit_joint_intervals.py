"""Constraints of joints without limits hold at each turn, wherever they are used, without a graph."""

import math

import pytest
from frozendict import frozendict
from geometry_msgs.msg import Vector3
from hypothesis import given
from hypothesis import strategies as st
from moveit_msgs.msg import Constraints, JointConstraint, MotionPlanRequest, PlanningScene, WorkspaceParameters

from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.msg import PathConstraint, StateRef
from robot_cell_planner.nodes.moveit.constraint_checks import constraint_results
from robot_cell_planner.nodes.moveit.goals import joint_goal
from robot_cell_planner.nodes.moveit.helper_frames import HelperFrames
from robot_cell_planner.nodes.moveit.kinematics_services import _first_allowed
from robot_cell_planner.nodes.moveit.motion_requests import Start, constraints_of
from robot_cell_planner.nodes.moveit.path_constraints import path_constraints
from robot_cell_planner.nodes.moveit.robot_states import at_present_turns, given_values
from robot_cell_planner.nodes.moveit.scene_messages import SceneWriter
from robot_cell_planner.nodes.moveit.scene_updates import scene_changes
from robot_cell_planner.scene.scene import Scene

TURN = 2.0 * math.pi
URDF = """<robot name="arm">
<link name="world_link"/><link name="base"/><link name="upper"/><link name="lower"/><link name="tip"/>
<joint name="drive" type="planar"><parent link="world_link"/><child link="base"/><axis xyz="0 0 1"/></joint>
<joint name="spin" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
<limit effort="10" velocity="1"/></joint>
<joint name="bend" type="revolute"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
<limit lower="-7" upper="7" effort="10" velocity="1"/></joint>
<joint name="extend" type="prismatic"><parent link="lower"/><child link="tip"/><axis xyz="1 0 0"/>
<limit lower="-9" upper="9" effort="10" velocity="1"/></joint></robot>"""
SRDF = """<robot name="arm"><group name="all"><chain base_link="world_link" tip_link="tip"/></group>
<group name="end"><joint name="extend"/></group></robot>"""


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arm")
    for name, text in (("arm.urdf", URDF), ("arm.srdf", SRDF)):
        (folder / name).write_text(text)
    robot = load_robot("arm", str(folder / "arm.urdf"), str(folder / "arm.srdf"))
    return RobotCell(name="arm", robots=frozendict({"arm": robot}))


def constraint(name, position, tolerance=0.01):
    return JointConstraint(joint_name=name, position=position, tolerance_above=tolerance, tolerance_below=tolerance)


def holds(call):
    """Whether a conversion accepts a value."""
    try:
        call()
    except RobotCellError:
        return False
    return True


def verdicts(cell, name, value, entries):
    """Whether a joint satisfies constraints according to each of the four functions."""
    scene = Scene(cell, cell.default_state().with_configuration({name: value}))
    message, names = Constraints(joint_constraints=entries), list(cell.variables)
    row = [scene.state.configuration[each] for each in names]
    goal = [constraint("extend", 0.0), *entries]
    return {
        "check_state_validity": all(found.result for found in constraint_results(scene, message)),
        "compute_ik": holds(lambda: _first_allowed(scene, names, [row], message)),
        "path_constraints": holds(lambda: path_constraints(scene, message, HelperFrames(scene))),
        "goal": holds(lambda: joint_goal(scene, "end", goal, "goal")),
    }


@given(
    name=st.sampled_from(["spin", "drive/theta"]),
    turns=st.integers(-3, 3),
    place=st.floats(-3.0, 3.0),
    beyond=st.sampled_from([-0.009, 0.0, 0.009, 0.011, 3.0, -0.011]),
)
def test_a_joint_without_limits_satisfies_a_constraint_at_each_turn(cell, name, turns, place, beyond):
    entries = [constraint(name, place)]
    expected = abs(beyond) < 0.01
    assert verdicts(cell, name, place + beyond + turns * TURN, entries) == dict.fromkeys(
        ("check_state_validity", "compute_ik", "path_constraints", "goal"), expected
    )


@pytest.mark.parametrize("name", ["bend", "drive/x"])
def test_a_joint_that_does_not_turn_freely_satisfies_a_constraint_at_its_value_only(cell, name):
    assert set(verdicts(cell, name, TURN, [constraint(name, 0.0)]).values()) == {False}
    assert set(verdicts(cell, name, TURN, [constraint(name, TURN)]).values()) == {True}


@pytest.mark.parametrize("name", ["spin", "bend"])
def test_all_constraints_of_a_joint_hold(cell, name):
    entries = [constraint(name, 0.0, 0.02), constraint(name, 0.02, 0.015)]
    for order in (entries, entries[::-1]):
        for value, expected in ((0.01, True), (0.0, False), (0.03, False)):
            found = verdicts(cell, name, value, order)
            assert set(found.values()) == {expected}, (value, found)


def test_a_path_constraint_of_a_whole_turn_is_no_constraint(cell):
    scene = Scene(cell, cell.default_state())
    whole = Constraints(joint_constraints=[constraint("spin", 1.0, math.pi + 0.001)])
    assert path_constraints(scene, whole, HelperFrames(scene)) == []
    half = Constraints(joint_constraints=[constraint("spin", 1.0, 3.0)])
    with pytest.raises(RobotCellError, match="spin"):
        path_constraints(scene, half, HelperFrames(scene))


def test_a_joint_is_locked_where_it_starts_at_any_turn(cell):
    scene = Scene(cell, cell.default_state().with_configuration({"spin": 0.505 + TURN}))
    message = Constraints(joint_constraints=[constraint("spin", 0.5)])
    (found,) = path_constraints(scene, message, HelperFrames(scene))
    assert found.type == PathConstraint.JOINT_COMBINATION
    assert found.tolerance == pytest.approx(0.005)


@pytest.mark.parametrize("planner", ["", "PTP", "LIN", "CIRC"])
def test_the_workspace_of_a_mobile_robot_is_kept_by_every_planner(cell, planner):
    scene = Scene(cell, cell.default_state())
    workspace = WorkspaceParameters(min_corner=Vector3(x=-1.0, y=-2.0, z=-1.0), max_corner=Vector3(x=1.0, y=2.0, z=1.0))
    message = MotionPlanRequest(group_name="all", planner_id=planner, workspace_parameters=workspace)
    (found,) = constraints_of(message, Start(scene, StateRef()), HelperFrames(scene))
    assert (found.type, found.frame) == (PathConstraint.POSITION_IN_BOX, "base")


coordinates = st.floats(-20.0, 20.0)


@given(coordinates, coordinates, coordinates, coordinates)
def test_the_state_of_a_mobile_robot_that_is_sent_back_is_the_same_at_any_turn(cell, x, y, theta, spin):
    values = {"drive/x": x, "drive/y": y, "drive/theta": theta, "spin": spin}
    scene = Scene(cell, cell.default_state().with_configuration(values))
    state = SceneWriter(scene).robot_state()
    assert at_present_turns(scene, given_values(cell, state, "state")) == dict(scene.state.configuration)
    for message in (PlanningScene(is_diff=True, robot_state=state), SceneWriter(scene).scene()):
        assert scene_changes(scene, message, ()) == []


def test_a_mobile_robot_that_is_turned_a_little_is_turned_by_that(cell):
    scene = Scene(cell, cell.default_state().with_configuration({"drive/theta": 3.0 * TURN + 3.0}))
    moved = Scene(cell, cell.default_state().with_configuration({"drive/theta": 3.4}))
    state = SceneWriter(moved).robot_state()
    found = at_present_turns(scene, given_values(cell, state, "state"))
    assert found["drive/theta"] == pytest.approx(3.0 * TURN + 3.4)
