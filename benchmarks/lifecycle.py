"""Transitions of all nodes under load, and their leaks of descriptors, threads and memory.

tools/with_environment python -m benchmarks.lifecycle [--cycles 100]

A cycle deactivates, cleans up, configures and activates each of the six nodes in turn, while a client sends requests to
all of them. The resources of a node are measured when it is unconfigured: the minimum of the second tenth of all
cycles, when caches are filled, is compared with the minimum of the last tenth, as a worker may end later than its
node's clean-up. Processes are those that a node has started.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from contextlib import ExitStack

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState

from robot_cell_planner import srv
from robot_cell_planner.errors import RobotCellError
from robot_cell_planner.nodes.client.client import CellClient, make_goal

from .memory import MEGA, below, children, running, use_of
from .results import Results
from .scene_node import own_domain

NODES = ("simulated_robot", "scene", "kinematics", "collision", "planning", "execution")
CYCLE = (
    Transition.TRANSITION_DEACTIVATE,
    Transition.TRANSITION_CLEANUP,
    Transition.TRANSITION_CONFIGURE,
    Transition.TRANSITION_ACTIVATE,
)
REQUESTS = (
    (srv.GetCell, "scene/get_cell"),
    (srv.CheckStates, "collision/check_states"),
    (srv.LookupTransforms, "kinematics/lookup_transforms"),
    (srv.ListPlanners, "planning/list_planners"),
)
RESOURCES = {"descriptors": 1.0, "threads": 1.0, "processes": 1.0, "memory_MB": MEGA}  # and the unit of each figure


def resources(pid: int) -> tuple[int, ...]:
    """The resources of a process now, as RESOURCES lists them."""
    use = use_of(pid)
    assert use is not None, f"process {pid} has ended"
    return use.descriptors, len(os.listdir(f"/proc/{pid}/task")), len(below(pid, children())), use.memory


class Load:
    """Requests and plans, one after the other, from two threads; counts accepted and refused requests."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=work) for work in (self._send_requests, self._move)]
        for thread in self._threads:
            thread.start()

    def _run(self, name: str, work: object) -> None:
        with CellClient(name, discovery_timeout=30.0) as client:
            while not self._ended.is_set():
                try:
                    work(client)  # type: ignore[operator]
                    outcome = "met"
                except RobotCellError as error:
                    outcome = error.name
                key = f"{name}.{outcome}"
                self.counts[key] = self.counts.get(key, 0) + 1

    def _send_requests(self) -> None:
        def call_services(client: CellClient) -> None:
            for kind, name in REQUESTS:
                client.call_service(kind, name, kind.Request(), timeout=10.0)

        self._run("requests", call_services)

    def _move(self) -> None:
        def move(client: CellClient) -> None:
            plan = client.plan_motion(make_goal([{"shoulder_pan_joint": -1.0 - 0.2 * (time.time() % 1.0)}]))
            client.execute(plan.trajectory)

        self._run("motions", move)

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()


def transit(client: CellClient, node: str, transition: int) -> bool:
    """Whether a transition succeeded."""
    request = ChangeState.Request(transition=Transition(id=transition))
    return bool(client.call_service(ChangeState, f"{node}_node/change_state", request, timeout=120.0).success)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=120.0, help="end after the cycle in which they are over")
    arguments = parser.parse_args()
    results = Results("lifecycle", 1)
    samples: dict[str, list[tuple[int, ...]]] = {node: [] for node in NODES}
    failed, longest, began = 0, 0.0, time.monotonic()
    with ExitStack() as stack:
        stack.enter_context(own_domain())
        processes = {node: stack.enter_context(running(node)) for node in NODES}
        client = stack.enter_context(CellClient("lifecycle", discovery_timeout=120.0))
        client.scene()
        load = Load()
        for _ in range(arguments.cycles):
            if time.monotonic() - began > 60.0 * arguments.minutes:
                break
            for node in NODES:
                for transition in CYCLE:
                    requested = time.monotonic()
                    failed += not transit(client, node, transition)
                    longest = max(longest, time.monotonic() - requested)
                    if transition == Transition.TRANSITION_CLEANUP:
                        samples[node].append(resources(processes[node]))
        minutes = (time.monotonic() - began) / 60.0
        load.end()
    cycles = len(samples[NODES[-1]])
    results.add("cycles", float(cycles))
    results.add("transitions", float(cycles * len(NODES) * len(CYCLE)))
    results.add("transitions.failed", float(failed))
    results.add("transitions.longest_s", longest)
    results.add("minutes", minutes)
    for name, count in sorted(load.counts.items()):
        results.add(name, float(count))
    for node, taken in samples.items():
        tenth = max(len(taken) // 10, 1)
        first, last = (
            [min(column) for column in zip(*part, strict=True)] for part in (taken[tenth : 2 * tenth], taken[-tenth:])
        )
        for (what, unit), before, after in zip(RESOURCES.items(), first, last, strict=True):
            results.add(f"{node}.{what}.before", before / unit)
            results.add(f"{node}.{what}.after", after / unit)
    results.finish()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
