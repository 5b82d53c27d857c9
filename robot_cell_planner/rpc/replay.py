"""Replay of a log of calls: the same requests to a new session, and what differs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..errors import FileError
from ..model.json_difference import first_difference
from .session import RpcSession

SECONDS, STAGES = "seconds", "times"  # fields that differ from run to run


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


def replay(log: Iterable[str | bytes], session: RpcSession) -> Iterator[Difference | None]:
    """Send the requests of a log to a session; yield the first difference of each response, or None.

    Times that the calls took are not compared.

    Raises:
        FileError: A line is not an entry of a log.
    """
    for number, line in enumerate(log, start=1):
        try:
            entry = json.loads(line)
            request, logged = entry["request"], entry["response"]
            was = json.loads(logged) if logged else None
            if not isinstance(request, str):
                raise TypeError(f"the request is {request!r:.100}, expected text")
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise FileError(f"line {number} is not an entry of a log of calls: {error}", stage="json-rpc") from error
        answer = session.answer(request)
        found = first_difference(_without_stages(was), _without_stages(json.loads(answer) if answer else None))
        yield None if found is None else Difference(number, _method(request), *found)


def _without_stages(value: Any) -> Any:
    """Return a response without the times that stages took. A trajectory has numbers as `times`, which remain."""
    if isinstance(value, list):
        nested = any(isinstance(item, list | dict) for item in value)
        return [_without_stages(item) for item in value] if nested else value
    if not isinstance(value, dict):
        return value
    kept = {key: item for key, item in value.items() if key != SECONDS and not (key == STAGES and _are_stages(item))}
    return {key: _without_stages(item) for key, item in kept.items()}


def _are_stages(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _method(request: str) -> str:
    try:
        parsed = json.loads(request)
    except ValueError:
        return ""
    return str(parsed.get("method", "")) if isinstance(parsed, dict) else ""
