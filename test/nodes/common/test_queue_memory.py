"""Memory that a node retains after large messages."""

import threading

from running import DEMO

from benchmarks.fuzz.cell import Usage
from robot_cell_planner import srv
from robot_cell_planner.msg import SceneChange
from robot_cell_planner.nodes.common.service_quality import SERVICES

AT_ONCE = 8
SIZE = 6_000_000  # [characters] of a request
MAX_GROWTH = 0.5 * AT_ONCE * SIZE * 1e-6  # [MB]


def test_large_requests_at_the_same_time_leave_no_memory_behind(start_node, client, monkeypatch):
    """By default the middleware keeps as many buffers as requests waited at once, each of the size of the largest."""
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "1000000")  # [bytes]; the allocator itself keeps no more than that
    # Without garbage collections, which a quiet node runs too rarely: reference cycles keep requests in memory, too.
    node = start_node("scene_node", before="import gc; gc.disable()\n", cell_file=DEMO)
    client.scene()
    kind, name = srv.ApplyChanges, "scene/apply_changes"
    caller = client.node.create_client(kind, name, qos_profile=SERVICES)
    assert caller.wait_for_service(60.0)

    pause = threading.Event()

    def send(count, size=SIZE):
        request = kind.Request(changes=[SceneChange(operation=SceneChange.REMOVE, name="x" * size)])
        left = threading.Semaphore(0)
        for _ in range(count):
            caller.call_async(request).add_done_callback(lambda _: left.release())
        for _ in range(count):
            assert left.acquire(timeout=60.0)

    def min_memory(expected=0.0):
        """The minimum of some readings [MB]: parts of the last requests are still in memory when their replies arrive,
        until the middleware has registered that all of them have arrived."""
        found = []
        while len(found) < 10 or (min(found) > expected > 0.0 and len(found) < 600):
            client.scene()
            found.append(Usage.of(node.process.pid).memory)
            pause.wait(0.1)
        return min(found)

    for _ in range(3):  # allocations of the first requests, whatever their size, do not count
        send(AT_ONCE, size=10)
    send(1)
    before = min_memory()
    for _ in range(3):
        send(AT_ONCE)
    send(1)
    assert min_memory(before + MAX_GROWTH) < before + MAX_GROWTH
