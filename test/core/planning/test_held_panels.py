"""Panels held by an arm: plans are found and certified, and certificates name the resolution of the spheres."""

import math
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from frozendict import frozendict

from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.certification.paths import certify_path
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.kinematics.forward import forward_kinematics
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.geometry import Box, MeshUse, Shape, Triangles
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.collision_checks import CountedChecks
from robot_cell_planner.planning.problem.request import Goals, MotionRequest

WRISTS = ("wrist_2_link", "wrist_3_link", "gripper/palm", "gripper/left_finger", "gripper/right_finger")


def triangles(size):
    """The mesh of a box."""
    signs = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    faces = [triangle for a, b, c, d in quads for triangle in ((a, b, c), (a, c, d))]
    vertices = tuple(tuple(s * length for s, length in zip(row, size, strict=True)) for row in signs)
    return Triangles(vertices, tuple(faces), MeshUse.EXACT)


def holding(demo, panel, beside, post, angle):
    """The demo arm above the floor, with a panel in its gripper, held `beside` its middle, and a post (distance,
    height) at an angle from the arm."""
    cell, state = demo
    x, y, _ = forward_kinematics(cell, state).position
    turn, (distance, height) = math.atan2(y, x) + angle, post
    where = Pose((distance * math.cos(turn), distance * math.sin(turn), 0.5 * height))
    bodies = {
        "floor": cell.bodies["floor"],
        "panel": RigidBody("panel", (Shape(panel),)),
        "post": RigidBody("post", (Shape(Box((0.05, 0.05, height))),)),
    }
    states = {
        "floor": state.bodies["floor"],
        "panel": BodyState(Pose((beside, 0.0, 0.18)), attached_to="gripper", touch_links=WRISTS),
        "post": BodyState(where),
    }
    collision = msgspec.structs.replace(cell.collision, margins=frozendict())
    cell = msgspec.structs.replace(cell, bodies=frozendict(bodies), frames=frozendict(), collision=collision)
    return cell, msgspec.structs.replace(state, bodies=frozendict(states))


@pytest.mark.parametrize("geometry", [Box, triangles])
@pytest.mark.parametrize(
    ("size", "beside", "post", "angle"),
    [((0.4, 0.4, 0.002), 0.0, (0.52, 1.3), 0.6), ((2.5, 1.25, 0.005), 1.1, (1.2, 1.25), 0.9)],
)
def test_a_held_panel_is_moved_around_a_post(demo, geometry, size, beside, post, angle):
    cell, state = holding(demo, geometry(size), beside, post, angle)
    checker = CollisionChecker(cell, state)
    goal = checker.default.copy()
    goal[0] += 2.0 * angle
    assert checker.in_collision(0.5 * (checker.default + goal))  # the straight path is blocked
    goals = Goals(joint_goals=(dict(zip(checker.variables, goal.tolist(), strict=True)),))
    plan = plan_motion(cell, state, MotionRequest(goals, timing=None))
    assert np.allclose(plan.end_configuration()["shoulder_pan_joint"], goal[0])
    assert plan.certified_fraction == 1.0
    for start, end in pairwise(plan.path):
        samples = start + np.linspace(0.0, 1.0, 60)[:, None] * (end - start)
        assert not checker.in_collision_batch(samples).any()
    certificate = certify_path(MotionCertifier(checker), plan.path)
    (warning,) = certificate.warnings
    assert "spheres of panel protrude by up to" in warning
    assert warning not in plan.warnings  # all of the path is proven free


@pytest.mark.parametrize("proven", [0.9, math.nan])
def test_a_plan_has_the_warning_about_spheres_if_they_leave_some_of_it_open(demo, proven, monkeypatch):
    cell, state = holding(demo, Box((0.4, 0.4, 0.002)), 0.0, (2.0, 0.5), 0.6)
    monkeypatch.setattr(CountedChecks, "certified_fraction", lambda checks, path: proven)
    request = MotionRequest(Goals(joint_goals=({"shoulder_pan_joint": 0.5},)), timing=None)
    plan = plan_motion(cell, state, request)
    warned = [text for text in plan.warnings if "spheres of panel protrude by up to 14 mm" in text]
    assert [text.endswith("divided into several links or bodies, it would have finer spheres") for text in warned] == (
        [True] if proven < 1.0 else []
    )
