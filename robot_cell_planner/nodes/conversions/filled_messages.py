"""Messages of which all fields are given."""

from __future__ import annotations

from typing import Any, TypeVar

M = TypeVar("M")
CHECKS = "_check_fields"  # attribute of messages


def filled(kind: type[M], **fields: Any) -> M:
    """Return a message of which all fields are given. Its constructor would evaluate the defaults of all fields first,
    with all messages in them."""
    message = kind.__new__(kind)
    if hasattr(kind, CHECKS):
        setattr(message, CHECKS, False)
    for name, value in fields.items():
        setattr(message, name, value)
    return message
