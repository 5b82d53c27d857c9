"""Random and hostile messages of MoveIt are converted or refused by name, without a graph."""

import pytest
from loaded_cells import loaded
from moveit_msgs.msg import (
    AttachedCollisionObject,
    CollisionObject,
    Constraints,
    MotionPlanRequest,
    MotionSequenceItem,
    PlanningScene,
    RobotState,
)
from moveit_msgs.srv import GetCartesianPath

from benchmarks.fuzz.messages import Fuzzer
from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.msg import StateRef
from robot_cell_planner.nodes.moveit.cartesian_requests import cartesian_goal
from robot_cell_planner.nodes.moveit.constraint_checks import constraint_results
from robot_cell_planner.nodes.moveit.error_codes import error_code
from robot_cell_planner.nodes.moveit.helper_frames import HelperFrames
from robot_cell_planner.nodes.moveit.motion_requests import Start, motion_request
from robot_cell_planner.nodes.moveit.path_constraints import path_constraints
from robot_cell_planner.nodes.moveit.pilz import linear_goal
from robot_cell_planner.nodes.moveit.robot_states import given_values
from robot_cell_planner.nodes.moveit.scene_messages import SceneWriter
from robot_cell_planner.nodes.moveit.scene_updates import scene_changes
from robot_cell_planner.nodes.moveit.sequences import blended_runs
from robot_cell_planner.nodes.moveit.world_editor import WorldEditor
from robot_cell_planner.scene.scene import Scene

SCENE = Scene(*loaded())
NAMES = [*SCENE.cell.bodies, *SCENE.cell.variables, "tool0", "gripper", "manipulator", "LIN", "CIRC", "RRTstar"]
MESSAGES = 150


def start():
    return Start(SCENE, StateRef())


CONVERSIONS = {
    CollisionObject: lambda message: WorldEditor(SCENE).world_object(message, "object"),
    AttachedCollisionObject: lambda message: WorldEditor(SCENE).attached_object(message, "object"),
    PlanningScene: lambda message: scene_changes(SCENE, message, ()),
    RobotState: lambda message: given_values(SCENE.cell, message, "state"),
    MotionPlanRequest: lambda message: motion_request(message, start(), {}),
    GetCartesianPath.Request: lambda message: cartesian_goal(message, start()),
    Constraints: lambda message: (
        path_constraints(SCENE, message, HelperFrames(SCENE)),
        constraint_results(SCENE, message),
    ),
    MotionSequenceItem: lambda message: (blended_runs([message, message]), linear_goal(message.req, start())),
}
VALID = {PlanningScene: [SceneWriter(SCENE).scene()], CollisionObject: [SceneWriter(SCENE).world_object("bin")]}


@pytest.mark.parametrize("kind", CONVERSIONS, ids=lambda kind: kind.__name__)
def test_garbage_is_converted_or_refused(kind):
    refused = 0
    for index in range(MESSAGES):
        message = Fuzzer(f"{kind.__name__}/{index}", NAMES).message(kind, VALID.get(kind, ()))
        try:
            CONVERSIONS[kind](message)
        except RobotCellError as error:
            refused += bool(error_code(error).message)
    assert refused
