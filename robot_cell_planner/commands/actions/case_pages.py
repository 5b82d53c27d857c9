"""Pages that show cases: the state, plan, trajectory or executed motion of a request, and its answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from frozendict import frozendict

from ...cases import Case
from ...cases.case import Answer
from ...errors import RobotCellError
from ...kinematics.transforms import world_pose
from ...model.state import RobotCellState
from ...planning.path.look_ahead import LookAheadRequest
from ...planning.problem.plan import Plan
from ...planning.workers.tasks import ValidationRequest
from ...scene.changes import apply_changes
from ...scene.scene import Scene
from ...scene.state_changes import SetJoints
from ...trajectory.tracking import SupervisedMotion
from ...trajectory.trajectory import Trajectory
from ...viewer.page import write_html
from ...viewer.plans import plan_details, plan_recording, times_shown
from ...viewer.recording import Moment, Recorder, Recording

MAX_TEXT = 300  # [characters] of an error on the page


def write_case_page(path: Path, case: Case, answer: Answer) -> Path:
    """Write a page that shows a case. answer: that of the request, now.

    Raises:
        RobotCellError: As of `write_html`.
    """
    title, cell = f"{case.cell.name}: {case.method}", case.cell
    if isinstance(answer, Plan):
        details = plan_details(cell, case.state, answer)
        return write_html(path, cell, plan_recording(case.state, answer), title, **details)
    if isinstance(case.request, SupervisedMotion):
        recording = _measured(case, case.request, answer)
        return write_html(path, cell, recording, title, trajectories={"commanded": case.request.trajectory})
    if isinstance(case.request, ValidationRequest | LookAheadRequest):
        recording = _played(case, case.request.trajectory, answer)
        return write_html(path, cell, recording, title, trajectories={"checked": case.request.trajectory})
    if isinstance(answer, tuple) and all(isinstance(plan, Plan) for plan in answer):
        return write_html(path, cell, _steps(case, answer), title)
    return write_html(path, cell, Recording((Moment(0.0, case.state),), summary=frozendict(_facts(answer))), title)


def _with_joints(case: Case, names: tuple[str, ...], row: list[float]) -> RobotCellState:
    change = SetJoints(dict(zip(names, row, strict=True)))
    return apply_changes(Scene(case.cell, case.state), [change], world_pose).state


def _played(case: Case, trajectory: Trajectory, answer: Answer) -> Recording:
    times = times_shown(trajectory.duration)
    recorder = Recorder()
    for time, row in zip(times.tolist(), trajectory.at(times).tolist(), strict=True):
        recorder.add(time, _with_joints(case, trajectory.variables, row))
    recorder.segment("trajectory", 0.0, float(times[-1]))
    return recorder.recording(_facts(answer))


def _measured(case: Case, motion: SupervisedMotion, answer: Answer) -> Recording:
    """Return the measured joints of a motion, at the times along its trajectory; the trajectory, if none was measured
    on the way."""
    recorder, last, names = Recorder(), 0.0, motion.trajectory.variables
    measured = [row for row in motion.rows() if np.isfinite(row.actual).all()]
    for row in measured:
        last = max(last, row.reached)
        recorder.add(last, _with_joints(case, names, row.actual.tolist()))
    if not last:
        return _played(case, motion.trajectory, answer)
    recorder.segment("measured", measured[0].reached, last)
    return recorder.recording(_facts(answer))


def _steps(case: Case, plans: tuple[Plan, ...]) -> Recording:
    """Return the motions of several steps one after the other, each from where the joints were at the end of those
    before; objects that steps attach stay where they were."""
    recorder, begin, state = Recorder(), 0.0, case.state
    for number, plan in enumerate(plans, start=1):
        found = plan_recording(state, plan)
        state = found.moments[-1].state
        for moment in found.moments:
            recorder.add(begin + moment.time, moment.state)
        recorder.segment(f"step {number}", begin, begin + found.duration)
        begin += found.duration
    return recorder.recording()


def _facts(answer: Answer) -> dict[str, str]:
    if isinstance(answer, RobotCellError):
        return {"error": f"{answer.name}: {answer}"[:MAX_TEXT]}
    return {}
