"""Recording while the robot moves: regularity of commands with `robot_cell record` and without, in one run.

    make bench AREA=recording        [tools/with_environment python -m benchmarks.recording --seconds 10]

The same motion at 500 Hz is executed by the same nodes again and again, without a recorder, with one of all topics
(service introspection with contents), and without again. The intervals are those between the stamps of commands, which
are the execution node's own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from robot_cell_planner import srv
from robot_cell_planner.nodes.client.client import CellClient
from robot_cell_planner.nodes.conversions.trajectories import trajectory_to_message

from .execution import ROBOT_NODES, add_intervals, helper, node, shares, spent_by, swings
from .results import Results
from .scene_node import own_domain, running

SECONDS = 30.0
ROUNDS = 3
RECORDED = ("joint_states", "joint_commands", "scene/snapshot", "execution/status")  # discovered by the recorder
TIMEOUT = 60.0  # [s]
SEED = 1


@contextmanager
def recorder(client: CellClient, bag: Path) -> Iterator[int]:
    """Number of the process of `robot_cell record`, once it subscribes."""
    subscribers = {name: client.node.count_subscribers(name) for name in RECORDED}
    with running(["robot_cell", "record", str(bag)]) as pid:
        deadline = time.monotonic() + TIMEOUT
        while any(client.node.count_subscribers(name) <= count for name, count in subscribers.items()):
            if time.monotonic() > deadline:
                raise RuntimeError(f"the recorder did not subscribe within {TIMEOUT:g} s")
            time.sleep(0.1)
        yield pid


def intervals_of(client: CellClient, trajectory: object, file: Path) -> NDArray[np.float64]:
    """Intervals between the stamps of the commands of a motion [s]."""
    known = client.node.count_subscribers("joint_commands")
    with helper("--listen", str(file)):
        while client.node.count_subscribers("joint_commands") <= known:
            time.sleep(0.1)
        client.execute(trajectory)
    intervals: NDArray[np.float64] = np.diff(np.load(file)["stamps"]) * 1e-9
    return intervals


def measure(results: Results, seconds: float, folder: Path) -> None:
    trajectory = trajectory_to_message(swings(seconds))
    found: dict[str, list[NDArray[np.float64]]] = {"alone": [], "recorded": []}
    recorder_shares, sizes = [], []
    with ExitStack() as stack:
        stack.enter_context(own_domain())
        commands = {name: [*node(name), "-p", "service_introspection:=contents"] for name in ROBOT_NODES}
        commands["execution"] += ["-p", "path_tolerance:=10.0"]  # commands that arrive late do not end the measurement
        for command in commands.values():
            stack.enter_context(running(command))
        client = stack.enter_context(CellClient("benchmark", discovery_timeout=120.0))
        client.call_service(srv.GetState, "scene/get_state", srv.GetState.Request(), timeout=10.0, retries=5)
        client.wait_until_ready()
        intervals_of(client, trajectory_to_message(swings(2.0)), folder / "warm_up.npz")
        for index in range(ROUNDS):
            found["alone"].append(intervals_of(client, trajectory, folder / f"alone_{index}.npz"))
            bag = folder / f"bag_{index}"
            with recorder(client, bag) as pid:
                since, began = spent_by({"recorder": pid}), time.monotonic()
                found["recorded"].append(intervals_of(client, trajectory, folder / f"recorded_{index}.npz"))
                recorder_shares.append(shares({"recorder": pid}, since, time.monotonic() - began)["recorder"])
            sizes.append(sum(file.stat().st_size for file in bag.iterdir()))
    for name, rounds in found.items():
        add_intervals(results, name, np.concatenate(rounds))
    results.add("processor_recorder_percent", float(np.median(recorder_shares)))
    results.add("bag_MB", float(np.median(sizes)) * 1e-6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long each motion is")
    wanted = parser.parse_args()
    results = Results("recording", SEED)
    with TemporaryDirectory() as folder:
        measure(results, wanted.seconds, Path(folder))
    if wanted.seconds >= SECONDS:
        results.finish()


if __name__ == "__main__":
    main()
