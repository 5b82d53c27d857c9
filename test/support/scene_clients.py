"""A process of many clients of the scene node, each with one request under way at a time, and with a replica.

Arguments: seed, first client, number of clients, requests of each. Prints one JSON line with what the clients were
told; then reads a revision from its standard input and prints the digests of its replica at that revision.
"""

import json
import random
import sys
import threading

import rclpy
from geometry_msgs.msg import Point, Pose
from rclpy.executors import SingleThreadedExecutor
from running import wait_until_answered

from robot_cell_planner import srv
from robot_cell_planner.errors import RevisionConflictError, UnknownNameError
from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.msg import BodyModel, BodyState, Geometry, SceneChange, Shape
from robot_cell_planner.nodes.common.node import SERVICES, CellNode
from robot_cell_planner.nodes.common.scene_monitor import SceneMonitor
from robot_cell_planner.nodes.conversions.models import ModelReader

C = SceneChange


def body_of(client):
    return f"body{client}"


def new_body(name):
    change = C(operation=C.ADD)
    shape = Shape(geometry=Geometry(type=Geometry.SPHERE, dimensions=[0.05]))
    change.models.bodies = [BodyModel(name=name, collision=[shape])]
    change.states.bodies = [BodyState(name=name)]
    return change


class Client:
    """Adds a body of its own, then moves it about, tries in vain, and asks what would be."""

    def __init__(self, number, seed, service, finished):
        self.number, self.service, self.finished = number, service, finished
        self.random = random.Random(1000 * seed + number)
        self.accepted, self.seen, self.x, self.refused, self.tried = [], 0, 0.0, 0, 0
        self.wanted = None

    def start(self, requests):
        self.left = requests
        self.send([new_body(body_of(self.number))])

    def send(self, changes, expected=0, dry_run=False):
        self.request = srv.ApplyChanges.Request(changes=changes, expected_revision=expected, dry_run=dry_run)
        self.service.call_async(self.request).add_done_callback(self.on_reply)

    def on_reply(self, future):
        self.check(future.result())
        self.left -= 1
        if self.left:
            self.next()
        else:
            self.finished(self)

    def check(self, reply):
        """Every reply is one of: accepted, at a revision that is newer than all before; tried; refused by name."""
        request = self.request
        if reply.error.code == 0 and request.dry_run:
            self.tried += 1
        elif reply.error.code == 0:
            assert reply.revision == reply.update.revision == reply.update.previous_revision + 1
            assert reply.revision > self.seen
            assert request.expected_revision in (0, reply.revision - 1)
            self.accepted.append(reply.revision)
            self.x = self.x if self.wanted is None else self.wanted
        else:
            conflict = request.expected_revision not in (0, reply.revision)
            assert reply.error.code == (RevisionConflictError if conflict else UnknownNameError).code, reply.error
            self.refused += 1
        assert reply.revision >= self.seen
        self.seen, self.wanted = reply.revision, None

    def next(self):
        kind = self.random.choice(["move", "move", "move", "expected", "dry run", "half wrong"])
        x = self.random.uniform(-5.0, 5.0)
        move = C(operation=C.MOVE, name=body_of(self.number), pose=Pose(position=Point(x=x, z=1.0)))
        if kind == "half wrong":
            self.send([move, C(operation=C.HIDE, name="nobody")])
        elif kind == "dry run":
            self.send([move], dry_run=True)
        else:
            self.wanted = x
            self.send([move], expected=self.seen if kind == "expected" else 0)


def main():
    seed, first, count, requests = map(int, sys.argv[1:])
    rclpy.init()
    node = CellNode(f"clients{first}")
    replica = SceneMonitor(node, ModelReader(NO_ROOTS))
    kind, name, group = srv.ApplyChanges, "scene/apply_changes", node.concurrent
    services = [node.create_client(kind, name, qos_profile=SERVICES, callback_group=group) for _ in range(4)]
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    for service in services:
        wait_until_answered(service, srv.ApplyChanges.Request())
    done, all_done = [], threading.Event()

    def finished(client):
        done.append(client)
        if len(done) == count:
            all_done.set()

    clients = [Client(first + i, seed, services[i % len(services)], finished) for i in range(count)]
    for client in clients:
        executor.create_task(client.start, requests)
    assert all_done.wait(240), f"{len(done)} of {count} clients got all their replies"
    told = {
        "accepted": [revision for client in clients for revision in client.accepted],
        "places": {body_of(client.number): client.x for client in clients},
        "refused": sum(client.refused for client in clients),
        "tried": sum(client.tried for client in clients),
    }
    print(json.dumps(told), flush=True)
    last = int(sys.stdin.readline())
    caught_up = threading.Event()
    replica.on_change(lambda: caught_up.set() if replica.revision >= last else None)
    if replica.revision < last:
        assert caught_up.wait(60), f"the replica is at {replica.revision}, the owner at {last}"
    digests = [replica.revision, replica.scene.cell.digest(), replica.scene.state.digest()]
    print(json.dumps(digests), flush=True)
    executor.shutdown()
    thread.join()
    node.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    main()
