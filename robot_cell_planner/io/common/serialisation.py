"""Values as JSON and YAML, to the last bit and back.

`to_json` and `from_json` are for records that say elsewhere what they are. A document is a file of its own: it names
what it holds and the version of its form.
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
STAGE = "decode"
T = TypeVar("T")


def to_json(value: msgspec.Struct) -> bytes:
    """A value as compact JSON, its keys in the order of the fields and mappings."""
    return msgspec.json.encode(value, enc_hook=plain)


def from_json(data: bytes | str, kind: type[T]) -> T:
    """The value in a JSON text of `to_json`.

    Raises:
        FileError: malformed, or no such value; says which field.
        ModelError, DuplicateNameError: a mechanism or cell that contradicts itself.
    """
    try:
        return msgspec.json.decode(data, type=kind, dec_hook=_mapping)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise FileError(f"{_title(kind)}: {_reason(error)}", stage=STAGE, subjects=(_title(kind),)) from error


def to_json_document(value: msgspec.Struct) -> bytes:
    """A value as a JSON file, with format and version."""
    return msgspec.json.format(msgspec.json.encode(_document(value), enc_hook=plain), indent=1) + b"\n"


def to_yaml_document(value: msgspec.Struct) -> str:
    """A value as a YAML file, with format and version."""
    return dump_yaml(_document(value))


def _document(value: msgspec.Struct) -> dict[str, Any]:
    builtins = msgspec.to_builtins(value, enc_hook=plain)
    return {"format": f"{FORMAT}/{type(value).__name__}", "version": VERSION, "value": builtins}


def from_document(text: str, kind: type[T], source: str = "document") -> T:
    """The value in a file that `to_json_document` or `to_yaml_document` wrote.

    Raises:
        FileError: malformed, of another format or version, or no such value; says which field.
        LimitExceededError: too large or too deep.
        ModelError, DuplicateNameError: a mechanism or cell that contradicts itself.
    """
    document = parse_yaml(text, source, STAGE)
    format_name = f"{FORMAT}/{kind.__name__}"
    if not isinstance(document, dict) or document.get("format") != format_name:
        raise FileError(f"{source} is no document of format {format_name!r}", stage=STAGE, subjects=(source,))
    if document.get("version") != VERSION:
        text = f"{source} has version {document.get('version')!r}, expected {VERSION}"
        raise FileError(text, stage=STAGE, subjects=(source,))
    try:
        return msgspec.convert(document.get("value"), kind, dec_hook=_mapping)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise FileError(f"{source}: {_reason(error)}", stage=STAGE, subjects=(source,)) from error


def _mapping(kind: Any, value: Any) -> Any:
    """Decodes the one type that msgspec does not know: a frozendict with keys and values of given types."""
    if get_origin(kind) is not frozendict:
        raise NotImplementedError(f"cannot decode {kind}")
    plain: Any = dict.__class_getitem__(get_args(kind))
    return frozendict(msgspec.convert(value, plain, dec_hook=_mapping))


def _reason(error: Exception) -> str:
    return "is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _title(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Quotes every text that YAML 1.1 or 1.2 would take for something else; writes nothing twice by reference."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _sequence(dumper: Any, values: Any) -> Any:
    """Numbers stay on one line."""
    flat = all(isinstance(value, (int, float)) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=flat)


def _text(dumper: Any, text: str) -> Any:
    """Texts of several lines stand as they are, where YAML can do that without loss."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(list, _sequence)
_Dumper.add_representer(tuple, _sequence)
_Dumper.add_representer(str, _text)
# YAML 1.1, which the dumper's resolver knows, does not take 1e5 for a number; YAML 1.2 and our reader do.
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+0123456789."))


def dump_yaml(value: Any) -> str:
    """Dicts, lists and numbers as YAML, keys in their order, that `parse_yaml` reads back to the last bit."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120))
