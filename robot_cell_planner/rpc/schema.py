"""JSON schemas of annotations."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any

from ..model.json_values import SEQUENCES, TAG, fields_of, is_array, is_path, is_record, members, tag_of, to_json

Schema: typing.TypeAlias = dict[str, Any]
SCALARS: Mapping[Any, str] = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
REFERENCE = "#/components/schemas/"


class Schemas:
    """Schemas of annotations. `components`: schemas of the classes, by name, which the others refer to."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """Return the schema of an annotation."""
        alternatives = members(kind)
        if len(alternatives) > 1:
            several = sum(map(is_record, alternatives)) > 1
            return {
                "anyOf": [self._tagged(each) if several and is_record(each) else self.of(each) for each in alternatives]
            }
        origin, inner = typing.get_origin(kind) or kind, typing.get_args(kind)
        if kind in SCALARS or kind is None:
            return {"type": SCALARS[type(None) if kind is None else kind]}
        if is_record(kind):
            return self._reference(kind)
        if is_array(kind):
            return {"type": "array", "description": "numbers, in lists of lists for more dimensions"}
        if is_path(kind):
            return {"type": "string"}
        if isinstance(origin, type) and issubclass(origin, Enum):
            return {"enum": [to_json(member) for member in origin]}
        if origin is typing.Literal:
            return {"enum": list(inner)}
        if origin in SEQUENCES and inner:
            return self._sequence(origin, inner)
        if isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
            return {"type": "object", **({"additionalProperties": self.of(inner[1])} if len(inner) == 2 else {})}
        return {}

    def _tagged(self, kind: type) -> Schema:
        tag = {"type": "object", "properties": {TAG: {"const": tag_of(kind)}}, "required": [TAG]}
        return {"allOf": [tag, self._reference(kind)]}

    def _sequence(self, origin: Any, inner: tuple[Any, ...]) -> Schema:
        if origin is tuple and Ellipsis not in inner:
            return {"type": "array", "prefixItems": [self.of(each) for each in inner], "minItems": len(inner),
                    "maxItems": len(inner)}  # fmt: skip
        return {"type": "array", "items": self.of(inner[0])}

    def _reference(self, kind: type) -> Schema:
        name = kind.__name__
        if name not in self.components:
            self.components[name] = {}  # a class may contain itself
            fields = fields_of(kind)
            self.components[name] = {
                "type": "object",
                "description": inspect.cleandoc(kind.__doc__ or ""),
                "properties": {key: self.of(field.annotation) for key, field in fields.items()},
                "required": [key for key, field in fields.items() if field.required],
            }
        return {"$ref": REFERENCE + name}
