"""Definitions of interface types with their hashes, also those of service events and of the parts of actions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from type_description_interfaces.msg import FieldType

from ...errors import ResourceError

SEPARATOR = "=" * 80
# rosidl numbers the types of values, then their arrays, bounded sequences and sequences, in blocks of this size.
BLOCK = FieldType.FIELD_TYPE_NESTED_TYPE_ARRAY - FieldType.FIELD_TYPE_NESTED_TYPE
VALUE_TYPES = {
    FieldType.FIELD_TYPE_INT8: "int8",
    FieldType.FIELD_TYPE_UINT8: "uint8",
    FieldType.FIELD_TYPE_INT16: "int16",
    FieldType.FIELD_TYPE_UINT16: "uint16",
    FieldType.FIELD_TYPE_INT32: "int32",
    FieldType.FIELD_TYPE_UINT32: "uint32",
    FieldType.FIELD_TYPE_INT64: "int64",
    FieldType.FIELD_TYPE_UINT64: "uint64",
    FieldType.FIELD_TYPE_FLOAT: "float",
    FieldType.FIELD_TYPE_DOUBLE: "double",
    FieldType.FIELD_TYPE_CHAR: "char",
    FieldType.FIELD_TYPE_BOOLEAN: "boolean",
    FieldType.FIELD_TYPE_BYTE: "octet",
    FieldType.FIELD_TYPE_STRING: "string",
    FieldType.FIELD_TYPE_WSTRING: "wstring",
    FieldType.FIELD_TYPE_BOUNDED_STRING: "string",
    FieldType.FIELD_TYPE_BOUNDED_WSTRING: "wstring",
}
BOUNDED_STRINGS = (FieldType.FIELD_TYPE_BOUNDED_STRING, FieldType.FIELD_TYPE_BOUNDED_WSTRING)
# Interface that generates a type: GetCell of GetCell_Event, Move of Move_SendGoal_Event.
PART = re.compile(r"_(Request|Response|Event|Goal|Result|Feedback|FeedbackMessage|SendGoal|GetResult)(_.*)?$")


@dataclass(frozen=True)
class Definition:
    """text: of the type and the types of its fields, as bags contain it. hash: RIHS01 of REP 2016.

    Messages are in the format of their files (ros2msg), with constants and comments. That format has no names for types
    of services and actions, which are in IDL (ros2idl).
    """

    text: str
    hash: str


@cache
def definition_of(type_name: str) -> Definition:
    """Return the definition of a type such as sensor_msgs/msg/JointState or robot_cell_planner/srv/GetCell_Event.

    Raises:
        ResourceError: It is not installed, or its description has an unknown type of field.
    """
    package, kind, name = _split(type_name)
    interface = name if kind == "msg" else PART.sub("", name)
    try:
        path = Path(get_package_share_directory(package), kind, f"{interface}.json")
        content = json.loads(path.read_text(encoding="utf-8"))
    except (PackageNotFoundError, ValueError, OSError) as error:
        raise ResourceError(f"interface {type_name} is not installed", subjects=(type_name,)) from error
    hashes = {entry["type_name"]: entry["hash_string"] for entry in content["type_hashes"]}
    described = content["type_description_msg"]
    types = [described["type_description"], *described["referenced_type_descriptions"]]
    fields = {entry["type_name"]: entry["fields"] for entry in types}
    if type_name not in hashes or type_name not in fields:
        raise ResourceError(f"{path} does not describe {type_name}", subjects=(type_name,))
    needed = _needed(type_name, fields)
    if kind == "msg":
        text = f"\n{SEPARATOR}\nMSG: ".join([_message_text(type_name), *map(_headed_message, needed)])
    else:
        text = "\n".join(f"{SEPARATOR}\nIDL: {other}\n{_idl_text(other, fields[other])}" for other in needed)
        text = f"{SEPARATOR}\nIDL: {type_name}\n{_idl_text(type_name, fields[type_name])}\n{text}"
    return Definition(text, hashes[type_name])


def _split(type_name: str) -> tuple[str, str, str]:
    words = type_name.split("/")
    if len(words) != 3 or words[1] not in ("msg", "srv", "action"):
        raise ResourceError(f"{type_name!r} is not the name of an interface", subjects=(type_name,))
    return words[0], words[1], words[2]


def _needed(type_name: str, fields: Mapping[str, list[Any]]) -> list[str]:
    """Return the types of fields, and of their fields, without the type itself."""
    found: list[str] = []
    left = [type_name]
    while left:
        for field in fields[left.pop()]:
            other = field["type"]["nested_type_name"]
            if other and other not in found:
                found.append(other)
                left.append(other)
    return sorted(found)


def _message_text(type_name: str) -> str:
    """Return the file that defines a message."""
    package, kind, name = _split(type_name)
    try:
        return Path(get_package_share_directory(package), kind, f"{name}.msg").read_text(encoding="utf-8")
    except (PackageNotFoundError, ValueError, OSError) as error:
        raise ResourceError(f"interface {type_name} is not installed", subjects=(type_name,)) from error


def _headed_message(type_name: str) -> str:
    return f"{type_name.replace('/msg/', '/')}\n{_message_text(type_name)}"


def _idl_text(type_name: str, fields: list[Any]) -> str:
    package, kind, name = _split(type_name)
    rows = "".join(f"  {_idl_field(field['type'], field['name'])};\n" for field in fields)
    return f"module {package} {{ module {kind} {{ struct {name} {{\n{rows}}}; }}; }};\n"


def _idl_field(kind: Mapping[str, Any], name: str) -> str:
    block, value = divmod(kind["type_id"], BLOCK)
    text = kind["nested_type_name"].replace("/", "::") or VALUE_TYPES.get(value)
    if text is None or block > 3:
        raise ResourceError(f"type {kind['type_id']} of field {name} is not known")
    if value in BOUNDED_STRINGS:
        text += f"<{kind['string_capacity']}>"
    if block == 0:
        return f"{text} {name}"
    if block == 1:
        return f"{text} {name}[{kind['capacity']}]"
    return f"sequence<{text}, {kind['capacity']}> {name}" if block == 2 else f"sequence<{text}> {name}"
