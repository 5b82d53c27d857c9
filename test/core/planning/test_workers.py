"""Worker processes: results equal those of single requests, limits are obeyed, and killed workers are replaced."""

import contextlib
import os
import queue
import random
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from frozendict import frozendict
from msgspec.structs import replace
from planning_cells import wall_with_gap

from robot_cell_planner.collision.certification import joint_tree
from robot_cell_planner.collision.certification import sphere_tree as sphere_tree
from robot_cell_planner.collision.sphere_model import approximation
from robot_cell_planner.errors import CancelledError, InternalError, RobotCellError, TimedOutError, WorkerCrashedError
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.plan_file import plan_to_json
from robot_cell_planner.planning.problem.progress import Progress
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.workers import pool as pool_module
from robot_cell_planner.planning.workers import process, tasks
from robot_cell_planner.planning.workers.handle import Worker
from robot_cell_planner.planning.workers.pool import WorkerPool
from robot_cell_planner.planning.workers.preparation import prepare
from robot_cell_planner.planning.workers.preparation_turns import PreparationTurns
from robot_cell_planner.planning.workers.process import End, TaskControl
from robot_cell_planner.scene.scene import Scene

SCENE = Scene(*wall_with_gap())
MAKERS = (sphere_tree._made, joint_tree.chain_bounds, approximation.approximate)


@pytest.fixture(scope="module")
def pool():
    pool = WorkerPool(2, preload=("robot_cell_planner.planning.workers.preload",))
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def single():
    pool = WorkerPool(1)
    yield pool
    pool.close()


class Ended:
    """Waits for the end of a job."""

    def __init__(self, pool, task, request=None, time_limit=0.0, scene=SCENE):
        self.ends = queue.Queue()
        self.progress = queue.Queue()
        self.job = pool.submit(
            task,
            scene,
            request,
            time_limit=time_limit,
            on_done=lambda *end: self.ends.put(end),
            on_progress=self.progress.put,
        )

    def wait(self):
        return self.ends.get(timeout=200)


def request(seed):
    return MotionRequest(Goals(joint_goals=({"x": 0.8, "y": 0.0},)), options=PlanningOptions(seed=seed), timing=None)


def test_requests_at_once_equal_the_same_ones_alone(pool):
    ends = [Ended(pool, tasks.PLAN_MOTION, request(seed)) for seed in range(6)]
    for seed, end in enumerate(ends):
        result, error = end.wait()
        assert error is None
        alone = plan_motion(*wall_with_gap(), request(seed))
        assert plan_to_json(result, repeatable=True) == plan_to_json(alone, repeatable=True)


def test_feedback_of_a_long_request_names_its_stage(pool):
    options = PlanningOptions(seed=1, improvement_states=100_000, state_limit=200_000)
    goals = Goals(joint_goals=({"x": 0.8, "y": 0.0},))
    end = Ended(pool, tasks.PLAN_MOTION, MotionRequest(goals, options=options, timing=None))
    end.wait()
    stages = [end.progress.get().stage for _ in range(end.progress.qsize())]
    assert "optimize" in stages


def test_reports_are_sent_at_each_step_and_otherwise_at_intervals(monkeypatch):
    now = [10.0]
    monkeypatch.setattr(process.time, "monotonic", lambda: now[0])
    sent = []
    pipe = SimpleNamespace(send=lambda message: sent.append(message[1]))
    reports = process._Reports(pipe)
    for after, step in ((0.01, 0), (0.04, 0), (0.06, 0), (0.07, 0), (0.08, 1), (0.09, 1), (0.14, 1)):
        now[0] = 10.0 + after
        reports(Progress(f"{after}", step=step))
    assert [progress.stage for progress in sent] == ["0.06", "0.08", "0.14"]
    reports("what a task says otherwise")
    assert sent[-1] == "what a task says otherwise"


def test_states_are_sent_with_their_cells(pool):
    for x in np.linspace(-0.9, -0.5, 7):
        state = SCENE.state.with_configuration({"x": float(x)})
        configuration, echoed = pool.run("worker_tasks:echo", Scene(SCENE.cell, state), x)
        assert configuration["x"] == echoed == x


def test_errors_are_returned_as_they_were_raised(pool):
    bad = MotionRequest(Goals(joint_goals=({"x": 3.0},)))
    with pytest.raises(RobotCellError, match="beyond limits") as caught:
        pool.run(tasks.PLAN_MOTION, SCENE, bad)
    assert caught.value.values[0].limit == 1.0
    with pytest.raises(InternalError, match="ValueError: what a task must not raise"):
        pool.run("worker_tasks:fail", SCENE, None)


def test_a_crash_fails_its_request_only(pool):
    with pytest.raises(WorkerCrashedError, match="status -11"):
        pool.run("worker_tasks:crash", SCENE, None)
    assert pool.run("worker_tasks:echo", SCENE, 5)[1] == 5


@pytest.mark.parametrize("task", ["hang", "chatter"])
def test_an_unresponsive_task_is_ended_by_a_cancellation(single, task):
    end = Ended(single, f"worker_tasks:{task}")
    end.progress.get(timeout=200)
    end.job.cancel()
    assert isinstance(end.wait()[1], CancelledError)
    assert single.run("worker_tasks:echo", SCENE, 5)[1] == 5


@pytest.mark.parametrize("task", ["hang", "chatter"])
def test_an_unresponsive_task_is_ended_by_its_time_limit(single, task):
    error = Ended(single, f"worker_tasks:{task}", time_limit=0.2).wait()[1]
    assert isinstance(error, TimedOutError)
    assert error.values[0].limit == 0.2
    assert single.run("worker_tasks:echo", SCENE, 5)[1] == 5


def test_a_responsive_task_is_cancelled(single):
    end = Ended(single, "worker_tasks:obey")
    end.job.cancel()
    error = end.wait()[1]
    assert isinstance(error, CancelledError)


def test_a_request_that_waits_is_cancelled_at_once(single):
    busy = Ended(single, "worker_tasks:hang")
    busy.progress.get(timeout=200)
    waiting = Ended(single, "worker_tasks:echo", 1)
    waiting.job.cancel()
    assert "waited for a worker" in waiting.wait()[1].message
    limited = Ended(single, "worker_tasks:echo", 1, time_limit=0.05)
    assert isinstance(limited.wait()[1], TimedOutError)
    assert busy.ends.empty()
    busy.job.cancel()
    busy.wait()
    assert single.run("worker_tasks:echo", SCENE, 7)[1] == 7


def children():
    """Processes that the server of workers forked."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            found.append((int(entry), parent))
    servers = {pid for pid, parent in found if parent == os.getpid()}
    return [pid for pid, parent in found if parent in servers]


def other_scene():
    """A cell without the wall."""
    cell, _ = wall_with_gap()
    cell = replace(cell, bodies=frozendict())
    return Scene(cell, cell.default_state())


@contextlib.contextmanager
def preparing(task, size=1):
    pool = WorkerPool(size, preparation=f"worker_tasks:{task}")
    try:
        yield pool
    finally:
        pool.close()


def test_a_worker_is_prepared_once_for_each_cell_before_its_first_job():
    first, second = SCENE.cell.digest_with_places(), other_scene().cell.digest_with_places()
    with preparing("prepare") as pool:
        assert pool.workers_prepared(first) == (0, 1)
        assert pool.run("worker_tasks:prepared", SCENE, None)[1] == [first]
        assert pool.run("worker_tasks:prepared", SCENE, None)[1] == [first]
        assert pool.workers_prepared(first) == (1, 1)
        assert pool.run("worker_tasks:prepared", other_scene(), None)[1] == [first, second]


def wait_until_idle(pool):
    while not pool._jobs._idle:
        threading.Event().wait(0.001)


def test_a_job_is_sent_by_its_caller_if_a_prepared_worker_is_idle(monkeypatch):
    """A thread of the pool would wait for the interpreter."""
    senders, send = [], Worker._send

    def note(worker, task, *arguments):
        is_sent = send(worker, task, *arguments)
        if is_sent:
            senders.append((task, threading.current_thread() is threading.main_thread()))
        return is_sent

    monkeypatch.setattr(Worker, "_send", note)
    with preparing("prepare") as pool:
        assert pool.run("worker_tasks:echo", SCENE, 1)[1] == 1  # there was no worker yet
        wait_until_idle(pool)
        assert pool.run("worker_tasks:echo", SCENE, 2)[1] == 2
        wait_until_idle(pool)
        assert pool.run("worker_tasks:echo", other_scene(), 3)[1] == 3  # it is prepared before
    prepare, echo = "worker_tasks:prepare", "worker_tasks:echo"
    assert senders == [(prepare, False), (echo, False), (echo, True), (prepare, False), (echo, False)]


def test_a_caller_does_not_wait_for_a_worker_that_does_not_read():
    """A request larger than the buffer of a connection is sent by a thread of the pool."""
    with preparing("prepare") as pool:
        for size in (1, 60_000, 10_000_000):
            pid, _ = pool.run("worker_tasks:prepared", SCENE, None)
            wait_until_idle(pool)
            os.kill(pid, signal.SIGSTOP)
            end = Ended(pool, "worker_tasks:echo", bytes(size))
            assert end.ends.empty()
            os.kill(pid, signal.SIGKILL if size > 1 else signal.SIGCONT)
            assert isinstance(end.wait()[1], WorkerCrashedError | type(None))


def test_a_job_that_cannot_be_sent_at_once_is_sent_by_the_pool_to_another_worker(monkeypatch):
    with preparing("prepare") as pool:
        before, _ = pool.run("worker_tasks:prepared", SCENE, None)
        wait_until_idle(pool)
        (slot,) = pool._jobs._idle
        os.kill(before, signal.SIGKILL)
        slot.worker.process.join()
        lives, answers = Worker.alive.fget, iter((True,))  # its end is not detected at first
        monkeypatch.setattr(Worker, "alive", property(lambda worker: next(answers, False) or lives(worker)))
        after, _ = pool.run("worker_tasks:prepared", SCENE, None)
        assert after != before


def test_a_replacement_of_a_killed_worker_is_prepared_before_its_first_job():
    with preparing("prepare") as pool:
        before, _ = pool.run("worker_tasks:prepared", SCENE, None)
        for task in ("crash", "hang"):
            end = Ended(pool, f"worker_tasks:{task}", time_limit=0.2)
            assert isinstance(end.wait()[1], WorkerCrashedError | TimedOutError)
            after, cells = pool.run("worker_tasks:prepared", SCENE, None)
            assert after != before
            assert cells == [SCENE.cell.digest_with_places()]
            before = after


def stopped_children():
    """The processes of suspended workers."""
    found = []
    for pid in children():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
            if file.read().rpartition(")")[2].split()[0] == "T":
                found.append(pid)
    return found


def stopped_child():
    """The process of a suspended worker."""
    for _ in range(100_000):
        if found := stopped_children():
            return found[0]
    raise AssertionError("no worker stands still")


def test_a_job_that_ends_during_preparation_does_not_end_the_worker():
    with preparing("prepare_when_continued") as pool:
        cancelled = Ended(pool, "worker_tasks:prepared")
        worker = stopped_child()
        cancelled.job.cancel()
        assert isinstance(cancelled.wait()[1], CancelledError)
        limited = Ended(pool, "worker_tasks:prepared", time_limit=0.05)
        assert isinstance(limited.wait()[1], TimedOutError)
        # Both have ended while the worker was suspended; it continues its preparation, and takes the next job.
        assert stopped_child() == worker
        served = Ended(pool, "worker_tasks:prepared")
        os.kill(worker, signal.SIGCONT)
        assert served.wait() == ((worker, [SCENE.cell.digest_with_places()]), None)


def test_a_job_whose_worker_is_being_prepared_ends_when_the_pool_closes(monkeypatch):
    """It neither gets a result nor another worker."""
    pools, fork = [], WorkerPool._fork
    monkeypatch.setattr(WorkerPool, "_fork", lambda pool: pools.append(pool) or fork(pool))
    with preparing("prepare_when_continued") as pool:
        ended = Ended(pool, "worker_tasks:prepared")
        stopped_child()
        pool.close()
        assert isinstance(ended.wait()[1], CancelledError)
        assert pools.count(pool) == 1


def test_workers_prepare_for_a_scene_that_they_receive():
    with preparing("prepare_when_continued") as pool:
        pool.prepare(SCENE)
        worker = stopped_child()
        os.kill(worker, signal.SIGCONT)
        assert pool.run("worker_tasks:prepared", SCENE, None) == (worker, [SCENE.cell.digest_with_places()])
        for _ in range(10):
            pool.prepare(SCENE)
        assert pool.run("worker_tasks:prepared", SCENE, None) == (worker, [SCENE.cell.digest_with_places()])


def test_workers_prepare_in_turn_so_that_the_first_is_ready_sooner(monkeypatch):
    monkeypatch.setattr(pool_module, "TURNS", PreparationTurns(1))
    with preparing("prepare_when_continued", size=2) as pool:
        pool.prepare(SCENE)
        first = stopped_child()
        while len(children()) < 2:
            pass
        assert all(stopped_children() == [first] for _ in range(2000))
        os.kill(first, signal.SIGCONT)
        assert pool.run("worker_tasks:prepared", SCENE, None) == (first, [SCENE.cell.digest_with_places()])
        second = stopped_child()
        assert second != first
        os.kill(second, signal.SIGCONT)


def test_pools_prepare_in_turn_and_for_a_job_at_once(monkeypatch):
    monkeypatch.setattr(pool_module, "TURNS", PreparationTurns(1))
    with preparing("prepare_when_continued") as pool, preparing("prepare_when_continued") as other:
        pool.prepare(SCENE)
        first = stopped_child()
        other.prepare(SCENE)
        while len(children()) < 2:
            pass
        assert all(stopped_children() == [first] for _ in range(2000))
        ended = Ended(other, "worker_tasks:prepared")
        while len(stopped_children()) < 2:
            pass
        (second,) = set(stopped_children()) - {first}
        os.kill(second, signal.SIGCONT)
        assert ended.wait() == ((second, [SCENE.cell.digest_with_places()]), None)
        os.kill(first, signal.SIGCONT)


def test_a_preparation_that_kills_its_worker_is_reported_by_the_job():
    with preparing("prepare_badly") as pool:
        assert pool.run("worker_tasks:prepared", SCENE, None)[1] == []


def test_a_request_for_a_prepared_cell_computes_nothing_again():
    cell, state = wall_with_gap()
    prepare(Scene(cell, state), None, TaskControl(lambda progress: None, lambda: End.NOT_YET))
    made = [maker.cache_info().misses for maker in MAKERS]
    # As in a worker: the state of each request is another object.
    plan_motion(cell, state.with_configuration(state.configuration), request(1))
    assert [maker.cache_info().misses for maker in MAKERS] == made


def test_workers_killed_at_random_moments_are_replaced(pool):
    rng = random.Random(4)
    stop = threading.Event()
    kills = []

    def kill():
        try:
            while not stop.wait(rng.uniform(0.0, 0.06)) and len(kills) < 100:
                mine = children()
                with contextlib.suppress(ProcessLookupError, IndexError):  # there is none, or it has ended since
                    kills.append(rng.choice(mine))
                    os.kill(kills[-1], signal.SIGKILL)
        finally:
            stop.set()

    killer = threading.Thread(target=kill)
    killer.start()
    outcomes = []
    while not stop.is_set():
        ends = [Ended(pool, tasks.PLAN_MOTION, request(seed)) for seed in range(4)]
        for seed, end in enumerate(ends):
            result, error = end.wait()
            assert (result is None) != (error is None)
            assert error is None or isinstance(error, WorkerCrashedError)
            outcomes.append((seed, None if result is None else result.path.tobytes()))
    killer.join()
    assert len(kills) == 100
    # Equal requests that succeeded have equal results, whichever workers were killed.
    assert len({outcome for outcome in outcomes if outcome[1] is not None}) <= 4
    assert pool.run("worker_tasks:echo", SCENE, 9)[1] == 9


def test_the_time_that_workers_take_to_start_is_not_counted():
    started = threading.Event()

    class Slow(WorkerPool):
        def _fork(self):
            started.wait()
            return super()._fork()

    slow = Slow(1)
    try:
        waiting = Ended(slow, "worker_tasks:echo", "hello", time_limit=10.0)
        waiting.job.started -= 100.0  # as if it had waited that long
        started.set()
        result, error = waiting.wait()
        assert error is None
        assert result[1] == "hello"
    finally:
        slow.close()


def test_requests_have_a_lower_priority_than_their_preparation():
    pool = WorkerPool(1, niceness=3, preparation="worker_tasks:prepare_and_note_niceness")
    try:
        ours = os.nice(0)
        assert pool.run("worker_tasks:niceness", SCENE, None) == (ours, ours + 3)
        assert pool.run("worker_tasks:niceness", SCENE, None) == (ours, ours + 3)
    finally:
        pool.close()
