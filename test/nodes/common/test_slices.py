"""Long work in the coroutine of an executor lets other events in between its slices."""

import pytest
from std_srvs.srv import Trigger

from robot_cell_planner.nodes.common.waiting import Slices


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
