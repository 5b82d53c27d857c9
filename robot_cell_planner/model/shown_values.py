"""Short texts of values for messages."""

from __future__ import annotations

import collections.abc
import numbers
from enum import Enum

import numpy as np

SHOWN = 80  # max characters of a value
TEXTS = (str, bytes, bytearray)


def show(value: object) -> str:
    """Return a short text of a value for messages, whatever its size."""
    if isinstance(value, (*TEXTS, numbers.Number, Enum, type(None))):
        text = repr(value[:SHOWN] if isinstance(value, TEXTS) else value)
        return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and {value.dtype}"
    if isinstance(value, collections.abc.Sized):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {type(value).__name__}"
