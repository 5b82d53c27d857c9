"""While the scene node applies a long list of changes, it replies to others, with the scene as it was before; what else
modifies the scene waits, and no part of the list is seen."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, Pose
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from loaded_cells import loaded
from running import DEMO
from sensor_msgs.msg import JointState

from robot_cell_planner import srv
from robot_cell_planner.errors import NotActiveError, RevisionConflictError
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.msg import SceneChange
from robot_cell_planner.nodes.common.node import reliable

CELL, STATE = loaded()
ARM = CELL.group().variables
TCP = "gripper/tcp"
C = SceneChange
# The node is held after the first change of a list of several for as long as a file exists.
HELD = """
import os
from robot_cell_planner.scene import changes, history
plain = changes.apply_changes_in_steps
def held(scene, given, world_pose):
    steps = plain(scene, given, world_pose)
    if len(given) > 1 and os.path.exists({gate!r}):
        next(steps)
        open({begun!r}, "w").close()
        while os.path.exists({gate!r}):
            yield
    return (yield from steps)
history.apply_changes_in_steps = held
"""


class Held:
    """A scene node whose lists are held: `begin` sends one, and `end` returns its reply."""

    def __init__(self, client, gate, begun):
        self._client, self._gate, self._begun = client, gate, begun
        self.threads = ThreadPoolExecutor(8)

    def begin(self, *changes, **fields):
        """The future reply to a list, whose first change has been applied."""
        self._gate.touch()
        reply = self.threads.submit(self.apply, *changes, **fields)
        while not self._begun.exists():
            self._client.scene()
        return reply

    def apply(self, *changes, **fields):
        request = srv.ApplyChanges.Request(changes=list(changes), **fields)
        return self._client.call_service(srv.ApplyChanges, "scene/apply_changes", request)

    def end(self):
        """Let the list go on."""
        self._gate.unlink(missing_ok=True)
        self._begun.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("held")
    return folder / "gate", folder / "begun"


@pytest.fixture(scope="module")
def scene_node(start_node, files):
    gate, begun = files
    return start_node("scene_node", before=HELD.format(gate=str(gate), begun=str(begun)), cell_file=DEMO)


@pytest.fixture
def node(scene_node, client, files):
    client.scene()
    held = Held(client, *files)
    yield held
    held.end()
    held.threads.shutdown()


def moved(name, x):
    return C(operation=C.MOVE, name=name, pose=Pose(position=Point(x=x, y=0.5, z=0.5)))


def test_requests_are_served_with_the_scene_before_and_other_changes_follow(node, client):
    before, revision = client.scene()
    first = node.begin(moved("workpiece", 0.1), moved("bin", 0.2))
    assert client.scene() == (before, revision)
    waiting = [node.threads.submit(node.apply, moved("workpiece", x)) for x in (0.3, 0.4)]
    undo = node.threads.submit(client.call_service, srv.UndoChanges, "scene/undo", srv.UndoChanges.Request(steps=1))
    late = node.threads.submit(node.apply, moved("bin", 0.9), expected_revision=revision)
    for _ in range(5):
        assert client.scene() == (before, revision)
    assert not any(each.done() for each in (first, *waiting, undo, late))
    node.end()
    assert first.result().revision == first.result().update.revision == revision + 1
    assert {body.name for body in first.result().update.states.bodies} == {"workpiece", "bin"}
    others = [each.result().update for each in (*waiting, undo)]
    assert sorted(update.revision for update in others) == [revision + 2, revision + 3, revision + 4]
    assert all(update.previous_revision == update.revision - 1 for update in others)
    with pytest.raises(RevisionConflictError) as conflict:
        late.result()
    assert conflict.value.partial.revision > revision


def test_a_dry_run_in_slices_changes_nothing(node, client):
    before, revision = client.scene()
    reply = node.begin(moved("workpiece", 0.6), moved("bin", 0.7), dry_run=True)
    node.end()
    assert reply.result().update.revision == revision + 1
    assert {body.name for body in reply.result().update.states.bodies} == {"workpiece", "bin"}
    assert client.scene() == (before, revision)


def test_all_changes_of_a_list_use_the_joints_that_were_measured_when_it_began(node, client):
    robot = client.node.create_publisher(JointState, "joint_states", reliable(10))
    while not client.node.count_subscribers("joint_states"):
        client.scene()

    def measure(**joints):
        values = {name: STATE.configuration[name] for name in ARM} | joints
        message = JointState(name=list(values), position=list(values.values()))
        message.header.stamp = stamp = client.node.get_clock().now().to_msg()
        robot.publish(message)
        request = srv.WaitForState.Request(min_joint_stamp=stamp, joint_names=list(ARM), timeout=Duration(sec=30))
        client.call_service(srv.WaitForState, "scene/wait_for_state", request, timeout=60.0)

    measure(elbow_joint=1.5)
    scene, _ = client.scene(measured=True)
    tcp = world_pose(scene.cell, scene.state, TCP)
    expected = {name: tcp.inverse() @ world_pose(scene.cell, scene.state, name) for name in ("workpiece", "bin")}
    reply = node.begin(*(C(operation=C.ATTACH_IN_PLACE, name=name, attach_to=TCP) for name in expected))
    measure(elbow_joint=1.2)  # received while the list is applied
    node.end()
    reply.result()
    attached, _ = client.scene()
    for name, pose in expected.items():
        assert attached.state.bodies[name].attached_to == TCP
        assert max(attached.state.bodies[name].pose.distance_to(pose)) < 1e-6


def test_a_list_is_dropped_as_a_whole_when_the_node_is_deactivated(node, client):
    before, revision = client.scene()
    reply = node.begin(moved("workpiece", 1.1), moved("bin", 1.2))
    waiting = node.threads.submit(node.apply, moved("bin", 1.3))
    client.scene()
    change = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_DEACTIVATE))
    assert client.call_service(ChangeState, "scene_node/change_state", change).success
    for each in (reply, waiting):
        with pytest.raises(NotActiveError):
            each.result()
    node.end()
    change = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_ACTIVATE))
    assert client.call_service(ChangeState, "scene_node/change_state", change).success
    assert client.scene() == (before, revision)
    assert node.apply(moved("bin", 1.3)).revision == revision + 1
