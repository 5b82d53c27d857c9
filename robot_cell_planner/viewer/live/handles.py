"""Handles of the live view, which people drag."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from ...model.pose import Pose
from .meshes import wxyz
from .server import LocalServer

HANDLE_SIZE = 0.25  # [m]


class DragHandle:
    """A handle that is placed when it is switched on or belongs to something else, and stays where people drag it.

    Callbacks of events run in many threads and in any order: what a late one says is read anew, and changes nothing if
    the handle has been placed for it.
    """

    def __init__(self, server: LocalServer, name: str) -> None:
        self._handle = server.scene.add_transform_controls(name, scale=HANDLE_SIZE, visible=False)
        self._lock = threading.Lock()
        self._placed_for: str | None = None

    def show(self, subject: Callable[[], str | None], pose_of: Callable[[str], Pose | None]) -> None:
        """Place the handle for its present subject.

        Args:
            subject: Returns the name of what the handle moves; None hides it.
            pose_of: Returns world_T_subject; None hides the handle.
        """
        with self._lock:
            name = subject()
            if name == self._placed_for:
                return
            pose = None if name is None else pose_of(name)
            if pose is not None:
                self._handle.position = pose.position
                self._handle.wxyz = wxyz(pose)
            self._handle.visible = pose is not None
            self._placed_for = None if pose is None else name

    @property
    def pose(self) -> Pose | None:
        """The present pose in the world, also before the callbacks of the event that changed it; None if hidden."""
        handle = self._handle
        if not handle.visible:
            return None
        x, y, z = (float(value) for value in handle.position)
        quaternion = np.asarray(handle.wxyz, dtype=np.float64)
        w, i, j, k = (quaternion / np.linalg.norm(quaternion)).tolist()
        return Pose((x, y, z), (i, j, k, w))

    def on_drag(self, work: Callable[[], None]) -> None:
        """Call a function whenever the handle has been moved."""
        self._handle.on_update(lambda _: work())

    def on_release(self, work: Callable[[], None]) -> None:
        """Call a function whenever the handle has been released."""
        self._handle.on_update(lambda event: work() if event.phase == "end" else None)
