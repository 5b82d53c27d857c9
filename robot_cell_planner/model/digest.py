"""Digests: short names for values, the same in any process."""

from __future__ import annotations

import hashlib

import msgspec

from .value import plain


def canonical(value: object) -> msgspec.Raw:
    """The value's canonical JSON: keys sorted, shortest floats. It can be part of a larger value that is encoded."""
    return msgspec.Raw(msgspec.json.encode(value, enc_hook=plain, order="sorted"))


def digest_of(value: object) -> str:
    """First sixteen hexadecimal digits of the SHA-256 of the value's canonical JSON."""
    return hashlib.sha256(canonical(value)).hexdigest()[:16]


def same_to_the_last_bit(first: object, second: object) -> bool:
    """Whether two values have the same digest; other than with ==, a zero is told from a negative zero."""
    return first is second or (first == second and canonical(first) == canonical(second))
