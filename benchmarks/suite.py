"""All nodes of a cell in processes of their own, as `robot_cell` starts them, and their resources at rest."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from .results import Results
from .scene_node import processor_time

NODES = ("scene", "kinematics", "collision", "planning", "execution", "simulated_robot")
IDLE = 20.0  # [s]


@contextmanager
def supervisor(cell: Path, options: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Iterator[int]:
    """Run all nodes of a cell by `robot_cell`; its process id."""
    command = ["robot_cell", "--cell", str(cell), *options]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet, env={**os.environ, **(environment or {})})
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def children(pid: int) -> list[int]:
    """Processes that any thread of a process has started, or that it has adopted."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # it has ended
            found.extend(map(int, (thread / "children").read_text().split()))
    return found


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    return [pid, *(member for child in children(pid) for member in family(child))]


def nodes_of(supervisor: int) -> dict[str, list[int]]:
    """The processes of each node, and those of the supervisor itself."""
    found: dict[str, list[int]] = {"supervisor": [supervisor]}
    for child in children(supervisor):
        program = os.fsdecode(Path(f"/proc/{child}/cmdline").read_bytes())
        name = next((f"{node}_node" for node in NODES if f"/{node}_node" in program), "supervisor")
        found[name] = [*found.get(name, []), *family(child)]
    return found


def _sizes(pid: int) -> dict[str, float]:
    """Sizes of a process by the names of the kernel [MB]."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.split(":")[0]: float(line.split()[1]) * 1e-3 for line in lines}


def proportional_memory(pid: int) -> float:
    """Proportional set size [MB]."""
    return _sizes(pid)["Pss"]


def private_memory(pid: int) -> float:
    """Memory that no other process shares [MB]."""
    sizes = _sizes(pid)
    return sizes["Private_Clean"] + sizes["Private_Dirty"]


def idle(results: Results, supervisor: int, name: str = "idle") -> None:
    """Share of a processor [%] and proportional set size [MB] of each node with its children, at rest, and the private
    memory of a planning worker: the cost of a further one."""
    threading.Event().wait(IDLE)
    processes = nodes_of(supervisor)
    before = {node: sum(map(processor_time, pids)) for node, pids in processes.items()}
    threading.Event().wait(IDLE)
    total, memory = 0.0, 0.0
    for node, pids in processes.items():
        share = 100.0 * (sum(map(processor_time, pids)) - before[node]) / IDLE
        used = sum(map(proportional_memory, pids))
        results.add(f"{name}.{node}.processor_percent", share)
        results.add(f"{name}.{node}.memory_mb", used)
        total, memory = total + share, memory + used
    results.add(f"{name}.processor_percent", total)
    results.add(f"{name}.memory_mb", memory)
    planning = processes["planning_node"]
    # Workers are the children of the child that forks them.
    workers = [pid for child in children(planning[0]) for pid in children(child)]
    results.add(f"{name}.planning_worker_memory_mb", float(np.median([private_memory(pid) for pid in workers])))
