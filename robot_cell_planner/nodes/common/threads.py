"""Work in threads of their own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future as ThreadFuture
from contextlib import suppress
from typing import TypeVar

from rclpy.task import Future

from .node import CellNode

T = TypeVar("T")
NICENESS = 10  # of threads that prepare what is not waited for


async def in_thread(node: CellNode, name: str, work: Callable[[], T]) -> T:
    """Return what a function returns that runs in a thread; the executor of the node continues meanwhile.

    Args:
        node: Node whose executor awaits the function.
        name: Name of the thread.
        work: Function; what it raises is raised here.
    """
    arrived: Future[None] = Future()
    done: ThreadFuture[T] = ThreadFuture()
    done.add_done_callback(lambda _: node.resolve(arrived, None))
    # A daemon thread instead of a pool, so that the process can end meanwhile.
    threading.Thread(target=_run, args=(work, done), name=name, daemon=True).start()
    await arrived
    return done.result()


async def converted(node: CellNode, reads: bool, work: Callable[[], T]) -> T:
    """Return what a conversion of messages returns, in a thread if it reads files. It must not depend on the scene."""
    return await in_thread(node, "models", work) if reads else work()


def lower_priority() -> None:
    """Let this thread, and those that it starts, yield to all others that need the processor."""
    with suppress(OSError):  # only Linux has priorities of threads
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


def _run(work: Callable[[], T], done: ThreadFuture[T]) -> None:
    try:
        result = work()
    except Exception as error:
        done.set_exception(error)  # raised where it is awaited
    else:
        done.set_result(result)
