"""A process with many clients of the scene node, each with one request under way at a time, and with a scene monitor.

Arguments: seed, first client, number of clients, requests of each. Prints one JSON line with the replies to the
clients; then reads a revision from its standard input and prints the digests of its scene monitor at that revision.
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
from robot_cell_planner.nodes.common.node import CellNode
from robot_cell_planner.nodes.common.scene_monitor import SceneMonitor
from robot_cell_planner.nodes.common.service_quality import SERVICES
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
    """Adds a body of its own, then moves it, and sends requests that are refused and dry runs."""

    def __init__(self, number, seed, service, finished):
        self.number, self.service, self.finished = number, service, finished
        self.random = random.Random(1000 * seed + number)
        self.accepted, self.latest, self.x, self.refused, self.tried = [], 0, 0.0, 0, 0
        self.requested_x = None

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
        """Every reply is one of: accepted, at a revision that is newer than all before; a dry run; refused by name."""
        request = self.request
        if reply.error.code == 0 and request.dry_run:
            self.tried += 1
        elif reply.error.code == 0:
            assert reply.revision == reply.update.revision == reply.update.previous_revision + 1
            assert reply.revision > self.latest
            assert request.expected_revision in (0, reply.revision - 1)
            self.accepted.append(reply.revision)
            self.x = self.x if self.requested_x is None else self.requested_x
        else:
            conflict = request.expected_revision not in (0, reply.revision)
            assert reply.error.code == (RevisionConflictError if conflict else UnknownNameError).code, reply.error
            self.refused += 1
        assert reply.revision >= self.latest
        self.latest, self.requested_x = reply.revision, None

    def next(self):
        kind = self.random.choice(["move", "move", "move", "expected", "dry run", "half wrong"])
        x = self.random.uniform(-5.0, 5.0)
        move = C(operation=C.MOVE, name=body_of(self.number), pose=Pose(position=Point(x=x, z=1.0)))
        if kind == "half wrong":
            self.send([move, C(operation=C.HIDE, name="nobody")])
        elif kind == "dry run":
            self.send([move], dry_run=True)
        else:
            self.requested_x = x
            self.send([move], expected=self.latest if kind == "expected" else 0)


def main():
    seed, first, count, requests = map(int, sys.argv[1:])
    rclpy.init()
    node = CellNode(f"clients{first}")
    monitor = SceneMonitor(node, ModelReader(NO_ROOTS))
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
    replies = {
        "accepted": [revision for client in clients for revision in client.accepted],
        "places": {body_of(client.number): client.x for client in clients},
        "refused": sum(client.refused for client in clients),
        "tried": sum(client.tried for client in clients),
    }
    print(json.dumps(replies), flush=True)
    last = int(sys.stdin.readline())
    caught_up = threading.Event()
    monitor.on_change(lambda: caught_up.set() if monitor.revision >= last else None)
    if monitor.revision < last:
        assert caught_up.wait(60), f"the scene monitor is at {monitor.revision}, the scene node at {last}"
    digests = [monitor.revision, monitor.scene.cell.digest(), monitor.scene.state.digest()]
    print(json.dumps(digests), flush=True)
    executor.shutdown()
    thread.join()
    node.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    main()
