"""Requests of MoveIt as requests of this package, and back, without a graph."""

import math
import struct
from copy import deepcopy

import numpy as np
import pinocchio as pin
import pytest
from geometry_msgs.msg import Pose as PoseMessage
from geometry_msgs.msg import Vector3
from hypothesis import given, settings
from hypothesis import strategies as st
from loaded_cells import loaded
from moveit_msgs.msg import (
    AllowedCollisionEntry,
    AttachedCollisionObject,
    CollisionObject,
    Constraints,
    JointConstraint,
    MotionPlanRequest,
    MoveItErrorCodes,
    OrientationConstraint,
    PlanningScene,
    PositionConstraint,
    VisibilityConstraint,
)
from moveit_msgs.srv import GetCartesianPath
from octomap_msgs.msg import Octomap
from sensor_msgs.msg import JointState
from shape_msgs.msg import Mesh, MeshTriangle, Plane, SolidPrimitive

from robot_cell_planner import action
from robot_cell_planner.errors import ERRORS_BY_CODE, ConstraintMismatchError, RobotCellError
from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.msg import GoalRegion, JointPath, PathConstraint, SceneChange, StateRef
from robot_cell_planner.nodes.conversions.basic import pose_to_message
from robot_cell_planner.nodes.conversions.changes import changes_from_message
from robot_cell_planner.nodes.conversions.models import ModelReader
from robot_cell_planner.nodes.moveit.cartesian_requests import add_solution
from robot_cell_planner.nodes.moveit.constraint_checks import constraint_results
from robot_cell_planner.nodes.moveit.error_codes import error_code
from robot_cell_planner.nodes.moveit.goals import goals_to_spec
from robot_cell_planner.nodes.moveit.helper_frames import HelperFrames
from robot_cell_planner.nodes.moveit.motion_requests import Start, motion_request
from robot_cell_planner.nodes.moveit.octomap import occupied_cells
from robot_cell_planner.nodes.moveit.path_constraints import path_constraints
from robot_cell_planner.nodes.moveit.pilz import midpoint_of_arc
from robot_cell_planner.nodes.moveit.planners import planner_named
from robot_cell_planner.nodes.moveit.robot_states import joint_values
from robot_cell_planner.nodes.moveit.scene_messages import SceneWriter
from robot_cell_planner.nodes.moveit.scene_updates import scene_changes
from robot_cell_planner.nodes.moveit.sequences import joint_tolerance
from robot_cell_planner.nodes.moveit.world_editor import WorldEditor
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.scene import Scene

M = MoveItErrorCodes
CELL, STATE = loaded()
SCENE = Scene(CELL, STATE)
GROUP = "manipulator"
READER = ModelReader(NO_ROOTS)


def applied(scene, changes):
    return apply_changes(scene, changes_from_message(changes, READER, "changes", 10_000), world_pose)


def updated(scene, message):
    return applied(scene, scene_changes(scene, message, ()))


def edited(scene, *objects):
    editor = WorldEditor(scene)
    for item in objects:
        add = editor.attached_object if isinstance(item, AttachedCollisionObject) else editor.world_object
        add(item, "object")
    return applied(scene, editor.changes)


def primitive(kind, *dimensions):
    return SolidPrimitive(type=kind, dimensions=[float(value) for value in dimensions])


def moveit_object(name, *solids, operation=CollisionObject.ADD, frame="world", position=(0.0, 0.0, 0.0)):
    item = CollisionObject(id=name, operation=operation)
    item.header.frame_id = frame
    item.primitives, item.primitive_poses = list(solids), [PoseMessage() for _ in solids]
    item.pose.position.x, item.pose.position.y, item.pose.position.z = position
    return item


def refusal(value, *words):
    """An error with a value of MoveItErrorCodes and words of its text."""

    class _Refusal:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            assert isinstance(error, RobotCellError), error
            code = error_code(error)
            assert code.val == value, code
            assert code.source
            for word in words:
                assert word in code.message
            return True

    return _Refusal()


@pytest.mark.parametrize("kind", ERRORS_BY_CODE.values(), ids=lambda kind: kind.__name__)
def test_every_error_has_a_value_a_text_and_a_source(kind):
    code = error_code(kind("something is wrong", subjects=("elbow",)))
    assert code.val not in (M.SUCCESS, M.UNDEFINED)
    assert "something is wrong" in code.message
    assert kind.__name__ in code.source


# Goals and constraints.


def position(point, *solids, link="tool0", offset=(0.0, 0.0, 0.0), frame="world"):
    message = PositionConstraint(link_name=link, target_point_offset=Vector3(x=offset[0], y=offset[1], z=offset[2]))
    message.header.frame_id = frame
    message.constraint_region.primitives = list(solids)
    message.constraint_region.primitive_poses = [pose_to_message(Pose(point)) for _ in solids]
    return message


def orientation(tolerances, pose=None, link="tool0", parameterization=0):
    pose = pose or Pose()
    message = OrientationConstraint(link_name=link, orientation=pose_to_message(pose).orientation)
    message.header.frame_id = "world"
    message.absolute_x_axis_tolerance, message.absolute_y_axis_tolerance, message.absolute_z_axis_tolerance = tolerances
    message.parameterization = parameterization
    return message


def spec(*messages, frames=None):
    return goals_to_spec(SCENE, GROUP, messages, frames or HelperFrames(SCENE))


def joint(name, value, tolerance=0.0):
    return JointConstraint(joint_name=name, position=value, tolerance_above=tolerance, tolerance_below=tolerance)


def test_a_joint_goal_is_brought_within_limits_only_as_its_tolerance_allows():
    limit = CELL.variables["elbow_joint"].limits.upper
    for tolerance, expected in ((0.1, limit), (0.01, limit + 0.05)):
        goal = spec(Constraints(joint_constraints=[joint("elbow_joint", limit + 0.05, tolerance)])).joint_goals[0]
        assert list(goal.positions) == [pytest.approx(expected)]


def test_joints_outside_the_group_must_be_at_their_values_in_the_goal():
    held = STATE.tools["gripper"].configuration["finger_joint"]
    entries = [joint("elbow_joint", 1.0), joint("finger_joint", held, 0.001)]
    assert list(spec(Constraints(joint_constraints=entries)).joint_goals[0].joint_names) == ["elbow_joint"]
    with refusal(M.INVALID_GOAL_CONSTRAINTS, "finger_joint"):
        spec(Constraints(joint_constraints=[entries[0], joint("finger_joint", held + 0.01, 0.001)]))


def test_a_point_of_a_link_becomes_a_frame_of_the_request():
    frames = HelperFrames(SCENE)
    region = primitive(SolidPrimitive.SPHERE, 0.01)
    goal = Constraints(position_constraints=[position((0.5, 0.0, 1.0), region, offset=(0.0, 0.0, 0.1))])
    target = spec(goal, frames=frames).targets[0]
    with_frame = applied(SCENE, frames.changes)
    found = world_pose(with_frame.cell, with_frame.state, "tool0").inverse() @ world_pose(
        with_frame.cell, with_frame.state, target.frame
    )
    assert np.allclose(found.position, (0.0, 0.0, 0.1))
    assert target.position_tolerance == 0.01
    assert target.orientation_tolerance >= 3.14


def test_each_solid_of_a_region_is_a_goal_of_its_own():
    solids = primitive(SolidPrimitive.SPHERE, 0.01), primitive(SolidPrimitive.BOX, 0.4, 0.2, 0.6)
    goal = Constraints(position_constraints=[position((0.5, 0.0, 1.0), *solids)])
    found = spec(goal)
    assert len(found.targets) == 1
    region = found.regions[0]
    assert isinstance(region, GoalRegion)
    extent = region.position_extent
    tolerance = region.center.position_tolerance
    assert np.allclose([extent.x, extent.y, extent.z], np.array([0.2, 0.1, 0.3]) - tolerance)


@pytest.mark.parametrize(
    ("goal", "value", "word"),
    [
        (Constraints(visibility_constraints=[VisibilityConstraint()]), M.INVALID_GOAL_CONSTRAINTS, "visibility"),
        (Constraints(position_constraints=[position((0, 0, 0))]), M.INVALID_GOAL_CONSTRAINTS, "primitives"),
        (
            Constraints(
                position_constraints=[position((0.0, 0.0, 1.0), primitive(SolidPrimitive.SPHERE, 0.1))],
                orientation_constraints=[orientation((0.1, 0.1, 0.1), link="forearm_link")],
            ),
            M.INVALID_GOAL_CONSTRAINTS,
            "forearm_link",
        ),
        (Constraints(orientation_constraints=[orientation((0.1, -0.1, 0.1))]), M.INVALID_GOAL_CONSTRAINTS, "y_axis"),
        (Constraints(joint_constraints=[joint("elbow", 1.0)]), M.INVALID_GOAL_CONSTRAINTS, "elbow"),
        (Constraints(joint_constraints=[joint("elbow_joint", math.nan)]), M.INVALID_GOAL_CONSTRAINTS, "nan"),
        (
            Constraints(position_constraints=[position((0, 0, 0), primitive(SolidPrimitive.PRISM, 1.0))]),
            M.INVALID_GOAL_CONSTRAINTS,
            "type 5",
        ),
    ],
)
def test_goals_that_cannot_be_served_are_refused_by_name(goal, value, word):
    with refusal(value, word):
        spec(goal)


angles = st.floats(-3.0, 3.0)


@settings(max_examples=60, deadline=None)
@given(st.tuples(angles, angles, angles), st.sampled_from([0, 1]), st.integers(0, 3))
def test_orientations_within_a_path_constraint_satisfy_moveits_constraint(error, parameterization, free):
    """The orientation constraint that is planned with is at least as strict, for any orientation of the link."""
    tolerances = [0.4, 0.3, 0.5]
    if free in (0, 2) or (free == 1 and parameterization == OrientationConstraint.ROTATION_VECTOR):
        tolerances[free] = 2.0 * math.pi
    assert_stricter(tolerances, error, parameterization)


def assert_stricter(tolerances, error, parameterization):
    """The link satisfies MoveIt's constraint, or not the one that is planned with. error: its roll, pitch and yaw."""
    tip = world_pose(CELL, STATE, "tool0")
    rotation = tip.matrix[:3, :3] @ pin.rpy.rpyToMatrix(*error)
    turned = np.eye(4)
    turned[:3, :3] = rotation
    message = orientation(tuple(tolerances), Pose.from_matrix(turned), parameterization=parameterization)
    frames = HelperFrames(SCENE)
    (constraint,) = path_constraints(SCENE, Constraints(orientation_constraints=[message]), frames)
    scene = applied(SCENE, frames.changes)
    frame = world_pose(scene.cell, scene.state, constraint.frame).matrix[:3, :3]
    if constraint.type == PathConstraint.AXIS_IN_CONE:
        axis = np.array((constraint.axis.x, constraint.axis.y, constraint.axis.z))
        angle = math.acos(max(-1.0, min(1.0, float(frame[:, 2] @ axis))))
    else:
        angle = float(np.linalg.norm(pin.log3(rotation.T @ frame)))
    (result,) = constraint_results(SCENE, Constraints(orientation_constraints=[message]))
    assert result.result or angle > constraint.tolerance - 1e-9


@pytest.mark.parametrize("tolerances", [(1.9, 1.9, 1.9), (7.0, 1.9, 1.9), (1.9, 1.9, 7.0)])
@pytest.mark.parametrize("error", [(0.0, 1.75, 0.0), (-2.3, 1.4, 2.2), (2.8, 1.5, -0.2), (-0.2, 1.4, 2.9)])
def test_tolerances_beyond_a_quarter_turn_are_no_looser_than_moveits(tolerances, error):
    assert_stricter(tolerances, error, OrientationConstraint.XYZ_EULER_ANGLES)


def test_a_free_y_axis_of_intrinsic_angles_is_refused_with_the_remedy():
    for parameterization in (OrientationConstraint.XYZ_EULER_ANGLES, OrientationConstraint.ROTATION_VECTOR):
        free = Constraints(orientation_constraints=[orientation((0.1, 7.0, 0.1), parameterization=parameterization)])
        if parameterization == OrientationConstraint.ROTATION_VECTOR:
            assert path_constraints(SCENE, free, HelperFrames(SCENE))[0].type == PathConstraint.AXIS_IN_CONE
        else:
            with refusal(M.INVALID_GOAL_CONSTRAINTS, "free y axis", "ROTATION_VECTOR"):
                path_constraints(SCENE, free, HelperFrames(SCENE))


def test_a_rotation_is_free_from_3_14_rad_on():
    for tolerance, kind in ((3.14, PathConstraint.AXIS_IN_CONE), (3.0, PathConstraint.ORIENTATION)):
        message = Constraints(orientation_constraints=[orientation((tolerance, 0.5, 0.5))])
        (constraint,) = path_constraints(SCENE, message, HelperFrames(SCENE))
        assert constraint.type == kind


@pytest.mark.parametrize(("stage", "value"), [("start", -11), ("goals", -13), ("path", -2)])
def test_a_broken_path_constraint_is_of_the_start_the_goal_or_the_path(stage, value):
    assert error_code(ConstraintMismatchError("it breaks", stage=stage)).val == value


@pytest.mark.parametrize(
    "solid",
    [
        primitive(SolidPrimitive.BOX, 0.2, 0.4, 0.6),
        primitive(SolidPrimitive.SPHERE, 0.2),
        primitive(SolidPrimitive.CYLINDER, 0.5, 0.2),
        primitive(SolidPrimitive.CONE, 0.5, 0.3),
    ],
    ids=["box", "sphere", "cylinder", "cone"],
)
def test_the_box_of_a_position_constraint_lies_in_its_solid(solid):
    tip = np.array(world_pose(CELL, STATE, "tool0").position)
    message = position(tuple(tip), solid)
    (constraint,) = path_constraints(SCENE, Constraints(position_constraints=[message]), HelperFrames(SCENE))
    center = np.array((constraint.pose.position.x, constraint.pose.position.y, constraint.pose.position.z))
    extent = np.array((constraint.extent.x, constraint.extent.y, constraint.extent.z)) + constraint.tolerance
    assert extent.min() > 0.0
    for corner in np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T:
        # The solid is moved, so that a corner of the box is at the tip.
        shifted = position(tuple(2.0 * tip - (center + 0.999 * corner * extent)), solid)
        (result,) = constraint_results(SCENE, Constraints(position_constraints=[shifted]))
        assert result.result, result.distance


def test_a_joint_is_locked_or_free_or_the_interval_is_refused():
    start = STATE.configuration["elbow_joint"]
    limits = CELL.variables["elbow_joint"].limits
    assert not path_constraints(SCENE, Constraints(joint_constraints=[joint("elbow_joint", 0.0, 10.0)]), None)
    assert limits.upper < 10.0
    locked = Constraints(joint_constraints=[joint("elbow_joint", start, 0.01)])
    assert path_constraints(SCENE, locked, None)[0].type == PathConstraint.JOINT_COMBINATION
    with refusal(M.INVALID_GOAL_CONSTRAINTS, "elbow_joint"):
        path_constraints(SCENE, Constraints(joint_constraints=[joint("elbow_joint", start, 0.5)]), None)
    with refusal(M.START_STATE_VIOLATES_PATH_CONSTRAINTS, "elbow_joint"):
        path_constraints(SCENE, Constraints(joint_constraints=[joint("elbow_joint", start + 0.1, 0.01)]), None)


@pytest.mark.parametrize(
    ("name", "planner"),
    [
        ("", ""),
        ("RRTConnectkConfigDefault", "RRTConnect"),
        ("geometric::RRTstar", "RRTstar"),
        ("manipulator[PRMkConfigDefault]", "PRM"),
        ("geometric::KPIECE", "KPIECE1"),
        ("LBKPIECEkConfigDefault", "LBKPIECE1"),
        ("ESTkConfigDefault", ""),
    ],
)
def test_names_of_planners(name, planner):
    found, warning = planner_named(name)
    assert found == planner
    assert bool(warning) == (name.startswith("EST"))


def test_fields_of_a_request_reach_the_planner():
    message = MotionPlanRequest(group_name=GROUP, planner_id="RRTstar", allowed_planning_time=2.5)
    message.max_velocity_scaling_factor, message.max_acceleration_scaling_factor = 0.3, 0.0
    message.goal_constraints = [
        Constraints(joint_constraints=[joint("elbow_joint", 1.0)]),
        Constraints(joint_constraints=[joint("elbow_joint", 1.2)]),
    ]
    found = motion_request(message, Start(SCENE, StateRef()), {"range": "0.5"}, 5.0).request
    assert len(found.goal.joint_goals) == 2
    assert found.options.planner == "RRTstar"
    assert [(entry.key, entry.value) for entry in found.options.planner_parameters] == [("range", "0.5")]
    assert (found.options.time_limit.sec, found.options.time_limit.nanosec) == (7, 500_000_000)
    assert (found.timing.velocity_scale, found.timing.acceleration_scale) == (0.3, 1.0)


def test_joint_states_may_have_more_and_shorter_names():
    message = JointState(name=["elbow_joint", "finger_joint"], position=[1.0, 0.01])
    assert joint_values(CELL, message, "state") == {"elbow_joint": 1.0, "gripper/finger_joint": 0.01}


# The scene.


def test_the_scene_as_a_message_is_the_scene():
    assert scene_changes(SCENE, SceneWriter(SCENE).scene(), ()) == []


def test_a_whole_scene_replaces_objects_that_differ():
    message = SceneWriter(SCENE).scene()
    message.world.collision_objects = [item for item in message.world.collision_objects if item.id != "bin"]
    message.world.collision_objects.append(
        moveit_object("sphere", primitive(SolidPrimitive.SPHERE, 0.1), position=(0, 0, 2.0))
    )
    found = updated(SCENE, message)
    assert set(found.cell.bodies) == {*CELL.bodies, "sphere"} - {"bin"}
    assert found.state.bodies["table"] == STATE.bodies["table"]


@pytest.mark.parametrize(
    "solid",
    [
        primitive(SolidPrimitive.BOX, 0.1, 0.2, 0.3),
        primitive(SolidPrimitive.SPHERE, 0.1),
        primitive(SolidPrimitive.CYLINDER, 0.3, 0.1),
        primitive(SolidPrimitive.CONE, 0.3, 0.1),
    ],
    ids=["box", "sphere", "cylinder", "cone"],
)
def test_an_object_is_returned_as_it_was_sent(solid):
    sent = moveit_object("part", solid, position=(1.0, 2.0, 3.0))
    found = SceneWriter(edited(SCENE, deepcopy(sent))).world_object("part")
    assert found.primitives == sent.primitives
    assert found.pose == sent.pose
    assert found.id == "part"


def test_meshes_and_planes():
    item = moveit_object("part")
    item.meshes = [Mesh(triangles=[MeshTriangle(vertex_indices=list(face)) for face in TETRAHEDRON], vertices=CORNERS)]
    item.planes = [Plane(coef=[0.0, 0.0, 2.0, -1.0])]
    item.mesh_poses, item.plane_poses = [PoseMessage()], [PoseMessage()]
    mesh, plate = edited(SCENE, item).cell.bodies["part"].collisions
    assert len(mesh.geometry.faces) == 4
    assert plate.pose.position == (0.0, 0.0, 0.5)


TETRAHEDRON = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))
CORNERS = [pose_to_message(Pose(point)).position for point in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))]


def test_an_object_in_a_frame_that_moves_is_where_the_frame_is():
    found = edited(
        SCENE, moveit_object("part", primitive(SolidPrimitive.SPHERE, 0.01), frame="tool0", position=(0, 0, 0.3))
    )
    tip = world_pose(CELL, STATE, "tool0")
    assert np.allclose(world_pose(found.cell, found.state, "part").matrix, (tip @ Pose((0, 0, 0.3))).matrix)
    assert found.state.bodies["part"].attached_to == ""


def test_objects_are_attached_and_detached():
    attach = AttachedCollisionObject(link_name="tool0", object=CollisionObject(id="workpiece"), touch_links=["gripper"])
    removal = CollisionObject(id="workpiece", operation=CollisionObject.REMOVE)
    held = edited(SCENE, attach, removal)  # as MoveIt's tutorials send it
    assert held.state.bodies["workpiece"].attached_to == "tool0"
    assert held.state.bodies["workpiece"].touch_bodies == ("gripper",)
    writer = SceneWriter(held)
    assert "workpiece" not in writer.world_bodies()
    message = next(entry for entry in writer.attached_objects() if entry.object.id == "workpiece")
    assert message.link_name == "tool0"
    with refusal(M.INVALID_OBJECT_NAME, "workpiece", "tool0"):
        edited(held, removal)
    detach = AttachedCollisionObject(object=CollisionObject(operation=CollisionObject.REMOVE))
    free = edited(held, detach)
    assert free.state.bodies["workpiece"].attached_to == ""
    there = world_pose(free.cell, free.state, "workpiece")
    assert np.allclose(there.matrix, world_pose(CELL, STATE, "workpiece").matrix)


def test_subframes_go_with_their_object():
    item = moveit_object("part", primitive(SolidPrimitive.SPHERE, 0.01), position=(1.0, 0.0, 0.0))
    item.subframe_names, item.subframe_poses = ["tip"], [pose_to_message(Pose((0.0, 0.0, 0.1)))]
    found = edited(SCENE, item)
    assert np.allclose(world_pose(found.cell, found.state, "part/tip").position, (1.0, 0.0, 0.1))
    assert SceneWriter(found).world_object("part").subframe_names == ["tip"]
    gone = edited(found, moveit_object("part", operation=CollisionObject.REMOVE))
    assert "part/tip" not in gone.cell.frames
    assert "part" not in gone.cell.bodies


def test_appending_and_moving():
    sphere = primitive(SolidPrimitive.SPHERE, 0.01)
    found = edited(
        SCENE,
        moveit_object("part", sphere, position=(1.0, 0.0, 0.0)),
        moveit_object("part", sphere, sphere, operation=CollisionObject.APPEND),
        moveit_object("part", operation=CollisionObject.MOVE, position=(2.0, 0.0, 0.0)),
    )
    assert len(found.cell.bodies["part"].collisions) == 3
    assert found.state.bodies["part"].pose.position == (2.0, 0.0, 0.0)


def test_removing_all_leaves_the_robot_and_its_tools():
    found = edited(SCENE, moveit_object("", operation=CollisionObject.REMOVE))
    assert not found.cell.bodies
    assert found.cell.tools == CELL.tools


@pytest.mark.parametrize(
    ("item", "word"),
    [
        (moveit_object("part"), "shape"),
        (moveit_object("nothing", operation=CollisionObject.REMOVE), "nothing"),
        (moveit_object("nothing", operation=CollisionObject.MOVE), "nothing"),
        (moveit_object("part", primitive(SolidPrimitive.BOX, 1.0)), "dimensions"),
        (moveit_object("part", primitive(SolidPrimitive.SPHERE, -1.0)), "-1"),
        (moveit_object("part", primitive(SolidPrimitive.SPHERE, math.nan)), "nan"),
        (moveit_object("part", operation=b"\x07"), "operation"),
    ],
)
def test_objects_that_cannot_be_used_are_refused_by_name(item, word):
    with refusal(M.INVALID_OBJECT_NAME, word):
        edited(SCENE, item)


def test_an_allowed_collision_is_added_and_removed():
    """As clients do it: the whole matrix with one more row and column, then with the same row set back."""
    found = SCENE
    for allow in (True, False):
        scene = found
        message = PlanningScene(
            is_diff=True, allowed_collision_matrix=SceneWriter(scene).scene().allowed_collision_matrix
        )
        matrix = message.allowed_collision_matrix
        if "bin" not in matrix.entry_names:
            matrix.entry_names.append("bin")
            for row in matrix.entry_values:
                row.enabled.append(allow)
            matrix.entry_values.append(AllowedCollisionEntry(enabled=[allow] * len(matrix.entry_names)))
        else:
            index = list(matrix.entry_names).index("bin")
            for row in matrix.entry_values:
                row.enabled[index] = allow
            matrix.entry_values[index].enabled = [allow] * len(matrix.entry_names)
        found = updated(scene, message)
        checked = SceneWriter(found).scene().allowed_collision_matrix
        allowed = "bin" in checked.entry_names
        assert allowed == allow
    assert found.cell.collision == CELL.collision


def test_pairs_that_the_srdf_allows_cannot_be_checked():
    message = PlanningScene(is_diff=True, allowed_collision_matrix=SceneWriter(SCENE).scene().allowed_collision_matrix)
    for row in message.allowed_collision_matrix.entry_values:
        row.enabled = [False] * len(row.enabled)
    with refusal(M.FAILURE, "SRDF"):
        updated(SCENE, message)


def test_padding_is_a_margin():
    message = PlanningScene(is_diff=True)
    message.link_padding, _ = SceneWriter(SCENE).scene().link_padding, None
    message.link_padding[3].padding = 0.02
    found = updated(SCENE, message)
    assert dict(found.cell.collision.margins) == {**CELL.collision.margins, message.link_padding[3].link_name: 0.02}


# Octomaps.

RESOLUTION = 0.1


def encoded(keys, depth=0, origin=(0, 0, 0)):
    """The tree of a set of voxels, each by its three indices from 0 to 2**16 - 1, in OctoMap's binary format."""
    size = 2 ** (15 - depth)
    bits, inner = 0, []
    for child in range(8):
        corner = tuple(o + size * (child >> axis & 1) for axis, o in enumerate(origin))
        inside = {k for k in keys if all(c <= v < c + size for c, v in zip(corner, k, strict=True))}
        if not inside:
            continue
        whole = len(inside) == size**3
        bits |= (2 if whole else 3) << 2 * child
        if not whole:
            inner.append((inside, corner))
    data = bits.to_bytes(2, "little")
    return data + b"".join(encoded(inside, depth + 1, corner) for inside, corner in inner)


def encoded_full(keys, depth=0, origin=(0, 0, 0), color=b""):
    """The same with log-odds: 2 for the voxels, -1 for the space beside them."""
    size = 2 ** (16 - depth)
    inside = {k for k in keys if all(c <= v < c + size for c, v in zip(origin, k, strict=True))}
    if not inside or len(inside) == size**3:
        return struct.pack("<f", 2.0 if inside else -1.0) + color + b"\x00"
    half = size // 2
    corners = [tuple(o + half * (child >> axis & 1) for axis, o in enumerate(origin)) for child in range(8)]
    below = b"".join(encoded_full(inside, depth + 1, corner, color) for corner in corners)
    return struct.pack("<f", 2.0) + color + b"\xff" + below


def octomap(data, **fields):
    signed = [value - 256 if value > 127 else value for value in data]
    return Octomap(**{"binary": True, "id": "OcTree", "resolution": RESOLUTION, "data": signed, **fields})


indices = st.integers(2**15 - 3, 2**15 + 3)


@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.tuples(indices, indices, indices), min_size=1, max_size=80),
    st.sampled_from(
        [
            lambda keys: octomap(encoded(keys)),
            lambda keys: octomap(encoded_full(keys), binary=False),
            lambda keys: octomap(encoded_full(keys, color=b"\x01\x02\x03"), binary=False, id="ColorOcTree"),
        ]
    ),
)
def test_an_octomap_is_its_occupied_voxels(keys, written):
    voxels = set()
    for cell in occupied_cells(written(keys)):
        count = round(cell.edge / RESOLUTION)
        corner = np.rint((np.array(cell.center) - cell.edge / 2.0) / RESOLUTION).astype(int) + 2**15
        voxels |= {tuple(corner + np.array(shift)) for shift in np.ndindex(count, count, count)}
    assert voxels == keys


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60), st.booleans())
def test_garbage_is_refused_or_a_valid_octomap(data, binary):
    error = None
    try:
        found = occupied_cells(octomap(data, binary=binary))
    except RobotCellError as refused:
        error = refused
        found = []
    assert all(cell.edge >= RESOLUTION for cell in found)
    assert error is None or "octomap" in error.message


def test_an_octomap_becomes_a_body_and_is_removed():
    message = PlanningScene(is_diff=True)
    message.world.octomap.octomap = octomap(encoded({(2**15, 2**15, 2**15 + 20)}))
    found = updated(SCENE, message)
    (shape,) = found.cell.bodies["octomap"].collisions
    assert np.allclose(
        world_pose(found.cell, found.state, "octomap").position + np.array(shape.pose.position),
        0.05 + np.array([0, 0, 2.0]),
    )
    message.world.octomap.octomap = octomap(b"\x00\x00")
    assert "octomap" not in updated(found, message).cell.bodies
    with refusal(M.FAILURE, "OcTreeStamped"):
        occupied_cells(octomap(b"\x00\x00", id="OcTreeStamped"))


def test_changes_name_no_frame_for_the_world():
    editor = WorldEditor(SCENE)
    editor.world_object(moveit_object("part", primitive(SolidPrimitive.SPHERE, 0.1)), "object")
    assert {change.operation for change in editor.changes} == {SceneChange.ADD, SceneChange.MOVE}
    assert all(not change.relative_to for change in editor.changes)


# Sequences.


@settings(max_examples=40, deadline=None)
@given(st.floats(0.1, 3.0), st.floats(0.01, 2.0), st.tuples(angles, angles, angles))
def test_the_middle_of_an_arc_is_on_its_circle(angle, radius, turn):
    rotation = pin.rpy.rpyToMatrix(*turn)
    center = np.array((1.0, -2.0, 0.5))
    points = [center + radius * rotation @ (math.cos(at), math.sin(at), 0.0) for at in (0.0, angle, angle / 2.0)]
    found = midpoint_of_arc(points[0], points[1], center)
    assert np.allclose((found.x, found.y, found.z), points[2], atol=1e-9 + 1e-6 * radius)


def test_a_joint_within_the_tolerance_of_a_blend_stays_within_the_radius():
    radius, tip = 0.03, CELL.tools["gripper"].tcp_frame
    tolerance = joint_tolerance(SCENE, GROUP, radius)
    corner = np.array(world_pose(CELL, STATE, tip).position)
    random = np.random.default_rng(3)
    names = CELL.group(GROUP).variables
    for _ in range(100):
        shift = random.choice((-1.0, 1.0), len(names)) * tolerance
        values = {name: STATE.configuration[name] + step for name, step in zip(names, shift, strict=True)}
        there = np.array(world_pose(CELL, STATE.with_configuration(values), tip).position)
        assert np.linalg.norm(there - corner) < radius


@pytest.mark.parametrize("rows", [0, 1])
def test_a_path_that_does_not_begin_has_no_jumps(rows):
    result = action.PlanCartesian.Result()
    result.plan.path = JointPath(joint_names=["a", "b"][: 2 * rows], positions=[0.1, 0.2] * rows)
    response = GetCartesianPath.Response()
    add_solution(response, result, GetCartesianPath.Request(jump_threshold=2.0))
    assert len(response.solution.joint_trajectory.points) == rows
