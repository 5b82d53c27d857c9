"""Digests: short identifiers of values, equal in every process."""

from __future__ import annotations

import hashlib

import msgspec

from .sources import ModelSources
from .value import plain

PLACE_OF_MESH = ("uri", "path")
SOURCE_FIELDS = set(ModelSources.__struct_fields__)


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
        left_out = PLACE_OF_MESH if value.get("type") == "mesh" else ()
        items = ((name, item) for name, item in value.items() if name not in left_out and not _is_sources(name, item))
        return {name: _without_places(item) for name, item in items}
    if isinstance(value, list | tuple):
        return [_without_places(item) for item in value]
    return value


def _is_sources(name: str, value: object) -> bool:
    """Whether an item is the field of a model's texts, and no link, joint or frame of that name."""
    return name == "sources" and isinstance(value, dict) and value.keys() == SOURCE_FIELDS


def content_of(value: object) -> msgspec.Raw:
    """Return the part of a cell's digest that a value contributes: its canonical JSON, without places of files."""
    return canonical(without_places(value))


def same_to_the_last_bit(first: object, second: object) -> bool:
    """Return whether two values have the same digest. Unlike ==, this distinguishes zero from negative zero."""
    return first is second or (first == second and canonical(first) == canonical(second))
