"""Long work in the coroutine of an executor lets other events in between its slices, and nobody else to what it
modifies."""

import pytest
from rclpy.task import Future
from std_srvs.srv import Trigger

from robot_cell_planner.errors import NotActiveError
from robot_cell_planner.nodes.common.cancellation import CancellationToken
from robot_cell_planner.nodes.common.requests import Interruptible
from robot_cell_planner.nodes.common.waiting import InOrder, Slices


def test_requests_are_answered_between_the_steps_of_long_work(executor):
    (node,) = executor.get_nodes()
    node.create_service(Trigger, "trigger", lambda _, response: response)
    client = node.service_client(Trigger, "trigger")
    while not client.service_is_ready():
        executor.spin_once(timeout_sec=0.01)
    replies = []

    def steps():
        """Work that never ends before all requests are answered."""
        while len(replies) < 3:
            if len(client._pending_requests) == 0:
                client.call_async(Trigger.Request()).add_done_callback(replies.append)
            yield
        return "done"

    work = executor.create_task(Slices(node, 0.0).returned(steps()))
    while not work.done():
        executor.spin_once(timeout_sec=60.0)
    assert work.result() == "done"


def test_work_within_a_slice_is_not_interrupted(executor):
    (node,) = executor.get_nodes()
    seen = []
    others = executor.create_task(lambda: seen.append("other"))

    def steps():
        for _ in range(1000):
            yield
        return tuple(seen)

    work = Slices(node, 3600.0).returned(steps())
    with pytest.raises(StopIteration) as ended:
        work.send(None)
    assert ended.value.value == ()
    assert not others.done()


def test_an_error_of_the_work_is_raised(executor):
    (node,) = executor.get_nodes()

    def steps():
        yield
        raise ValueError("broken")

    work = executor.create_task(Slices(node, 0.0).returned(steps()))
    while not work.done():
        executor.spin_once(timeout_sec=60.0)
    assert isinstance(work.exception(), ValueError)


def finished(executor, *tasks):
    while not all(task.done() for task in tasks):
        executor.spin_once(timeout_sec=60.0)


def test_coroutines_have_access_one_after_the_other_in_the_order_of_their_requests(executor):
    (node,) = executor.get_nodes()
    access, seen = InOrder(), []

    async def work(number):
        async with access:
            assert access.is_held
            seen.append(("begins", number))
            await Slices(node, 0.0).turn()
            await Slices(node, 0.0).turn()
            seen.append(("ends", number))
            if number == 1:
                raise ValueError("broken")

    tasks = [executor.create_task(work, number) for number in range(4)]
    finished(executor, *tasks)
    assert seen == [(what, number) for number in range(4) for what in ("begins", "ends")]
    assert [task.exception() is None for task in tasks] == [True, False, True, True]
    assert not access.is_held


@pytest.mark.parametrize("after_its_turn", [False, True])
def test_a_coroutine_that_is_interrupted_while_it_waits_does_not_keep_access(executor, after_its_turn):
    access, first, token, seen = InOrder(), Future(), CancellationToken(), []

    async def hold():
        async with access:
            await first
        if after_its_turn:  # the next one has access, and has not been resumed yet
            token.set(NotActiveError("ends"))

    async def wait(name):
        async with access:
            seen.append(name)

    holder = executor.create_task(hold)

    async def interrupted():
        await Interruptible(wait("interrupted"), token)

    waiter = executor.create_task(interrupted)
    last = executor.create_task(wait, "last")
    while len(access._waiting) < 2:
        executor.spin_once(timeout_sec=60.0)
    if not after_its_turn:
        token.set(NotActiveError("ends"))
        finished(executor, waiter)
    first.set_result(None)
    finished(executor, holder, waiter, last)
    assert seen == ["last"]
    assert isinstance(waiter.exception(), NotActiveError)
    assert not access.is_held
