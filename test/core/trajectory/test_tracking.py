"""The supervision of a recorded motion finds violated tolerances, also after a round trip through JSON."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_cell_planner.errors import (
    FeedbackLostError,
    GoalToleranceError,
    InvalidRequestError,
    LimitExceededError,
    RobotCellError,
    StoppedError,
    TrackingError,
    TrajectoryStartError,
)
from robot_cell_planner.model.json_values import from_json, to_json
from robot_cell_planner.trajectory.tracking import (
    AFTER,
    BEFORE,
    Check,
    FaultRecord,
    SupervisedMotion,
    Tolerances,
    TrackingLog,
    TrackingRow,
    supervise,
    supervised,
)
from robot_cell_planner.trajectory.trajectory import Trajectory

JOINTS = ("a", "b")
TRAJECTORY = Trajectory(JOINTS, np.array([0.0, 1.0]), np.array([[0.0, 0.0], [1.0, 2.0]]))
PATH, GOAL = np.array([0.1, 0.2]), np.array([0.01, 0.02])
TOLERANCES = Tolerances(0.05, PATH, np.array([math.inf, 3.0]), GOAL, np.array([0.1, math.inf]), 2.0)
UNKNOWN = np.full(2, math.nan)


def row(check=Check.PATH, error=(0.0, 0.0), speed=UNKNOWN, reached=0.5, age=0.0):
    desired = np.array([0.3, -0.4])
    return TrackingRow(check, 10.0 + reached, reached, age, desired, np.zeros(2), desired + error, np.array(speed))


def record(*rows, **more):
    return supervised(TRAJECTORY, ("tool/a", "b"), TOLERANCES, rows, silence=0.2, lost_after=0.5, **more)


def outcome(motion):
    try:
        return supervise(motion)
    except RobotCellError as error:
        return FaultRecord.of(error)


def through_json(motion):
    return from_json(SupervisedMotion, json.loads(json.dumps(to_json(motion), allow_nan=False)), "motion")


errors = st.floats(-0.5, 0.5)


@given(st.lists(st.tuples(errors, errors), min_size=1, max_size=8))
def test_the_first_row_beyond_the_tolerances_is_the_error(found):
    motion = record(*(row(error=error, reached=0.1 * index) for index, error in enumerate(found)))
    away = np.abs((np.array([0.3, -0.4]) + found) - [0.3, -0.4])
    beyond = np.flatnonzero((away > PATH).any(axis=1))
    if not len(beyond):
        report = supervise(motion)
        assert report.max_error == pytest.approx(away.max())
        assert report.rows == len(found)
        return
    with pytest.raises(TrackingError, match=f"at {0.1 * beyond[0]:.3f} s") as caught:
        supervise(motion)
    worst = int(np.argmax(away[beyond[0]] / PATH))
    assert caught.value.subjects == (("tool/a", "b")[worst],)
    assert caught.value.values[0].value == pytest.approx(away[beyond[0]][worst])
    assert caught.value.values[0].limit == PATH[worst]


FAULTS = {
    "start": ((row(Check.START, (0.0, 0.06)),), TrajectoryStartError, "execution"),
    "path": ((row(), row(error=(0.2, 0.0))), TrackingError, "path tolerance"),
    "speed": ((row(speed=(9.0, 3.5)),), TrackingError, "path tolerance"),
    "goal": ((row(), row(Check.GOAL, (0.0, 0.03), (0.0, 0.0))), GoalToleranceError, "goal tolerance"),
    "speed at the goal": ((row(Check.GOAL, speed=(0.2, 9.0)),), GoalToleranceError, "goal tolerance"),
    "silence at the goal": ((row(Check.GOAL, age=0.3),), FeedbackLostError, "execution"),
    "silence": ((row(), row(Check.FEEDBACK, age=0.6)), FeedbackLostError, "execution"),
    "never measured": ((row(Check.FEEDBACK, UNKNOWN, age=math.inf),), FeedbackLostError, "execution"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_each_violation_is_found_and_restored_from_json(kind):
    rows, expected, stage = FAULTS[kind]
    motion = record(*rows)
    with pytest.raises(expected) as caught:
        supervise(motion)
    assert caught.value.stage == stage
    assert outcome(through_json(motion)) == outcome(motion) == FaultRecord.of(caught.value)


def test_disabled_checks_report_no_violation():
    motion = record(row(Check.NONE, (9.0, 9.0)), row(error=(0.05, 0.0)))
    assert supervise(through_json(motion)).rows == 2


def test_a_recorded_reason_is_reported_unless_a_measurement_violates_tolerances():
    reason = StoppedError("the emergency stop is pressed", stage="emergency stop")
    stopped = record(row(), interruption=FaultRecord.of(reason))
    for motion in (stopped, through_json(stopped)):
        with pytest.raises(StoppedError, match="emergency stop is pressed"):
            supervise(motion)
    with pytest.raises(TrackingError):
        supervise(record(row(error=(0.3, 0.0)), interruption=FaultRecord.of(reason)))


def test_the_latest_rows_before_a_violation_and_the_first_after_it_are_retained():
    log = TrackingLog()
    for number in range(BEFORE + 10):
        log.add(row(reached=float(number)), failed=False)
    for number in range(AFTER + 10):
        log.add(row(Check.NONE, reached=-1.0 - number), failed=True)
    reached = [each.reached for each in log.rows()]
    assert reached[:BEFORE] == list(map(float, range(10, BEFORE + 10)))
    assert reached[BEFORE:] == [-1.0 - number for number in range(AFTER)]
    assert len(record(*log.rows())) == BEFORE + AFTER


def test_a_record_that_does_not_fit_is_refused():
    value = to_json(record(row(), row()))
    for name, changed, error in (
        ("desired", [[0.0, 0.0]], InvalidRequestError),
        ("actual", [[0.0], [0.0]], InvalidRequestError),
        ("ages", [0.0], InvalidRequestError),
        ("joints", ["a"], InvalidRequestError),
        ("tolerances", {**value["tolerances"], "path": [0.1]}, InvalidRequestError),
        ("checks", ["path"] * (BEFORE + AFTER + 1), LimitExceededError),
    ):
        with pytest.raises(error):
            from_json(SupervisedMotion, {**value, name: changed}, "motion")


def test_a_record_without_rows_can_be_written():
    motion = through_json(record())
    assert len(motion) == 0
    assert motion.actual.shape == (0, 2)
    assert supervise(motion).rows == 0
