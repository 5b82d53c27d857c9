"""Record of a run: a live table, the plans, the executed motions, and a page that replays them."""

from __future__ import annotations

import hashlib
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from robot_cell_planner.msg import ExecutionRecord, JointPath, MotionPlan, SimulationContact

from ...io.common.resources import NO_ROOTS
from ...planning.problem.plan import percent
from ...system.private_files import fresh_folder, write_private_text
from ...viewer import Recorder, write_html
from ..common.scene_monitor import SceneMonitor
from ..conversions.basic import duration_from_message
from ..conversions.models import ModelReader
from ..conversions.plans import certified_fraction_from_message
from .client import CellClient

COLUMNS = (
    ("segment", 24, "<"),
    ("answer [ms]", 11, ">"),
    ("plan [ms]", 9, ">"),
    ("states", 8, ">"),
    ("path [rad]", 11, ">"),
    ("time [s]", 9, ">"),
    ("certified", 9, ">"),
    ("clearance [mm]", 15, ">"),
    ("closest pair", 34, "<"),
)
# Fields that the page shows beside the times, with their headings.
ON_PAGE = {
    "plan [ms]": "plan ms",
    "states": "states",
    "path [rad]": "path rad",
    "certified": "% certified",
    "clearance [mm]": "clear mm",
}
FOLDER = "demo_record"  # of a run that names none
RECORD_RATE = 60.0  # [Hz]
LEAD = 0.5  # [s] shown by the page before the first motion


@dataclass
class SegmentRecord:
    """One line of the table. answer_ms: time from the request to the plan; the first includes the start of nodes and
    workers. planning_ms: sum of the stages of planning. certified_fraction: certified fraction of the path; None
    without sphere models. plan_digest: digest of path and trajectory; equal plans have equal digests."""

    name: str
    start: float
    end: float = 0.0
    answer_ms: float = 0.0
    planning_ms: float = 0.0
    states_checked: int = 0
    path_length: float = 0.0
    duration: float = 0.0
    certified_fraction: float | None = None
    clearance_mm: float = float("nan")
    closest_pair: str = ""
    plan_digest: str = ""
    execution: dict[str, float] = field(default_factory=dict)


class RunRecord:
    """Records the scene and the joints while a script runs, and prints a table.

    folder: destination of record.json, plans.json and replay.html, which replace those of an earlier run; None: a new
    folder, `demo_record` or, if there is one, `demo_record_2` and so on. Times are in seconds since the start of the
    record.
    """

    def __init__(self, client: CellClient, folder: Path | None, seed: int, out: TextIO = sys.stdout) -> None:
        self._client = client
        self._folder = folder
        self._seed = seed
        self._out = out
        self._began = time.monotonic()
        self._recorder = Recorder()
        self._segments: list[SegmentRecord] = []
        self._plans: list[dict[str, Any]] = []
        self._verdict: dict[str, Any] = {}
        self._scene_monitor = SceneMonitor(client.node, ModelReader(NO_ROOTS), joints_rate=RECORD_RATE)
        self._scene_monitor.on_joints(self._on_joints)
        self._print_row([name for name, _, _ in COLUMNS])

    def now(self) -> float:
        """Return the time since the start of the record [s]."""
        return time.monotonic() - self._began

    def _on_joints(self, stamp: int) -> None:
        self._recorder.add(self.now(), self._scene_monitor.current_state())

    def _print_row(self, cells: list[str]) -> None:
        line = "  ".join(f"{cell:{align}{width}}" for cell, (_, width, align) in zip(cells, COLUMNS, strict=True))
        print(line.rstrip(), file=self._out, flush=True)

    def begin(self, name: str, plan: MotionPlan, waited: float) -> SegmentRecord:
        """Start the line of a planned motion before its execution. waited: time of planning [s]."""
        record, clearance = plan.record, plan.record.clearance
        proven = certified_fraction_from_message(record.certificate)
        segment = SegmentRecord(
            name=name,
            start=self.now(),
            answer_ms=1e3 * waited,
            planning_ms=1e3 * sum(stage.seconds for stage in record.times),
            states_checked=record.states_checked,
            path_length=record.path_length,
            duration=duration_from_message(plan.trajectory.points[-1].time_from_start),
            certified_fraction=None if math.isnan(proven) else proven,
            clearance_mm=1e3 * clearance.distance,
            closest_pair=f"{clearance.name_a} - {clearance.name_b}",
            plan_digest=plan_digest(plan),
        )
        self._segments.append(segment)
        self._plans.append(_plain_plan(name, plan))
        return segment

    def end(self, segment: SegmentRecord, execution: ExecutionRecord) -> None:
        """Complete the line of a motion after its execution."""
        segment.end = self.now()
        segment.execution = {
            "commands": execution.commands,
            "late_commands": execution.late_commands,
            "longest_interval_ms": 1e3 * execution.longest_interval,
            "max_tracking_error": execution.max_tracking_error,
            "goal_error": execution.goal_error,
        }
        cells = [
            segment.name,
            f"{segment.answer_ms:.0f}",
            f"{segment.planning_ms:.0f}",
            f"{segment.states_checked}",
            f"{segment.path_length:.2f}",
            f"{segment.duration:.2f}",
            f"{percent(math.nan if segment.certified_fraction is None else segment.certified_fraction)} %",
            f"{segment.clearance_mm:.1f}",
            segment.closest_pair,
        ]
        self._print_row(cells)
        shown = dict(zip((name for name, _, _ in COLUMNS), cells, strict=True))
        facts = {shorter: shown[name].removesuffix(" %") for name, shorter in ON_PAGE.items()}
        self._recorder.segment(segment.name, segment.start, segment.end, facts)

    def step(self, name: str, began: float) -> None:
        """Add a line for a step other than a planned motion, from time `began` [s] to now."""
        self._segments.append(SegmentRecord(name, began, self.now()))
        self._recorder.segment(name, began, self.now())
        self._print_row([name, *[""] * (len(COLUMNS) - 1)])

    def verdict(
        self,
        position: float,
        angle: float,
        contacts: Sequence[SimulationContact],
        unwanted: Sequence[SimulationContact],
        good: bool,
    ) -> None:
        """Print the verdict: distance [m] and angle [rad] from the goal, and the contacts."""
        self._verdict = {
            "position_error_mm": 1e3 * position,
            "angle_error_deg": float(np.degrees(angle)),
            "contacts": [f"{c.name_a} - {c.name_b}" for c in contacts],
            "unwanted_contacts": [f"{c.name_a} - {c.name_b}" for c in unwanted],
            "success": good,
        }
        touched = ", ".join(self._verdict["unwanted_contacts"]) or "none but the grip"
        print(
            f"\nworkpiece: {1e3 * position:.2f} mm and {np.degrees(angle):.2f} degrees from its goal"
            f"\ncontacts:  {touched}"
            f"\nplans:     {self.digest()} (seed {self._seed})"
            f"\nverdict:   {'success' if good else 'FAILED'}",
            file=self._out,
            flush=True,
        )

    def digest(self) -> str:
        """Return the digest of all plans of the run."""
        text = "".join(segment.plan_digest for segment in self._segments)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def write(self) -> None:
        """Write record.json, plans.json and replay.html."""
        content = {
            "seed": self._seed,
            "plans_digest": self.digest(),
            "segments": [asdict(segment) for segment in self._segments],
            "verdict": self._verdict,
        }
        folder = self._folder or fresh_folder(FOLDER)
        write_private_text(folder / "record.json", json.dumps(content, indent=1))
        write_private_text(folder / "plans.json", json.dumps(self._plans))
        cell = self._scene_monitor.scene.cell
        position, angle = self._verdict["position_error_mm"], self._verdict["angle_error_deg"]
        summary = {
            "workpiece": f"{position:.2f} mm, {angle:.2f} degrees off",
            "contacts": ", ".join(self._verdict["unwanted_contacts"]) or "none but the grip",
            "plans": self.digest(),
            "verdict": "success" if self._verdict["success"] else "failed",
        }
        recording = self._recorder.recording(summary).from_first_segment(LEAD)
        page = write_html(folder / "replay.html", cell, recording, cell.name)
        print(f"record:    {folder / 'record.json'}\nreplay:    {page}", file=self._out, flush=True)


def plan_digest(plan: MotionPlan) -> str:
    """Return the digest of path and trajectory of a plan, from all bits of every number."""
    points = plan.trajectory.points
    digest = hashlib.sha256("\n".join((*plan.path.joint_names, *plan.trajectory.joint_names)).encode())
    for values in (
        plan.path.positions,
        [duration_from_message(point.time_from_start) for point in points],
        [point.positions for point in points],
        [point.velocities for point in points],
        [point.accelerations for point in points],
    ):
        digest.update(np.asarray(values, dtype=np.float64).tobytes())
    return digest.hexdigest()[:16]


def _plain_plan(name: str, plan: MotionPlan) -> dict[str, Any]:
    path: JointPath = plan.path
    return {
        "name": name,
        "joint_names": list(path.joint_names),
        "path": np.reshape(path.positions, (-1, len(path.joint_names))).tolist(),
        "planner": plan.record.planner,
        "seed": plan.record.seed,
        "states_checked": plan.record.states_checked,
        "motions_checked": plan.record.motions_checked,
        "times": [duration_from_message(point.time_from_start) for point in plan.trajectory.points],
        "positions": [list(point.positions) for point in plan.trajectory.points],
        "velocities": [list(point.velocities) for point in plan.trajectory.points],
    }
