"""Digests: short identifiers of values, equal in every process."""

from __future__ import annotations

import hashlib

import msgspec

from .value import plain


def canonical(value: object) -> msgspec.Raw:
    """Return the canonical JSON of a value (sorted keys, shortest floats), which can be embedded in a larger encoded
    value."""
    return msgspec.Raw(msgspec.json.encode(value, enc_hook=plain, order="sorted"))


def digest_of(value: object) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the value's canonical JSON."""
    return hashlib.sha256(canonical(value)).hexdigest()[:16]


def same_to_the_last_bit(first: object, second: object) -> bool:
    """Return whether two values have the same digest. Unlike ==, this distinguishes zero from negative zero."""
    return first is second or (first == second and canonical(first) == canonical(second))
