"""The kinematics node through its services, compared with the core in this process."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import Point, Pose, Quaternion, Twist, Vector3, Wrench, WrenchStamped
from loaded_cells import loaded
from running import DEMO
from std_msgs.msg import Header

from robot_cell_planner import srv
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.pairs.allowed_pairs import CollisionOptions as CoreOptions
from robot_cell_planner.errors import (
    AllSolutionsInCollisionError,
    InvalidRequestError,
    JointLimitError,
    LimitExceededError,
    NotSupportedError,
    TargetModeMismatchError,
    UnknownNameError,
)
from robot_cell_planner.kinematics.differential import JacobianAxes, jacobians
from robot_cell_planner.kinematics.dynamics import Dynamics
from robot_cell_planner.kinematics.forward import all_link_poses
from robot_cell_planner.kinematics.ik.options import IkOptions as CoreIkOptions
from robot_cell_planner.kinematics.ik.solver import inverse_kinematics
from robot_cell_planner.kinematics.model import cell_model
from robot_cell_planner.kinematics.targets import FrameTarget, PointAxisTarget, TargetMode
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.kinematics.velocity import velocities_for_twist
from robot_cell_planner.model.pose import Pose as CellPose
from robot_cell_planner.msg import CollisionOptions, Configuration, IkFailure, IkOptions, JointPath, Target
from robot_cell_planner.nodes.client.client import make_pose_target
from robot_cell_planner.nodes.conversions.basic import path_to_message, pose_from_message, pose_to_message

CELL, STATE = loaded()
JOINTS = CELL.group().variables
ALL_JOINTS = cell_model(CELL, STATE).variables
NAN = math.nan


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client):
    start_node("scene_node", cell_file=DEMO)
    start_node("kinematics_node", max_configurations=500, max_targets=50)
    client.scene()


@pytest.fixture(scope="module")
def call(client):
    """Call a service of the node: call("MassMatrix", configurations=...)."""

    def call(kind, **fields):
        words = {"Ik": "inverse_kinematics", "Fk": "forward_kinematics"}
        kinds = {"Ik": "InverseKinematics", "Fk": "ForwardKinematics"}
        service = getattr(srv, kinds.get(kind, kind))
        name = words.get(kind) or "".join(f"_{c.lower()}" if c.isupper() else c for c in kind).lstrip("_")
        return client.call_service(service, f"kinematics/{name}", service.Request(**fields))

    return call


def rows_of(count, names=JOINTS, seed=1):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (count, len(names)))


def at(row, names=JOINTS):
    return STATE.with_configuration(dict(zip(names, row.tolist(), strict=True)))


def grid(numbers, *shape):
    return np.array(numbers).reshape(shape)


def test_jacobians_of_a_batch(call):
    rows, rates = rows_of(7), {"elbow_joint": 0.4, "shoulder_pan_joint": -0.2}
    velocities = Configuration(joint_names=list(rates), positions=list(rates.values()))
    for number, axes in ((0, JacobianAxes.WORLD), (1, JacobianAxes.BASE), (2, JacobianAxes.TOOL)):
        reply = call(
            "ComputeJacobian",
            configurations=path_to_message(JOINTS, rows),
            point=Point(x=0.1, y=0.0, z=-0.2),
            axes=number,
            velocities=velocities,
        )
        truth = jacobians(
            CELL, STATE, "", "", (0.1, 0.0, -0.2), axes, rows, np.array([rates.get(name, 0.0) for name in JOINTS])
        )
        assert tuple(reply.joint_names) == JOINTS
        np.testing.assert_array_equal(grid(reply.jacobian, 7, 6, 6), truth.jacobian)
        np.testing.assert_array_equal(grid(reply.derivative, 7, 6, 6), truth.derivative)
        np.testing.assert_array_equal(grid(reply.singular_values, 7, 6), truth.singular_values())
        np.testing.assert_array_equal(reply.manipulability, truth.manipulabilities())
        twists = [(t.linear.x, t.linear.y, t.linear.z, t.angular.x, t.angular.y, t.angular.z) for t in reply.twists]
        np.testing.assert_array_equal(twists, truth.twists())


def test_a_jacobian_of_the_state_itself_has_no_rates(call):
    reply = call("ComputeJacobian", frame="wrist_1_link")
    np.testing.assert_array_equal(grid(reply.jacobian, 1, 6, 6), jacobians(CELL, STATE, frame="wrist_1_link").jacobian)
    assert list(reply.derivative) == []
    assert reply.twists == []


def test_configurations_may_name_some_joints_in_any_order_and_joints_outside_the_group(call):
    names = ("elbow_joint", "gripper/finger_joint", "shoulder_pan_joint")
    rows = np.array([[0.3, 0.01, -0.4], [0.5, 0.03, 0.2]])
    reply = call(
        "ComputeJacobian", configurations=path_to_message(names, rows), frame="gripper/tcp", point=Point(x=0.0, y=0.1)
    )
    blocks = grid(reply.jacobian, 2, 6, 6)
    for row, block in zip(rows, blocks, strict=True):
        state = STATE.with_configuration({"elbow_joint": row[0], "shoulder_pan_joint": row[2]})
        truth = jacobians(CELL, state, frame="gripper/tcp", point=(0.0, 0.1, 0.0)).jacobian[0]
        np.testing.assert_allclose(block, truth, atol=1e-12)
    only = call("ComputeJacobian", configurations=path_to_message(names[::2], rows[:, ::2]), frame="gripper/tcp")
    assert len(only.jacobian) == 72


def test_velocities_give_the_requested_twist(call):
    twist = Twist(linear=Vector3(x=0.05, y=-0.02, z=0.01), angular=Vector3(z=0.1))
    given = np.array((0.05, -0.02, 0.01, 0.0, 0.0, 0.1))
    reply = call("SolveVelocity", twist=twist, time_step=0.01)
    truth = velocities_for_twist(CELL, STATE, given, time_step=0.01)
    assert tuple(reply.velocities.joint_names) == JOINTS
    np.testing.assert_array_equal(reply.velocities.positions, truth.velocities)
    assert reply.scale == truth.scale == 1.0
    assert reply.smallest_singular_value == truth.smallest_singular_value
    jacobian = grid(call("ComputeJacobian").jacobian, 6, 6)
    np.testing.assert_allclose(jacobian @ truth.velocities, given, atol=1e-9)
    np.testing.assert_allclose((reply.twist.linear.x, reply.twist.angular.z), (0.05, 0.1), atol=1e-9)


def test_velocities_keep_their_limits_and_the_twist_its_direction(call):
    reply = call("SolveVelocity", twist=Twist(linear=Vector3(x=50.0)), frame="wrist_3_link", reference_frame="table")
    assert 0.0 < reply.scale < 1.0
    for name, value in zip(reply.velocities.joint_names, reply.velocities.positions, strict=True):
        assert abs(value) <= CELL.variables[name].limits.velocity + 1e-9
    sideways = (reply.twist.linear.y, reply.twist.linear.z, reply.twist.angular.x, reply.twist.angular.y)
    np.testing.assert_allclose(sideways, 0.0, atol=1e-6 * reply.twist.linear.x)


def test_inverse_dynamics_are_undone_by_forward_dynamics(call):
    rows = rows_of(5, ALL_JOINTS)
    rows[:, ALL_JOINTS.index("gripper/finger_joint")] = 0.02
    velocities, accelerations = rows_of(5, ALL_JOINTS, 2), rows_of(5, ALL_JOINTS, 3)
    wrenches = [
        WrenchStamped(header=Header(frame_id="wrist_3_link"), wrench=Wrench(force=Vector3(x=3.0))),
        WrenchStamped(header=Header(frame_id="gripper/tcp"), wrench=Wrench(torque=Vector3(z=0.5))),
        WrenchStamped(header=Header(frame_id="wrist_3_link"), wrench=Wrench(force=Vector3(y=-1.0))),
    ]
    common = {
        "configurations": path_to_message(ALL_JOINTS, rows),
        "velocities": velocities.ravel().tolist(),
        "external_wrenches": wrenches,
        "gravity": Vector3(x=0.5, z=-9.0),
    }
    reply = call("InverseDynamics", accelerations=accelerations.ravel().tolist(), **common)
    assert tuple(reply.joint_names) == ALL_JOINTS
    dynamics = Dynamics(CELL, STATE, (0.5, 0.0, -9.0))
    acting = {
        "wrist_3_link": np.array((3.0, -1.0, 0.0, 0.0, 0.0, 0.0)),
        "gripper/tcp": np.array((0.0, 0.0, 0.0, 0.0, 0.0, 0.5)),
    }
    shape = rows.shape
    np.testing.assert_array_equal(
        grid(reply.efforts, *shape), dynamics.inverse(rows, velocities, accelerations, acting)
    )
    np.testing.assert_array_equal(grid(reply.gravity_efforts, *shape), dynamics.gravity(rows))
    back = call("ForwardDynamics", efforts=reply.efforts, **common)
    np.testing.assert_allclose(grid(back.accelerations, *shape), accelerations, atol=1e-6)


def test_dynamics_of_some_joints_leave_the_others_at_rest(call):
    names = ("elbow_joint", "wrist_1_joint")
    reply = call(
        "InverseDynamics",
        configurations=JointPath(joint_names=list(names), positions=[0.4, -0.3]),
        accelerations=[1.0, 2.0],
    )
    state = at(np.array((0.4, -0.3)), names)
    acceleration = np.zeros(len(ALL_JOINTS))
    acceleration[[ALL_JOINTS.index(name) for name in names]] = 1.0, 2.0
    np.testing.assert_allclose(reply.efforts, Dynamics(CELL, state).inverse(a=acceleration), atol=1e-12)
    np.testing.assert_allclose(reply.gravity_efforts, Dynamics(CELL, state).gravity(), atol=1e-12)


def test_without_configurations_rates_are_those_of_the_robots_joints(call):
    reply = call("InverseDynamics", accelerations=[0.5] * 6)
    acceleration = np.array([0.5 if name in CELL.variables else 0.0 for name in ALL_JOINTS])
    np.testing.assert_allclose(reply.efforts, Dynamics(CELL, STATE).inverse(a=acceleration), atol=1e-12)


def test_mass_matrices_of_a_batch(call):
    rows = rows_of(4, ALL_JOINTS)
    reply = call("MassMatrix", configurations=path_to_message(ALL_JOINTS, rows))
    size = len(ALL_JOINTS)
    np.testing.assert_array_equal(grid(reply.mass_matrix, 4, size, size), Dynamics(CELL, STATE).mass_matrix(rows))
    single = grid(call("MassMatrix").mass_matrix, size, size)
    np.testing.assert_array_equal(single, Dynamics(CELL, STATE).mass_matrix())


def test_all_links_in_millimetres(call):
    reply = call("Fk", mode=Target.FRAME, all_links=True, native_scale=0.001, reference_frame="bin")
    truth = all_link_poses(CELL, STATE, "bin")
    assert reply.frames == list(truth)
    for message, pose in zip(reply.poses, truth.values(), strict=True):
        found = pose_from_message(message, "pose")
        np.testing.assert_allclose(found.position, np.array(pose.position) * 1000.0, atol=1e-9)
        assert CellPose(quaternion=found.quaternion).distance_to(CellPose(quaternion=pose.quaternion))[1] < 1e-7


def test_configurations_beyond_limits_are_refused_on_request(call):
    rows = np.array([[STATE.configuration[joint] for joint in JOINTS]] * 3)
    rows[1, 2] = CELL.variables[JOINTS[2]].limits.upper + 0.001
    path = path_to_message(JOINTS, rows)
    assert len(call("Fk", configurations=path).poses) == 3
    with pytest.raises(JointLimitError, match=f"configuration 1: joint {JOINTS[2]}"):
        call("Fk", configurations=path, check_limits=True)
    assert len(call("Fk", check_limits=True).poses) == 1


def targets_of(count, seed=5):
    """Poses of the tool centre point that can be reached, as the core and the wire have them."""
    limits = [CELL.variables[name].limits for name in JOINTS]
    low, high = np.array([(limit.lower, limit.upper) for limit in limits]).T
    goals = np.random.default_rng(seed).uniform(low, high, (count, len(JOINTS)))
    poses = [world_pose(CELL, at(row), "gripper/tcp") for row in goals]
    return poses, [Target(mode=Target.TOOL, pose=pose_to_message(pose)) for pose in poses]


def test_the_solutions_are_those_of_the_core(call):
    poses, targets = targets_of(6)
    reply = call("Ik", targets=targets, options=IkOptions(return_all=True))
    for pose, result in zip(poses, reply.results, strict=True):
        target = FrameTarget(pose=pose, mode=TargetMode.TOOL)
        truth = inverse_kinematics(CELL, STATE, target, options=CoreIkOptions(max_solutions=256, timeout=5.0))
        assert [list(solution.positions) for solution in result.solutions] == truth.solutions.tolist()
        assert result.complete == truth.complete
        assert result.solver == truth.solver
        limits = [solution.limit_distance for solution in result.solutions]
        np.testing.assert_array_equal(limits, truth.limit_distances())


def test_point_axis_targets_in_any_unit_and_frame(call):
    target = Target(mode=Target.TOOL, type=Target.POINT_AXIS, axis=Vector3(z=-2.0), reference_frame="pick")
    target.pose.position = Point(z=100.0)
    target.native_scale = 0.001
    target.axis = Vector3(z=1.0)
    reply = call("Ik", targets=[target], options=IkOptions(return_all=True, max_solutions=4, seed=3))
    core = PointAxisTarget(
        point=(0.0, 0.0, 100.0), axis=(0.0, 0.0, 1.0), mode=TargetMode.TOOL, reference_frame="pick", native_scale=0.001
    )
    options = CoreIkOptions(max_solutions=4, seed=3, timeout=5.0)
    truth = inverse_kinematics(CELL, STATE, core, options=options).solutions.tolist()
    assert [list(solution.positions) for solution in reply.results[0].solutions] == truth


def test_collisions_are_avoided_and_their_pairs_named(call):
    poses, targets = targets_of(40)
    checker = CollisionChecker(CELL, STATE, JOINTS)
    options = IkOptions(return_all=True, avoid_collisions=True)
    with pytest.raises(AllSolutionsInCollisionError) as caught:
        call("Ik", targets=targets, options=options, collision=CollisionOptions(full_report=True))
    reply = caught.value.partial
    refused = [result for result in reply.results if result.failure.reason == IkFailure.IN_COLLISION]
    assert 0 < len(refused) < len(poses)
    for result in reply.results:
        assert not any(checker.in_collision(np.array(solution.positions)) for solution in result.solutions)
    for result in refused:
        found = checker.report(np.array(result.failure.closest.positions)).pairs
        assert [(pair.name_a, pair.name_b) for pair in result.failure.pairs] == [(p.first, p.second) for p in found]


@pytest.mark.parametrize(
    ("fields", "all_pairs", "contacts"),
    [
        ({}, False, False),
        ({"contacts": True}, False, True),
        ({"verbose": True}, True, False),
        ({"full_report": True, "contacts": True}, True, True),
    ],
    ids=str,
)
def test_pairs_of_a_failure_are_reported_as_requested(call, fields, all_pairs, contacts):
    """One pair unless all are requested, which `verbose` implies; contacts only on request."""
    _, targets = targets_of(40)
    options = IkOptions(return_all=True, avoid_collisions=True)
    with pytest.raises(AllSolutionsInCollisionError) as caught:
        call("Ik", targets=targets, options=options, collision=CollisionOptions(**fields))
    failures = [result.failure for result in caught.value.partial.results]
    pairs = [failure.pairs for failure in failures if failure.reason == IkFailure.IN_COLLISION]
    assert min(map(len, pairs)) == 1
    assert (max(map(len, pairs)) > 1) == all_pairs
    assert {bool(pair.contacts) for found in pairs for pair in found} == {contacts}


def test_the_margin_of_a_request_counts(call):
    pose = make_pose_target("above_pick")
    options = IkOptions(return_all=True, avoid_collisions=True)
    near = call("Ik", targets=[pose], options=options).results[0]
    wide = CollisionChecker(CELL, STATE, JOINTS, options=CoreOptions(extra_margin=0.05))
    try:
        far = call("Ik", targets=[pose], options=options, collision=CollisionOptions(extra_margin=0.05)).results[0]
    except AllSolutionsInCollisionError as error:
        far = error.partial.results[0]
    allowed = [list(s.positions) for s in near.solutions if not wide.in_collision(np.array(s.positions))]
    assert [list(solution.positions) for solution in far.solutions] == allowed


def path(positions, *names):
    return JointPath(joint_names=list(names or JOINTS), positions=positions)


def rates(**values):
    return Configuration(joint_names=list(values), positions=list(values.values()))


def wrench(frame="wrist_3_link", x=1.0):
    return [WrenchStamped(header=Header(frame_id=frame), wrench=Wrench(force=Vector3(x=x)))]


def posed(**fields):
    """A request for one pose of the tool; fields of the target."""
    pose = Pose(position=Point(x=0.5, z=1.0))
    return {"targets": [Target(**{"mode": Target.TOOL, "pose": pose, **fields})]}


def turned(**numbers):
    return posed(pose=Pose(orientation=Quaternion(**{"w": 0.0, **numbers})))


BAD = {
    "Fk: no frame": ("Fk", {"mode": Target.FRAME}, InvalidRequestError),
    "Fk: mode": ("Fk", {"mode": 4}, InvalidRequestError),
    "Fk: frame": ("Fk", {"frames": ["wrist"]}, UnknownNameError),
    "Fk: reference frame": ("Fk", {"reference_frame": "tabel"}, UnknownNameError),
    "Fk: group": ("Fk", {"group": "arm2"}, UnknownNameError),
    "Fk: workpiece without one": ("Fk", {"mode": Target.WORKPIECE}, TargetModeMismatchError),
    "Fk: scale zero": ("Fk", {"native_scale": 0.0}, InvalidRequestError),
    "Fk: scale NaN": ("Fk", {"native_scale": NAN}, InvalidRequestError),
    "Fk: block": ("Fk", {"configurations": path([0.0] * 7)}, InvalidRequestError),
    "Fk: NaN": ("Fk", {"configurations": path([NAN] * 6)}, InvalidRequestError),
    "Fk: infinite": ("Fk", {"configurations": path([math.inf] * 6)}, InvalidRequestError),
    "Fk: joint": ("Fk", {"configurations": path([0.0], "elbow")}, UnknownNameError),
    "Fk: joint twice": ("Fk", {"configurations": path([0.0, 0.0], *["elbow_joint"] * 2)}, InvalidRequestError),
    "Fk: numbers without joints": ("Fk", {"configurations": JointPath(positions=[0.0])}, InvalidRequestError),
    "Fk: too many": ("Fk", {"configurations": path([0.0] * 6 * 501)}, LimitExceededError),
    "Ik: NaN": ("Ik", posed(pose=Pose(position=Point(x=NAN))), InvalidRequestError),
    "Ik: infinite": ("Ik", posed(pose=Pose(position=Point(x=-math.inf))), InvalidRequestError),
    "Ik: quaternion not of unit length": ("Ik", turned(x=0.5), InvalidRequestError),
    "Ik: quaternion zero": ("Ik", turned(), InvalidRequestError),
    "Ik: quaternion NaN": ("Ik", turned(x=NAN), InvalidRequestError),
    "Ik: axis zero": ("Ik", posed(type=Target.POINT_AXIS), InvalidRequestError),
    "Ik: axis infinite": ("Ik", posed(type=Target.POINT_AXIS, axis=Vector3(x=math.inf)), InvalidRequestError),
    "Ik: type": ("Ik", posed(type=2), InvalidRequestError),
    "Ik: tolerance": ("Ik", posed(position_tolerance=-1.0), InvalidRequestError),
    "Ik: scale": ("Ik", posed(native_scale=-1.0), InvalidRequestError),
    "Ik: frame of mode TOOL": ("Ik", posed(frame="wrist_3_link"), InvalidRequestError),
    "Ik: frame": ("Ik", posed(mode=Target.FRAME, frame="wrist"), UnknownNameError),
    "Ik: frame that does not move": ("Ik", posed(mode=Target.FRAME, frame="table"), InvalidRequestError),
    "Ik: workpiece that is not held": ("Ik", posed(mode=Target.WORKPIECE, frame="table"), TargetModeMismatchError),
    "Ik: reference frame": ("Ik", posed(reference_frame="tabel"), UnknownNameError),
    "Ik: solver": ("Ik", {**posed(), "options": IkOptions(solver="magic")}, InvalidRequestError),
    "Ik: step": ("Ik", {**posed(), "collision": CollisionOptions(pair_types=[9])}, InvalidRequestError),
    "Ik: margin": ("Ik", {**posed(), "collision": CollisionOptions(extra_margin=-1.0)}, InvalidRequestError),
    "Ik: closed form of three joints": (
        "Ik",
        {**posed(), "joints": list(JOINTS[:3]), "options": IkOptions(solver="analytic")},
        NotSupportedError,
    ),
    "Ik: joints twice": ("Ik", {**posed(), "joints": [JOINTS[0]] * 2}, InvalidRequestError),
    "Ik: seed of another joint": ("Ik", {**posed(), "seeds": path([0.0], "elbow")}, UnknownNameError),
    "Ik: too many targets": ("Ik", {"targets": posed()["targets"] * 51}, LimitExceededError),
    "lookup: frame": ("LookupTransforms", {"frames": ["nowhere"]}, UnknownNameError),
    "lookup: references": (
        "LookupTransforms",
        {"frames": ["table"], "reference_frames": ["bin", "post"]},
        InvalidRequestError,
    ),
    "Jacobian: axes": ("ComputeJacobian", {"axes": 3}, InvalidRequestError),
    "Jacobian: point": ("ComputeJacobian", {"point": Point(x=NAN)}, InvalidRequestError),
    "Jacobian: frame": ("ComputeJacobian", {"frame": "wrist"}, UnknownNameError),
    "Jacobian: joint": ("ComputeJacobian", {"configurations": path([0.0], "elbow")}, UnknownNameError),
    "Jacobian: velocities": ("ComputeJacobian", {"velocities": rates(elbow=1.0)}, UnknownNameError),
    "Jacobian: velocity NaN": ("ComputeJacobian", {"velocities": rates(elbow_joint=NAN)}, InvalidRequestError),
    "velocity: twist": ("SolveVelocity", {"twist": Twist(linear=Vector3(x=NAN))}, InvalidRequestError),
    "velocity: reference frame": ("SolveVelocity", {"reference_frame": "tabel"}, UnknownNameError),
    "velocity: preferred": ("SolveVelocity", {"preferred_velocities": rates(elbow=1.0)}, UnknownNameError),
    "velocity: time step": ("SolveVelocity", {"time_step": -0.1}, InvalidRequestError),
    "velocity: damping": ("SolveVelocity", {"damping": math.inf}, InvalidRequestError),
    "dynamics: velocities": ("InverseDynamics", {"velocities": [0.0] * 5}, InvalidRequestError),
    "dynamics: NaN": ("InverseDynamics", {"accelerations": [NAN] * 6}, InvalidRequestError),
    "dynamics: rows": (
        "InverseDynamics",
        {"configurations": path([0.0] * 18), "velocities": [0.0] * 12},
        InvalidRequestError,
    ),
    "dynamics: frame of a wrench": ("InverseDynamics", {"external_wrenches": wrench("wrist")}, UnknownNameError),
    "dynamics: wrench at no frame": ("InverseDynamics", {"external_wrenches": wrench("")}, InvalidRequestError),
    "dynamics: wrench NaN": ("ForwardDynamics", {"external_wrenches": wrench(x=NAN)}, InvalidRequestError),
    "dynamics: gravity": ("ForwardDynamics", {"gravity": Vector3(z=math.inf)}, InvalidRequestError),
    "dynamics: efforts": ("ForwardDynamics", {"efforts": [1.0] * 6 * 501}, LimitExceededError),
    "masses: joint": ("MassMatrix", {"configurations": path([0.0], "elbow")}, UnknownNameError),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_requests_get_their_named_error(call, case):
    kind, fields, error = BAD[case]
    with pytest.raises(error) as caught:
        call(kind, **fields)
    assert caught.value.message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (IkOptions(order=9), "options.order is 9, expected 0 to 2"),
        (IkOptions(solver="numerc"), "options.solver: solver 'numerc' does not exist; nearest: numeric"),
    ],
)
def test_an_unknown_option_of_inverse_kinematics_is_named_alone(call, options, words):
    with pytest.raises(InvalidRequestError, match=words):
        call("Ik", **{**posed(), "options": options})


def test_the_node_still_works_after_bad_requests(call):
    assert call("Fk").frames == ["tool0"]
