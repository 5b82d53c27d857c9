"""The scene node is killed under load again and again: acknowledged changes are there when it is restarted."""

import os
import random
import threading

from geometry_msgs.msg import Point, Pose
from running import DEMO, wait_until_answered

from robot_cell_planner import srv
from robot_cell_planner.msg import SceneChange
from robot_cell_planner.nodes.common.service_quality import SERVICES

KILLS = int(os.environ.get("SCENE_KILLS", "2"))
AT_ONCE = 8


class Load:
    """Moves the workpiece, several requests at a time, until stopped."""

    def __init__(self, client, enough):
        self.service = client.node.create_client(srv.ApplyChanges, "scene/apply_changes", qos_profile=SERVICES)
        wait_until_answered(self.service, srv.ApplyChanges.Request())
        self.acknowledged = {}  # x of the workpiece by revision
        self.under_way = set()
        self.enough, self.reached, self.x = enough, threading.Event(), 0.0
        for _ in range(AT_ONCE):
            client.node.executor.create_task(self.send)

    def send(self):
        self.x = x = self.x + 1.0
        self.under_way.add(x)
        change = SceneChange(operation=SceneChange.MOVE, name="workpiece", pose=Pose(position=Point(x=x)))
        future = self.service.call_async(srv.ApplyChanges.Request(changes=[change]))
        future.add_done_callback(lambda done: self.on_reply(done.result(), x))

    def on_reply(self, reply, x):
        assert reply.error.code == 0
        self.acknowledged[reply.revision] = x
        self.under_way.discard(x)
        if len(self.acknowledged) >= self.enough:
            self.reached.set()
        self.send()


def test_no_acknowledged_change_is_lost(start_node, client, tmp_path):
    rng, journal, before = random.Random(5), tmp_path / "journal", 1
    node = start_node("scene_node", cell_file=DEMO, journal_file=journal)
    for _ in range(KILLS):
        load = Load(client, rng.randint(1, 300))
        assert load.reached.wait(120)
        node.kill()
        client.node.destroy_client(load.service)
        node = start_node("scene_node", cell_file=DEMO, journal_file=journal)
        scene, revision = client.scene()
        acknowledged = max(load.acknowledged)
        assert sorted(load.acknowledged) == list(range(before + 1, acknowledged + 1))
        assert acknowledged <= revision <= acknowledged + AT_ONCE
        x = scene.state.bodies["workpiece"].pose.position[0]
        assert x == load.acknowledged[revision] if revision == acknowledged else x in load.under_way
        before = revision
