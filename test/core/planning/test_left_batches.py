"""Batches whose iterator is left early: jobs that have not begun are cancelled, running ones stop, nobody waits."""

import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import count

import pytest
from planning_cells import wall_with_gap

from robot_cell_planner.errors import CancelledError, NotConnectedError, TimedOutError
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.workers import batch
from robot_cell_planner.planning.workers.batch import PlanningJob, local_executor, plan_many

BEHIND_THE_WALL = Goals(joint_goals=({"x": 0.8, "y": 0.0},))
MAX_POLLS = 20_000_000  # of a job that nobody stops


def job(states):
    """A motion through a closed wall: it ends after a number of states, or when it is stopped."""
    options = PlanningOptions(seed=1, planner="RRTConnect", state_limit=states)
    return PlanningJob(*wall_with_gap(0.0), MotionRequest(BEHIND_THE_WALL, options=options, timing=None))


JOBS = (job(100), *(job(2_000_000) for _ in range(8)))


class Recording(Executor):
    """Records the futures of another executor."""

    def __init__(self, executor):
        self.executor, self.futures = executor, []

    def submit(self, function, /, *args, **kwargs):
        self.futures.append(self.executor.submit(function, *args, **kwargs))
        return self.futures[-1]


class OneThenNone(Executor):
    """Runs the first chunk at once; all others run for ever."""

    def __init__(self):
        self.numbers, self.shutdowns = count(), []

    def submit(self, function, /, *args, **kwargs):
        future = Future()
        future.set_running_or_notify_cancel()
        if next(self.numbers) == 0:
            future.set_result(function(*args, **kwargs))
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.shutdowns.append((wait, cancel_futures))


class Polling:
    """Takes the place of `plan_motion`: the first jobs end at once, others run until they are stopped."""

    def __init__(self, at_once=1):
        self.at_once = at_once
        self.calls, self.begun, self.stopped = count(), threading.Event(), []

    def __call__(self, cell, state, request, *, cancelled=lambda: False):
        if next(self.calls) < self.at_once:
            raise TimedOutError("at once")
        self.begun.set()
        self.stopped.append(any(cancelled() for _ in range(MAX_POLLS)))
        raise CancelledError("stopped")


def closed(outcomes):
    outcomes.close()


def failed(outcomes):
    with pytest.raises(KeyError):
        outcomes.throw(KeyError("elsewhere"))


@pytest.mark.parametrize("leave", [closed, failed])
def test_running_jobs_are_requested_to_stop(monkeypatch, leave):
    motions = Polling()
    monkeypatch.setattr(batch, "plan_motion", motions)
    with ThreadPoolExecutor(1) as threads:
        executor = Recording(threads)
        outcomes = plan_many(JOBS, executor, chunk=1)
        next(outcomes)
        motions.begun.wait()
        leave(outcomes)
    assert motions.stopped == [True]
    assert all(future.cancelled() for future in executor.futures[2:])


def test_a_chunk_that_is_stopped_begins_no_other_request(monkeypatch):
    motions = Polling(at_once=2)
    monkeypatch.setattr(batch, "plan_motion", motions)
    with ThreadPoolExecutor(1) as threads:
        outcomes = plan_many(JOBS[:4], threads, chunk=2)
        next(outcomes)
        motions.begun.wait()
        outcomes.close()
    assert motions.stopped == [True]


def test_jobs_in_other_processes_stop():
    with local_executor(1) as processes:
        executor = Recording(processes)
        outcomes = plan_many(JOBS, executor, chunk=1)
        assert isinstance(next(outcomes).error, NotConnectedError)
        outcomes.close()
    ends = [future.result()[0].error for future in executor.futures[1:] if not future.cancelled()]
    assert ends
    assert all(isinstance(error, CancelledError) for error in ends)
    assert any(future.cancelled() for future in executor.futures)


def test_the_flag_of_one_call_does_not_stop_another():
    with local_executor(1) as processes:
        left, other = plan_many(JOBS, processes, chunk=1), plan_many(JOBS[:1] * 3, processes, chunk=2)
        expected = str(next(left).error)
        left.close()
        assert [str(outcome.error) for outcome in other] == [expected] * 3


def test_own_processes_are_not_waited_for_while_they_run(monkeypatch):
    executor = OneThenNone()
    monkeypatch.setattr(batch, "local_executor", lambda: executor)
    outcomes = plan_many(JOBS, chunk=1)
    next(outcomes)
    outcomes.close()
    assert executor.shutdowns == [(False, True)]


def test_own_processes_have_ended_after_the_last_outcome(monkeypatch):
    executor = OneThenNone()
    monkeypatch.setattr(batch, "local_executor", lambda: executor)
    assert len(list(plan_many(JOBS[:1], chunk=1))) == 1
    assert executor.shutdowns == [(True, True)]
