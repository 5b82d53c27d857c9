"""Requests before the sphere models of a cell are computed: they are served at once, without certificates."""

import fcntl
import os
import threading

import pytest
from running import DEMO

from robot_cell_planner import action
from robot_cell_planner.cases import open_case, reproduce
from robot_cell_planner.collision.sphere_model.approximation import KIND, PROTRUSION, _digest
from robot_cell_planner.collision.sphere_model.polytopes import polytope_around
from robot_cell_planner.collision.sphere_model.report import graspable, missing_sphere_models, prepare_sphere_models
from robot_cell_planner.collision.sphere_model.tolerance import protrusions
from robot_cell_planner.errors import RobotCellError, ServiceUnavailableError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.mesh.cache import cache_folder
from robot_cell_planner.msg import MotionRequest, MotionStep, PlanningOptions
from robot_cell_planner.nodes.client.client import make_goal, make_pose_target, state_with_joints
from robot_cell_planner.nodes.common.sphere_preparation import UNCERTIFIED

CELL, STATE = load_cell(DEMO)
JOINTS = CELL.group().variables
LEFT = [-0.6, -1.2, 1.9, -2.2708, -1.5708, 0.0]
RIGHT = [0.9, -1.2, 1.9, -2.2708, -1.5708, 0.0]
LINK = "upper_arm_link"


def values(row):
    return dict(zip(JOINTS, row, strict=True))


@pytest.fixture(scope="module")
def pending_model(tmp_path_factory):
    """A cache without the model of one link, which another process computes; the result ends that process."""
    prepare_sphere_models(CELL, bodies=graspable(CELL, STATE))
    stored = list(cache_folder().iterdir())
    before = os.environ.get("ROBOT_CELL_PLANNER_CACHE")
    os.environ["ROBOT_CELL_PLANNER_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    geometry = CELL.robot.mechanism.links[LINK].collisions[0].geometry
    digest = _digest(polytope_around(geometry), protrusions(CELL, PROTRUSION)[LINK])
    folder = cache_folder()
    folder.mkdir(parents=True)
    for entry in stored:
        if not entry.name.startswith(digest):
            (folder / entry.name).symlink_to(entry)
    handle = os.open(folder / f"{digest}.{KIND}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)

    def release():
        if handle not in released:
            released.append(handle)
            os.unlink(folder / f"{digest}.{KIND}.lock")
            os.close(handle)

    released = []
    yield release
    release()
    if before is None:
        del os.environ["ROBOT_CELL_PLANNER_CACHE"]
    else:
        os.environ["ROBOT_CELL_PLANNER_CACHE"] = before


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return tmp_path_factory.mktemp("cases")


@pytest.fixture(scope="module")
def nodes(pending_model, start_node, client, cases):
    start_node("scene_node", cell_file=DEMO)
    start_node("planning_node", case_folder=str(cases))
    client.scene()


def request(seed=1):
    start = state_with_joints(values(LEFT))
    return MotionRequest(start=start, goal=make_goal([values(RIGHT)]), options=PlanningOptions(seed=seed))


def test_models_that_have_to_be_computed_are_named(pending_model):
    assert missing_sphere_models(CELL, graspable(CELL, STATE)) == (LINK,)


def test_a_motion_is_planned_before_there_are_sphere_models(nodes, client):
    plan = client.send_goal(action.PlanMotion, "planning/plan_motion", action.PlanMotion.Goal(request=request())).plan
    assert UNCERTIFIED in plan.record.warnings
    assert list(plan.path.positions[: len(JOINTS)]) == pytest.approx(LEFT)
    assert list(plan.path.positions[-len(JOINTS) :]) == pytest.approx(RIGHT)


def test_a_sequence_is_planned_before_there_are_sphere_models(nodes, client):
    steps = [MotionStep(goal=make_goal([values(row)])) for row in (RIGHT, LEFT)]
    goal = action.PlanMultistep.Goal(start=state_with_joints(values(LEFT)), steps=steps)
    result = client.send_goal(action.PlanMultistep, "planning/plan_multistep", goal)
    assert len(result.plans) == 2
    assert all(UNCERTIFIED in plan.record.warnings for plan in result.plans)


def test_a_case_from_before_records_that_nothing_was_certified(nodes, client, cases):
    target = make_pose_target()
    target.pose.position.x = 9.0
    goal = action.PlanMotion.Goal(request=MotionRequest(goal=make_goal([target])))
    with pytest.raises(RobotCellError):
        client.send_goal(action.PlanMotion, "planning/plan_motion", goal)
    pause = threading.Event()
    while not (files := list(cases.glob("*.case"))):
        pause.wait(0.05)
    with open_case(files[0]) as case:
        assert not case.request.options.certify
        assert reproduce(case).same


def test_a_client_does_not_wait_for_ever(nodes, client):
    with pytest.raises(ServiceUnavailableError, match="planning_node was not ready within 1 s; its last report"):
        client.wait_until_ready(1.0)


def test_motions_are_certified_once_the_models_are_there(nodes, client, pending_model):
    pending_model()
    client.wait_until_ready(120.0)
    plan = client.send_goal(action.PlanMotion, "planning/plan_motion", action.PlanMotion.Goal(request=request())).plan
    assert UNCERTIFIED not in plan.record.warnings
    assert plan.record.certificate.certified_fraction == 1.0
