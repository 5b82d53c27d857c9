"""Ignore groups of any size leave the scene readable, without a graph."""

from types import SimpleNamespace

import pytest
from frozendict import frozendict
from moveit_msgs.msg import AllowedCollisionEntry, AllowedCollisionMatrix, PlanningScene
from moveit_msgs.srv import GetPlanningScene
from moveit_requests import CELL, STATE
from moveit_suite import FixedScene, SilentNode, result_of

from robot_cell_planner.errors import NotSupportedError
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.msg import StateRef
from robot_cell_planner.nodes.moveit import scene_services
from robot_cell_planner.nodes.moveit.allowed_collisions import MAX_NAMES, CollisionRules, matrix_changes, matrix_message
from robot_cell_planner.nodes.moveit.motion_requests import Start
from robot_cell_planner.nodes.moveit.scene_messages import SceneWriter
from robot_cell_planner.nodes.moveit.scene_updates import scene_changes
from robot_cell_planner.scene.allowed_collision_changes import SetIgnoreGroup
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.model_changes import Add
from robot_cell_planner.scene.scene import Scene

BODIES = tuple(f"brick{index}" for index in range(MAX_NAMES + 1))


def grouped(*groups):
    scene = Scene(CELL, STATE)
    bodies = frozendict({name: RigidBody(name, (Shape(Box((0.01, 0.01, 0.01))),)) for name in BODIES})
    sets = [SetIgnoreGroup(f"stack{index}", members) for index, members in enumerate(groups)]
    return apply_changes(scene, [Add(RobotCell(name="bricks", bodies=bodies)), *sets], world_pose)


LARGE = grouped(BODIES)


def test_a_scene_with_a_large_group_is_written_without_its_matrix_and_read_again():
    message = SceneWriter(LARGE).scene()
    assert {item.id for item in message.world.collision_objects} >= set(BODIES)
    assert message.allowed_collision_matrix == AllowedCollisionMatrix()
    assert scene_changes(LARGE, message, ()) == []


def test_many_small_groups_are_read_again_too():
    scene = grouped(*(("floor", name) for name in BODIES))
    assert scene_changes(scene, PlanningScene(is_diff=True, **matrix_of(scene)), ()) == []


def matrix_of(scene):
    return {"allowed_collision_matrix": SceneWriter(scene).scene().allowed_collision_matrix}


def pair_matrix(first, second, allowed):
    rows = [AllowedCollisionEntry(enabled=[False, allowed]), AllowedCollisionEntry(enabled=[allowed, False])]
    return AllowedCollisionMatrix(entry_names=[first, second], entry_values=rows)


def test_a_matrix_of_few_names_is_served_beside_a_large_group():
    assert matrix_changes(LARGE.cell, pair_matrix(*BODIES[:2], True), BODIES) == []
    (change,) = matrix_changes(LARGE.cell, pair_matrix("bin", BODIES[0], True), [*BODIES, "bin"])
    assert [sorted(group.members) for group in change.models.collision.ignore_groups] == [["bin", BODIES[0]]]
    with pytest.raises(NotSupportedError, match="ignore group stack0 allows it"):
        matrix_changes(LARGE.cell, pair_matrix(*BODIES[:2], False), BODIES)


def test_the_matrix_has_the_pairs_of_the_rules():
    scene = grouped(("bin", "brick1", "gripper"), ("brick1", "table"), ("brick2",))
    rules, matrix = CollisionRules(scene.cell), matrix_message(scene.cell)
    names = list(matrix.entry_names)
    assert {"bin", "brick1", "table", "gripper/palm"} <= set(names)
    assert "brick2" not in names
    for first, row in zip(names, matrix.entry_values, strict=True):
        expected = [first != second and bool(rules.rule(frozenset((first, second)))) for second in names]
        assert list(row.enabled) == expected
    assert matrix.entry_values[names.index("brick1")].enabled[names.index("table")]
    assert not matrix.entry_values[names.index("bin")].enabled[names.index("table")]


class Graph(SilentNode):
    """A node that records its warnings, the messages it publishes and the functions of its services."""

    def __init__(self):
        super().__init__()
        self.warnings, self.published, self.services = [], [], {}

    def serve(self, kind, name, handler, fail):
        self.services[kind] = handler

    def get_logger(self):
        return SimpleNamespace(warning=self.warnings.append)

    def create_publisher(self, *_):
        return SimpleNamespace(publish=self.published.append, get_subscription_count=lambda: 1)


@pytest.fixture
def ticks(monkeypatch):
    """The functions of timers."""
    functions = []
    monkeypatch.setattr(scene_services, "steady_timer", lambda node, period, function, **_: functions.append(function))
    return functions


def test_the_scene_is_published_and_served_with_one_warning(ticks):
    node, access = Graph(), FixedScene(Start(LARGE, StateRef()))
    monitor = SimpleNamespace(revision=3, scene=LARGE, current_state=lambda: LARGE.state)
    scene_services.SceneServices(node, access, monitor)
    (tick,) = ticks
    for monitor.revision in (3, 3, 4):
        tick()
    assert len(node.published) == 2
    response = GetPlanningScene.Response()
    result_of(node.services[GetPlanningScene](GetPlanningScene.Request(), response))
    assert response.scene.world.collision_objects
    (warning,) = node.warnings
    assert "allowed collision matrix would have" in warning


def test_a_scene_that_cannot_be_written_is_tried_once_for_each_revision(ticks, monkeypatch):
    calls = []

    def fail(self, components):
        calls.append(components)
        raise NotSupportedError("the scene cannot be written")

    monkeypatch.setattr(SceneWriter, "scene", fail)
    monitor = SimpleNamespace(revision=3, scene=LARGE, current_state=lambda: LARGE.state)
    scene_services.SceneServices(Graph(), FixedScene(Start(LARGE, StateRef())), monitor)
    with pytest.raises(NotSupportedError):
        ticks[0]()
    ticks[0]()
    assert len(calls) == 1
