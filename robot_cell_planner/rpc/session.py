"""Session of JSON-RPC: one cell with its state, the methods that act on it, and the log of calls."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from jsonrpc import JSONRPCResponseManager
from jsonrpc.dispatcher import Dispatcher
from jsonrpc.exceptions import JSONRPCDispatchException

from .. import __version__
from ..errors import InvalidRequestError, NoCellError, RobotCellError
from ..io.common.resources import NO_ROOTS, ResourceRoots
from ..model.json_values import to_json
from ..offline import OfflineCell
from .methods import Context, Method, methods, plain_method
from .schema import Schemas

MAX_REQUEST = 64 * 2**20  # [bytes]
SERVER_ERROR = -32000
VERSION = "2.0"  # of JSON-RPC
logger = logging.getLogger(__name__)
RESERVED, DISCOVER = "rpc.discover", "discover"


class RpcSession:
    """Answer JSON-RPC 2.0 requests, single ones and batches.

    A library error has its own code, and `data` with name, stage, subjects, values and remedy. Not thread-safe.

    Args:
        roots: Folders for packages and files that cell files name.
        log: Text file to which each request is appended with its response, one JSON object per line.
    """

    def __init__(self, roots: ResourceRoots = NO_ROOTS, log: IO[str] | None = None) -> None:
        self._roots = roots
        self._log = log
        self._cell: OfflineCell | None = None
        self._dispatcher = Dispatcher()
        for name, method in methods().items():
            self._dispatcher[name] = self._handler(method)
        for function in (self.load_cell, self.cell, self.state, self.version, discover):
            own = plain_method(function.__name__, function)
            self._dispatcher[own.name] = self._handler(own, needs_cell=False)

    def close(self) -> None:
        """End the simulation, if one runs."""
        if self._cell is not None:
            self._cell.close()
            self._cell = None

    def answer(self, text: str | bytes) -> str:
        """Return the response to a request, or "" for notifications."""
        data = text.encode() if isinstance(text, str) else text
        if len(data) > MAX_REQUEST:
            return _error(-32600, f"the request has {len(data)} bytes, at most {MAX_REQUEST} are accepted")
        try:
            request = data.decode()
        except UnicodeDecodeError as error:
            return _error(-32700, f"the request is not UTF-8: {error}")
        try:
            if flaw := _flaw(request):
                return _error(-32600, flaw)
            response = JSONRPCResponseManager.handle(_without_prefix(request), self._dispatcher)
        except RecursionError:
            return _error(-32700, "the request is nested too deeply")
        result = "" if response is None else str(response.json)
        if self._log is not None:
            self._log.write(json.dumps({"request": request, "response": result}) + "\n")
            self._log.flush()
        return result

    def load_cell(self, file: str) -> dict[str, Any]:
        """Load a cell file with its simulated robot; it replaces the cell of the session.

        Raises:
            FileError, ResourceError: As `load_cell` of the library.
        """
        loaded = OfflineCell.load(file, roots=self._roots.with_file(Path(file)))
        self.close()
        self._cell = loaded
        return self.cell()

    def cell(self) -> dict[str, Any]:
        """Return names of robots, groups with joints and named states, tools, bodies and frames, and the digest."""
        cell = self._loaded().cell
        groups = {
            name: {"joints": list(group.variables)}
            for robot in cell.robots.values()
            for name, group in robot.groups.items()
        }
        named = sorted(name for robot in cell.robots.values() for name in robot.named_states)
        names = {key: sorted(getattr(cell, key)) for key in ("robots", "tools", "bodies", "frames")}
        return {"name": cell.name, "digest": cell.digest(), "groups": groups, "named_states": named, **names}

    def state(self) -> Any:
        """Return the current state of the cell."""
        return to_json(self._loaded().state)

    @staticmethod
    def version() -> dict[str, str]:
        """Return the version of the package."""
        return {"robot_cell_planner": __version__}

    def _loaded(self) -> OfflineCell:
        if self._cell is None:
            raise NoCellError("no cell is loaded; call load_cell with a cell file first", stage="json-rpc")
        return self._cell

    def _handler(self, method: Method, needs_cell: bool = True) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            if args and kwargs:
                raise InvalidRequestError(f"{method.name} takes parameters by name or in order, not both")
            context = Context(self._loaded(), self._roots) if needs_cell else None
            return method.run(context, list(args) if args else kwargs)

        return _reporting(run)


def _flaw(request: str) -> str:
    """Return why a request is refused that the dispatcher would accept, or fail at; "" for nothing.

    Of a key that an object has twice, parsers take the last value; and Python takes a boolean for an integer.
    """
    found: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        counts = Counter(name for name, _ in pairs)
        if len(counts) < len(pairs):
            found.append(counts.most_common(1)[0][0])

    try:
        json.loads(request, object_pairs_hook=note)
        parsed = json.loads(request)
    except ValueError:
        return ""  # malformed: the dispatcher answers
    if found:
        return f"the request has the key {found[0]!r} twice in one object"
    if isinstance(parsed, dict) and parsed.get("jsonrpc") != VERSION:  # would be taken for one of JSON-RPC 1.0
        return f'the request has "jsonrpc": {json.dumps(parsed.get("jsonrpc"))}, expected "{VERSION}"'
    for call in parsed if isinstance(parsed, list) else [parsed]:
        if isinstance(call, dict) and isinstance(call.get("id"), bool):
            return f"the id of the request is {json.dumps(call['id'])}, expected a string, an integer or null"
    return ""


def _without_prefix(request: str) -> str:
    """Return a request for `rpc.discover`, whose prefix the dispatcher reserves, under the name of its handler."""
    if RESERVED not in request:
        return request
    try:
        parsed = json.loads(request)
    except ValueError:
        return request
    for call in parsed if isinstance(parsed, list) else [parsed]:
        if isinstance(call, dict) and call.get("method") == RESERVED:
            call["method"] = DISCOVER
    return json.dumps(parsed)


def _reporting(function: Any) -> Any:
    """Return a function that reports library errors as JSON-RPC errors, and others as errors of the server."""

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except RobotCellError as error:
            raise JSONRPCDispatchException(code=error.code, message=str(error), data=_details(error)) from error
        except Exception as error:
            # json-rpc would take a TypeError for wrong parameters, and write values that have no JSON form.
            logger.exception("a method ended with an error that is not one of the library")
            text = f"internal error, see the log: {type(error).__name__}: {error}"
            data = {"name": type(error).__name__, "remedy": "Report the request and the traceback in the log."}
            raise JSONRPCDispatchException(code=SERVER_ERROR, message=text, data=data) from error

    return run


def _details(error: RobotCellError) -> Mapping[str, Any]:
    return {
        "name": error.name,
        "stage": error.stage,
        "subjects": list(error.subjects),
        "values": to_json(error.values),
        "remedy": error.remedy,
    }


def _error(code: int, message: str) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}})


def discover() -> dict[str, Any]:
    """Return the OpenRPC document of the interface."""
    schemas = Schemas()
    described = [_described(method, schemas) for method in methods().values()]
    described.extend(_plain(name, function) for name, function in _OWN.items())
    info = {"title": "robot_cell_planner", "version": __version__}
    components = {"schemas": dict(sorted(schemas.components.items()))}
    return {"openrpc": "1.3.2", "info": info, "methods": described, "components": components}


def _described(method: Method, schemas: Schemas) -> dict[str, Any]:
    summary, rest = _summary(method.description)
    parameters = [
        {"name": name, "required": field.required, "schema": schemas.of(field.annotation)}
        for name, field in method.parameters.items()
    ]
    result = {"name": "result", "schema": schemas.of(method.result)}
    return {
        "name": method.name,
        "summary": summary,
        "description": rest.strip(),
        "params": parameters,
        "result": result,
    }


def _summary(text: str) -> tuple[str, str]:
    """Return the first paragraph of a docstring on one line, and the rest."""
    first, _, rest = text.partition("\n\n")
    return " ".join(first.split()), rest


def _plain(name: str, function: Any) -> dict[str, Any]:
    parameters = [{"name": "file", "required": True, "schema": {"type": "string"}}] if name == "load_cell" else []
    result = {"name": "result", "schema": {"type": "object"}}
    return {"name": name, "summary": _summary(function.__doc__)[0], "params": parameters, "result": result}


_OWN = {
    "load_cell": RpcSession.load_cell,
    "cell": RpcSession.cell,
    "state": RpcSession.state,
    "version": RpcSession.version,
    RESERVED: discover,
}
