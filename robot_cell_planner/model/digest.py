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


def without_places(value: object) -> object:
    """Return a value as dictionaries and lists without the texts that a model was read from, and without the place of
    each mesh file; the digest of the file's content remains."""
    return _without_places(msgspec.to_builtins(value, enc_hook=plain))


def _without_places(value: object) -> object:
    if isinstance(value, dict):
        left_out = {"sources", *(("uri", "path") if value.get("type") == "mesh" else ())}
        return {name: _without_places(item) for name, item in value.items() if name not in left_out}
    if isinstance(value, list | tuple):
        return [_without_places(item) for item in value]
    return value


def same_to_the_last_bit(first: object, second: object) -> bool:
    """Return whether two values have the same digest. Unlike ==, this distinguishes zero from negative zero."""
    return first is second or (first == second and canonical(first) == canonical(second))
