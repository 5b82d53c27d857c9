"""Batches of planning requests on several executors: plans equal sequential ones, also if a process is killed."""

import os
import signal
import threading
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import count

import msgspec
import numpy as np
import pytest
from frozendict import frozendict

from robot_cell_planner.errors import InvalidRequestError, JointLimitError, RobotCellError, WorkerCrashedError
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.problem.steps import MotionStep, MultistepRequest
from robot_cell_planner.planning.workers import batch
from robot_cell_planner.planning.workers.batch import PlanningJob, local_executor, plan_many

SHIFTS = (0.0, 0.01, 0.02)  # [m] of the base, upwards


def content(plan):
    """The content of a plan without computation times."""
    return plan_to_json(replace(plan, times=()))


@pytest.fixture(scope="module")
def jobs(demo):
    """Motions with several seeds and base poses, one of which is impossible, and a sequence."""
    cell, state = demo
    joints = cell.group().variables
    rng = np.random.default_rng(4)
    found = []
    for number in range(8):
        values = np.array((0.9, -1.4, 1.9, -2.07, -1.57, 0.0)) + rng.uniform(-0.08, 0.08, 6)
        goal = dict(zip(joints, values.tolist(), strict=True))
        robot = next(iter(cell.robots))
        x, y, z = state.base_poses[robot].position
        pose = msgspec.structs.replace(state.base_poses[robot], position=(x, y, z + SHIFTS[number % 3]))
        placed = msgspec.structs.replace(state, base_poses=frozendict({**state.base_poses, robot: pose}))
        options = PlanningOptions(seed=number)
        found.append(PlanningJob(cell, placed, MotionRequest(Goals(joint_goals=(goal,)), options=options)))
    below = dict(zip(joints, (0.0, 1.2, 0.0, 0.0, 0.0, 0.0), strict=True))
    found.insert(3, PlanningJob(cell, state, MotionRequest(Goals(joint_goals=(below,)))))
    steps = tuple(MotionStep(goals=Goals(joint_goals=(dict(job.request.goals.joint_goals[0]),))) for job in found[:2])
    found.append(PlanningJob(cell, state, MultistepRequest(steps)))
    return found


@pytest.fixture(scope="module")
def expected(jobs):
    return [described(outcome) for outcome in plan_many(jobs, InThisThread())]


def described(outcome):
    if outcome.error is not None:
        return type(outcome.error).__name__, str(outcome.error)
    return tuple(content(plan) for plan in outcome.plans)


class InThisThread(Executor):
    """Runs everything at once; breaks at the calls whose numbers are in `broken`."""

    def __init__(self, broken=()):
        self.calls, self.broken = count(), broken

    def submit(self, function, /, *args, **kwargs):
        if next(self.calls) in self.broken:
            raise BrokenExecutor("it is gone")
        future = Future()
        future.set_result(function(*args, **kwargs))
        return future


def test_outcomes_are_those_of_one_by_one(jobs, expected):
    for job, found in zip(jobs[:3], expected[:3], strict=True):
        assert found == (content(plan_motion(*job)),)
    assert expected[3][0] == JointLimitError.__name__
    assert len(expected[-1]) == 2


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_chunks_change_nothing(jobs, expected, chunk):
    assert [described(outcome) for outcome in plan_many(jobs, InThisThread(), chunk=chunk)] == expected


def test_threads_give_the_same_plans(jobs, expected):
    with ThreadPoolExecutor(2) as threads:
        assert [described(outcome) for outcome in plan_many(jobs, threads, chunk=2)] == expected


def test_progress_counts_all_outcomes(jobs):
    reported = []
    assert len(list(plan_many(jobs, InThisThread(), on_progress=reported.append))) == len(jobs)
    assert reported == list(range(1, len(jobs) + 1))


def test_jobs_are_read_as_needed(jobs, monkeypatch):
    monkeypatch.setattr(batch, "MAX_PENDING", 2)
    taken = []

    def generated():
        for number in count():
            taken.append(number)
            yield jobs[3]

    outcomes = plan_many(generated(), InThisThread(), chunk=2)
    for _ in range(5):
        next(outcomes)
    outcomes.close()
    assert len(taken) <= 5 + 2 * 2 + 2


def test_a_broken_executor_fails_its_own_requests(jobs, expected):
    outcomes = list(plan_many(jobs, InThisThread(broken={1}), chunk=2))
    assert [described(outcome) for outcome in outcomes[:2]] == expected[:2]
    assert all(isinstance(outcome.error, WorkerCrashedError) for outcome in outcomes[2:4])
    assert [described(outcome) for outcome in outcomes[4:]] == expected[4:]
    with pytest.raises(RobotCellError, match="it is gone"):
        outcomes[2].plan.duration  # noqa: B018


@pytest.mark.parametrize("chunk", [0, -1, 10_001])
def test_the_size_of_chunks_is_bounded(jobs, chunk):
    with pytest.raises(InvalidRequestError, match="chunk"):
        plan_many(jobs, chunk=chunk)


def test_own_processes_are_replaced_when_one_is_killed(jobs, expected, monkeypatch):
    pids = []

    def watched():
        executor = local_executor(2)
        submit = executor.submit

        def submitted(*args):
            future = submit(*args)
            if not pids:
                pids.append(next(iter(executor._processes)))
                os.kill(pids[0], signal.SIGKILL)
            return future

        executor.submit = submitted
        return executor

    monkeypatch.setattr(batch, "local_executor", watched)
    assert [described(outcome) for outcome in plan_many(jobs, chunk=2)] == expected
    assert pids


class Fatal(MotionRequest):
    """A request that ends the process that reads it."""

    def __reduce__(self):
        return os.abort, ()


def test_a_request_that_ends_its_process_fails_alone(jobs, expected):
    """Requests of the same chunk, and chunks that are planned meanwhile, have their plans."""
    cell, state, request = jobs[0]
    fatal = PlanningJob(cell, state, Fatal(request.goals))
    outcomes = list(plan_many([*jobs[:4], fatal, *jobs[4:]], chunk=3))
    failed = outcomes.pop(4)
    assert isinstance(failed.error, WorkerCrashedError)
    assert "also with no other request" in str(failed.error)
    assert [described(outcome) for outcome in outcomes] == expected


class KilledWorkerError(Exception):
    """As a cluster raises for tasks whose workers have ended."""


class LikeACluster(InThisThread):
    """Fails a task whose request ends its worker, and the first task that waits for that worker."""

    def __init__(self, is_fatal):
        super().__init__()
        self._is_fatal, self.lost = is_fatal, 0

    def submit(self, function, /, chunk):
        ends = any(self._is_fatal(request) for _, _, request in chunk.requests)
        if not ends and self.lost != 1:
            return super().submit(function, chunk)
        self.lost += 1
        future = Future()
        future.set_exception(KilledWorkerError("all workers that tried it have ended"))
        return future


def test_a_request_that_ends_the_workers_of_a_cluster_fails_alone(jobs, expected):
    """The chunk that is submitted after its own is lost with the same worker."""
    fatal = jobs[4].request
    cluster = LikeACluster(lambda request: request is fatal)
    outcomes = list(plan_many(jobs, cluster, chunk=3))
    failed = outcomes.pop(4)
    assert cluster.lost == 3
    assert isinstance(failed.error, WorkerCrashedError)
    assert "also with no other request: KilledWorkerError: all workers" in str(failed.error)
    assert [described(outcome) for outcome in outcomes] == expected[:4] + expected[5:]


def test_jobs_of_a_wrong_type_are_refused_by_their_number(jobs):
    cell, state, request = jobs[0]
    for wrong, text in (
        (5, "job 1 is 5, expected a PlanningJob"),
        (PlanningJob(None, state, request), "cell of job 1 is None, expected a RobotCell"),
        (PlanningJob(cell, state, "home"), "request of job 1 is 'home', expected a MotionRequest or Cart"),
    ):
        with pytest.raises(InvalidRequestError, match=text):
            list(plan_many(iter((jobs[0], wrong)), InThisThread(), chunk=2))


@pytest.mark.parametrize("workers", [0, -1, 10**6])
def test_the_number_of_processes_is_bounded(workers):
    with pytest.raises(InvalidRequestError, match="workers"):
        local_executor(workers)


def test_a_cluster_gives_the_same_although_a_worker_is_killed(jobs, expected):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(host="127.0.0.1", **options) as cluster, distributed.Client(cluster) as client:
        victim = next(iter(cluster.workers.values())).pid
        done = threading.Event()

        def report_progress(number):
            if number == 2:
                os.kill(victim, signal.SIGKILL)
                done.set()

        outcomes = plan_many(jobs, client.get_executor(), chunk=1, on_progress=report_progress)
        assert [described(outcome) for outcome in outcomes] == expected
        assert done.is_set()
