"""Faults around worker processes: too few descriptors, no memory, servers and owners that are killed, bad callers."""

import contextlib
import errno
import os
import queue
import resource
import select
import signal
import subprocess
import sys
import threading
import time

import pytest
from folders import SUPPORT
from planning_cells import wall_with_gap

from robot_cell_planner.errors import (
    CancelledError,
    InternalError,
    LimitExceededError,
    TimedOutError,
    WorkerCrashedError,
)
from robot_cell_planner.planning.workers import handle
from robot_cell_planner.planning.workers.handle import NoWorkerError, start_worker
from robot_cell_planner.planning.workers.pool import WorkerPool
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.system.alarm import FEWEST_TO_CLEAR, Alarm

SCENE = Scene(*wall_with_gap())
WAIT = 200.0


@pytest.fixture(scope="module")
def single():
    pool = WorkerPool(1)
    yield pool
    pool.close()


def descriptors():
    return sorted(int(name) for name in os.listdir("/proc/self/fd"))


def submit(pool, task, request=None, time_limit=0.0, on_progress=lambda progress: None):
    ends = queue.Queue()
    job = pool.submit(
        f"worker_tasks:{task}",
        SCENE,
        request,
        time_limit=time_limit,
        on_done=lambda *end: ends.put(end),
        on_progress=on_progress,
    )
    return job, ends


@contextlib.contextmanager
def max_descriptors(limit):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_jobs_keep_no_descriptors(single):
    single.run("worker_tasks:echo", SCENE, 0, time_limit=600.0)
    before = descriptors()
    with max_descriptors(before[-1] + 30):
        for count in range(600):
            assert single.run("worker_tasks:echo", SCENE, count, time_limit=600.0)[1] == count
        assert len(descriptors()) <= len(before)


def test_jobs_that_wait_or_are_cancelled_keep_no_descriptors(single):
    single.run("worker_tasks:echo", SCENE, 0)
    before = descriptors()
    with max_descriptors(before[-1] + 30):
        busy, ended = submit(single, "hang", time_limit=600.0)
        waiting = [submit(single, "echo", time_limit=600.0) for _ in range(300)]
        for job, ends in waiting:
            job.cancel()
            assert isinstance(ends.get(timeout=WAIT)[1], CancelledError)
        busy.cancel()
        assert isinstance(ended.get(timeout=WAIT)[1], CancelledError)
        assert single.run("worker_tasks:echo", SCENE, 1)[1] == 1
        assert len(single._alarm) == 0, "ended jobs have no alarm"


def test_workers_share_their_libraries_with_the_fork_server(single):
    """A worker that loaded them itself would take half a second to replace."""
    own, of_server = single.run("worker_tasks:libraries", SCENE, None)
    assert any("llvmlite" in library for library in own)
    assert own <= of_server


def test_workers_that_are_replaced_keep_no_descriptors(single):
    single.run("worker_tasks:echo", SCENE, 0)
    before = descriptors()
    for _ in range(20):
        with pytest.raises(WorkerCrashedError):
            single.run("worker_tasks:crash", SCENE, None)
    assert single.run("worker_tasks:echo", SCENE, 1)[1] == 1
    assert len(descriptors()) <= len(before)


def test_too_few_descriptors_are_named_and_the_pool_recovers(single):
    assert single.run("worker_tasks:echo", SCENE, 0)[1] == 0
    fill = []
    with max_descriptors(descriptors()[-1] + 1):
        with contextlib.suppress(OSError):
            while True:
                fill.append(os.dup(0))
        # The worker ends, and cannot be replaced.
        with pytest.raises(WorkerCrashedError, match="status -11"):
            single.run("worker_tasks:crash", SCENE, None)
        with pytest.raises(WorkerCrashedError, match="ulimit -n"):
            single.run("worker_tasks:echo", SCENE, None)
        for descriptor in fill:
            os.close(descriptor)
    assert single.run("worker_tasks:echo", SCENE, 1)[1] == 1


def test_a_lack_of_memory_is_named(single):
    with pytest.raises(LimitExceededError, match="out of memory"):
        single.run("worker_tasks:limited", SCENE, None)
    with pytest.raises(WorkerCrashedError):  # the memory limit applies to that process only
        single.run("worker_tasks:crash", SCENE, None)
    assert single.run("worker_tasks:echo", SCENE, 1)[1] == 1


class Refusing:
    """A multiprocessing context that cannot start processes."""

    def __init__(self, error):
        self.error = error

    def Pipe(self):
        raise self.error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "ulimit -u"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "ulimit -v"),
        (MemoryError(), "ulimit -v"),
        (EOFError(), "fork server of the workers terminated"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), "fork server of the workers terminated"),
    ],
)
def test_the_reason_why_no_worker_can_be_started_is_reported(error, text, monkeypatch):
    monkeypatch.setattr(handle, "RETRY_DELAY", 0.0)
    with pytest.raises(NoWorkerError, match=text):
        start_worker(Refusing(error), 0)


def server():
    from multiprocessing.forkserver import _forkserver

    return _forkserver._forkserver_pid


def test_a_killed_server_of_workers_fails_running_jobs_only(single):
    assert single.run("worker_tasks:echo", SCENE, 0)[1] == 0
    for _ in range(3):
        os.kill(server(), signal.SIGKILL)
        with contextlib.suppress(WorkerCrashedError):
            single.run("worker_tasks:crash", SCENE, None)
        assert single.run("worker_tasks:echo", SCENE, 1)[1] == 1


class RefusingAtFirst:
    """The context of a pool whose ending server refuses connections at first."""

    def __init__(self, context, refusals):
        self._context = context
        self.refusals = refusals

    def Pipe(self):
        self.refusals -= 1
        if self.refusals >= 0:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        return self._context.Pipe()

    def __getattr__(self, name):
        return getattr(self._context, name)


def test_a_server_of_workers_that_ends_slowly_is_awaited(single, monkeypatch):
    monkeypatch.setattr(handle, "RETRY_DELAY", 0.0)
    start_worker(RefusingAtFirst(single._context, 50), 0).end()


@pytest.mark.parametrize("spare", range(1, 24))
def test_too_few_descriptors_do_not_end_the_server(single, spare):
    assert single.run("worker_tasks:echo", SCENE, 0)[1] == 0
    before = server()
    with max_descriptors(descriptors()[-1] + 1):
        fill = []
        with contextlib.suppress(OSError):
            while True:
                fill.append(os.dup(0))
        for _ in range(min(spare, len(fill))):
            os.close(fill.pop())
        with contextlib.suppress(NoWorkerError):
            start_worker(single._context, 0).end()
        for descriptor in fill:
            os.close(descriptor)
    assert single.run("worker_tasks:echo", SCENE, 1)[1] == 1
    assert server() == before


def test_a_request_that_cannot_be_sent_does_not_affect_others(single):
    with pytest.raises(InternalError, match="pickle"):
        single.run("worker_tasks:echo", SCENE, lambda: None)
    assert single.run("worker_tasks:echo", SCENE, 1)[1] == 1


def test_a_caller_that_fails_on_progress_affects_only_itself(single):
    def fail(progress):
        raise AssertionError("the field must be of type float")

    _, ends = submit(single, "chatter", on_progress=fail)
    assert "must be of type float" in ends.get(timeout=WAIT)[1].message
    assert single.run("worker_tasks:echo", SCENE, 1)[1] == 1


def test_a_time_limit_longer_than_waits_of_the_kernel_is_obeyed(single):
    result = single.run("worker_tasks:echo", SCENE, 5, time_limit=2.0**31)
    assert result[1] == 5
    assert len(single._alarm) == 0


def test_all_jobs_end_when_the_pool_closes():
    pool = WorkerPool(1)
    started = queue.Queue()
    ended = [submit(pool, "hang", on_progress=started.put)[1]]
    started.get(timeout=WAIT)
    ended += [submit(pool, "echo", time_limit=limit)[1] for limit in (0.0, 0.0, 600.0)]
    pool.close()
    for ends in ended:
        assert isinstance(ends.get(timeout=WAIT)[1], CancelledError)


def test_the_server_of_workers_starts_before_its_owner_has_imported_anything_large():
    code = """
import sys
from multiprocessing.forkserver import _forkserver
from robot_cell_planner.planning.workers.server import start_server
start_server()
assert not {"coal", "numba", "numpy", "pinocchio"} & set(sys.modules), "it waits for these"
first = _forkserver._forkserver_pid
from robot_cell_planner.planning.workers.pool import WorkerPool
pool = WorkerPool(1)
pool.close()
assert _forkserver._forkserver_pid == first, "the pool uses it"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 0, done.stderr


def test_the_server_of_workers_leaves_ctrl_c_to_its_owner():
    """Its workers inherit the mask: in a terminal, Ctrl-C goes to all of them."""
    code = """
from multiprocessing.forkserver import _forkserver
from robot_cell_planner.planning.workers.server import start_server
start_server()
print(open(f"/proc/{_forkserver._forkserver_pid}/status").read())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 0, done.stderr
    blocked = int(done.stdout.split("SigBlk:")[1].split()[0], 16)
    assert blocked & 1 << signal.SIGINT - 1


OWNER = """
import queue, sys
sys.path.insert(0, {folder!r})
from planning_cells import wall_with_gap
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.planning.workers.pool import WorkerPool
if __name__ == "__main__":
    pool, reports = WorkerPool(1), queue.Queue()
    pool.submit("worker_tasks:{task}", Scene(*wall_with_gap()), None, time_limit=0.0,
                on_done=print, on_progress=reports.put)
    reports.get()
    print("hangs", flush=True)
    pool._threads[0].join()
"""


def parents():
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, IndexError), open(f"/proc/{entry}/stat") as file:
                found[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
    return found


def descendants(of):
    all_parents = parents()
    found = [of]
    for known in found:
        found.extend(pid for pid, parent in all_parents.items() if parent == known)
    return found[1:]


def assert_nothing_outlives(program, expected_output, count):
    """Run a program that owns at least `count` processes, and kill it after it has printed that they are busy."""
    owner = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout.readline() == expected_output
    left = [os.pidfd_open(pid) for pid in descendants(owner.pid)]
    assert len(left) >= count
    owner.kill()
    owner.communicate()
    for descriptor in left:
        assert select.select([descriptor], [], [], WAIT)[0], "it runs on without its owner"
        os.close(descriptor)


def test_no_worker_outlives_its_owner_not_even_one_that_hangs(tmp_path):
    """A compiled library holds the interpreter lock of the worker when its owner is killed."""
    program = tmp_path / "owner.py"
    program.write_text(OWNER.format(folder=str(SUPPORT), task="hang"))
    assert_nothing_outlives(program, "hangs\n", 2)  # the server of workers, and a worker


BATCH_OWNER = """
import time
from robot_cell_planner.planning.workers.batch import local_executor

if __name__ == "__main__":
    executor = local_executor(2)
    busy = [executor.submit(time.sleep, 600.0) for _ in range(2)]
    while not all(each.running() for each in busy):
        time.sleep(0.01)
    print("busy", flush=True)
    time.sleep(600.0)
"""


def test_no_process_of_a_batch_outlives_its_owner(tmp_path):
    """Not even a process that computes."""
    program = tmp_path / "owner.py"
    program.write_text(BATCH_OWNER)
    assert_nothing_outlives(program, "busy\n", 3)  # the server of workers, and two workers


def test_an_alarm_makes_its_calls_in_order_except_cancelled_ones():
    alarm, made, done = Alarm(), [], threading.Event()
    now = time.monotonic()
    entries = [
        alarm.at(now + 0.05 + 1e-4 * (number % 7), lambda number=number: made.append(number)) for number in range(200)
    ]
    kept = [number for number in range(200) if number % 3 == 0]
    for number, entry in enumerate(entries):
        if number % 3:
            alarm.call_off(entry)
    alarm.call_off(entries[1])  # a second time
    alarm.at(now + 0.06, done.set)
    assert done.wait(WAIT)
    assert made == sorted(kept, key=lambda number: (number % 7, number))
    assert len(alarm) == 0
    alarm.close()


def test_an_alarm_releases_cancelled_calls():
    alarm = Alarm()
    for _ in range(10_000):
        alarm.call_off(alarm.at(time.monotonic() + 1e9, lambda: None))
    assert len(alarm) == 0
    assert len(alarm._entries) <= FEWEST_TO_CLEAR
    alarm.close()


def test_a_waiting_job_times_out_at_its_limit(single):
    busy, ended = submit(single, "hang")
    _, ends = submit(single, "echo", time_limit=0.05)
    assert isinstance(ends.get(timeout=WAIT)[1], TimedOutError)
    assert ended.empty()
    busy.cancel()
    ended.get(timeout=WAIT)
