"""A collision check that is requested again while it is computed is computed once: two that share the time of the node
would take twice as long, and a client that repeats its request would never get an answer in time."""

import threading

import numpy as np
import pytest
from loaded_cells import loaded
from running import DEMO, wait_until_answered
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_cell_planner import srv
from robot_cell_planner.msg import CollisionOptions
from robot_cell_planner.nodes.client import make_pose_target
from robot_cell_planner.nodes.conversions.basic import path_to_message

CELL, STATE = loaded()
JOINTS = CELL.group().variables
HOME = np.array([STATE.configuration[name] for name in JOINTS])
ROWS = HOME + np.random.default_rng(1).uniform(-0.5, 0.5, (20, len(JOINTS)))
SERVICES = ("check_states", "check_trajectory", "check_targets", "compute_clearance")
COUNT = 3  # requests at the same time
# The node writes a line when it begins to compute an answer, which it does when all requests have arrived.
REPORTED = """
from robot_cell_planner.nodes.collision.node import CollisionNode
from robot_cell_planner.nodes.common.waiting import delay
arrived = dict.fromkeys({services!r}, 0)
serve = CollisionNode.serve
def counting_serve(self, kind, name, handler):
    async def handle(request, response):
        arrived[name.split("/")[-1]] += request != kind.Request()
        await handler(request, response)
    serve(self, kind, name, handle if name.split("/")[-1] in arrived else handler)
CollisionNode.serve = counting_serve
def reported(name):
    call = getattr(CollisionNode, "_" + name)
    async def compute(self, request, response):
        if request != type(request)():
            with open({path!r}, "a") as file:
                file.write(name + chr(10))
            while arrived[name] % {count}:
                await delay(self, 0.01)
        await call(self, request, response)
    setattr(CollisionNode, "_" + name, compute)
for each in {services!r}:
    reported(each)
"""


@pytest.fixture(scope="module")
def computed(start_node, client, tmp_path_factory):
    """A file with the name of each computed answer."""
    path = tmp_path_factory.mktemp("computed") / "names"
    path.touch()
    start_node("scene_node", cell_file=DEMO)
    start_node("collision_node", before=REPORTED.format(services=SERVICES, count=COUNT, path=str(path)))
    client.scene()
    return path


def request_of(name):
    """A request that is not empty."""
    if name == "check_trajectory":
        points = [JointTrajectoryPoint(positions=list(row)) for row in ROWS]
        trajectory = JointTrajectory(joint_names=list(JOINTS), points=points)
        return srv.CheckTrajectory, srv.CheckTrajectory.Request(trajectory=trajectory, find_all=True, resolution=0.1)
    if name == "check_targets":
        targets = [make_pose_target("above_pick")] * len(ROWS)
        return srv.CheckTargets, srv.CheckTargets.Request(targets=targets)
    if name == "check_states":
        options = CollisionOptions(full_report=True, verbose=True)
        request = srv.CheckStates.Request(configurations=path_to_message(JOINTS, ROWS), options=options)
        return srv.CheckStates, request
    return srv.ComputeClearance, srv.ComputeClearance.Request(configurations=path_to_message(JOINTS, ROWS))


@pytest.mark.parametrize("name", SERVICES)
def test_equal_requests_at_the_same_time_are_computed_once(computed, client, name):
    kind, request = request_of(name)
    service = client.node.create_client(kind, f"collision/{name}")
    wait_until_answered(service, kind.Request())
    for _ in range(2):
        before, arrived = computed.read_text().count(name), threading.Semaphore(0)
        sent = [service.call_async(request) for _ in range(COUNT)]
        for each in sent:
            each.add_done_callback(lambda _, arrived=arrived: arrived.release())
        assert all(arrived.acquire(timeout=250.0) for _ in sent)
        replies = [each.result() for each in sent]
        assert replies[0].error.code == 0
        assert len({str(reply) for reply in replies}) == 1  # as text, since they contain NaN
        assert computed.read_text().count(name) == before + 1
