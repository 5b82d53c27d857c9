"""Reader of untrusted YAML with the number syntax of YAML 1.2, bounded and without tags that create objects.

PyYAML's safe loader implements YAML 1.1, where `1e-3` is a string, `on` a boolean and `1:30` the number 90. This reader
uses the core schema of YAML 1.2: null, true and false, decimal integers and floats (1e-3, .inf); everything else is a
string. Keys are strings as written. Aliases and merge keys (<<) are supported as long as their expansion is within the
bounds. `!degrees` and `!radians` before a number, as in ROS files, give radians. JSON is a subset of YAML.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

import yaml

from ...errors import FileError, LimitExceededError
from .resources import check_text_length

MAX_DEPTH = 64
MAX_NODES = 5_000_000
MAX_DUPLICATES = 100
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
INTEGER = re.compile(r"[-+]?[0-9]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
UNITS = ("!degrees", "!radians")  # tags before a number
STANDARD = "tag:yaml.org,2002:"
BY_TAB = "the line is indented by a tab, expected spaces"
TAGGED: dict[str, type] = {
    STANDARD + "float": float,
    STANDARD + "int": int,
    STANDARD + "bool": bool,
    STANDARD + "null": type(None),
}


def parse_yaml(text: str, source: str, stage: str, duplicates: list[str] | None = None) -> Any:
    """Parse a YAML or JSON text to dict, list, str, int, float, bool or None.

    duplicates: Takes note of keys that a mapping has twice, of which the last counts, as for PyYAML: for files of
        programs that write such mappings. None: they are errors.

    Raises:
        FileError: The text is malformed, has a duplicate key, several documents or an unknown tag; the message gives
            file and line.
        LimitExceededError: The text is too long or too deep, or its aliases expand to too much.
    """
    check_text_length(text, source, stage)
    if text.lstrip()[:1] == "{":
        try:
            return json.loads(text, object_pairs_hook=_no_key_twice)
        except (ValueError, RecursionError):
            pass  # may be a YAML flow mapping; if malformed, the YAML reader gives the position
    return _Composer(source, stage, duplicates).compose(text)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key twice")
    return result


class _Open:
    """List or mapping being read. `size`: number of nodes, with aliases expanded."""

    __slots__ = ("anchor", "key", "merged", "merging", "size", "start", "value")

    def __init__(self, value: dict[str, Any] | list[Any], anchor: str | None, start: int) -> None:
        self.value = value
        self.anchor = anchor
        self.start = start
        self.size = 1
        self.key: str | None = None
        self.merging = False  # whether the key is an unquoted <<
        self.merged: list[dict[str, Any]] = []


class _Composer:
    """Builds values from the event stream with an explicit stack, so that depth cannot exhaust the call stack."""

    def __init__(self, source: str, stage: str, duplicates: list[str] | None) -> None:
        self.source = source
        self.stage = stage
        self.duplicates = duplicates
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.stack: list[_Open] = []
        self.root: Any = None
        self.documents = 0

    def error(self, line: int, text: str) -> FileError:
        return FileError(f"{self.source}:{line}: {text}", stage=self.stage, subjects=(self.source,))

    def limit(self, line: int, text: str) -> LimitExceededError:
        return LimitExceededError(f"{self.source}:{line}: {text}", stage=self.stage, subjects=(self.source,))

    def compose(self, text: str) -> Any:
        try:
            for event in yaml.parse(text, Loader=LOADER):
                self._take(event)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            reason = BY_TAB if _begins_with_tab(text, line) else error.problem or error.context
            raise self.error(line, f"is not well-formed YAML: {reason}") from error
        except (yaml.YAMLError, UnicodeError) as error:
            raise self.error(1, f"is not well-formed YAML: {str(error).splitlines()[0]}") from error
        return self.root

    def _take(self, event: yaml.Event) -> None:
        line = _line(event)
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._open(event, line)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            done = self.stack.pop()
            for mapping in done.merged:
                if isinstance(done.value, dict):
                    done.value = {**mapping, **done.value}
            if done.anchor:
                self.anchors[done.anchor] = (done.value, done.size)
            self._add(done.value, done.size, done.start)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise self.error(line, f"alias *{event.anchor} names nothing before it")
            self._add(*self.anchors[event.anchor], line)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise self.error(line, "begins a second document, expected one")

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent, line: int) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise self.limit(line, f"is nested deeper than {MAX_DEPTH} levels")
        mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", STANDARD + ("map" if mapping else "seq")):
            raise self.error(line, _tag_text(event.tag, is_list=not mapping))
        if self.stack and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None:
            raise self.error(line, "has a list or mapping as key, expected text")
        self.stack.append(_Open({} if mapping else [], event.anchor, line))

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            if event.value in top.value:
                self._note_duplicate(self.error(line, f"has the key {event.value[:80]!r} twice"))
            top.key = event.value
            top.merging = event.value == "<<" and event.style in (None, "")
            return
        value = self._value(event, line)
        if event.anchor:
            self.anchors[event.anchor] = (value, 1)
        self._add(value, 1, line)

    def _note_duplicate(self, error: FileError) -> None:
        if self.duplicates is None:
            raise error
        if len(self.duplicates) < MAX_DUPLICATES:
            self.duplicates.append(f"{error.message}; the last one is used")

    def _value(self, event: yaml.ScalarEvent, line: int) -> Any:
        text, tag = event.value, event.tag
        if tag in UNITS:
            number = _plain(text)
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise self.error(line, f"has {tag} before {text[:80]!r}, expected a number")
            return math.radians(number) if tag == "!degrees" else float(number)
        if tag in ("!", STANDARD + "str") or (tag is None and event.style not in (None, "")):
            return text
        value = _plain(text)
        if tag is None:
            return value
        if tag not in TAGGED:
            raise self.error(line, _tag_text(tag, is_list=False))
        if TAGGED[tag] is float and type(value) is int:
            return float(value)
        if type(value) is not TAGGED[tag]:
            raise self.error(line, f"has {text[:80]!r}, expected what its tag says ({tag.removeprefix(STANDARD)})")
        return value

    def _add(self, value: Any, size: int, line: int) -> None:
        if not self.stack:
            self.root = value
            return
        top = self.stack[-1]
        top.size += size
        if top.size > MAX_NODES:
            raise self.limit(line, f"unfolds to more than {MAX_NODES} values")
        if isinstance(top.value, list):
            top.value.append(value)
            return
        if top.key is None:
            raise self.error(line, "has an alias as key, expected text")
        if top.merging:
            self._merge(top, value, line)
        else:
            top.value[top.key] = value
        top.key = None

    def _merge(self, target: _Open, value: Any, line: int) -> None:
        """Merge key `<<`: add the keys of one or several mappings that the target does not define itself."""
        for mapping in value if isinstance(value, list) else [value]:
            if not isinstance(mapping, dict):
                raise self.error(line, "has << before something else than a mapping")
            target.merged.append(mapping)


def _begins_with_tab(text: str, line: int) -> bool:
    """Return whether a tab is before the first other character of a line, counted from 1."""
    lines = text.split("\n")
    written = lines[line - 1] if line <= len(lines) else ""
    return "\t" in written[: len(written) - len(written.lstrip())]


def _tag_text(tag: str, is_list: bool) -> str:
    text = f"has the tag {tag!r}, which is refused"
    return f"{text}; write it before each number of the list: [{tag} 1.5, 0, 0]" if is_list and tag in UNITS else text


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _plain(text: str) -> Any:
    """Return the value of an unquoted scalar by the core schema of YAML 1.2."""
    if text in WORDS:
        return WORDS[text]
    if INTEGER.fullmatch(text) and len(text) < 300:
        return int(text)
    if FLOAT.fullmatch(text):
        return float(text)
    return text


def line_of(text: str, path: Iterable[str | int]) -> int:
    """Return the line, from 1, of the value at a path of keys and indices; of the nearest parent if there is none."""
    target = list(path)
    best, best_depth = 1, 0
    stack: list[_Position] = []
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            stack.pop()
            if stack:
                stack[-1].value_ended()
        elif isinstance(event, yaml.NodeEvent):
            if stack:
                is_key = stack[-1].begin(event)
                here = [position.at for position in stack]
                if len(here) > best_depth and here == target[: len(here)]:
                    best, best_depth = _line(event), len(here)
                if is_key:
                    continue
            if isinstance(event, yaml.CollectionStartEvent):
                stack.append(_Position(isinstance(event, yaml.MappingStartEvent)))
            elif stack:
                stack[-1].value_ended()
    return best


class _Position:
    """Position in one list or mapping while walking over events."""

    def __init__(self, mapping: bool) -> None:
        self.mapping = mapping
        self.at: str | int | None = None if mapping else -1

    def begin(self, event: yaml.NodeEvent) -> bool:
        """Begin a node; return whether it is a key."""
        if isinstance(self.at, int):
            self.at += 1
            return False
        if self.at is None:
            self.at = event.value if isinstance(event, yaml.ScalarEvent) else ""
            return True
        return False

    def value_ended(self) -> None:
        if self.mapping:
            self.at = None
