"""Requests of JSON-RPC 2.0: their text, their form, and the responses to them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from typing import Any, TypeAlias

from ..model.name_suggestions import unknown_name

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, SERVER_ERROR = -32700, -32600, -32601, -32000
VERSION = "2.0"
MAX_SHOWN = 80  # characters of a value in a message
KEYS = ("jsonrpc", "id", "method", "params")
Response: TypeAlias = dict[str, Any]


class RefusedRequest(Exception):
    """A text that is not a request or a batch. `code`: code of the error in the specification."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def parse(data: bytes) -> Any:
    """Return the JSON value of a text in UTF-8.

    Raises:
        RefusedRequest: The text is no JSON, an object in it has a key twice, of which parsers take the last value, or
            it is an empty batch.
    """
    repeated: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeated.append(Counter(name for name, _ in pairs).most_common(1)[0][0])
        return found

    try:
        value = json.loads(data.decode(), object_pairs_hook=once)
    except UnicodeDecodeError as error:
        raise RefusedRequest(PARSE_ERROR, f"the request is not UTF-8: {error}") from error
    except ValueError as error:
        raise RefusedRequest(PARSE_ERROR, f"the request is not JSON: {error}") from error
    except RecursionError as error:
        raise RefusedRequest(PARSE_ERROR, "the request is nested too deeply") from error
    if repeated:
        raise RefusedRequest(INVALID_REQUEST, f"the request has the key {repeated[0]!r} twice in one object")
    if value == []:
        raise RefusedRequest(INVALID_REQUEST, "the batch has no requests")
    return value


def flaw(call: Any) -> str:
    """Return why a JSON value is not a request; "" if it is one."""
    if not isinstance(call, dict):
        return f"the request is {_shown(call)}, expected an object"
    if call.get("jsonrpc") != VERSION:
        version = f'has "jsonrpc": {_shown(call["jsonrpc"])}' if "jsonrpc" in call else 'has no "jsonrpc"'
        return f'the request {version}, expected "jsonrpc": "{VERSION}"'
    if unknown := sorted(set(call) - set(KEYS)):
        return f"the request has the key {_shown(unknown[0])}; its keys are {', '.join(KEYS)}"
    if not _is_id(call.get("id")):
        return f"the id of the request is {_shown(call['id'])}, expected a string, an integer or null"
    if not isinstance(call.get("method"), str):
        return f"the method of the request is {_shown(call.get('method'))}, expected a string"
    if not isinstance(call.get("params"), dict | list | None):
        return f"the params of the request are {_shown(call['params'])}, expected an object or a list"
    return ""


def _shown(value: Any) -> str:
    """Return a JSON value as text for messages."""
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else json.dumps(value)[:MAX_SHOWN]


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


def is_notification(call: dict[str, Any]) -> bool:
    """Return whether a request gets no response."""
    return "id" not in call


def succeeded(call: dict[str, Any], result: Any) -> Response:
    """Return the response with a result."""
    return {"jsonrpc": VERSION, "id": call.get("id"), "result": result}


def failed(call: Any, code: int, message: str, data: Any = None) -> Response:
    """Return the response with an error; its id is that of the request if that has a valid one, or else null."""
    given = call.get("id") if isinstance(call, dict) else None
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return {"jsonrpc": VERSION, "id": given if _is_id(given) else None, "error": error}


def unknown_method(name: str, existing: Collection[str]) -> str:
    """Return the message about a method that does not exist."""
    return f"{unknown_name(f'method {name[:100]!r}', name, existing)}; rpc.discover describes all"
