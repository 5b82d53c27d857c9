"""Two hundred clients of the scene node: no revision is missing, and every scene monitor equals the scene node."""

import json
import subprocess
import sys

import pytest
from folders import SUPPORT
from running import DEMO

CLIENTS, PROCESSES, REQUESTS = 200, 2, 6
SCRIPT = SUPPORT / "scene_clients.py"


@pytest.fixture(scope="module")
def scene_node(start_node, tmp_path_factory):
    return start_node("scene_node", cell_file=DEMO, journal_file=tmp_path_factory.mktemp("clients") / "journal")


def test_two_hundred_clients(scene_node, client):
    clients_of_each = CLIENTS // PROCESSES
    _, before = client.scene()
    processes = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), "7", str(clients_of_each * i), str(clients_of_each), str(REQUESTS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(PROCESSES)
    ]
    replies = [json.loads(process.stdout.readline()) for process in processes]
    accepted = sorted(revision for found in replies for revision in found["accepted"])
    scene, revision = client.scene()
    assert accepted == list(range(before + 1, revision + 1))
    for found in replies:
        for name, x in found["places"].items():
            assert scene.state.bodies[name].pose.position[0] == x
    requests = len(accepted) + sum(found["refused"] + found["tried"] for found in replies)
    assert requests == CLIENTS * REQUESTS
    assert all(found["refused"] and found["tried"] for found in replies)
    expected = [revision, scene.cell.digest(), scene.state.digest()]
    for process in processes:
        process.stdin.write(f"{revision}\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == expected
        process.stdin.close()
        assert process.wait(30) == 0
