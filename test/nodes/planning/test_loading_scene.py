"""Requests while the scene node is still loading its cell: they wait, report why, and are served exactly."""

import contextlib
import os
import threading
from types import SimpleNamespace

import pytest
from running import DEMO

from robot_cell_planner import action, srv
from robot_cell_planner.errors import NoCellError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.msg import MotionRequest, PlanningOptions, StateRef
from robot_cell_planner.nodes.client.client import make_goal, state_with_joints
from robot_cell_planner.nodes.common import monitored_scene
from robot_cell_planner.nodes.common.monitored_scene import MonitoredScene
from robot_cell_planner.nodes.common.scene_start import LOADING
from robot_cell_planner.nodes.conversions.basic import duration_to_message
from robot_cell_planner.nodes.conversions.models import ModelReader

CELL, _ = load_cell(DEMO)
JOINTS = CELL.group().variables
LEFT = [-0.6, -1.2, 1.9, -2.2708, -1.5708, 0.0]
RIGHT = [0.9, -1.2, 1.9, -2.2708, -1.5708, 0.0]
# The scene node calls these functions after it has read from a pipe, which waits for a writer.
HELD = """
from robot_cell_planner.nodes.scene import node as scene_node
def held(call, path):
    def wait(*arguments):
        open(path).read()
        return call(*arguments)
    return wait
scene_node.prepare_geometry = held(scene_node.prepare_geometry, {geometry!r})
scene_node.collision_warnings = held(lambda *_: ("it was checked",), {start!r})
"""


@pytest.fixture(scope="module")
def pipes(tmp_path_factory):
    """Functions that let the scene node build its geometry, and check its start state."""
    folder = tmp_path_factory.mktemp("pipes")
    paths = {name: str(folder / name) for name in ("geometry", "start")}
    for path in paths.values():
        os.mkfifo(path)

    def release(name):
        with open(paths[name], "w"):
            pass

    return paths, release


@pytest.fixture(scope="module")
def scene_node(pipes, start_node):
    start_node("planning_node", wait_timeout=0.1)
    start_node("kinematics_node", wait_timeout=0.1)
    return start_node("scene_node", before=HELD.format(**pipes[0]), cell_file=DEMO)


def named(row):
    return dict(zip(JOINTS, row, strict=True))


class ScriptedScene(MonitoredScene):
    """A monitored scene with a list of what it waits for, one element for each check."""

    def __init__(self, node, script):
        super().__init__(node, ModelReader(NO_ROOTS), default_timeout=0.05)
        self.script = script

    def waits_for(self):
        return self.script.pop(0) if self.script else ""


@pytest.mark.parametrize("timeout", [0.0, 0.05])
def test_a_request_waits_although_the_scene_node_is_discovered_after_it(client, timeout):
    """Unless it has a timeout of its own, whose error has to report that the scene node is loading its cell."""
    node, reasons, ended = client.node, [], threading.Event()
    raised = []

    async def request():
        # "" while discovery takes longer than the default timeout
        view = ScriptedScene(node, ["", LOADING, LOADING, LOADING] if not timeout else [LOADING])
        try:
            await view.wait_for(0, 0, (), timeout, reasons.append)
        except NoCellError as error:
            raised.append(str(error))
        ended.set()

    node.executor.create_task(request)
    assert ended.wait(60.0)
    assert reasons == ([] if timeout else [LOADING])
    assert (LOADING in raised[0]) == bool(timeout)


@pytest.mark.parametrize("waits", [1, 2])
def test_the_log_contains_the_reason_of_a_wait_that_is_not_short(client, waits, monkeypatch):
    """The first scene of a monitor that was just created arrives within milliseconds."""
    logged, ended = [], threading.Event()
    monkeypatch.setattr(monitored_scene, "LOADING_PERIOD", 0.01)
    logger = SimpleNamespace(info=lambda text, **_: logged.append(text))
    monkeypatch.setattr(client.node, "get_logger", lambda: logger)

    async def request():
        with contextlib.suppress(NoCellError):
            await ScriptedScene(client.node, [LOADING] * waits).wait_for(0, 0, (), 0.0)
        ended.set()

    client.node.executor.create_task(request)
    assert ended.wait(60.0)
    assert logged == [f"requests wait: {LOADING}"] * (waits - 1)


def error_of_forward(client, timeout):
    request = srv.ForwardKinematics.Request(state=StateRef(timeout=duration_to_message(timeout)))
    with pytest.raises(NoCellError) as caught:
        client.call_service(srv.ForwardKinematics, "kinematics/forward_kinematics", request)
    return str(caught.value)


def test_a_request_waits_for_the_cell_and_reports_why(scene_node, client, pipes):
    _, release = pipes
    scene_node.wait_for("building its collision geometry")
    reasons, reported, found = [], threading.Event(), []

    def on_feedback(feedback):
        reasons.append(feedback.progress.stage)
        if reasons.count(LOADING) == 2:  # long after the default timeout
            reported.set()

    def plan():
        goal = make_goal([named(RIGHT)])
        request = MotionRequest(start=state_with_joints(named(LEFT)), goal=goal, options=PlanningOptions(seed=1))
        goal = action.PlanMotion.Goal(request=request)
        while not found:
            reasons.clear()
            with contextlib.suppress(NoCellError):  # the planning node has not discovered the scene node
                found.append(client.send_goal(action.PlanMotion, "planning/plan_motion", goal, on_feedback).plan)

    thread = threading.Thread(target=plan)
    thread.start()
    assert reported.wait(120.0)
    while not error_of_forward(client, 0.5).endswith(f"within 0.5 s: {LOADING}"):
        pass  # the kinematics node has not discovered the scene node's services
    release("geometry")
    thread.join()
    (plan,) = found
    assert list(plan.path.positions[-len(JOINTS) :]) == pytest.approx(RIGHT)


def test_the_cell_is_published_before_its_start_state_is_checked(scene_node, client, pipes):
    _, release = pipes
    assert client.scene()[1] == 1
    assert "it was checked" not in scene_node.output
    release("start")
    scene_node.wait_for("it was checked")


@pytest.mark.parametrize("dry_run", [False, True])
def test_others_are_served_while_the_state_of_a_loaded_cell_is_checked(scene_node, client, pipes, dry_run):
    """A cell that is loaded is published first; a dry run changes nothing."""
    before, replies = client.scene()[1], []

    def load():
        request = srv.LoadCell.Request(uri=str(DEMO), dry_run=dry_run)
        replies.append(client.call_service(srv.LoadCell, "scene/load_cell", request))

    thread = threading.Thread(target=load)
    thread.start()
    expected = before if dry_run else before + 1
    with open(pipes[0]["start"], "w"):  # the check has begun, and waits for the end of the file
        assert client.scene()[1] == expected
        assert not replies
    thread.join()
    assert "it was checked" in replies[0].warnings
    assert replies[0].revision == client.scene()[1] == expected
