"""Digests: short names for values, the same in any process."""

from __future__ import annotations

import hashlib

import msgspec
from frozendict import frozendict


def digest_of(value: object) -> str:
    """First sixteen hexadecimal digits of the SHA-256 of the value's canonical JSON (keys sorted, shortest floats)."""
    text = msgspec.json.encode(value, enc_hook=_plain, order="sorted")
    return hashlib.sha256(text).hexdigest()[:16]


def _plain(value: object) -> object:
    if isinstance(value, frozendict):
        return dict(value)
    raise TypeError(f"cannot serialise {type(value).__name__}")
