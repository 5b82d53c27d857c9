"""/tf is published by the timer of `tf_rate` alone, whatever else changes meanwhile."""

from types import SimpleNamespace

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose
from loaded_cells import loaded

from robot_cell_planner.kinematics.transforms import WorldTransforms, world_pose
from robot_cell_planner.nodes.conversions.basic import pose_from_message
from robot_cell_planner.nodes.conversions.changes import update_to_message
from robot_cell_planner.nodes.scene import tf_publisher
from robot_cell_planner.nodes.scene.publisher import ScenePublisher
from robot_cell_planner.nodes.scene.tf_publisher import REST_PERIOD, FramesPublisher
from robot_cell_planner.scene.history import SceneHistory
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.scene.state_changes import SetJoints

TF_RATE, VIEW_RATE = 30.0, 10.0


class Node:
    """Records what is published, and has the callbacks of timers by their rate [Hz]."""

    def __init__(self):
        self.parameters = {"tf_rate": TF_RATE, "view_rate": VIEW_RATE, "frame_prefix": ""}
        self.published = []
        self.timers = {}

    def create_publisher(self, kind, topic, quality):
        return SimpleNamespace(publish=lambda message: self.published.append(topic))

    def create_timer(self, period, callback, clock):
        self.timers[round(1.0 / period, 6)] = callback
        return SimpleNamespace(timer_period_ns=round(1e9 * period))

    def get_clock(self):
        return SimpleNamespace(now=lambda: SimpleNamespace(to_msg=Time, nanoseconds=1))

    def soon(self, work):
        work()

    def count(self, topic):
        return self.published.count(topic)


class View:
    """A scene without a robot that reports its joints, or with one."""

    def __init__(self, stamp):
        self.measured = self.last_measured = SimpleNamespace(
            values={}, newest=lambda: stamp, oldest=lambda: stamp, applied_to=lambda state: state
        )
        self.report = None

    def on_joints(self, listener):
        self.report = listener

    def read_joints(self):
        if self.measured.newest():
            self.report(self.measured.newest())


def test_tf_is_published_once_for_each_tick_however_many_scene_changes_and_views_there_are():
    cell, state = loaded()
    joint = cell.group().variables[0]
    for stamp in (0, 5):
        node, view, history = Node(), View(stamp), SceneHistory(world_pose)
        publisher = ScenePublisher(node, history, view)
        history.load(cell, state)
        publisher.publish_all()
        for turn in range(20):
            change = history.apply([SetJoints({joint: 0.01 * turn})])
            publisher.publish_update(
                update_to_message(change.difference, change.previous, change.revision, change.digest)
            )
            node.timers[VIEW_RATE]()
            node.timers[VIEW_RATE]()
            before = node.count("/tf")
            node.timers[TF_RATE]()
            assert node.count("/tf") == before + 1 == turn + 1
        assert node.count("scene/updates") == 20
        assert node.count("/tf_static") >= 1


def test_transforms_follow_joints_that_creep_and_their_stamps_go_on_at_rest(monkeypatch):
    cell, state = loaded()
    scene, joint = Scene(cell, state), cell.group().variables[2]
    node, sent = Node(), []
    node.create_publisher = lambda kind, topic, quality: SimpleNamespace(publish=lambda message: sent.append(message))
    publisher = FramesPublisher(node)
    value, latest = state.configuration[joint], 0
    for stamp in range(1, 300):
        monkeypatch.setattr(tf_publisher, "monotonic", lambda now=0.01 * stamp: now)
        value += 4e-8 if stamp < 200 else 0.0
        now = state.with_configuration({joint: value})
        if publisher.publish_moving(scene, now, stamp):
            latest = stamp
        assert 0.01 * (stamp - latest) < 1e-9 * REST_PERIOD
        for entry in sent[-1].transforms:
            assert entry.header.stamp.nanosec == latest
            expected = WorldTransforms(cell, now).between(entry.header.frame_id, entry.child_frame_id)
            away, angle = pose_from_message(pose_of_transform(entry.transform), "").distance_to(expected)
            assert max(away, angle) < 1e-6
    assert len(sent) < 150
    before = len(sent)
    for step in range(1, 20):  # moving frames are published at once
        assert publisher.publish_moving(scene, state.with_configuration({joint: value + 1e-3 * step}), 300 + step)
    assert len(sent) == before + 19


def pose_of_transform(message):
    moved = message.translation
    return Pose(position=Point(x=moved.x, y=moved.y, z=moved.z), orientation=message.rotation)


def test_joints_are_read_less_often_while_none_moves(monkeypatch):
    cell, state = loaded()
    joint, now, values = cell.group().variables[0], [0.0], [0.0]
    monkeypatch.setattr(tf_publisher, "monotonic", lambda: now[0])
    timers = []

    class Timers(Node):
        def create_timer(self, period, callback, clock):
            timers.append(super().create_timer(period, callback, clock))
            return timers[-1]

    node, view, history = Timers(), View(5), SceneHistory(world_pose)
    node.parameters["tf_rate"] = 100.0
    view.measured.applied_to = lambda state: state.with_configuration({joint: values[0]})
    ScenePublisher(node, history, view)
    history.load(cell, state)
    periods = []
    for value in (0.0, 0.1, 0.2, *[0.3] * 140, 0.4):
        values[0], now[0] = value, now[0] + 0.01
        node.timers[100.0]()
        periods.append(timers[0].timer_period_ns)
    assert periods[:100] == [10_000_000] * 100
    assert periods[120:-1] == [REST_PERIOD] * 23
    assert periods[-1] == 10_000_000
