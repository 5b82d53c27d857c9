"""Frames of TF that are not part of the cell, such as a camera, a calibrated fixture or a tracked part."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

from ...errors import TransformError, TransformLookupError
from ...kinematics.transform_buffer import StampedPose
from ...model.cell import RobotCell
from ...model.name_suggestions import unknown_name
from ...model.value import WORLD
from ..conversions.frame_references import FrameReference
from .cancellation import CancellationToken
from .node import CellNode
from .parameters import Parameter
from .transform_listener import TransformListener

TRANSFORM_PARAMETERS = (
    Parameter(
        "transform_timeout",
        1.0,
        "Time to wait for a transform of TF, for frames that are not part of the cell [s].",
        0.0,
        60.0,
        running=True,
    ),
)


class ExternalFrames:
    """World poses of frames of TF, for a node with TRANSFORM_PARAMETERS."""

    def __init__(self, node: CellNode) -> None:
        self._node = node
        self._listener = TransformListener(node)

    async def rewrite(
        self,
        references: Iterable[FrameReference],
        cell: RobotCell,
        added: Collection[str] = (),
        token: CancellationToken | None = None,
    ) -> bool:
        """Convert poses of messages from frames outside the cell to the world; return whether there was any.

        added: frames that the request adds to the cell.

        Raises:
            TransformError: TF does not contain a frame, has no data at its stamp, or it is not connected to the world;
                names the field.
            InvalidRequestError: A pose in such a frame is malformed.
            RobotCellError: The reason of a cancellation.
        """
        outcomes = await self.rewrite_each(references, cell, added, token)
        for error in outcomes.values():
            if error is not None:
                raise error
        return bool(outcomes)

    async def rewrite_each(
        self,
        references: Iterable[FrameReference],
        cell: RobotCell,
        added: Collection[str] = (),
        token: CancellationToken | None = None,
    ) -> dict[int, TransformError | None]:
        """As `rewrite`; return the error or None for each reference to a frame outside the cell, by index.

        The timeout applies to all of them together.
        """
        until = time.monotonic() + self._node.parameters["transform_timeout"]
        outcomes: dict[int, TransformError | None] = {}
        for index, reference in enumerate(references):
            if reference.frame in ("", WORLD) or reference.frame in added or has_frame(cell, reference.frame):
                continue
            try:
                found = await self._pose(reference, cell, until - time.monotonic(), token or CancellationToken())
            except TransformError as error:
                outcomes[index] = error
            else:
                reference.rewrite(found.pose)
                outcomes[index] = None
        return outcomes

    async def _pose(
        self, reference: FrameReference, cell: RobotCell, timeout: float, token: CancellationToken
    ) -> StampedPose:
        try:
            return await self._listener.wait_for(WORLD, reference.frame, reference.stamp, timeout, token)
        except TransformError as error:
            text = error.message
            if isinstance(error, TransformLookupError):
                existing = (*cell.mechanism_frames, *cell.tools, *cell.bodies, *cell.frames)
                problem = unknown_name(f"frame {reference.frame!r}", reference.frame, existing)
                text = f"{text}; in the cell, {problem}"
            subjects = (reference.field, *error.subjects)
            raise error.changed(f"{reference.field}: {text}", subjects=subjects) from error

    def latest(self, frame: str) -> StampedPose:
        """Return world_T_frame at the latest time with data.

        Raises:
            TransformError: TF does not contain it, or it is not connected to the world.
        """
        return self._listener.lookup(WORLD, frame)

    async def wait_for(self, frame: str) -> StampedPose:
        """As `latest`; waits for the frame."""
        timeout = self._node.parameters["transform_timeout"]
        return await self._listener.wait_for(WORLD, frame, 0, timeout, CancellationToken())

    def near(self, frame: str, stamp: int, tolerance: float) -> StampedPose:
        """Return world_T_frame at a stamp [ns]; if that is up to a tolerance [s] after the latest, at the latest.

        Raises:
            TransformError: TF does not contain it, has no data then, or it is not connected to the world.
        """
        latest = self.latest(frame)
        if not stamp or not latest.stamp or 0 <= stamp - latest.stamp <= tolerance * 1e9:
            return latest
        return self._listener.lookup(WORLD, frame, stamp)


def has_frame(cell: RobotCell, name: str) -> bool:
    """Return whether a cell has a frame of this name besides the world."""
    return name in cell.mechanism_frames or name in cell.tools or name in cell.bodies or name in cell.frames
