"""Recorded requests to running nodes."""

from __future__ import annotations

from typing import Any

from robot_cell_planner import srv

from ...errors import RobotCellError
from ...scene.scene import Scene
from ..client.connection import CellConnection
from ..client.readiness import wait_until_ready
from .exchanges import Exchange, was_uncertified
from .history import STAGE
from .replay import NotRepeatedError, check_repeated

TIMEOUT = 600.0  # [s]


class RunningNodes:
    """Answers exchanges by the nodes of a connection. Nothing moves: requests to execute are not repeated."""

    def __init__(self, connection: CellConnection) -> None:
        self._connection = connection
        self._is_ready = False

    def __call__(self, exchange: Exchange, scene: Scene | None) -> Any:
        """Return the reply of the nodes.

        Raises:
            NotRepeatedError: It is not sent.
            ServiceUnavailableError: The service or action is not there, or the planning node is not ready.
        """
        name = exchange.name
        check_repeated(name)
        self._prepare(exchange)
        call = self._connection.send_goal if exchange.is_action else self._connection.call_service
        try:
            return call(exchange.kind, name, exchange.request, timeout=TIMEOUT)
        except RobotCellError as error:
            if error.partial is None:
                raise
            return error.partial

    def wait(self, timeout: float) -> None:
        """Wait until a scene node answers, which all nodes of a cell need.

        Raises:
            ServiceUnavailableError: None does within `timeout` [s]: the namespace may be wrong.
        """
        self._connection.wait_for_service(srv.GetCell, "scene/get_cell", timeout)

    def _prepare(self, exchange: Exchange) -> None:
        """Wait until motions are certified: with the same seed, plans without certificates differ.

        Raises:
            NotRepeatedError: The recorded reply is older than the certificates of its nodes.
        """
        if exchange.name.startswith("scene/"):
            self._is_ready = False
        elif exchange.name.startswith("planning/"):
            if was_uncertified(exchange.reply):
                raise NotRepeatedError("its reply was computed before motions were certified", stage=STAGE)
            if not self._is_ready:
                wait_until_ready(self._connection)
                self._is_ready = True
