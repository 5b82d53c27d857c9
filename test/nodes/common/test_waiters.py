"""Waits for an event that does not come leave nothing behind."""

from robot_cell_planner.nodes.common.waiting import Deadline, Waiters


def test_waits_that_time_out_are_forgotten(executor):
    (node,) = executor.get_nodes()
    waiters = Waiters()
    tasks = [executor.create_task(waiters.wait(Deadline(node, 0.0))) for _ in range(5)]
    while not all(task.done() for task in tasks):
        executor.spin_once(timeout_sec=60.0)
    assert waiters._futures == []


def test_each_of_several_waits_is_ended_by_the_event(executor):
    (node,) = executor.get_nodes()
    waiters = Waiters()
    tasks = [executor.create_task(waiters.wait(Deadline(node, 600.0))) for _ in range(3)]
    while len(waiters._futures) < len(tasks):
        executor.spin_once(timeout_sec=60.0)
    waiters.wake()
    while not all(task.done() for task in tasks):
        executor.spin_once(timeout_sec=60.0)
    assert waiters._futures == []
