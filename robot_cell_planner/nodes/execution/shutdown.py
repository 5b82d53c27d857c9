"""The end of the execution node at the request of a signal, after its robots have come to rest."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Sequence

from rclpy.signals import uninstall_signal_handlers

from ...errors import StopRequestedError
from ..common.callback_guard import GuardedExecutor
from ..common.ending_signals import ending_signals
from ..common.exclusive_access import ExclusiveAccess
from ..common.launched import LAUNCH_ENDED
from ..common.lifecycle import ManagedNode
from ..common.waiting import steady_timer

CHECK_PERIOD = 0.05  # [s] between checks for a request
RESULT_TIME = 0.3  # [s] between the end of a motion and the shutdown, in which its result is sent


class RequestedShutdown:
    """Shuts a node down when that is requested: goals are refused from then on, and motions stop on their paths first.

    Args:
        node: To be shut down.
        accesses: Returns the accesses of clients to the robots and grippers of the configured node.
    """

    def __init__(self, node: ManagedNode, accesses: Callable[[], Sequence[ExclusiveAccess]]) -> None:
        self._node = node
        self._accesses = accesses
        self._requests = 0
        self._hung_up = False
        self._ends_at = -math.inf  # [s] of the steady clock
        steady_timer(node, CHECK_PERIOD, self._end_if_requested, may_be_early=True)

    def request_on_signals(self) -> None:
        """Request the shutdown on each signal that ends this process."""
        uninstall_signal_handlers()
        for each in ending_signals():
            signal.signal(each, lambda number, _: self.request(number))

    def request(self, number: int = signal.SIGTERM) -> None:
        """Request the shutdown by the number of a signal; a second request does not wait for motions, except that of
        the end of `launch`, which a service manager ends at the same time as this node, and SIGHUP: of a terminal that
        is closed, a shell repeats it, and service managers send it after SIGTERM.

        Callable from signal handlers, which may interrupt a thread that holds locks: the request is handled by the next
        timer callback.
        """
        if number == signal.SIGHUP:
            self._hung_up = True
        else:
            self._requests += 1

    def _end_if_requested(self) -> None:
        if not (self._requests or self._hung_up):
            return
        if not self._node.configured:
            self._end()
            return
        reason = StopRequestedError("the execution node is shutting down", stage="shutdown")
        self._node.requests.refuse(reason)
        for access in self._accesses():
            access.cancel_all(reason)
        now = time.monotonic()
        if any(access.owner for access in self._accesses()):
            self._ends_at = now + RESULT_TIME
        if self._requests - LAUNCH_ENDED.is_set() > 1 or now >= self._ends_at:
            self._end()

    def _end(self) -> None:
        """End the executor. The node then closes its middleware within a time limit (`common.node.run`)."""
        assert isinstance(self._node.executor, GuardedExecutor)
        self._node.executor.end()
