"""A search that fails names the objects whose coarse spheres may be the reason, and only these."""

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from planning_cells import behind_wall

from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import NotConnectedError, PathInvalidError, TimedOutError
from robot_cell_planner.errors.remedies import BARRIER, COARSE_SPHERES
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.mechanism import Joint, JointKind, Link, Mechanism
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.planning.joint_space import planner
from robot_cell_planner.planning.joint_space.coarse_spheres import coarse_objects_in_the_way, naming_coarse_spheres
from robot_cell_planner.planning.joint_space.path_search import PathSearch
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.context import create_context
from robot_cell_planner.planning.problem.progress import ProgressMonitor
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.search.planner import SearchResult


def above_wall():
    """A large cube far above the walls, with a finger that is between them."""
    cell, state = behind_wall(0.05)
    robot = cell.robots["gantry"]
    high, low = Pose((0.0, 0.0, 2.0)), Box((0.1, 0.1, 0.1))
    links = robot.mechanism.links | {
        "cube": Link("cube", collisions=(Shape(Box((1.0, 1.0, 1.0)), high),)),
        "finger": Link("finger", collisions=(Shape(low),)),
    }
    joints = robot.mechanism.joints | {"mount": Joint("mount", JointKind.FIXED, "cube", "finger")}
    robot = msgspec.structs.replace(robot, mechanism=Mechanism("gantry", links, joints))
    return msgspec.structs.replace(cell, robots=frozendict({"gantry": robot})), state


def request_of(planner="Automatic", **options):
    options = PlanningOptions(planner=planner, state_limit=40, **options)
    return MotionRequest(Goals(joint_goals=({"x": 0.9, "y": -0.9},)), options=options, timing=None)


def failure(cell, state, planner="Automatic", **options):
    request = request_of(planner, **options)
    with pytest.raises(NotConnectedError, match="start and goal were not connected") as raised:
        plan_motion(cell, state, request)
    return raised.value


@pytest.mark.parametrize("planner", ["Automatic", "CertifiedRRTConnect", "RRTConnect"])
def test_a_failed_search_names_the_object_with_coarse_spheres_and_what_to_do(planner):
    error = failure(*behind_wall(0.5), planner)
    assert "coarse spheres: spheres of cube protrude by up to 24 mm" in error.message
    assert "cube" in error.subjects
    assert error.remedy == COARSE_SPHERES


def test_it_does_not_where_spheres_are_as_fine_as_requested():
    error = failure(*behind_wall(0.05))
    assert "sphere" not in error.message + error.remedy


def test_it_does_not_where_no_spheres_are_used():
    error = failure(*behind_wall(0.5), certify=False)
    assert "sphere" not in error.message + error.remedy


def test_it_does_not_where_the_object_with_coarse_spheres_stays_away_from_others():
    error = failure(*above_wall())
    assert MotionCertifier(CollisionChecker(*above_wall())).warnings
    assert "sphere" not in error.message + error.remedy


def at_time_limit(monkeypatch, stage):
    """The error of a request whose time limit passes in a stage of the planning."""
    check = ProgressMonitor.check

    def passed(monitor, states_checked=0):
        check(monitor, states_checked)
        if monitor._stage == stage:
            raise TimedOutError("the time limit was reached", stage=stage)

    monkeypatch.setattr(ProgressMonitor, "check", passed)
    with pytest.raises(TimedOutError, match="the time limit was reached") as raised:
        plan_motion(*behind_wall(0.5), request_of())
    return raised.value


def test_a_search_that_reaches_its_time_limit_names_them_too(monkeypatch):
    error = at_time_limit(monkeypatch, "search")
    assert "coarse spheres: spheres of cube protrude" in error.message
    assert (error.subjects, error.remedy) == (("cube",), COARSE_SPHERES)


def test_a_time_limit_before_the_search_says_nothing_about_spheres(monkeypatch):
    error = at_time_limit(monkeypatch, "start")
    assert "sphere" not in error.message + error.remedy


def test_a_path_without_a_detour_names_them_too(monkeypatch):
    def found(search, *arguments):
        assert search.context.checks.certifier
        return SearchResult(np.zeros((2, 2)))

    def failing(*arguments):
        raise PathInvalidError("no detour was found", stage="verify")

    cell, state = behind_wall(0.5)
    monkeypatch.setattr(planner, "verify_and_repair", failing)
    monkeypatch.setattr(PathSearch, "first_path", found)
    with pytest.raises(PathInvalidError, match=r"no detour was found; passages .* spheres of cube protrude") as raised:
        plan_motion(cell, state, request_of())
    assert raised.value.remedy == COARSE_SPHERES


def test_objects_are_not_looked_for_when_the_request_was_cancelled():
    """A worker that does not end soon after a cancellation is killed."""
    cell, state = behind_wall(0.5)
    cancelled = []
    monitor = ProgressMonitor(cancelled=lambda: bool(cancelled))
    context = create_context(cell, state, "", (), PlanningOptions(), monitor)
    assert context.checks.certifier
    goals = [np.array([0.9, -0.9])]
    assert set(coarse_objects_in_the_way(context, goals, 0)) == {"cube"}
    cancelled.append(True)
    assert coarse_objects_in_the_way(context, goals, 0) == {}


def test_errors_whose_cause_is_known_are_not_changed():
    cell, state = behind_wall(0.5)
    context = create_context(cell, state, "", (), PlanningOptions(), ProgressMonitor())
    assert context.checks.certifier
    known = NotConnectedError("no path exists", stage="search", remedy=BARRIER)
    with (
        pytest.raises(NotConnectedError) as raised,
        naming_coarse_spheres(context, [np.array([0.9, -0.9])], 0),
    ):
        raise known
    assert raised.value is known
