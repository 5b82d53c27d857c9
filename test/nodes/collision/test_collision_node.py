"""The collision node through its services and topics, compared with the core in this process."""

import math
import threading
from itertools import pairwise

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, Pose, Vector3
from loaded_cells import loaded
from running import DEMO
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import Marker, MarkerArray

from robot_cell_planner import srv
from robot_cell_planner.collision.certification.certificate import Verdict
from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.pairs.allowed_pairs import CollisionOptions as CoreOptions
from robot_cell_planner.collision.pairs.allowed_pairs import PairType
from robot_cell_planner.collision.paths import check_path
from robot_cell_planner.collision.targets import TargetChecker
from robot_cell_planner.errors import InvalidRequestError, LimitExceededError, TargetModeMismatchError, UnknownNameError
from robot_cell_planner.kinematics.targets import FrameTarget, PointAxisTarget, TargetMode
from robot_cell_planner.model.pose import Pose as CellPose
from robot_cell_planner.msg import (
    CollisionOptions,
    CollisionPair,
    JointPath,
    ModelFile,
    MotionCertificate,
    RobotCell,
    RobotModel,
    SceneChange,
    StateRef,
    Target,
)
from robot_cell_planner.nodes.common.node import LATCHED
from robot_cell_planner.nodes.conversions.basic import path_to_message, pose_to_message
from robot_cell_planner.nodes.conversions.certificates import VERDICTS

CELL, STATE = loaded()
JOINTS = CELL.group().variables
HOME = np.array([STATE.configuration[name] for name in JOINTS])
NAN = math.nan


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client):
    start_node("scene_node", cell_file=DEMO)
    start_node("collision_node", max_configurations=500, max_pairs=400, contacts_period=0.05)
    client.scene()


@pytest.fixture(scope="module")
def call(client):
    """Call a service of the node: call("CheckStates", configurations=...)."""

    def call(kind, **fields):
        service = getattr(srv, kind)
        name = "".join(f"_{c.lower()}" if c.isupper() else c for c in kind).lstrip("_")
        return client.call_service(service, f"collision/{name}", service.Request(**fields))

    return call


def rows_of(count, seed=2):
    return HOME + np.random.default_rng(seed).uniform(-1.0, 1.0, (count, 6)) * (0.6, 1.0, 0.8, 0.6, 0.6, 0.6)


def named(pairs):
    return [(pair.pair_type, pair.name_a, pair.name_b) for pair in pairs]


def core_names(pairs):
    return [(int(pair.pair_type), pair.first, pair.second) for pair in pairs]


def test_margins_and_steps_of_a_request(call):
    rows = rows_of(60)
    steps = (PairType.LINK_BODY, PairType.TOOL_BODY)
    checker = CollisionChecker(CELL, STATE, JOINTS, options=CoreOptions(0.08, steps))
    options = CollisionOptions(full_report=True, contacts=True, extra_margin=0.08, pair_types=[5, 3, 3])
    reply = call("CheckStates", configurations=path_to_message(JOINTS, rows), options=options)
    assert 0 < sum(reply.in_collision) < len(rows)
    for row, report in zip(rows, reply.reports, strict=True):
        truth = checker.report(row)
        assert named(report.pairs) == core_names(truth.pairs)
        assert [pair.margin for pair in report.pairs] == [pair.margin for pair in truth.pairs]
        for pair, found in zip(report.pairs, truth.pairs, strict=True):
            assert [contact.depth for contact in pair.contacts] == [contact.depth for contact in found.contacts]
        assert (report.pairs_checked, report.pairs_skipped) == (truth.pairs_checked, truth.pairs_skipped)


@pytest.mark.parametrize(
    ("kind", "fields", "times"),
    [
        ("CheckStates", {"options": CollisionOptions(full_report=True, verbose=True)}, 10),
        ("ComputeClearance", {"pairs": 100}, 3),
    ],
)
def test_servo_gets_clearances_while_a_long_request_is_answered(client, call, kind, fields, times):
    """Each of them within a slice of the work for the other request, not after all of it."""
    fields = fields | {"configurations": path_to_message(JOINTS, np.repeat(rows_of(50), times, axis=0))}
    found = call(kind, **fields)  # models are made
    busy, ended = threading.Thread(target=lambda: ended.append(call(kind, **fields))), []
    busy.start()
    answers = 0
    while busy.is_alive() and not ended:
        assert call("ComputeClearance", configurations=path_to_message(JOINTS, HOME[None])).clearances
        answers += not ended
    busy.join()
    assert answers >= 5
    assert str(ended[0]) == str(found)


def test_a_verbose_report_lists_every_pair_once_in_order(call):
    report = call("CheckStates", options=CollisionOptions(verbose=True)).reports[0]
    truth = CollisionChecker(CELL, STATE).report(verbose=True)
    names = named(report.pairs)
    assert names == sorted(names)
    assert sorted(names) == sorted(core_names(truth.checked) + core_names(truth.skipped))
    assert len(names) == report.pairs_checked + report.pairs_skipped
    assert all(pair.reason for pair in report.pairs if pair.verdict == CollisionPair.SKIPPED)
    kinds = {pair.name_a: pair.kind_a for pair in report.pairs} | {pair.name_b: pair.kind_b for pair in report.pairs}
    assert kinds["forearm_link"] == CollisionPair.LINK
    assert kinds["gripper/palm"] == CollisionPair.TOOL
    assert kinds["table"] == CollisionPair.BODY
    few = call("CheckStates", options=CollisionOptions(verbose=True, max_pairs=7)).reports[0]
    assert named(few.pairs) == names[:7]
    assert few.truncated


def test_reports_end_at_their_limit_and_are_marked_as_truncated(call):
    checker = CollisionChecker(CELL, STATE, JOINTS)
    row = next(q for q in rows_of(400, seed=3) if len(checker.report(q).pairs) >= 3)
    truth = core_names(checker.report(row).pairs)
    path = path_to_message(JOINTS, row[None])
    for limit in (1, 2, len(truth), len(truth) + 1):
        options = CollisionOptions(full_report=True, max_pairs=limit)
        report = call("CheckStates", configurations=path, options=options).reports[0]
        assert named(report.pairs) == truth[:limit]
        assert report.truncated is (1 < limit < len(truth))
        assert not report.pairs[0].contacts


def trajectory_of(rows, times=None):
    points = [JointTrajectoryPoint(positions=row.tolist()) for row in rows]
    for point, time in zip(points, times or [], strict=False):
        point.time_from_start = Duration(sec=int(time), nanosec=round((time - int(time)) * 1e9))
    return JointTrajectory(joint_names=list(JOINTS), points=points)


def test_trajectories_are_checked_between_their_points(call):
    rows, times = rows_of(8, seed=4), [0.5 * index for index in range(8)]
    checker = CollisionChecker(CELL, STATE, JOINTS)
    truth = check_path(checker, rows, times, find_all=True, resolution=0.1, clearance=True, max_collisions=400)
    assert truth.collisions
    reply = call(
        "CheckTrajectory",
        trajectory=trajectory_of(rows, times),
        find_all=True,
        resolution=0.1,
        clearance=True,
        options=CollisionOptions(contacts=True),
    )
    assert not reply.valid
    assert reply.states_checked == truth.states_checked
    assert [found.place for found in reply.collisions] == [found.place for found in truth.collisions]
    assert [found.point for found in reply.collisions] == [found.point for found in truth.collisions]
    assert named([found.pair for found in reply.collisions]) == core_names([found.pair for found in truth.collisions])
    stamps = [found.time.sec + found.time.nanosec * 1e-9 for found in reply.collisions]
    np.testing.assert_allclose(stamps, [found.time for found in truth.collisions], atol=1e-8)
    assert reply.smallest_clearance.distance == truth.smallest.clearance.distance
    closest = dict(
        zip(
            reply.smallest_clearance.configuration.joint_names,
            reply.smallest_clearance.configuration.positions,
            strict=True,
        )
    )
    there = checker.distance(np.array([closest[name] for name in JOINTS]))
    assert there.distance == pytest.approx(truth.smallest.clearance.distance, abs=1e-9)


def test_the_first_collision_of_a_trajectory_is_reported_unless_all_are_requested(call):
    rows = rows_of(8, seed=4)
    first = check_path(CollisionChecker(CELL, STATE, JOINTS), rows, resolution=0.1).collisions
    reply = call("CheckTrajectory", trajectory=trajectory_of(rows), resolution=0.1)
    assert [found.place for found in reply.collisions] == [first[0].place]
    still = call("CheckTrajectory", trajectory=trajectory_of(HOME[None]))
    assert still.valid
    assert still.states_checked == 1


def tool_at(x, y, z, **fields):
    """The tool pointing down, with its centre point there."""
    pose = CellPose.from_rpy((x, y, z), (math.pi, 0.0, 0.0))
    return Target(mode=Target.TOOL, pose=pose_to_message(pose), **fields)


def test_targets_are_checked_against_all_but_the_arm(call):
    heights = (0.72, 0.69, 1.2)
    targets = [tool_at(0.9, -0.1, height) for height in heights]
    reply = call("CheckTargets", targets=targets, options=CollisionOptions(full_report=True, contacts=True))
    checker = TargetChecker(CELL, STATE)
    for target, report in zip(targets, reply.reports, strict=True):
        position = target.pose.position
        pose = CellPose.from_rpy((position.x, position.y, position.z), (math.pi, 0.0, 0.0))
        truth = checker.report_target(FrameTarget(pose=pose, mode=TargetMode.TOOL))
        assert named(report.pairs) == core_names(truth.pairs)
        assert report.pairs_checked == truth.pairs_checked
    assert [report.in_collision for report in reply.reports] == [False, True, False]
    names = {name for report in reply.reports for pair in report.pairs for name in (pair.name_a, pair.name_b)}
    assert not any(name in CELL.robots["arm"].mechanism.links for name in names)


def test_a_point_axis_target_collides_only_if_every_rotation_does(call):
    """Beside the post, the jaws, which are wider than deep, fit in one orientation and not in the other."""
    options = CollisionOptions(full_report=True)
    checker = TargetChecker(CELL, STATE)
    verdicts = set()
    for y in np.linspace(0.05, 0.2, 16):
        frame, axis = tool_at(0.64, y, 0.75), tool_at(0.64, y, 0.75, type=Target.POINT_AXIS)
        axis.axis = Vector3(z=-1.0)
        fixed, free = call("CheckTargets", targets=[frame, axis], options=options).reports
        core = PointAxisTarget(point=(0.64, y, 0.75), axis=(0.0, 0.0, -1.0), mode=TargetMode.TOOL)
        truth = checker.report_target(core)
        assert named(free.pairs) == core_names(truth.pairs)
        assert fixed.in_collision or not free.in_collision
        verdicts.add((fixed.in_collision, free.in_collision))
    assert (True, False) in verdicts


def test_changes_of_a_request_apply_to_it_alone(call):
    """The table is moved up into the tool."""
    target = tool_at(0.9, -0.1, 0.72)
    up = SceneChange(operation=SceneChange.MOVE, name="table")
    up.pose.position = Point(x=0.7, y=0.0, z=0.75)
    up.pose.orientation.w = 1.0
    moved = call("CheckTargets", targets=[target], state=StateRef(changes=[up]))
    assert moved.reports[0].in_collision
    assert not call("CheckTargets", targets=[target]).reports[0].in_collision


def test_the_present_contacts_are_shown_and_taken_away_again(client):
    """A body is moved into the arm, and away again."""
    received, arrived = [], threading.Condition()

    def listen(message):
        with arrived:
            received.append(message)
            arrived.notify_all()

    subscription = client.node.create_subscription(MarkerArray, "collision/contacts", listen, LATCHED)
    where = CellPose((0.0, 0.0, 1.0))
    move = SceneChange(operation=SceneChange.MOVE, name="workpiece", pose=pose_to_message(where))
    client.apply(move)
    with arrived:
        assert arrived.wait_for(lambda: any(len(message.markers) > 1 for message in received), 120.0)
        shown = next(message for message in received if len(message.markers) > 1)
    assert shown.markers[0].action == Marker.DELETEALL
    assert all("workpiece" in marker.text for marker in shown.markers[1:])
    move.pose = pose_to_message(STATE.bodies["workpiece"].pose)
    client.apply(move)
    with arrived:
        assert arrived.wait_for(lambda: len(received[-1].markers) == 1, 120.0)
    client.node.destroy_subscription(subscription)


def path(positions, *names):
    return JointPath(joint_names=list(names or JOINTS), positions=positions)


def options(**fields):
    return {"options": CollisionOptions(**fields)}


def certified(call, rows, **fields):
    reply = call("CertifyMotion", path=path_to_message(JOINTS, np.array(rows)), **fields)
    return reply.certificate, list(reply.segments)


def test_certificates_are_those_of_the_core(call):
    rows = rows_of(40)
    certifier = MotionCertifier(CollisionChecker(CELL, STATE, JOINTS))
    verdicts = set()
    for start, end in pairwise(rows):
        truth = certifier.certify(start, end, 0.004)
        found, segments = certified(call, (start, end), extra_margin=0.004)
        assert [found.verdict] == segments == [VERDICTS[truth.verdict]]
        verdicts.add(truth.verdict)
        if truth.free:
            assert (found.clearance_beyond_margins, found.certified_fraction) == (0.004, 1.0)
            continue
        assert found.collision.place == pytest.approx(truth.place)
        assert found.collision.configuration.positions == pytest.approx(list(truth.configuration))
        assert {found.collision.name_a, found.collision.name_b} == {truth.pair.first, truth.pair.second}
        assert found.collision.distance - found.collision.margin < 0.004
    assert {Verdict.FREE, Verdict.COLLIDING} <= verdicts


def test_a_path_is_certified_up_to_its_first_collision(call):
    checker = CollisionChecker(CELL, STATE, JOINTS)
    inside = next(q for q in rows_of(200, seed=5) if checker.in_collision(q))
    found, segments = certified(call, (HOME, HOME + 0.01, inside, HOME))
    assert segments == [MotionCertificate.FREE, MotionCertificate.COLLIDING, MotionCertificate.NONE]
    assert found.verdict == MotionCertificate.COLLIDING
    assert 0.0 < found.certified_fraction < 0.1
    assert 1.0 < found.collision.place <= 2.0


def test_links_that_no_certificate_includes_are_named(call, client):
    """A second robot has a link without collision shape."""
    text = (
        '<robot name="mast"><link name="foot"/><link name="head"/><joint name="turn" type="continuous">'
        '<parent link="foot"/><child link="head"/><axis xyz="0 0 1"/></joint></robot>'
    )
    mast = RobotModel(name="mast", urdf=ModelFile(text=text))
    added = client.apply(SceneChange(operation=SceneChange.ADD, models=RobotCell(robots=[mast])))
    try:
        path = JointPath(joint_names=["turn"], positions=[0.0, 0.1])
        (warning,) = call("CertifyMotion", path=path, state=StateRef(min_revision=added)).warnings
        assert "mast" in warning
        assert "head" in warning
        assert not call("CertifyMotion", path=path_to_message(JOINTS, np.array((HOME, HOME + 0.01)))).warnings
    finally:
        client.apply(SceneChange(operation=SceneChange.REMOVE, name="mast"))


def test_a_timed_motion_is_certified_between_its_points(call):
    """Its points are free, but at full speed it swings far out and back again between them."""
    trajectory = trajectory_of(np.array((HOME, HOME + 1e-3)), [0.0, 2.0])
    assert call("CertifyMotion", trajectory=trajectory).certificate.verdict == MotionCertificate.FREE
    for sign, point in zip((1.0, -1.0), trajectory.points, strict=True):
        point.velocities = [0.0, 8.0 * sign, 0.0, 0.0, 0.0, 0.0]
    found = call("CertifyMotion", trajectory=trajectory).certificate
    assert found.verdict == MotionCertificate.COLLIDING
    assert 0.0 < found.collision.time.sec + 1e-9 * found.collision.time.nanosec < 2.0
    q = np.array(found.collision.configuration.positions)
    assert CollisionChecker(CELL, STATE, JOINTS).in_collision(q)


def along(rows=((0.0,) * 6, (0.1,) * 6), **fields):
    return {"trajectory": trajectory_of(np.array(rows)), **fields}


def backwards():
    return {"trajectory": trajectory_of(np.zeros((2, 6)), [1.0, 0.5])}


def short():
    trajectory = trajectory_of(np.zeros((2, 6)))
    trajectory.points[1].positions = [0.0] * 5
    return {"trajectory": trajectory}


BAD = {
    "states: block": ("CheckStates", {"configurations": path([0.0] * 7)}, InvalidRequestError),
    "states: NaN": ("CheckStates", {"configurations": path([NAN] * 6)}, InvalidRequestError),
    "states: joint": ("CheckStates", {"configurations": path([0.0], "elbow")}, UnknownNameError),
    "states: joint twice": ("CheckStates", {"configurations": path([0.0] * 2, *JOINTS[:1] * 2)}, InvalidRequestError),
    "states: too many": ("CheckStates", {"configurations": path([0.0] * 6 * 501)}, LimitExceededError),
    "states: margin below zero": ("CheckStates", options(extra_margin=-0.1), InvalidRequestError),
    "states: margin NaN": ("CheckStates", options(extra_margin=NAN), InvalidRequestError),
    "states: margin without end": ("CheckStates", options(extra_margin=math.inf), InvalidRequestError),
    "states: step": ("CheckStates", options(pair_types=[0]), InvalidRequestError),
    "trajectory: none": ("CheckTrajectory", {}, InvalidRequestError),
    "trajectory: short point": ("CheckTrajectory", short(), InvalidRequestError),
    "trajectory: NaN": ("CheckTrajectory", along(((NAN,) * 6,)), InvalidRequestError),
    "trajectory: times go back": ("CheckTrajectory", backwards(), InvalidRequestError),
    "trajectory: resolution below zero": ("CheckTrajectory", along(resolution=-0.1), InvalidRequestError),
    "trajectory: resolution NaN": ("CheckTrajectory", along(resolution=NAN), InvalidRequestError),
    "trajectory: resolution too fine": ("CheckTrajectory", along(resolution=1e-4), LimitExceededError),
    "trajectory: resolution far too fine": ("CheckTrajectory", along(resolution=1e-300), InvalidRequestError),
    "trajectory: too many points": ("CheckTrajectory", along(((0.0,) * 6,) * 501), LimitExceededError),
    "targets: none": ("CheckTargets", {}, InvalidRequestError),
    "targets: group": ("CheckTargets", {"group": "leg", "targets": [tool_at(1.0, 0.0, 1.0)]}, UnknownNameError),
    "targets: pose": ("CheckTargets", {"targets": [Target(pose=Pose(position=Point(x=NAN)))]}, InvalidRequestError),
    "targets: mode": ("CheckTargets", {"targets": [Target(mode=Target.WORKPIECE)]}, TargetModeMismatchError),
    "targets: frame that the group does not carry": (
        "CheckTargets",
        {"targets": [Target(mode=Target.FRAME, frame="forearm_link")]},
        TargetModeMismatchError,
    ),
    "targets: frame": ("CheckTargets", {"targets": [Target(mode=Target.FRAME, frame="hand")]}, UnknownNameError),
    "targets: reference": ("CheckTargets", {"targets": [Target(reference_frame="tabel")]}, UnknownNameError),
    "certificate: nothing": ("CertifyMotion", {}, InvalidRequestError),
    "certificate: joint": ("CertifyMotion", {"path": path([0.0], "elbow")}, UnknownNameError),
    "certificate: margin below zero": ("CertifyMotion", {**along(), "extra_margin": -0.1}, InvalidRequestError),
    "certificate: resolution NaN": ("CertifyMotion", {**along(), "resolution": NAN}, InvalidRequestError),
    "clearance: name": ("ComputeClearance", {"names": ["tabel"]}, UnknownNameError),
    "clearance: reach below zero": ("ComputeClearance", {"max_distance": -1.0}, InvalidRequestError),
    "clearance: reach NaN": ("ComputeClearance", {"max_distance": NAN}, InvalidRequestError),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_requests_get_their_named_error(call, case):
    kind, fields, error = BAD[case]
    with pytest.raises(error) as caught:
        call(kind, **fields)
    assert caught.value.message


def test_the_node_still_works_after_bad_requests(call):
    assert list(call("CheckStates").in_collision) == [False]
