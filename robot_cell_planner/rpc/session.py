"""Session of JSON-RPC: one cell with its state, the methods that act on it, and the log of calls."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from .. import __version__
from ..errors import NoCellError, RobotCellError
from ..io.common.resources import NO_ROOTS, ResourceRoots
from ..model.json_values import to_json
from ..offline import OfflineCell
from .methods import Context, Method, methods, plain_method
from .requests import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    SERVER_ERROR,
    RefusedRequest,
    Response,
    failed,
    flaw,
    is_notification,
    parse,
    succeeded,
    unknown_method,
)
from .schema import Schemas

MAX_REQUEST = 64 * 2**20  # [bytes]
DISCOVER = "rpc.discover"
logger = logging.getLogger(__name__)


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
        own: dict[str, Callable[..., Any]] = {
            "load_cell": self.load_cell,
            "cell": self.cell,
            "state": self.state,
            "version": self.version,
            DISCOVER: discover,
        }
        self._own = {name: plain_method(name, function) for name, function in own.items()}

    def close(self) -> None:
        """End the simulation, if one runs."""
        if self._cell is not None:
            self._cell.close()
            self._cell = None

    def answer(self, text: str | bytes) -> str:
        """Return the response to a request, or "" for notifications."""
        data = _encoded(text) if isinstance(text, str) else text
        if len(data) > MAX_REQUEST:
            too_long = f"the request has {len(data)} bytes, at most {MAX_REQUEST} are accepted"
            return json.dumps(failed(None, INVALID_REQUEST, too_long))
        try:
            answer = self._answer(parse(data))
        except RefusedRequest as error:
            answer = failed(None, error.code, str(error))
        result = "" if answer is None else json.dumps(answer)
        if self._log is not None:
            request = data.decode(errors="surrogateescape")
            self._log.write(json.dumps({"request": request, "response": result}) + "\n")
            self._log.flush()
        return result

    def _answer(self, parsed: Any) -> Response | list[Response] | None:
        """Return the response to a request or batch; None if it has notifications only."""
        if not isinstance(parsed, list):
            return self._respond(parsed)
        return [response for call in parsed if (response := self._respond(call)) is not None] or None

    def _respond(self, call: Any) -> Response | None:
        """Call a method; return its result or error, or None for a notification."""
        if refusal := flaw(call):
            return failed(call, INVALID_REQUEST, refusal)
        try:
            response = self._called(call)
        except RobotCellError as error:
            response = failed(call, error.code, str(error), _details(error))
        except Exception as error:
            logger.exception("a method ended with an error that is not one of the library")
            text = f"internal error, see the log: {type(error).__name__}: {error}"
            data = {"name": type(error).__name__, "remedy": "Report the request and the traceback in the log."}
            response = failed(call, SERVER_ERROR, text, data)
        return None if is_notification(call) else response

    def _called(self, call: dict[str, Any]) -> Response:
        name = call["method"]
        own = self._own.get(name)
        method = own or methods().get(name)
        if method is None:
            return failed(call, METHOD_NOT_FOUND, unknown_method(name, {*self._own, *methods()}))
        context = Context(self._loaded(), self._roots) if own is None else None
        return succeeded(call, method.run(context, call.get("params") or {}))

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


def _encoded(text: str) -> bytes:
    """Return the bytes that a log has as text, also those that are not UTF-8."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")


def _details(error: RobotCellError) -> Mapping[str, Any]:
    return {
        "name": error.name,
        "stage": error.stage,
        "subjects": list(error.subjects),
        "values": to_json(error.values),
        "remedy": error.remedy,
    }


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
    DISCOVER: discover,
}
