"""Requests that fail are saved as case files; the latest ones are retained, and reproduced without the node."""

import threading

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from narrower_limits import own_limits_again, with_limit
from running import DEMO
from std_msgs.msg import UInt8MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner import action, srv
from robot_cell_planner.cases import open_case, reproduce
from robot_cell_planner.errors import RobotCellError, TrackingError
from robot_cell_planner.msg import MotionRequest, PlanningOptions, StateRef
from robot_cell_planner.nodes.client.client import make_goal, make_pose_target
from robot_cell_planner.nodes.common.node import reliable
from robot_cell_planner.nodes.conversions.motion_faults import DEPTH, TOPIC, MotionFault, fault_to_message
from robot_cell_planner.nodes.conversions.trajectories import trajectory_from_message
from robot_cell_planner.nodes.motion.changed_limits import beyond_limit
from robot_cell_planner.trajectory.tracking import FaultRecord, Tolerances, supervised

KEPT = 3


@pytest.fixture(scope="module")
def folder(start_node, client, tmp_path_factory):
    path = tmp_path_factory.mktemp("cases") / "new"
    start_node("scene_node", cell_file=DEMO)
    start_node("planning_node", case_folder=str(path), cases_kept=KEPT)
    client.scene()
    return path


@pytest.fixture
def faults(client, folder):
    """A publisher of the reports of motions, in place of the execution node."""
    publisher = client.node.create_publisher(UInt8MultiArray, TOPIC, reliable(DEPTH))
    wait_until(publisher.get_subscription_count)
    yield publisher
    client.node.destroy_publisher(publisher)


def request(x, seed=0):
    target = make_pose_target()
    target.pose.position.x = x
    return MotionRequest(goal=make_goal([target]), options=PlanningOptions(seed=seed))


def fail(client, folder, seed):
    """Send a request that fails, and wait until another file than before is complete."""
    before = set(folder.glob("*.case"))
    with pytest.raises(RobotCellError) as caught:
        client.send_goal(action.PlanMotion, "planning/plan_motion", action.PlanMotion.Goal(request=request(9.0, seed)))
    return caught.value, wait_for_new(folder, before)


def wait_for_new(folder, before):
    wait_until(lambda: set(folder.glob("*.case")) - before)
    return (set(folder.glob("*.case")) - before).pop()


def test_a_failed_request_is_saved_and_reproduced(client, folder):
    error, file = fail(client, folder, seed=5)
    with open_case(file) as case:
        assert case.method == "plan_motion"
        assert case.request.options.seed == 5
        assert case.answer["error"]["name"] == type(error).__name__
        found = reproduce(case)
    assert found.same, str(found)


def test_the_latest_files_are_retained(client, folder):
    files = [fail(client, folder, seed)[1] for seed in range(KEPT + 2)]
    wait_until(lambda: len(list(folder.glob("*.case"))) <= KEPT)
    assert sorted(folder.glob("*.case")) == sorted(files[-KEPT:])


def test_a_trajectory_that_is_not_valid_is_saved(client, folder):
    scene, _ = client.scene()
    joints = scene.cell.group().variables
    start = [scene.state.configuration[joint] for joint in joints]
    trajectory = JointTrajectory(joint_names=list(joints))
    for time, change in ((0, 0.0), (1, 3.0)):
        positions, rates = [start[0], start[1] + change, *start[2:]], [0.0] * len(start)
        point = JointTrajectoryPoint(positions=positions, velocities=rates, time_from_start=Duration(sec=time))
        trajectory.points.append(point)
    before = set(folder.glob("*.case"))
    message = srv.ValidateTrajectory.Request(trajectory=trajectory)
    reply = client.call_service(srv.ValidateTrajectory, "planning/validate_trajectory", message)
    assert not reply.report.valid
    with open_case(wait_for_new(folder, before)) as case:
        assert case.method == "validate_trajectory"
        assert reproduce(case).same


def test_a_look_ahead_is_saved_if_a_motion_stops_for_it(client, folder, faults):
    """Once, whatever was found besides. Violations of limits that have not changed are those of coarsely predicted
    paths, and are not saved."""
    scene, _ = client.scene()
    joints = scene.cell.group().variables
    start = [scene.state.configuration[joint] for joint in joints]
    trajectory = slow_turn(joints, start)
    validation = srv.ValidateTrajectory.Request(trajectory=trajectory)
    reply = client.call_service(srv.ValidateTrajectory, "planning/validate_trajectory", validation)
    assert reply.report.valid
    assert {*reply.joints} == {*joints, "gripper/finger_joint"}
    too_fast = slow_turn(joints, start)
    too_fast.points[-1].time_from_start = Duration(nanosec=1_000_000)
    for file in folder.glob("*.case"):
        file.unlink()
    assert looked_ahead(client, too_fast)
    revision = client.apply(with_limit(joints[0], "max_velocity", 0.01))
    try:
        found = looked_ahead(client, trajectory, revision)
        ends = [beyond_limit(found[0], reached, revision) for reached in (0.5, 0.6)]
        faults.publish(ended_motion(trajectory, TrackingError("off")))
        assert methods(folder, 1) == ["execute_trajectory"]
        faults.publish(ended_motion(trajectory, ends[0]))
        assert methods(folder, 3) == ["execute_trajectory", "execute_trajectory", "look_ahead"]
        with open_case(next(folder.glob("*-look_ahead.case"))) as case:
            assert case.request.trajectory.duration == pytest.approx(2.0)
            assert reproduce(case).same
        first = min(folder.glob("*.case"))
        faults.publish(ended_motion(trajectory, ends[1]))
        wait_until(lambda: not first.exists())
        assert methods(folder, 3) == ["execute_trajectory", "execute_trajectory", "look_ahead"]
    finally:
        client.apply(own_limits_again())


def ended_motion(message, error):
    """The report of a motion that ended with an error before anything was measured."""
    trajectory = trajectory_from_message(message, "trajectory")
    free = np.full(len(trajectory.variables), np.inf)
    tolerances = Tolerances(np.inf, free, free, free, free, 2.0)
    motion = supervised(trajectory, trajectory.variables, tolerances, (), silence=0.2, lost_after=0.5)
    return fault_to_message(MotionFault(motion, FaultRecord.of(error)))


def methods(folder, count):
    """The methods of the cases, once there are as many."""
    wait_until(lambda: len(list(folder.glob("*.case"))) == count)
    return sorted(file.stem.rpartition("-")[2] for file in folder.glob("*.case"))


def wait_until(condition):
    pause = threading.Event()
    while not condition():
        pause.wait(0.05)


def slow_turn(joints, start):
    """A turn of the first joint by 0.1 rad in 2 s, from rest to rest."""
    trajectory = JointTrajectory(joint_names=list(joints))
    rates = [0.0] * len(start)
    for time, change in ((0, 0.0), (2, 0.1)):
        positions = [start[0] + change, *start[1:]]
        moment = Duration(sec=time)
        trajectory.points.append(
            JointTrajectoryPoint(positions=positions, velocities=rates, accelerations=rates, time_from_start=moment)
        )
    return trajectory


def looked_ahead(client, trajectory, revision=0):
    """The violations that a look-ahead in a scene of at least a revision reports."""
    state = StateRef(min_revision=revision, timeout=Duration(sec=10))
    message = srv.LookAhead.Request(state=state, trajectory=trajectory)
    reply = client.call_service(srv.LookAhead, "planning/look_ahead", message)
    assert not reply.report.collisions
    return reply.report.violations
