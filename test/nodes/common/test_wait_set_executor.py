"""An executor that keeps its wait set executes what rclpy's own executor does, and in the same order."""

import contextlib
import gc
import inspect
import random
import threading
import time
import weakref

import pytest
import rclpy
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor, TimeoutException
from rclpy.task import Future
from spinning import spin_until
from std_msgs.msg import UInt8
from std_srvs.srv import Trigger

from robot_cell_planner.nodes.common import wait_set_executor
from robot_cell_planner.nodes.common.wait_set import KeptWaitSet
from robot_cell_planner.nodes.common.wait_set_executor import WaitSetExecutor

NAMES = tuple("abcdef")
TimerInfo = getattr(rclpy.timer, "TimerInfo", None)  # rclpy of Jazzy has none


@pytest.fixture
def context(domain):
    rclpy.init()
    yield rclpy.get_default_context()
    rclpy.shutdown()


@pytest.fixture
def node(context):
    node = rclpy.create_node("waited_for", start_parameter_services=False, enable_rosout=False)
    yield node
    node.destroy_node()


@pytest.fixture
def executor(node):
    executor = WaitSetExecutor()
    executor.add_node(node)
    yield executor
    executor.shutdown()


def execute_forever(execute):
    while True:
        execute()


class Events:
    """A node with entities of every kind, which record that they were executed."""

    def __init__(self, node):
        self.node = node
        self.executed = []
        self.group = ReentrantCallbackGroup()
        self.guards = {name: self._guard(name) for name in NAMES}
        self.publishers = {name: node.create_publisher(UInt8, name, 10) for name in NAMES}
        for name in NAMES:
            node.create_subscription(UInt8, name, self._recorder(f"topic {name}"), 10, callback_group=self.group)
        self.clients = {}
        for name in NAMES[:3]:
            node.create_service(Trigger, f"serve_{name}", self._server(name), callback_group=self.group)
            self.clients[name] = node.create_client(Trigger, f"serve_{name}", callback_group=self.group)
        for name in NAMES[:3]:
            assert self.clients[name].wait_for_service(60.0)
        while any(publisher.get_subscription_count() < 1 for publisher in self.publishers.values()):
            time.sleep(0.01)

    def _guard(self, name):
        return self.node.create_guard_condition(lambda: self.executed.append(f"guard {name}"), self.group)

    def _recorder(self, what):
        return lambda message: self.executed.append(what)

    def _server(self, name):
        def serve(request, response):
            self.executed.append(f"service {name}")
            return response

        return serve

    def cause(self, rng):
        """Cause random events, and return how many there are: in one process, each has arrived when the call returns. A
        service that is called has a second event, the response."""
        guards, topics = rng.sample(NAMES, 2), rng.sample(NAMES, 3)
        services = rng.sample(NAMES[:3], 2)
        for name in services:
            future = self.clients[name].call_async(Trigger.Request())
            future.add_done_callback(self._recorder(f"response {name}"))
        for name in topics:
            self.publishers[name].publish(UInt8())
        for name in guards:
            self.guards[name].trigger()
        timer = self.node.create_timer(0.0, lambda: self._once(timer), callback_group=self.group)
        return len(guards) + len(topics) + 2 * len(services) + 1

    def _once(self, timer):
        self.executed.append("timer")
        self.node.destroy_timer(timer)


def executed_by(executor_type, node, seed):
    """What an executor executes, in order."""
    executor = executor_type()
    executor.add_node(node)
    events, rng, found = Events(node), random.Random(seed), []
    try:
        for _ in range(4):
            count = events.cause(rng)
            spin_until(executor, lambda count=count: len(events.executed) >= count)
            found.append(tuple(events.executed))
            events.executed.clear()
    finally:
        executor.remove_node(node)
        executor.shutdown()
    return found


class _Backwards(list):
    """A list that is iterated from its end."""

    __iter__ = list.__reversed__


class OldestFirstExecutor(SingleThreadedExecutor):
    """rclpy's executor, which resumes the oldest task first: that of Jazzy iterates over the reversed list of tasks."""

    _is_reversed = "reversed(tasks)" in inspect.getsource(SingleThreadedExecutor._wait_for_ready_callbacks)

    @property
    def _tasks(self):
        return self._stored_tasks

    @_tasks.setter
    def _tasks(self, tasks):
        self._stored_tasks = _Backwards(reversed(tasks)) if self._is_reversed else tasks


@pytest.mark.parametrize("seed", range(3))
def test_callbacks_run_in_the_order_of_the_executor_of_rclpy(context, seed):
    found = []
    for executor_type in (OldestFirstExecutor, WaitSetExecutor):
        node = rclpy.create_node("ordered", start_parameter_services=False, enable_rosout=False)
        found.append(executed_by(executor_type, node, seed))
        node.destroy_node()
    assert found[0] == found[1]


def test_tasks_are_executed_in_the_order_of_their_creation(executor):
    order, resumed = [], Future()

    async def work(number):
        order.append(number)
        await resumed
        order.append(number)

    tasks = [executor.create_task(work, number) for number in range(5)]
    spin_until(executor, lambda: len(order) == 5)
    resumed.set_result(None)
    executor.wake()
    spin_until(executor, lambda: all(task.done() for task in tasks))
    assert order == [*range(5), *range(5)]


def test_one_wait_set_serves_until_entities_change(node, executor, monkeypatch):
    made = []

    class Counted(KeptWaitSet):
        def __init__(self, *arguments):
            made.append(self)
            super().__init__(*arguments)

    monkeypatch.setattr(wait_set_executor, "KeptWaitSet", Counted)
    ticks = []
    timer = node.create_timer(0.001, lambda: ticks.append(1))
    spin_until(executor, lambda: len(ticks) >= 50)
    assert len(made) == 1
    guard = node.create_guard_condition(lambda: ticks.append("guard"))
    guard.trigger()
    spin_until(executor, lambda: "guard" in ticks)
    assert len(made) == 2
    node.destroy_timer(timer)
    spin_until(executor, lambda: len(made) == 3)
    count = len(ticks)
    executor.spin_once(timeout_sec=0.1)
    assert len(ticks) == count


def test_a_destroyed_subscription_leaves_the_graph(node, executor):
    subscription = node.create_subscription(UInt8, "left", lambda _: None, 10)
    executor.spin_once(timeout_sec=0.1)
    assert node.count_subscribers("left") == 1
    node.destroy_subscription(subscription)
    spin_until(executor, lambda: node.count_subscribers("left") == 0)


def test_a_shut_down_executor_keeps_nothing_in_existence(context, node):
    """A subscription that is destroyed afterwards leaves the graph at once."""
    executor = WaitSetExecutor()
    executor.add_node(node)
    subscription = node.create_subscription(UInt8, "left", lambda _: None, 10)
    executor.spin_once(timeout_sec=0.1)
    executor.shutdown()
    node.destroy_subscription(subscription)
    until = time.monotonic() + 60.0
    while node.count_subscribers("left"):
        assert time.monotonic() < until


def test_callbacks_of_an_exclusive_group_do_not_overlap(node, executor):
    group, running, order = MutuallyExclusiveCallbackGroup(), Future(), []

    async def first():
        timers[0].cancel()
        order.append("first begins")
        await running
        order.append("first ends")

    def second():
        timers[1].cancel()
        order.append("second")

    timers = [node.create_timer(0.001, work, callback_group=group) for work in (first, second)]
    spin_until(executor, lambda: order)
    for _ in range(3):
        executor.spin_once(timeout_sec=0.02)
    assert order == ["first begins"]
    executor.create_task(running.set_result, None)
    spin_until(executor, lambda: len(order) == 3)
    assert order == ["first begins", "first ends", "second"]


def test_a_guard_of_a_busy_group_is_executed_later(node, executor):
    group, running, order = MutuallyExclusiveCallbackGroup(), Future(), []

    async def first():
        timer.cancel()
        order.append("timer")
        await running

    timer = node.create_timer(0.001, first, callback_group=group)
    guard = node.create_guard_condition(lambda: order.append("guard"), group)
    spin_until(executor, lambda: order)
    guard.trigger()
    executor.spin_once(timeout_sec=0.02)
    assert order == ["timer"]
    executor.create_task(running.set_result, None)
    spin_until(executor, lambda: len(order) == 2)


@pytest.mark.parametrize("waits", [False, True], ids=["idle", "with a coroutine that waits"])
def test_a_wait_ends_at_its_timeout(node, executor, waits):
    if waits:
        pending = Future()

        async def wait():
            await pending

        executor.create_task(wait)
    begun = time.monotonic()
    with pytest.raises(TimeoutException):
        execute_forever(lambda: executor.wait_for_ready_callbacks(0.05)[0]())
    assert time.monotonic() - begun >= 0.05


def test_the_end_of_the_context_ends_a_wait(domain):
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("ended", context=context, start_parameter_services=False, enable_rosout=False)
    executor = WaitSetExecutor(context=context)
    executor.add_node(node)
    node.create_timer(0.05, lambda: rclpy.shutdown(context=context))
    with pytest.raises(ExternalShutdownException):
        execute_forever(executor.spin_once)
    executor.shutdown()
    node.destroy_node()


def test_tasks_that_create_tasks_do_not_keep_events_waiting(node, executor):
    ended, ticks = [], []

    def again():
        if not ended:
            executor.create_task(again)

    executor.create_task(again)
    node.create_timer(0.001, lambda: ticks.append(1))
    spin_until(executor, lambda: len(ticks) >= 3)
    ended.append(True)


def test_a_trigger_of_another_thread_ends_a_wait(executor):
    done, asleep = [], threading.Event()

    def create():
        asleep.wait()
        time.sleep(0.05)
        executor.create_task(lambda: done.append(True))

    thread = threading.Thread(target=create)
    thread.start()
    asleep.set()
    begun = time.monotonic()
    while not done:
        executor.spin_once(timeout_sec=30.0)
    assert time.monotonic() - begun < 30.0
    thread.join()


def test_a_guard_condition_triggered_in_a_callback_is_executed(node, executor):
    order = []
    second = node.create_guard_condition(lambda: order.append("second"))

    def first():
        order.append("first")
        second.trigger()

    node.create_guard_condition(first).trigger()
    begun = time.monotonic()
    while len(order) < 2:
        executor.spin_once(timeout_sec=30.0)
    assert time.monotonic() - begun < 30.0
    assert order == ["first", "second"]


@pytest.mark.parametrize("from_thread", [False, True], ids=["own thread", "another thread"])
def test_a_timed_call_is_made_while_nothing_else_happens(executor, from_thread):
    called = []

    def call():
        executor.call_later(0.02, lambda: called.append(time.monotonic()))

    begun = time.monotonic()
    thread = threading.Timer(0.05, call) if from_thread else threading.Thread(target=lambda: None)
    thread.start()
    if not from_thread:
        call()
    while not called:
        executor.spin_once(timeout_sec=30.0)
    assert 0.02 <= called[0] - begun < 30.0
    thread.join()


def test_a_timed_call_changes_no_wait_set_and_may_be_cancelled(executor):
    executor.spin_once(timeout_sec=0.0)
    kept, called = executor._kept, []
    executor.call_later(0.01, lambda: called.append("cancelled")).cancel()
    executor.call_later(0.01, lambda: called.append("made"))
    while not called:
        executor.spin_once(timeout_sec=30.0)
    executor.spin_once(timeout_sec=0.05)
    assert called == ["made"]
    assert executor._kept is kept


@pytest.mark.parametrize("repetition", range(20))
def test_a_shutdown_in_another_thread_ends_a_wait(context, repetition):
    """At any moment: while the thread waits, or between two waits."""
    node = rclpy.create_node("shut_down", start_parameter_services=False, enable_rosout=False)
    executor = WaitSetExecutor()
    executor.add_node(node)
    ticks = []
    node.create_timer(0.0005, lambda: ticks.append(1))

    def spin():
        with contextlib.suppress(InvalidHandle):  # rclpy's handler triggers the guard condition that is destroyed
            executor.spin()

    thread = threading.Thread(target=spin)
    thread.start()
    while len(ticks) < 5:
        pass
    time.sleep(0.0001 * repetition)
    executor.shutdown()
    thread.join(60.0)
    assert not thread.is_alive()
    node.destroy_node()


def test_a_coroutine_is_resumed_where_rclpy_waits_for_given_nodes(node, executor):
    """A task that runs after the coroutine was resumed resolves what it awaits."""
    future = Future()

    async def wait():
        await future

    executor.spin_once(timeout_sec=0.0)
    waiting = executor.create_task(wait)
    executor.create_task(future.set_result, None)
    while not waiting.done():
        executor.wait_for_ready_callbacks(10.0, [node])[0]()


@pytest.mark.parametrize("executor_type", [SingleThreadedExecutor, WaitSetExecutor])
def test_timers_of_every_kind_are_executed(node, executor_type):
    """Those with an ordinary function without a task: also one that is cancelled, or replaces its callback."""
    executor, counts, resumed = executor_type(), dict.fromkeys(("plain", "info", "coroutine", "cancelled"), 0), Future()
    executor.add_node(node)

    def count(name):
        counts[name] += 1

    def plain():
        count("plain")
        if counts["plain"] == 3:
            resumed.set_result(1)

    def with_info(info: TimerInfo):
        assert info.actual_call_time.nanoseconds > 0
        count("info")

    def without_info():
        count("info")

    informed = without_info if TimerInfo is None else with_info

    async def coroutine():
        assert await resumed == 1
        count("coroutine")

    def once():
        count("cancelled")
        timers["cancelled"].cancel()

    given = {"plain": plain, "info": informed, "coroutine": coroutine, "cancelled": once}
    groups = {name: ReentrantCallbackGroup() for name in given}
    timers = {name: node.create_timer(0.001, function, callback_group=groups[name]) for name, function in given.items()}
    spin_until(executor, lambda: all(counts[name] >= 3 for name in ("plain", "info", "coroutine")))
    assert counts["cancelled"] == 1
    timers["plain"].callback = informed
    before = counts["plain"], counts["info"]
    spin_until(executor, lambda: counts["info"] >= before[1] + 5)
    assert counts["plain"] == before[0]
    executor.shutdown()


def test_an_exception_of_a_timer_is_raised_and_the_timer_continues(node, executor):
    calls = []

    def fail():
        calls.append(1)
        raise KeyError("of the callback")

    node.create_timer(0.001, fail)
    for expected in (1, 2):
        with pytest.raises(KeyError, match="of the callback"):
            execute_forever(executor.spin_once)
        assert len(calls) == expected


def test_a_timer_waits_for_its_group(node, executor):
    """A callback of a mutually exclusive group that waits keeps the timer of the group back."""
    group, calls, entered, release = MutuallyExclusiveCallbackGroup(), [], [], Future()

    async def hold(request, response):
        entered.append(1)
        await release
        return response

    node.create_service(Trigger, "hold", hold, callback_group=group)
    client = node.create_client(Trigger, "hold")
    assert client.wait_for_service(60.0)
    future = client.call_async(Trigger.Request())
    spin_until(executor, lambda: entered)
    node.create_timer(0.001, lambda: calls.append(1), callback_group=group)
    for _ in range(5):
        executor.spin_once(timeout_sec=0.01)
    assert not calls
    release.set_result(None)
    spin_until(executor, lambda: future.done() and calls)


def test_a_destroyed_timer_is_freed_though_its_callback_belongs_to_its_owner(node, executor):
    calls = []

    class Owner:
        def __init__(self):
            self.timer = node.create_timer(0.001, self.count)

        def count(self):
            calls.append(1)

    owner = Owner()
    spin_until(executor, lambda: calls)
    node.destroy_timer(owner.timer)
    executor.spin_once(timeout_sec=0.01)
    freed = weakref.ref(owner)
    del owner
    gc.collect()
    assert freed() is None
