"""Bodies that clients add to the scene, replace and remove there, in the simulation that follows it."""

import threading

import pytest
from geometry_msgs.msg import Point, Pose
from running import DEMO

from robot_cell_planner import srv
from robot_cell_planner.msg import BodyModel, BodyState, Geometry, SceneChange, Shape, SimulationState
from robot_cell_planner.nodes.common.node import reliable

TIMEOUT = 60.0
RADIUS = 0.05


class Reports:
    """The newest report of the simulation: heights of bodies by name."""

    def __init__(self, node):
        self._changed = threading.Condition()
        self.heights = {}
        self._subscription = node.create_subscription(SimulationState, "simulation/state", self._keep, reliable(10))

    def _keep(self, message):
        with self._changed:
            self.heights = {body.name: body.pose.position.z for body in message.bodies}
            self._changed.notify_all()

    def wait(self, condition, what):
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self.heights), TIMEOUT), (what, self.heights)


@pytest.fixture(scope="module", params=["bullet", "mujoco"])
def node(request, start_node):
    node = start_node("simulated_robot_node", cell_file=DEMO, follow_scene=True, engine=request.param)
    yield node
    node.stop()


@pytest.fixture(scope="module")
def scene(start_node):
    return start_node("scene_node", cell_file=DEMO)


@pytest.fixture
def reports(node, scene, client):
    found = Reports(client.node)
    found.wait(lambda heights: "workpiece" in heights, "the first report")
    return found


def change(client, *changes):
    client.call_service(srv.ApplyChanges, "scene/apply_changes", srv.ApplyChanges.Request(changes=list(changes)))


def sphere(operation, radius):
    found = SceneChange(operation=operation)
    shape = Shape(geometry=Geometry(type=Geometry.SPHERE, dimensions=[radius]))
    found.models.bodies = [BodyModel(name="sphere", collision=[shape], density=500.0)]
    if operation == SceneChange.ADD:
        place = Pose(position=Point(x=0.9, y=-0.3, z=1.0))
        place.orientation.w = 1.0
        found.states.bodies = [BodyState(name="sphere", pose=place)]
    return found


def test_a_body_is_spawned_replaced_and_removed_through_the_scene(client, node, reports):
    table = 0.7
    change(client, sphere(SceneChange.ADD, RADIUS))
    reports.wait(lambda heights: abs(heights.get("sphere", 9.0) - table - RADIUS) < 2e-3, "a sphere on the table")
    change(client, sphere(SceneChange.REPLACE, 0.1))
    reports.wait(lambda heights: abs(heights.get("sphere", 9.0) - table - 0.1) < 2e-3, "a larger sphere on the table")
    change(client, SceneChange(operation=SceneChange.REMOVE, name="sphere"))
    reports.wait(lambda heights: "sphere" not in heights, "no sphere")
    change(client, SceneChange(operation=SceneChange.HIDE, name="workpiece"))
    reports.wait(lambda heights: "workpiece" not in heights, "no workpiece")
    change(client, SceneChange(operation=SceneChange.SHOW, name="workpiece"))
    reports.wait(lambda heights: "workpiece" in heights, "the workpiece again")


def test_bodies_that_cannot_be_spawned_are_reported_and_the_simulation_continues(client, node, reports):
    held = sphere(SceneChange.ADD, 0.01)
    held.models.bodies[0].name = held.states.bodies[0].name = "crate"
    held.states.bodies[0].attached_to = "gripper"
    change(client, held)
    words = "does not follow the scene with body crate"
    reports.wait(lambda _: words in node.output, "the reason")
    change(client, SceneChange(operation=SceneChange.DETACH, name="crate"))
    change(client, SceneChange(operation=SceneChange.REMOVE, name="crate"))
    reports.wait(lambda heights: "crate" not in heights, "no crate")
