"""Frames that only TF has, over real DDS: targets, constraints, scene changes and bodies in them, and their errors."""

import math
import threading
import time
from contextlib import suppress

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, TransformStamped, TwistStamped, Vector3
from loaded_cells import loaded
from running import DEMO
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from robot_cell_planner import action, srv
from robot_cell_planner.errors import (
    InvalidRequestError,
    TransformConnectivityError,
    TransformError,
    TransformExtrapolationError,
    TransformLookupError,
    UnknownNameError,
)
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.pose import IDENTITY, Pose
from robot_cell_planner.model.value import WORLD
from robot_cell_planner.msg import (
    CartesianWaypoint,
    MotionRequest,
    NamedFrame,
    PathConstraint,
    RobotCell,
    SceneChange,
    StateRef,
    Target,
)
from robot_cell_planner.nodes.client.client import make_goal, make_pose_target
from robot_cell_planner.nodes.common.external_frames import ExternalFrames
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.nodes.conversions.basic import (
    pose_from_message,
    pose_to_message,
    time_to_message,
    transform_to_message,
)
from robot_cell_planner.nodes.servo.commands import FrameReader

CELL, STATE = loaded()
JOINTS = CELL.group().variables
HOME = np.array([STATE.configuration[name] for name in JOINTS])
SECOND = 10**9
CAMERA = Pose.from_rpy((0.2, -0.3, 1.4), (3.0, 0.1, 0.7))  # in the world
TURNED = Pose.from_rpy((0.0, 0.0, 1.0), (0.0, 0.0, math.pi / 2))
BELT = Pose.from_rpy((0.1, 0.05, 0.0), (0.0, 0.0, 0.3))
AT_TARGET = world_pose(CELL, STATE, "above_pick")
FEW, MANY = 4, 60.0  # nodes that listen; [s]
FORWARD, LOOKUP = "kinematics/forward_kinematics", "kinematics/lookup_transforms"
PLAN, CARTESIAN = "planning/plan_motion", "planning/plan_cartesian"


class Broadcaster:
    """Publishes transforms as a camera driver or a tracker does."""

    def __init__(self, node):
        self.node = node
        self._static = node.create_publisher(TFMessage, "/tf_static", reliable(100, latched=True))
        self._moving = node.create_publisher(TFMessage, "/tf", reliable(100))

    def wait_for_listeners(self):
        wait_until(lambda: self._moving.get_subscription_count() >= FEW)

    def now(self):
        return self.node.get_clock().now().nanoseconds

    def static(self, parent, child, pose):
        self._static.publish(TFMessage(transforms=[transform(parent, child, pose, self.now())]))

    def send(self, parent, child, pose, stamp):
        self._moving.publish(TFMessage(transforms=[transform(parent, child, pose, stamp)]))


def transform(parent, child, pose, stamp):
    entry = TransformStamped(child_frame_id=child, transform=transform_to_message(pose))
    entry.header.frame_id, entry.header.stamp = parent, time_to_message(stamp)
    return entry


def moved(x):
    return Pose((x, 0.0, 0.0))


def wait_until(condition):
    until = time.monotonic() + MANY
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture(scope="module")
def tf(client):
    return Broadcaster(client.node)


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client, tf):
    start_node(
        "scene_node",
        cell_file=DEMO,
        transform_timeout=MANY,
        follow_rate=50.0,
        follow_timeout=0.5,
        follow_frames="[post=mast]",
    )
    start_node("kinematics_node", transform_timeout=0.05)
    start_node("collision_node", transform_timeout=MANY)
    start_node("planning_node", transform_timeout=MANY)
    client.scene()
    tf.static(WORLD, "camera", CAMERA)
    tf.static("map", "other_camera", CAMERA)
    tf.wait_for_listeners()


def seen(frame, world_T_target, world_T_frame, stamp=0):
    target = make_pose_target(frame, world_T_frame.inverse() @ world_T_target)
    target.stamp = time_to_message(stamp)
    return target


def solve(client, target):
    request = srv.InverseKinematics.Request(targets=[target])
    reply = client.call_service(srv.InverseKinematics, "kinematics/inverse_kinematics", request)
    solution = reply.results[0].solutions[0]
    values = dict(zip(reply.joint_names, solution.positions, strict=True))
    return world_pose(CELL, STATE.with_configuration(values), "gripper/tcp")


def solved_within(client, target):
    """Solve for a target whose transform has been sent, and may not have been received yet."""
    found = []

    def is_solved():
        with suppress(TransformError):
            found.append(solve(client, target))
        return found

    wait_until(is_solved)
    return found[0]


def final_joint_values(plan):
    values = dict(zip(plan.path.joint_names, plan.path.positions[-len(plan.path.joint_names) :], strict=True))
    return world_pose(CELL, STATE.with_configuration(values), "gripper/tcp")


def assert_near(pose, expected, tolerance=1e-5):
    distance, angle = pose.distance_to(expected)
    assert distance < tolerance
    assert angle < tolerance


def test_a_motion_is_planned_to_a_target_that_a_camera_detects(client):
    goal = make_goal([seen("camera", AT_TARGET, CAMERA)])
    result = client.send_goal(action.PlanMotion, PLAN, action.PlanMotion.Goal(request=MotionRequest(goal=goal)))
    assert_near(final_joint_values(result.plan), AT_TARGET)


def test_lines_are_planned_in_a_camera_frame_in_the_unit_of_the_caller(client):
    above = world_pose(CELL, STATE, "gripper/tcp")
    goals = [above @ Pose((0.0, 0.0, 0.02)), above @ Pose((0.0, 0.01, 0.03))]
    waypoints = []
    for goal in goals:
        pose = CAMERA.inverse() @ goal
        pose = Pose(tuple(1000.0 * value for value in pose.position), pose.quaternion)
        target = Target(mode=Target.TOOL, reference_frame="camera", pose=pose_to_message(pose), native_scale=0.001)
        waypoints.append(CartesianWaypoint(target=target))
    result = client.send_goal(action.PlanCartesian, CARTESIAN, action.PlanCartesian.Goal(waypoints=waypoints))
    assert_near(final_joint_values(result.plan), goals[-1], 1e-4)


def test_a_direction_is_turned_with_its_frame(client):
    point, axis = CAMERA.inverse() @ AT_TARGET, (CAMERA.inverse() @ AT_TARGET).matrix[:3, 2].tolist()
    target = Target(mode=Target.TOOL, type=Target.POINT_AXIS, reference_frame="camera", pose=pose_to_message(point))
    target.axis = Vector3(x=axis[0], y=axis[1], z=axis[2])
    found = solved_within(client, target)
    np.testing.assert_allclose(found.position, AT_TARGET.position, atol=1e-5)
    np.testing.assert_allclose(found.matrix[:3, 2], AT_TARGET.matrix[:3, 2], atol=1e-5)


def test_a_moving_part_is_reached_where_it_was_at_the_stamp(client, tf):
    stamp = tf.now() - SECOND
    tf.static(WORLD, "belt", BELT)
    for fraction in (0.0, 1.0):
        tf.send("belt", "part", moved(0.2 * fraction), stamp + int(fraction * SECOND))
    solved_within(client, seen("part", AT_TARGET, BELT @ moved(0.2), stamp + SECOND))
    for fraction in (0.0, 0.25, 0.7, 1.0):
        then = BELT @ moved(0.2 * fraction)
        assert_near(solve(client, seen("part", AT_TARGET, then, stamp + int(fraction * SECOND))), AT_TARGET)


def test_the_robot_s_own_history_counts_for_a_camera_on_its_arm(client, tf):
    """The scene node publishes where the arm was."""
    tf.static("tool0", "wrist_camera", moved(0.05))
    world_T_camera = world_pose(CELL, STATE, "tool0") @ moved(0.05)
    assert_near(solved_within(client, seen("wrist_camera", AT_TARGET, world_T_camera)), AT_TARGET)


def test_errors_are_those_of_tf2(client, tf):
    now = tf.now()
    tf.send(WORLD, "tray", moved(0.0), now - SECOND)
    tf.send(WORLD, "tray", moved(0.1), now)
    solved_within(client, seen("tray", AT_TARGET, moved(0.1), now))
    for stamp, words in ((now - 2 * SECOND, "past"), (now + 1, "future")):
        with pytest.raises(TransformExtrapolationError, match=words) as extrapolated:
            solve(client, seen("tray", AT_TARGET, moved(0.0), stamp))
        assert extrapolated.value.message.startswith("targets[0].reference_frame: ")
        assert "tray" in extrapolated.value.message
    with pytest.raises(TransformConnectivityError, match="other_camera"):
        solve(client, seen("other_camera", AT_TARGET, CAMERA))
    with pytest.raises(TransformLookupError, match=r"above_pikc.*nearest: above_pick") as caught:
        solve(client, seen("above_pikc", AT_TARGET, CAMERA))
    assert isinstance(caught.value, UnknownNameError)
    assert caught.value.subjects[0] == "targets[0].reference_frame"


def test_a_request_waits_for_a_transform_that_has_not_arrived_yet(client, tf):
    goal = make_goal([seen("late", AT_TARGET, moved(0.3))])
    sent = threading.Timer(0.5, tf.static, (WORLD, "late", moved(0.3)))
    sent.start()
    result = client.send_goal(action.PlanMotion, PLAN, action.PlanMotion.Goal(request=MotionRequest(goal=goal)))
    assert_near(final_joint_values(result.plan), AT_TARGET)


def test_a_target_is_checked_in_a_camera_frame(client):
    inside = seen("camera", world_pose(CELL, STATE, "table"), CAMERA)
    reply = client.call_service(srv.CheckTargets, "collision/check_targets", srv.CheckTargets.Request(targets=[inside]))
    assert reply.reports[0].in_collision


def test_a_path_keeps_to_a_plane_in_a_camera_frame(client):
    home = world_pose(CELL, STATE, "gripper/tcp")
    in_camera = CAMERA.inverse() @ home
    axis = in_camera.matrix[:3, 2].tolist()
    plane = PathConstraint(type=PathConstraint.POSITION_ON_PLANE, mode=Target.TOOL, reference_frame="camera")
    plane.pose, plane.axis = pose_to_message(in_camera), Vector3(x=axis[0], y=axis[1], z=axis[2])
    goal = make_goal([seen("camera", home @ Pose((0.0, 0.06, 0.0)), CAMERA)])
    request = MotionRequest(goal=goal, constraints=[plane])
    result = client.send_goal(action.PlanMotion, PLAN, action.PlanMotion.Goal(request=request))
    assert_near(final_joint_values(result.plan), home @ Pose((0.0, 0.06, 0.0)))


def test_frames_are_written_in_a_camera_frame(client):
    wait_until(lambda: is_known(client, "camera"))
    paths = {"frames": ["tool0", "table"], "reference_frame": "camera"}
    reply = client.call_service(
        srv.ForwardKinematics, FORWARD, srv.ForwardKinematics.Request(mode=Target.FRAME, **paths)
    )
    for frame, message in zip(reply.frames, reply.poses, strict=True):
        assert_near(pose_from_message(message, "pose"), CAMERA.inverse() @ world_pose(CELL, STATE, frame), 1e-9)
    request = srv.LookupTransforms.Request(frames=["table", "camera", "camera"])
    request.reference_frames = ["camera", "table", ""]
    reply = client.call_service(srv.LookupTransforms, LOOKUP, request)
    seen_table = CAMERA.inverse() @ world_pose(CELL, STATE, "table")
    for message, expected in zip(reply.poses, (seen_table, seen_table.inverse(), CAMERA), strict=True):
        assert_near(pose_from_message(message, "pose"), expected, 1e-9)


def is_known(client, frame, stamp=0):
    request = srv.LookupTransforms.Request(frames=[frame], stamp=time_to_message(stamp))
    try:
        client.call_service(srv.LookupTransforms, LOOKUP, request)
    except TransformError:
        return False
    return True


def test_frames_are_written_in_a_frame_where_it_was_at_the_stamp(client, tf):
    stamp = tf.now() - SECOND
    for fraction in (0.0, 1.0):
        tf.send(WORLD, "gantry", moved(fraction), stamp + int(fraction * SECOND))
    wait_until(lambda: is_known(client, "gantry", stamp + SECOND))
    request = srv.LookupTransforms.Request(frames=["gantry"], stamp=time_to_message(stamp + SECOND // 4))
    reply = client.call_service(srv.LookupTransforms, LOOKUP, request)
    assert reply.poses[0].position.x == pytest.approx(0.25)
    forward = srv.ForwardKinematics.Request(mode=Target.FRAME, frames=["table"], reference_frame="gantry")
    forward.stamp = request.stamp
    (pose,) = client.call_service(srv.ForwardKinematics, FORWARD, forward).poses
    assert_near(pose_from_message(pose, "pose"), moved(-0.25) @ world_pose(CELL, STATE, "table"), 1e-9)
    forward.stamp = time_to_message(stamp - SECOND)
    with pytest.raises(TransformExtrapolationError, match=r"reference_frame: .*gantry"):
        client.call_service(srv.ForwardKinematics, FORWARD, forward)
    forward.reference_frame = "other_camera"
    with pytest.raises(TransformConnectivityError, match=r"reference_frame: .*other_camera"):
        client.call_service(srv.ForwardKinematics, FORWARD, forward)


def test_velocities_are_solved_for_a_twist_in_the_axes_of_a_camera(client):
    wait_until(lambda: is_known(client, "camera"))
    turn = CAMERA.matrix[:3, :3]
    linear, angular = np.array([0.02, -0.01, 0.03]), np.array([0.1, 0.0, -0.05])
    solutions = []
    for frame, rows in (("camera", (linear, angular)), (WORLD, (turn @ linear, turn @ angular))):
        request = srv.SolveVelocity.Request(reference_frame=frame)
        request.twist.linear, request.twist.angular = (Vector3(x=x, y=y, z=z) for x, y, z in (r.tolist() for r in rows))
        solutions.append(client.call_service(srv.SolveVelocity, "kinematics/solve_velocity", request))
    seen_by_camera, in_world = solutions
    np.testing.assert_allclose(seen_by_camera.velocities.positions, in_world.velocities.positions, atol=1e-9)
    given = seen_by_camera.twist
    np.testing.assert_allclose([given.linear.x, given.linear.y, given.linear.z], linear, atol=1e-3)
    request.reference_frame = "other_camera"
    with pytest.raises(TransformConnectivityError, match=r"reference_frame: .*other_camera"):
        client.call_service(srv.SolveVelocity, "kinematics/solve_velocity", request)


def test_a_file_is_merged_where_a_camera_detects_its_origin(client):
    goal_pose = Pose((0.4, -0.6, 0.1))
    cell = RobotCell(frames=[NamedFrame(name="fixture")])
    request = srv.LoadCell.Request(cell=cell, mode=srv.LoadCell.Request.MERGE, relative_to="camera")
    request.pose = pose_to_message(CAMERA.inverse() @ goal_pose)
    client.call_service(srv.LoadCell, "scene/load_cell", request)
    reply = client.call_service(srv.GetCell, "scene/get_cell", srv.GetCell.Request())
    (frame,) = [frame for frame in reply.scene.cell.frames if frame.name == "fixture"]
    assert_near(pose_from_message(frame.pose, "pose"), goal_pose, 1e-9)
    apply(client, SceneChange(operation=SceneChange.REMOVE, name="fixture"))


# Servo commands.


@pytest.fixture(scope="module")
def reader(client, tf):
    frames = ExternalFrames(client.node)
    tf.static(WORLD, "turned", TURNED)
    wait_until(lambda: has(frames, "turned"))
    return FrameReader(CELL, STATE, JOINTS, frames, 0.2)


def has(frames, name, stamp=0):
    try:
        found = frames.latest(name)
    except TransformError:
        return False
    return found.stamp >= stamp


def test_a_twist_is_turned_with_a_frame_of_tf(reader):
    message = TwistStamped(header=Header(frame_id="turned"))
    message.twist.linear.x, message.twist.angular.z = 0.1, 0.2
    np.testing.assert_allclose(reader.twist(message, HOME), [0.0, 0.1, 0.0, 0.0, 0.0, 0.2], atol=1e-12)


def test_servo_follows_a_frame_of_tf_at_the_stamp_of_a_command_or_shortly_before(reader, tf):
    now = tf.now()
    for fraction in (0.0, 1.0):
        tf.send(WORLD, "pallet", moved(fraction), now + int((fraction - 1.0) * SECOND))
    wait_until(lambda: has(reader._frames, "pallet", now))
    for stamp, x in ((now - SECOND // 4, 0.75), (now, 1.0), (now + SECOND // 10, 1.0), (0, 1.0)):
        message = PoseStamped(header=Header(frame_id="pallet", stamp=time_to_message(stamp)))
        message.pose.position.y = 0.5
        np.testing.assert_allclose(reader.target(message, HOME)[:3, 3], [x, 0.5, 0.0], atol=1e-9)
    for stamp in (now + SECOND, now - 2 * SECOND):
        message.header.stamp = time_to_message(stamp)
        with pytest.raises(TransformExtrapolationError, match="pallet"):
            reader.target(message, HOME)
    message.header.frame_id = "nil"
    with pytest.raises(TransformLookupError, match="nil"):
        reader.target(message, HOME)


# Scene changes.


def apply(client, *changes):
    return client.call_service(srv.ApplyChanges, "scene/apply_changes", srv.ApplyChanges.Request(changes=list(changes)))


def pose_of(client, name):
    found = client.call_service(srv.GetState, "scene/get_state", srv.GetState.Request()).state.state
    entry = next(body for body in found.bodies if body.name == name)
    position, turn = entry.pose.position, entry.pose.orientation
    return Pose((position.x, position.y, position.z), (turn.x, turn.y, turn.z, turn.w))


def revision_of(client):
    return client.call_service(srv.GetState, "scene/get_state", srv.GetState.Request()).state.revision


def move(frame, pose, **fields):
    return SceneChange(
        operation=SceneChange.MOVE, name="workpiece", relative_to=frame, pose=pose_to_message(pose), **fields
    )


def test_a_body_is_moved_to_where_a_camera_detects_it(client):
    goal_pose = Pose((0.5, 0.2, 0.9))
    apply(client, move("camera", CAMERA.inverse() @ goal_pose))
    assert_near(pose_of(client, "workpiece"), goal_pose, 1e-9)
    change = move("camera", CAMERA.inverse() @ goal_pose)
    change.pose.position.x = math.nan
    with pytest.raises(InvalidRequestError, match=r"NaN.*camera"):
        apply(client, change)


def test_a_state_of_a_request_is_changed_in_a_camera_frame(client):
    """The workpiece is moved into the arm for this request."""
    arm = world_pose(CELL, STATE, "forearm_link")
    reference = StateRef(changes=[move("camera", CAMERA.inverse() @ arm)])
    reply = client.call_service(srv.CheckStates, "collision/check_states", srv.CheckStates.Request(state=reference))
    assert reply.reports[0].in_collision


def test_names_that_the_same_request_adds_are_not_looked_up(client):
    add = SceneChange(operation=SceneChange.ADD)
    add.models.frames = [NamedFrame(name="corner")]
    apply(client, add, move("corner", moved(0.01)))
    assert pose_of(client, "workpiece").position[0] == pytest.approx(0.01)
    apply(client, SceneChange(operation=SceneChange.REMOVE, name="corner"))


def test_a_stamp_without_a_frame_of_tf_has_no_meaning_for_other_operations(client):
    change = SceneChange(operation=SceneChange.HIDE, name="workpiece")
    change.stamp.sec = 1
    with pytest.raises(InvalidRequestError, match="stamp"):
        apply(client, change)


# Bodies that follow frames.


def follow(client, frame, name="workpiece", pose=IDENTITY):
    request = srv.FollowFrame.Request(name=name, frame=frame, pose=pose_to_message(pose))
    return client.call_service(srv.FollowFrame, "scene/follow_frame", request)


def is_near(pose, expected):
    return max(pose.distance_to(expected)) < 1e-6


def test_a_body_follows_a_tracked_part_until_it_is_attached(client, tf):
    offset = Pose((0.0, 0.0, 0.05))
    tf.send(WORLD, "tracked", moved(0.1), tf.now())
    reply = follow(client, "tracked", pose=offset)
    assert reply.revision == revision_of(client)
    assert_near(pose_of(client, "workpiece"), moved(0.1) @ offset, 1e-9)
    tf.send(WORLD, "tracked", moved(0.2), tf.now())
    wait_until(lambda: is_near(pose_of(client, "workpiece"), moved(0.2) @ offset))
    # Less than the tolerance, then more: one revision.
    before = revision_of(client)
    tf.send(WORLD, "tracked", moved(0.2005), tf.now())
    tf.send(WORLD, "tracked", moved(0.3), tf.now())
    wait_until(lambda: is_near(pose_of(client, "workpiece"), moved(0.3) @ offset))
    assert revision_of(client) <= before + 2
    apply(client, SceneChange(operation=SceneChange.ATTACH_IN_PLACE, name="workpiece", attach_to="table"))
    with pytest.raises(InvalidRequestError, match="attached to table"):
        follow(client, "tracked")
    follow(client, "tracked", name="bin")
    tf.send(WORLD, "tracked", moved(0.5), tf.now())
    wait_until(lambda: is_near(pose_of(client, "bin"), moved(0.5)))
    apply(client, SceneChange(operation=SceneChange.DETACH, name="workpiece"))
    tf.send(WORLD, "tracked", moved(0.6), tf.now())
    wait_until(lambda: is_near(pose_of(client, "bin"), moved(0.6)))
    assert_near(pose_of(client, "workpiece"), moved(0.3) @ offset, 1e-9)
    follow(client, "", name="bin")


def test_a_body_follows_the_frame_of_the_parameter_from_the_start(client, tf):
    tf.static(WORLD, "mast", Pose((1.5, 1.5, 0.0)))
    wait_until(lambda: is_near(pose_of(client, "post"), Pose((1.5, 1.5, 0.0))))


def test_a_body_that_is_released_stays(client, tf):
    tf.send(WORLD, "tracked", moved(0.1), tf.now())
    for name in ("bin", "workpiece"):
        follow(client, "tracked", name=name)
    wait_until(lambda: is_near(pose_of(client, "workpiece"), moved(0.1)))
    follow(client, "", name="workpiece")
    tf.send(WORLD, "tracked", moved(0.4), tf.now())
    wait_until(lambda: is_near(pose_of(client, "bin"), moved(0.4)))
    assert_near(pose_of(client, "workpiece"), moved(0.1), 1e-9)
    follow(client, "", name="bin")


def test_a_lost_frame_is_reported_and_the_body_stays(client, tf):
    statuses = []
    client.node.create_subscription(DiagnosticArray, "/diagnostics", statuses.append, reliable(50))
    tf.send(WORLD, "tracked", moved(0.1), tf.now())
    follow(client, "tracked")
    words = "workpiece does not follow the TF frame tracked: its latest transform"
    wait_until(lambda: any(words in message.status[0].message for message in statuses))
    assert_near(pose_of(client, "workpiece"), moved(0.1), 1e-9)
    follow(client, "")


def test_bodies_that_cannot_follow_are_refused(client):
    with pytest.raises(UnknownNameError, match=r"wrokpiece.*workpiece"):
        follow(client, "camera", name="wrokpiece")
    with pytest.raises(InvalidRequestError, match="table is a frame of the cell"):
        follow(client, "table")
