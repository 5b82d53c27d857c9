"""A coroutine continues as soon as the future that it awaits is resolved, from any task or thread."""

import sys
import threading
from pathlib import Path

import pytest
import rclpy
from rclpy.executors import TimeoutException
from rclpy.task import Future

from robot_cell_planner.nodes.common.callback_guard import Faults, GuardedExecutor

NOTHING_HAPPENS = 5.0  # [s] without an event, after which a wait ends


class CountingExecutor(GuardedExecutor):
    """Counts the waits that ended without an event."""

    idle_waits = 0

    def wait_for_ready_callbacks(self, *arguments, **keywords):
        try:
            return super().wait_for_ready_callbacks(*arguments, **keywords)
        except TimeoutException:
            self.idle_waits += 1
            raise


@pytest.fixture
def executor(domain):
    rclpy.init()
    node = rclpy.create_node("wake_up", start_parameter_services=False, enable_rosout=False)
    executor = CountingExecutor(Faults(node))
    executor.add_node(node)
    yield executor
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()


def call_when_asleep(thread, work):
    """Call from a thread of its own when another one sleeps."""

    def run():
        status = Path(f"/proc/self/task/{thread}/stat")
        while status.read_text().rpartition(")")[2].split()[0] != "S":
            pass
        work()

    threading.Thread(target=run, daemon=True).start()


@pytest.mark.skipif(sys.platform != "linux", reason="reads the state of a thread from /proc")
def test_a_task_that_resolves_a_future_wakes_the_task_that_awaits_it(executor):
    future = Future()

    async def wait():
        return await future

    waiting = executor.create_task(wait)
    while not executor.idle_waits:
        executor.spin_once(timeout_sec=0.0)
    executor.idle_waits = 0
    call_when_asleep(threading.get_native_id(), lambda: executor.create_task(future.set_result, 7))
    while not waiting.done():
        executor.spin_once(timeout_sec=NOTHING_HAPPENS)
    assert waiting.result() == 7
    assert executor.idle_waits == 0


def test_coroutines_that_resolve_one_another_are_resumed_without_an_event(executor):
    """Each is resumed before the next one, whose future it resolves, so that each needs another pass."""
    (node,) = executor.get_nodes()
    futures = [Future() for _ in range(6)]

    async def resolve(index):
        await futures[index + 1]
        futures[index].set_result(None)

    resolved = [executor.create_task(resolve, index) for index in range(5)]

    async def tick():
        timer.cancel()
        await pause
        futures[5].set_result(None)

    pause = Future()
    timer = node.create_timer(0.001, tick)
    while not executor.idle_waits:
        executor.spin_once(timeout_sec=0.05)
    executor.idle_waits = 0
    executor.create_task(pause.set_result, None)
    while not all(task.done() for task in resolved):
        executor.spin_once(timeout_sec=NOTHING_HAPPENS)
    assert executor.idle_waits == 0


def test_created_and_destroyed_entities_change_the_wait_set(executor):
    """Each timer creates the next one, and destroys itself."""
    (node,) = executor.get_nodes()
    made, ticks = [], []

    def tick():
        ticks.append(node.destroy_timer(made[-1]))
        make()

    def make():
        made.append(node.create_timer(0.001, tick))

    make()
    while len(ticks) < 20:
        executor.spin_once()
    assert ticks == [True] * 20
    assert list(node.timers) == made[-1:]


class PausingExecutor(GuardedExecutor):
    """Pauses once between its last check for shutdown and its wait for events."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.paused, self.resumed = threading.Event(), threading.Event()

    def get_nodes(self):
        nodes = super().get_nodes()
        if not self.paused.is_set():
            self.paused.set()
            self.resumed.wait()
        return nodes


def test_an_executor_that_is_about_to_wait_is_ended_by_a_task(domain):
    rclpy.init()
    node = rclpy.create_node("stopped", start_parameter_services=False, enable_rosout=False)
    executor = PausingExecutor(Faults(node))
    executor.add_node(node)
    spinning = threading.Thread(target=executor.spin, daemon=True)
    spinning.start()
    assert executor.paused.wait(10.0)
    executor.create_task(executor.end)
    executor.resumed.set()
    spinning.join(10.0)
    assert not spinning.is_alive()
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()


class Reports:
    """A logger that notes its messages among other events."""

    def __init__(self, events):
        self._events = events

    def error(self, text):
        self._events.append(text.partition(" failed")[0])


@pytest.mark.parametrize(("kind", "order"), [(RuntimeError, ["next", "a task"]), (ValueError, ["a task", "next"])])
def test_other_callbacks_do_not_wait_for_a_report_that_depends_on_the_context(executor, monkeypatch, kind, order):
    """A RuntimeError may be caused by the end of the context, which is known only later."""
    (node,) = executor.get_nodes()
    events = []
    monkeypatch.setattr(node, "get_logger", lambda: Reports(events))

    def fail():
        raise kind("injected")

    executor.create_task(fail)
    executor.create_task(events.append, "next")
    while len(events) < 2:
        executor.spin_once(timeout_sec=NOTHING_HAPPENS)
    assert events == order
