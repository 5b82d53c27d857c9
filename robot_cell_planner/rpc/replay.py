"""Replay of a log of calls: the same requests to a new session, and what differs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..errors import FileError
from .session import RpcSession

TIMES = ("seconds", "times")  # fields that differ from run to run
MAX_SHOWN = 80  # characters of a value


class Difference(NamedTuple):
    """A response that differs from the log.

    Attributes:
        line: Number of the line in the log, from 1.
        method: Method of the request; "" for a batch.
        place: Where the response differs, such as `result.path[3][0]`.
        logged, found: Both values as text.
    """

    line: int
    method: str
    place: str
    logged: str
    found: str

    def __str__(self) -> str:
        return f"line {self.line}, {self.method or 'batch'}: {self.place} was {self.logged}, is {self.found}"


def replay(log: Iterable[str], session: RpcSession) -> Iterator[Difference | None]:
    """Send the requests of a log to a session; yield the first difference of each response, or None.

    Times are not compared.

    Raises:
        FileError: A line is not an entry of a log.
    """
    for number, line in enumerate(log, start=1):
        try:
            entry = json.loads(line)
            request, logged = entry["request"], entry["response"]
            was = json.loads(logged) if logged else None
        except (ValueError, TypeError, KeyError) as error:
            raise FileError(f"line {number} is not an entry of a log of calls: {error}", stage="json-rpc") from error
        answer = session.answer(request)
        found = _first_difference(was, json.loads(answer) if answer else None, "")
        yield None if found is None else Difference(number, _method(request), *found)


def _method(request: str) -> str:
    try:
        parsed = json.loads(request)
    except ValueError:
        return ""
    return str(parsed.get("method", "")) if isinstance(parsed, dict) else ""


def _first_difference(was: Any, found: Any, place: str) -> tuple[str, str, str] | None:
    """Return place and both values of the first difference of two JSON values; None if there is none."""
    if isinstance(was, dict) and isinstance(found, dict):
        for key in [*was, *(key for key in found if key not in was)]:
            if key in TIMES:
                continue
            if (key in was) != (key in found):
                return f"{place}.{key}".lstrip("."), _shown(was.get(key)), _shown(found.get(key))
            if (inner := _first_difference(was[key], found[key], f"{place}.{key}")) is not None:
                return inner
        return None
    if isinstance(was, list) and isinstance(found, list) and len(was) == len(found):
        pairs = enumerate(zip(was, found, strict=True))
        inside = (_first_difference(one, other, f"{place}[{index}]") for index, (one, other) in pairs)
        return next((inner for inner in inside if inner is not None), None)
    return None if was == found else (place.lstrip(".") or "response", _shown(was), _shown(found))


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
