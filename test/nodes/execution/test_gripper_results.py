"""Results of grippers contain the measurement by which a goal was reached: a later one can be out of the tolerance, as
that of fingers that overshoot."""

import asyncio
import contextlib
from types import SimpleNamespace

import numpy as np
import pytest
from control_msgs.action import GripperCommand, ParallelGripperCommand
from sensor_msgs.msg import JointState

from robot_cell_planner.action import MoveGripper
from robot_cell_planner.errors import FeedbackLostError
from robot_cell_planner.nodes.common.cancellation import CancellationToken
from robot_cell_planner.nodes.common.joint_states import Measurement
from robot_cell_planner.nodes.execution.gripper import GripperMotion, GripperOptions, GripperServer

FINGER = "finger_joint"
OPTIONS = GripperOptions(FINGER, 0.0, 0.04, 0.1, 1.0, 10.0, 0.001, 0.001, 1.0, 1.0, 10.0, allow_stalling=True)
GOAL = 0.02


def measured(position, effort=0.0, arrival=1.0):
    return Measurement(position, 0.0, effort, 1, arrival, 0.0)


def feedback_of(measurement, lagging=None):
    return SimpleNamespace(get=lambda _: measurement, age=lambda *_: 0.0, lagging=lambda *_: lagging)


def motion_that_measures(*positions):
    """A motion after the end of its commands that has checked measurements, and whether each ended it."""
    motion = object.__new__(GripperMotion)
    motion._options, motion.final, motion.stalled, motion._held = OPTIONS, None, False, False
    motion.goal = SimpleNamespace(joints=(FINGER,), trajectory=SimpleNamespace(positions=np.array([[GOAL]])))
    motion.channel = SimpleNamespace(ended=True, ended_at=0.0, awaits_resume=False)
    motion.account = SimpleNamespace(goal_error=0.0)
    motion._timeouts = SimpleNamespace(lost_after=10.0, silence=1.0)
    motion.tracking = lambda: SimpleNamespace(stamp=1)
    motion._rest = motion._is_late = lambda *_: False
    motion._has_stalled = lambda *_: False
    ended = []
    motion._finish = lambda: ended.append(motion.final)
    for position in positions:
        motion._feedback = feedback_of(measured(position))
        motion._check_feedback()
    return motion, ended


def test_a_motion_keeps_the_measurement_that_ended_it():
    motion, ended = motion_that_measures(0.03, 0.0205)
    assert motion.reached_goal
    assert ended == [measured(0.0205)]


def test_a_motion_that_goes_on_has_none():
    motion, ended = motion_that_measures(0.03, 0.025)
    assert (motion.reached_goal, motion.final, ended) == (False, None, [])


def test_a_motion_ends_if_the_stamps_of_joint_states_lag():
    motion, ended = motion_that_measures()
    reason, stopped = FeedbackLostError("the stamps lag"), []
    motion.stop = stopped.append
    motion._feedback = feedback_of(measured(0.0205), reason)
    motion._check_feedback()
    assert (stopped, ended) == ([reason], [])


def server_of(motion):
    """A server whose motions end as one that was made, and measure another position afterwards."""

    async def ready(token):
        pass

    async def run(*_):
        return SimpleNamespace(motion=motion, check=lambda: None)

    server = object.__new__(GripperServer)
    server._configured, server._waiting, server._period, server._node = OPTIONS, None, 0.01, None
    server._access = SimpleNamespace(claims=(), acquired_by=lambda *_: contextlib.nullcontext())
    server._runner = SimpleNamespace(ready=ready, run=run, start_positions=lambda joints: {FINGER: 0.04})
    server._feedback = SimpleNamespace(names=(FINGER,), get=lambda _: measured(0.0186, 5.0))
    return server


@pytest.mark.parametrize("is_final", [True, False])
def test_the_result_contains_it(is_final):
    motion, _ = motion_that_measures(0.0205)
    if not is_final:
        motion.final = None
    expected = (0.0205, 0.0) if is_final else (0.0186, 5.0)
    server, token = server_of(motion), CancellationToken()
    parallel, command, move = ParallelGripperCommand.Result(), GripperCommand.Result(), MoveGripper.Result()
    goal = ParallelGripperCommand.Goal(command=JointState(position=[GOAL]))
    asyncio.run(server._carry_out_parallel(goal, None, token, parallel))
    asyncio.run(server._carry_out_command(GripperCommand.Goal(), None, token, command))
    asyncio.run(server._carry_out(MoveGripper.Goal(position=GOAL), None, token, move))
    assert (list(parallel.state.position), list(parallel.state.effort)) == ([expected[0]], [expected[1]])
    assert list(parallel.state.name) == [FINGER]
    for result in (parallel, command, move):
        assert result.reached_goal
    for result in (command, move):
        assert (result.position, result.effort) == expected
