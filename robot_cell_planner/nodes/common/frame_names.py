"""Names of frames of the cell in TF and in headers of messages."""

from __future__ import annotations

from ...model.value import WORLD
from .parameters import Parameter

FRAME_PREFIX = Parameter("frame_prefix", "", "Prefix of the names of all frames in TF except world.")


def frame_in_tf(prefix: str, frame: str) -> str:
    """Return the name in TF of a frame of the cell."""
    return frame if frame == WORLD else f"{prefix}{frame}"
