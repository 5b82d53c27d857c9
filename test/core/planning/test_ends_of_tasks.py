"""Tasks at their time limit: what they report reaches the caller, and those that report nothing end all the same."""

import queue
import threading

import pytest
from planning_cells import behind_wall

from robot_cell_planner.errors import CancelledError, TimedOutError
from robot_cell_planner.errors.remedies import COARSE_SPHERES
from robot_cell_planner.planning.problem.request import Goals, MotionRequest
from robot_cell_planner.planning.workers.pool import WorkerPool
from robot_cell_planner.planning.workers.preparation import PREPARE
from robot_cell_planner.scene.scene import Scene

SCENE = Scene(*behind_wall(0.5))
REQUEST = MotionRequest(Goals(joint_goals=({"x": 0.9, "y": -0.9},)), timing=None)
LIMIT = 1.0  # [s]
ENOUGH = 100.0  # [s]


@pytest.fixture(scope="module")
def workers():
    pool = WorkerPool(1, preparation=PREPARE)
    yield pool
    pool.close()


@pytest.fixture
def pool(workers):
    """A pool whose worker is prepared, also if it replaces another one."""
    workers.run("worker_tasks:echo", SCENE, None)
    return workers


def submit(pool, task, request=None, **options):
    ends = queue.Queue()
    return ends, pool.submit(f"worker_tasks:{task}", SCENE, request, on_done=lambda *end: ends.put(end), **options)


def error_of(ends):
    result, error = ends.get(timeout=2.0 * ENOUGH)
    assert result is None
    return error


def test_a_search_that_reaches_its_time_limit_explains_it_as_in_the_library(pool):
    ends, _ = submit(pool, "search_without_end", REQUEST, time_limit=LIMIT, explanation_time=ENOUGH)
    error = error_of(ends)
    assert isinstance(error, TimedOutError)
    assert error.stage == "search"
    assert "the time limit was reached; passages" in error.message
    assert "coarse spheres: spheres of cube protrude" in error.message
    assert (error.subjects, error.remedy) == (("cube",), COARSE_SPHERES)


def test_the_time_in_the_error_includes_that_before_the_task_began(pool):
    busy, job = submit(pool, "obey", time_limit=0.0)
    ends, _ = submit(pool, "search_without_end", REQUEST, time_limit=LIMIT, explanation_time=ENOUGH)
    job.cancel()
    assert isinstance(error_of(busy), CancelledError)
    (time,) = error_of(ends).values
    assert (time.name, time.limit, time.unit) == ("time", LIMIT, "s")
    assert time.value >= LIMIT


def test_without_time_to_explain_it_the_time_limit_is_the_error(pool):
    ends, _ = submit(pool, "obey", time_limit=0.05)
    error = error_of(ends)
    assert isinstance(error, TimedOutError)
    assert (error.message, error.partial) == ("the time limit of the request was reached", "so far")


@pytest.mark.parametrize("task", ["explain_without_end", "hang", "chatter"])
def test_an_explanation_that_takes_too_long_is_cut_off(pool, task):
    ends, _ = submit(pool, task, time_limit=0.05, explanation_time=0.05)
    error = error_of(ends)
    assert isinstance(error, TimedOutError)
    assert error.message == "the time limit of the request was reached"
    assert error.partial == ("so far" if task == "explain_without_end" else None)


def test_a_request_is_cancelled_while_its_time_limit_is_explained(pool):
    explaining = threading.Event()
    times = {"time_limit": 0.05, "explanation_time": ENOUGH}
    ends, job = submit(pool, "explain_without_end", on_progress=lambda _: explaining.set(), **times)
    explaining.wait()
    job.cancel()
    assert isinstance(error_of(ends), TimedOutError)
