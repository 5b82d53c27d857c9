"""Random and hostile messages for every service, action and topic of all nodes, over DDS, in processes of their own.

Counted are nodes that died, replies of code 900, replies that did not come in time or hold numbers that are not finite
although their code is 0, and how memory and descriptors of each node grow after the first quarter of the requests.

    make bench AREA=fuzz
    python -m benchmarks.fuzz --requests 10000 --seed 1 --nodes scene_node planning_node
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any

from ament_index_python.packages import get_package_prefix
from builtin_interfaces.msg import Duration
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_parameters

from robot_cell_planner import action, msg, srv
from robot_cell_planner.cell.cell import RobotCell
from robot_cell_planner.cell.cell_file import load_cell
from robot_cell_planner.errors import InternalError, LimitExceededError
from robot_cell_planner.nodes.client import CellClient, goal_of, pose_target
from robot_cell_planner.nodes.conversions.wire_types import to_wire
from robot_cell_planner.nodes.node import SERVICES

from .fuzz_messages import Fuzzer
from .results import Results
from .scene_node import own_domain

PACKAGE = "robot_cell_planner"
ROOT = Path(__file__).resolve().parents[1]
NODES = ("scene_node", "kinematics_node", "collision_node", "planning_node", "execution_node", "simulated_robot_node")
# [s] Time for a reply: what nodes may take for the heaviest requests that they accept, and for waits asked for.
PATIENCE = 40.0
LIMITS = {"kinematics_node": ("ik_timeout:=0.3",), "planning_node": ("time_limit:=1.0",)}
FOLDERS = ("config", "urdf")
INTERNAL = InternalError.code
# Topics that are not attacked: those of actions, and the scene's snapshot, which nodes take over as it is.
UNTOLD = ("/_action/", "/parameter", "/rosout", "/scene/snapshot")


@dataclass
class Findings:
    """What went wrong at a node, each with the request that it was seen at."""

    died: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    not_finite: list[str] = field(default_factory=list)
    requests: int = 0
    messages: int = 0
    slowest: float = 0.0  # [s]
    memory: tuple[float, float] = (0.0, 0.0)  # [MB] after a quarter of the requests, and at the end
    descriptors: tuple[int, int] = (0, 0)

    @property
    def faults(self) -> list[str]:
        return [*self.died, *self.unexpected, *self.late, *self.not_finite]


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
        self.client = CellClient("fuzzer", patience=60.0)

    def start(self, name: str) -> None:
        program = Path(get_package_prefix(PACKAGE), "lib", PACKAGE, name)
        parameters = [f"cell_file:={self.file}"] if name in ("scene_node", "simulated_robot_node") else []
        arguments = [part for entry in (*parameters, *LIMITS.get(name, ())) for part in ("-p", entry)]
        log = (self.folder / f"{name}.log").open("ab")
        command = [str(program), "--ros-args", "--log-level", "error", *arguments]
        self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

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


def memory_of(pid: int) -> float:
    """Resident memory [MB] of a process and those that it started."""
    pages = 0
    for each in (pid, *children_of(pid)):
        try:
            pages += int(Path(f"/proc/{each}/statm").read_text().split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def children_of(pid: int) -> list[int]:
    try:
        own = [
            int(word)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for word in (task / "children").read_text().split()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [*own, *(grandchild for child in own for grandchild in children_of(child))]


def descriptors_of(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def type_of(name: str) -> Any:
    """The class of an interface by its full name, such as "std_msgs/msg/Bool"."""
    package, kind, short = name.split("/")
    return getattr(import_module(f"{package}.{kind}"), short)


def valid_messages(cell: Cell) -> dict[str, list[Any]]:
    """Requests and goals that are met, by the name of their service or action; many faults hide behind first checks."""
    joints = list(cell.model.variables)
    start = [cell.state.configuration[name] for name in joints]
    path = msg.JointPath(joint_names=joints, positions=[*start, *(value + 0.05 for value in start)])
    one = msg.JointPath(joint_names=joints, positions=start)
    target = pose_target("pick")
    change = msg.SceneChange
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    points = [
        JointTrajectoryPoint(positions=row, velocities=[0.0] * len(joints), time_from_start=Duration(sec=second))
        for row, second in ((start, 0), ([value + 0.05 for value in start], 2))
    ]
    trajectory = JointTrajectory(joint_names=joints, points=points)
    body = msg.BodyModel(
        name="new", collision=[msg.Shape(geometry=msg.Geometry(type=msg.Geometry.BOX, dimensions=[0.1] * 3))]
    )
    added = change(operation=change.ADD)
    added.models.bodies = [body]
    changes = [
        added,
        change(operation=change.REMOVE, name="gripper"),
        change(operation=change.REMOVE, name="workpiece"),
        change(operation=change.MOVE, name="workpiece"),
        change(operation=change.ATTACH, name="workpiece", attach_to="gripper/tcp"),
        change(operation=change.GRIP, name="workpiece", attach_to="gripper/tcp"),
        change(operation=change.HIDE, name="bin"),
        change(operation=change.SET_TOUCH, name="workpiece", touch_links=["gripper/left_finger"]),
        change(
            operation=change.SET_JOINTS, configuration=msg.Configuration(joint_names=joints[:2], positions=start[:2])
        ),
        change(operation=change.SET_BASE_POSE, name="arm"),
    ]
    goal = goal_of(targets=[pose_target("above_pick")])
    motion = msg.MotionRequest(goal=goal)
    waypoint = msg.CartesianWaypoint(target=target)
    found: dict[str, list[Any]] = {
        "scene/apply_changes": [
            srv.ApplyChanges.Request(changes=[entry], dry_run=dry) for entry in changes for dry in (False, True)
        ],
        "scene/load_cell": [
            srv.LoadCell.Request(uri=str(cell.file), dry_run=True),
            srv.LoadCell.Request(cell=added.models, mode=1),
        ],
        "scene/wait_for_state": [srv.WaitForState.Request(joint_names=joints[:2])],
        "kinematics/forward_kinematics": [srv.ForwardKinematics.Request(configurations=path, frames=["bin"])],
        "kinematics/inverse_kinematics": [srv.InverseKinematics.Request(targets=[target], seeds=one)],
        "kinematics/lookup_transforms": [srv.LookupTransforms.Request(frames=["bin", "gripper/tcp"])],
        "kinematics/compute_jacobian": [srv.ComputeJacobian.Request(configurations=path)],
        "kinematics/inverse_dynamics": [
            srv.InverseDynamics.Request(
                configurations=one, velocities=[0.1] * len(joints), accelerations=[0.1] * len(joints)
            )
        ],
        "kinematics/forward_dynamics": [
            srv.ForwardDynamics.Request(configurations=one, velocities=[0.1] * len(joints), efforts=[0.1] * len(joints))
        ],
        "kinematics/mass_matrix": [srv.MassMatrix.Request(configurations=one)],
        "collision/check_states": [srv.CheckStates.Request(configurations=path)],
        "collision/check_trajectory": [srv.CheckTrajectory.Request(trajectory=trajectory)],
        "collision/check_targets": [srv.CheckTargets.Request(targets=[target])],
        "collision/compute_clearance": [srv.ComputeClearance.Request(configurations=one)],
        "collision/certify_motion": [
            srv.CertifyMotion.Request(path=path),
            srv.CertifyMotion.Request(trajectory=trajectory),
        ],
        "planning/validate_trajectory": [srv.ValidateTrajectory.Request(trajectory=trajectory)],
        "planning/look_ahead": [srv.ValidateTrajectory.Request(trajectory=trajectory)],
        "planning/check_path": [srv.CheckPath.Request(path=path)],
        "planning/measure_path": [srv.CheckPath.Request(path=path)],
        "planning/time_parameterize": [srv.TimeParameterize.Request(path=path)],
        "planning/plan_motion": [action.PlanMotion.Goal(request=motion)],
        "planning/plan_multistep": [action.PlanMultistep.Goal(steps=[msg.MotionStep(goal=goal)])],
        "planning/plan_cartesian": [action.PlanCartesian.Goal(waypoints=[waypoint])],
        "execution/execute_trajectory": [action.ExecuteTrajectory.Goal(trajectory=trajectory)],
        "execution/move": [action.Move.Goal(request=motion)],
        "execution/set_speed_scale": [srv.SetSpeedScale.Request(scale=1.0)],
        "set_parameters": [_setting(name) for name in ("diagnostics_period", "engine", "time_limit", "nothing")],
    }
    for tool in ("simplify", "tighten", "shortcut", "densify", "reverse"):
        found[f"planning/{tool}_path"] = [srv.ProcessPath.Request(paths=[path])]
    found["planning/concatenate_paths"] = [srv.ProcessPath.Request(paths=[path, path])]
    return found


def _setting(name: str) -> Any:
    from rcl_interfaces.srv import SetParameters

    return SetParameters.Request(
        parameters=[ParameterMessage(name=name, value=ParameterValue(type=3, double_value=1.0))]
    )


class Attack:
    """All that is sent to one node."""

    def __init__(self, cell: Cell, name: str, seed: int) -> None:
        self._cell, self._name, self._seed = cell, name, seed
        self._node = cell.client.node
        self._valid = valid_messages(cell)
        self.findings = Findings()
        self._clients: dict[str, Any] = {}
        found = self._node.get_service_names_and_types_by_node(name, "/")
        self.services = {
            entry: types[0]
            for entry, types in sorted(found)
            if "/_action/" not in entry and "get_type_description" not in entry
        }
        self.actions = {
            entry.removesuffix("/_action/send_goal"): types[0].removesuffix("_SendGoal")
            for entry, types in sorted(found)
            if entry.endswith("/_action/send_goal")
        }
        topics = self._node.get_subscriber_names_and_types_by_node(name, "/")
        self.topics = {entry: types[0] for entry, types in sorted(topics) if not any(map(entry.count, UNTOLD))}
        self._targets = [
            *(("service", *item) for item in self.services.items()),
            *(("action", *item) for item in self.actions.items()),
            *(("topic", *item) for item in self.topics.items()),
        ]

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self._cell.processes[self._name]

    def run(self, requests: int, restart: bool = False) -> Findings:
        """Send that many messages; each interface in its turn."""
        for index in range(requests):
            if index in (requests // 4, requests - 1):
                self._measure(first=index < requests - 1)
            kind, name, type_name = self._targets[index % len(self._targets)]
            fuzzer = Fuzzer(f"{self._seed}/{self._name}/{index}", self._cell.names)
            try:
                getattr(self, f"_{kind}")(fuzzer, name, type_of(type_name), f"{self._name} {index} {name}")
            except (RuntimeError, UnicodeError) as error:  # a message that this process cannot send
                print(f"{name}: {error}", file=sys.stderr)
            if self.process.poll() is not None:
                self.findings.died.append(f"{self._name} {index} {name}: status {self.process.returncode}")
                if not restart:
                    return self.findings
                self._cell.start(self._name)
                self._client("service", *next(iter(self.services.items()))).wait_for_service(60.0)
        return self.findings

    def _measure(self, first: bool) -> None:
        memory, descriptors = memory_of(self.process.pid), descriptors_of(self.process.pid)
        found = self.findings
        found.memory = (memory, memory) if first else (found.memory[0], memory)
        found.descriptors = (descriptors, descriptors) if first else (found.descriptors[0], descriptors)

    def _client(self, kind: str, name: str, type_name: str) -> Any:
        if name not in self._clients:
            interface = type_of(type_name)
            if kind == "service":
                ours = interface.__module__.startswith(PACKAGE)
                profile = SERVICES if ours else qos_profile_parameters
                made: Any = self._node.create_client(interface, name, qos_profile=profile)
            elif kind == "action":
                made = self._cell.client._made(lambda: ActionClient(self._node, interface, name))
            else:
                profile = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
                made = self._node.create_publisher(interface, name, profile)
            self._clients[name] = made
        return self._clients[name]

    def _service(self, fuzzer: Fuzzer, name: str, interface: Any, place: str) -> None:
        valid = self._valid.get(name.lstrip("/"), self._valid.get(name.rpartition("/")[2], ()))
        request = fuzzer.message(interface.Request, valid)
        client = self._client("service", name, self.services[name])
        reply = self._answer(client.call_async(request), place, request)
        if reply is not None:
            self._judge(reply, place, request)

    def _action(self, fuzzer: Fuzzer, name: str, interface: Any, place: str) -> None:
        goal = fuzzer.message(interface.Goal, self._valid.get(name.lstrip("/"), ()))
        client = self._client("action", name, self.actions[name])
        handle = self._answer(self._cell.client.send_goal(client, goal), place, goal)
        if handle is None or not handle.accepted:
            return
        found = self._answer(handle.get_result_async(), place, goal)
        if found is not None:
            self._judge(found.result, place, goal)

    def _topic(self, fuzzer: Fuzzer, name: str, interface: Any, place: str) -> None:
        self._client("topic", name, self.topics[name]).publish(fuzzer.message(interface))
        self.findings.messages += 1

    def _answer(self, future: Any, place: str, request: Any) -> Any:
        """The reply, or None if none came in time; the node may have died meanwhile."""
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        begun = monotonic()
        while not done.wait(0.2) and monotonic() - begun < PATIENCE and self.process.poll() is None:
            pass
        self.findings.requests += 1
        self.findings.slowest = max(self.findings.slowest, monotonic() - begun)
        if not done.is_set() and self.process.poll() is None:
            self.findings.late.append(f"{place}: {_shown(request)}")
        return future.result() if done.is_set() else None

    def _judge(self, reply: Any, place: str, request: Any) -> None:
        error = getattr(reply, "error", None)
        if error is None or not hasattr(error, "code"):
            return
        if error.code == INTERNAL:
            self.findings.unexpected.append(f"{place}: {error.stage}: {error.message[:500]} <- {_shown(request)}")
        if error.code == 0:
            try:
                to_wire(reply)
            except LimitExceededError as fault:
                self.findings.not_finite.append(f"{place}: {fault} <- {_shown(request)}")


def _shown(request: Any) -> str:
    return repr(request)[:600]


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000, help="for each node")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", nargs="*", default=NODES)
    arguments = parser.parse_args()
    results = Results("fuzz", arguments.seed)
    faults: list[str] = []
    with cell_of_nodes() as cell:
        for name in arguments.nodes:
            print(name, flush=True)
            found = Attack(cell, name, arguments.seed).run(arguments.requests, restart=True)
            faults += found.faults
            for what in ("died", "unexpected", "late", "not_finite"):
                results.add(f"{name}.{what}", len(getattr(found, what)))
            results.add(f"{name}.requests", found.requests)
            results.add(f"{name}.messages", found.messages)
            results.add(f"{name}.slowest_s", found.slowest)
            results.add(f"{name}.memory_growth_MB", found.memory[1] - found.memory[0])
            results.add(f"{name}.descriptor_growth", found.descriptors[1] - found.descriptors[0])
            print("\n".join(found.faults), file=sys.stderr, flush=True)
    results.finish()
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
