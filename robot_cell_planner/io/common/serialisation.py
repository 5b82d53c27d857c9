"""Exact serialisation of values as JSON and YAML.

`to_json` and `from_json` are for records whose type is known from their context. A document is a separate file that
contains its type and format version.
"""

from __future__ import annotations

from typing import Any, TypeVar, get_args, get_origin

import msgspec
import yaml
from frozendict import frozendict

from ...errors import FileError
from ...model.value import plain
from .yaml_reader import FLOAT, parse_yaml

FORMAT = "robot_cell_planner"
VERSION = 1
OTHER_FILE = "Give a file that `save_state` wrote; `load_cell` returns the state of a cell file."
STAGE = "decode"
T = TypeVar("T")


def to_json(value: msgspec.Struct) -> bytes:
    """Serialise a value as compact JSON, with keys in the order of fields and mappings."""
    return msgspec.json.encode(value, enc_hook=plain)


def from_json(data: bytes | str, kind: type[T]) -> T:
    """Deserialise a JSON text written by `to_json`.

    Raises:
        FileError: The text is malformed or not a valid value; the message gives the field.
        ModelError, DuplicateNameError: A mechanism or cell is inconsistent.
    """
    try:
        return msgspec.json.decode(data, type=kind, dec_hook=_mapping)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise FileError(f"{_title(kind)}: {_reason(error)}", stage=STAGE, subjects=(_title(kind),)) from error


def to_json_document(value: msgspec.Struct) -> bytes:
    """Serialise a value as a JSON file with format and version."""
    return msgspec.json.format(msgspec.json.encode(_document(value), enc_hook=plain), indent=1) + b"\n"


def to_yaml_document(value: msgspec.Struct) -> str:
    """Serialise a value as a YAML file with format and version."""
    return dump_yaml(_document(value))


def _document(value: msgspec.Struct) -> dict[str, Any]:
    builtins = msgspec.to_builtins(value, enc_hook=plain)
    return {"format": f"{FORMAT}/{type(value).__name__}", "version": VERSION, "value": builtins}


def from_document(text: str, kind: type[T], source: str = "document") -> T:
    """Deserialise a file written by `to_json_document` or `to_yaml_document`.

    Raises:
        FileError: The file is malformed, has another format or version, or is not a valid value; the message gives the
            field.
        LimitExceededError: The file is too large or too deeply nested.
        ModelError, DuplicateNameError: A mechanism or cell is inconsistent.
    """
    document = parse_yaml(text, source, STAGE)
    format_name = f"{FORMAT}/{kind.__name__}"
    if not isinstance(document, dict) or document.get("format") != format_name:
        text = f"{source} is no document of format {format_name!r}"
        raise FileError(text, stage=STAGE, subjects=(source,), remedy=OTHER_FILE)
    version = document.get("version")
    if isinstance(version, bool) or version != VERSION:  # True equals 1
        text = f"{source} has version {version!r}, expected {VERSION}"
        raise FileError(text, stage=STAGE, subjects=(source,))
    try:
        return msgspec.convert(document.get("value"), kind, dec_hook=_mapping)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise FileError(f"{source}: {_reason(error)}", stage=STAGE, subjects=(source,)) from error


def _mapping(kind: Any, value: Any) -> Any:
    """Decode the only type that msgspec does not support: a frozendict with given key and value types."""
    if get_origin(kind) is not frozendict:
        # What msgspec expects of a hook for a type that it does not know either.
        raise NotImplementedError(f"cannot decode {kind}")
    plain: Any = dict.__class_getitem__(get_args(kind))
    return frozendict(msgspec.convert(value, plain, dec_hook=_mapping))


def _reason(error: Exception) -> str:
    return "is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _title(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Dumper that quotes every string that YAML 1.1 or 1.2 would interpret otherwise, and writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _sequence(dumper: Any, values: Any) -> Any:
    """Write numbers on one line."""
    flat = all(isinstance(value, (int, float)) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=flat)


def _text(dumper: Any, text: str) -> Any:
    """Write multi-line strings as literal blocks where YAML can do so without loss."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(list, _sequence)
_Dumper.add_representer(tuple, _sequence)
_Dumper.add_representer(str, _text)
# In YAML 1.1, used by the dumper's resolver, 1e5 is not a number; in YAML 1.2 and in our reader it is.
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+0123456789."))


def dump_yaml(value: Any) -> str:
    """Serialise dicts, lists and numbers as YAML with ordered keys; `parse_yaml` reads the result back exactly."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120))
