"""Checks, layers, curves and certificates on the replay page equal the results of the library."""

import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from collision_cells import at, body, box, make_cell, mechanism, place
from frozendict import frozendict
from recordings import MOMENTS, demo_cell, replay_of, small_recording

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.kinematics.transforms import WorldTransforms
from robot_cell_planner.model.geometry import Box, Capsule, Shape, Sphere
from robot_cell_planner.model.mechanism import JointKind
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.planning import Goals, MotionRequest, PlanningOptions, plan_motion
from robot_cell_planner.trajectory import TimingOptions
from robot_cell_planner.viewer import Moment, Recording, plan_details, plan_recording
from robot_cell_planner.viewer.overlays import SPEED_SCALE, speed_colours
from robot_cell_planner.viewer.packing import unpack
from robot_cell_planner.viewer.page import page
from robot_cell_planner.viewer.plans import PERIOD
from robot_cell_planner.viewer.recording import MAX_MOMENTS
from robot_cell_planner.viewer.tool_paths import trajectory_path
from robot_cell_planner.viewer.triangles import margin_surfaces, sphere_rows

CELL, STATE = demo_cell()
COLLIDING = STATE.with_configuration({"shoulder_lift_joint": 0.3})


@pytest.fixture(scope="module")
def plan():
    goals = Goals(joint_goals=({"shoulder_pan_joint": -1.6, "elbow_joint": 1.3},))
    return plan_motion(CELL, STATE, MotionRequest(goals, timing=TimingOptions()))


def test_collisions_are_those_of_the_checker():
    moments = tuple(Moment(0.1 * index, COLLIDING if 5 <= index < 8 else STATE) for index in range(20))
    replay, _ = replay_of(page(CELL, Recording(moments)))
    pairs = {check["moment"]: check["pairs"] for check in replay["checks"]}
    assert {index: bool(found) for index, found in pairs.items()} == {0: False, 5: True, 8: False}
    expected = CollisionChecker(CELL, COLLIDING).report().pairs
    assert [(pair["first"], pair["second"]) for pair in pairs[5]] == [(pair.first, pair.second) for pair in expected]
    for found, pair in zip(pairs[5], expected, strict=True):
        assert found["label"].endswith(f"{1e3 * pair.depth:.1f} mm deep")
        contacts = [(contact.point_first, contact.point_second) for contact in pair.contacts]
        np.testing.assert_allclose(found["points"], contacts)
    closest = CollisionChecker(CELL, STATE).distance()
    assert replay["checks"][0]["closest"]["label"].endswith(f": {1e3 * closest.distance:.1f} mm")


def test_a_collision_of_one_moment_among_thousands_is_found():
    states = [STATE.with_configuration({"wrist_3_joint": 1e-4 * index}) for index in range(1500)]
    states[777] = COLLIDING
    recording = Recording(tuple(Moment(0.02 * index, state) for index, state in enumerate(states)))
    replay, _ = replay_of(page(CELL, recording))
    assert [check["moment"] for check in replay["checks"] if check["pairs"]] == [777]
    assert next(check["pairs"] for check in replay["checks"] if check["moment"] > 777) == []


def test_layers_of_an_object():
    margins = msgspec.structs.replace(CELL.collision, margins={"table": 0.02})
    replay, block = replay_of(page(msgspec.structs.replace(CELL, collision=margins), Recording((Moment(0.0, STATE),))))
    objects = {entry["frame"]: entry for entry in replay["objects"]}
    assert [bool(entry["margins"]) for entry in objects.values()] == [frame == "table" for frame in objects]
    table = CELL.bodies["table"]
    assert len(objects["table"]["collisions"]) == len(table.collisions)
    found = unpack(block, objects["table"]["spheres"]).reshape(-1, 4)
    np.testing.assert_allclose(found, sphere_rows(table.collisions), atol=1e-6)


def outside_box(points, size):
    """Distance of points (n, 3) from a box at the origin."""
    return np.linalg.norm(np.maximum(np.abs(points) - np.array(size) / 2.0, 0.0), axis=1)


def test_a_margin_is_the_boundary_of_all_points_within_it():
    pose, margin = Pose((0.1, -0.2, 0.3), (0.5, 0.5, 0.5, 0.5)), 0.02
    inverse = np.linalg.inv(pose.matrix)

    def own(geometry):
        (surface,) = margin_surfaces(Shape(geometry, pose), margin)
        return surface.vertices @ inverse[:3, :3].T + inverse[:3, 3]

    found = outside_box(own(Box((0.3, 0.2, 0.1))), (0.3, 0.2, 0.1))
    assert found.max() == pytest.approx(margin)
    assert found.min() > 0.85 * margin  # the rounded edges are triangulated
    np.testing.assert_allclose(np.linalg.norm(own(Sphere(0.1)), axis=1), 0.12, atol=1e-9)
    points = own(Capsule(0.05, 0.2))
    axis = np.clip(points[:, 2], -0.1, 0.1)
    np.testing.assert_allclose(
        np.linalg.norm(points - np.stack([0 * axis, 0 * axis, axis], axis=1), axis=1), 0.07, atol=1e-6
    )


def test_curves_are_the_derivatives_of_the_trajectory(plan):
    details = plan_details(CELL, STATE, plan)
    replay, block = replay_of(page(CELL, plan_recording(STATE, plan), **details))
    (curve,) = replay["curves"]
    times = np.linspace(0.0, plan.trajectory.duration, curve["times"]["count"])
    np.testing.assert_allclose(unpack(block, curve["times"]), times, atol=1e-6)
    for order, name in enumerate(("position", "velocity", "acceleration", "jerk")):
        found = unpack(block, curve[name]).reshape(len(times), -1)
        np.testing.assert_allclose(found, plan.trajectory.at(times, order), rtol=1e-5, atol=1e-4)
    for joint in curve["joints"]:
        assert replay["limits"][joint]["velocity"] == CELL.variables[joint].limits.velocity
    assert (
        set(replay["certificate"]["verdicts"]) == {"free"} if plan.certified_fraction == 1.0 else {"free", "undecided"}
    )


@pytest.mark.parametrize(("engine", "verdict"), [("coal", "free"), ("bullet", "undecided")])
def test_the_path_is_certified_for_the_engine_of_the_plan(engine, verdict):
    """A slide passes a post at 1 mm, which is within the error of Bullet's distances."""
    links = {"base": [], "slide": [box(0.2, 0.2, 0.2)]}
    joints = [("x", JointKind.PRISMATIC, "base", "slide", at(0.0), (1.0, 0.0, 0.0))]
    group = PlanningGroup("g", ("x",), base_link="base", tip_link="slide")
    robot = Robot("slide", mechanism("slide", links, joints), frozendict({"g": group}))
    cell = make_cell((robot,), (), (body("post", box(0.1, 0.1, 0.1)),))
    state = place(cell.default_state(), "post", at(0.4, 0.151))
    request = MotionRequest(Goals(({"x": 0.8},)), "g", options=PlanningOptions(engine=engine), timing=None)
    found = plan_motion(cell, state, request)
    shown = plan_details(cell, state, found)["certified"]
    assert {one.value for one in shown.verdicts} == {verdict}
    assert found.certified_fraction == float(verdict == "free")


def test_speeds_along_the_tool_path_add_up_to_its_length(plan):
    path = trajectory_path(CELL, STATE, "gripper/tcp", plan.trajectory)
    length = np.linalg.norm(np.diff(path.points, axis=0), axis=1).sum()
    times = np.linspace(0.0, plan.trajectory.duration, len(path.points))
    assert np.trapezoid(path.speeds, times) == pytest.approx(length, rel=1e-2)
    end = STATE.with_configuration(dict(plan.end_configuration()))
    np.testing.assert_allclose(path.points[-1], WorldTransforms(CELL, end).pose("gripper/tcp").position, atol=1e-9)
    colours = speed_colours(path.speeds)
    assert tuple(colours[np.argmax(path.speeds)]) == SPEED_SCALE[-1]
    np.testing.assert_allclose(colours[0].astype(int), SPEED_SCALE[0], atol=3)


def test_a_recording_without_a_plan_has_no_curves():
    replay, _ = replay_of(page(CELL, small_recording(STATE)))
    assert replay["curves"] == []
    assert replay["certificate"] is None
    assert replay["checks"][0]["moment"] == 0
    assert replay["checks"][-1]["moment"] < MOMENTS


def test_a_motion_of_an_hour_has_as_many_moments_as_a_page(plan):
    slow = replace(plan.trajectory, times=plan.trajectory.times * 1e3, velocities=None, accelerations=None)
    recording = plan_recording(STATE, replace(plan, trajectory=slow))
    assert recording.duration == slow.duration
    assert len(recording.moments) <= MAX_MOMENTS + 2
    assert len(plan_recording(STATE, plan).moments) == math.ceil(plan.duration / PERIOD) + 1
