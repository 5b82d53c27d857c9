"""The nodes of a cell in processes of their own, with their memory and descriptors."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_prefix

from robot_cell_planner import msg, srv
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.nodes.client.client import CellClient
from robot_cell_planner.nodes.common.node import LATCHED
from robot_cell_planner.nodes.conversions.basic import duration_from_message

from ..scene_node import own_domain

PACKAGE = "robot_cell_planner"
ROOT = Path(__file__).resolve().parents[2]
NODES = (
    "scene_node",
    "kinematics_node",
    "collision_node",
    "planning_node",
    "execution_node",
    "simulated_robot_node",
    "moveit_adapter_node",
)
LIMITS = {"kinematics_node": ("ik_timeout:=0.3",), "planning_node": ("time_limit:=1.0",)}
FOLDERS = ("config", "urdf")


@dataclass(frozen=True)
class Usage:
    """Memory [MB] of a process and of those that it started (workers), shared memory divided among them; open
    descriptors of the process itself, and how many it started."""

    memory: float
    workers_memory: float
    descriptors: int
    workers: int

    @classmethod
    def of(cls, pid: int) -> Usage:
        started = _children_of(pid)
        of_workers = sum(map(_proportional_memory, started))
        return cls(_proportional_memory(pid), of_workers, len(list(Path(f"/proc/{pid}/fd").iterdir())), len(started))


def _proportional_memory(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024e-6


def _children_of(pid: int) -> list[int]:
    try:
        own = [
            int(word)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for word in (task / "children").read_text().split()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [*own, *(grandchild for child in own for grandchild in _children_of(child))]


class Cell:
    """The nodes of a cell in a folder of their own, and a client."""

    def __init__(self, folder: Path) -> None:
        for name in FOLDERS:
            shutil.copytree(ROOT / name, folder / name)
        shutil.copy(ROOT / "package.xml", folder)
        self.folder = folder
        self.file = folder / "config" / "demo" / "cell.yaml"
        self.model, self.state = load_cell(self.file)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.client = CellClient("fuzzer", discovery_timeout=60.0)
        self.status = msg.ExecutionStatus()
        self.client.node.create_subscription(msg.ExecutionStatus, "execution/status", self._take_status, LATCHED)

    def _take_status(self, status: Any) -> None:
        self.status = status

    def start(self, name: str) -> None:
        program = Path(get_package_prefix(PACKAGE), "lib", PACKAGE, name)
        parameters = [f"cell_file:={self.file}"] if name in ("scene_node", "simulated_robot_node") else []
        arguments = [part for entry in (*parameters, *LIMITS.get(name, ())) for part in ("-p", entry)]
        log = (self.folder / f"{name}.log").open("ab")
        command = [str(program), "--ros-args", "--log-level", "error", *arguments]
        self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def usage(self, name: str) -> Usage:
        return Usage.of(self.processes[name].pid)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def is_held_up(self, patience: float) -> bool:
        """Whether a motion is paused, or has longer than that to go at its present speed [s]."""
        status = self.status
        slow = status.state == status.MOVING and duration_from_message(status.remaining) > patience
        return bool(slow or status.state == status.PAUSED)

    def at_full_speed(self) -> None:
        """Motions that follow run at their full speed."""
        self.client.call_service(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.0))

    def close(self) -> None:
        self.client.close()
        for process in self.processes.values():
            process.send_signal(signal.SIGINT)
        for process in self.processes.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()

    @property
    def names(self) -> list[str]:
        """Names that requests are likely to hit."""
        cell: RobotCell = self.model
        found = [*cell.robots, *cell.tools, *cell.bodies, *cell.frames, *cell.variables, *cell.mechanism_frames]
        found += [name for robot in cell.robots.values() for name in (*robot.groups, *robot.named_states)]
        return [*found, "world", "gripper/finger_joint", "finger_joint", "RRTConnect", "coal", "bullet"]


@contextmanager
def cell_of_nodes() -> Iterator[Cell]:
    """All nodes, in a domain and a folder of their own."""
    with own_domain(), tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        cell = Cell(Path(folder))
        try:
            for name in NODES:
                cell.start(name)
            cell.client.scene()
            yield cell
        finally:
            cell.close()
