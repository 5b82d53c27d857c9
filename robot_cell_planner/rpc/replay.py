"""Replay of a log of calls: the same requests to a new session, and what differs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..errors import FileError
from ..model.json_difference import first_difference
from .session import RpcSession

TIMES = ("seconds", "times")  # fields that differ from run to run


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
        found = first_difference(was, json.loads(answer) if answer else None, ignored=TIMES)
        yield None if found is None else Difference(number, _method(request), *found)


def _method(request: str) -> str:
    try:
        parsed = json.loads(request)
    except ValueError:
        return ""
    return str(parsed.get("method", "")) if isinstance(parsed, dict) else ""
