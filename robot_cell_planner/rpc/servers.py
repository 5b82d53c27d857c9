"""Servers of JSON-RPC: lines of text streams, and HTTP on this computer."""

from __future__ import annotations

import hmac
import secrets
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any

from ..errors import InvalidRequestError
from .session import MAX_REQUEST, RpcSession

HOST = "127.0.0.1"
LOCAL_NAMES = ("127.0.0.1", "localhost")
TOKEN_BYTES = 32
SOCKET_TIMEOUT = 60.0  # [s] for a client to send its request


def serve_lines(session: RpcSession, requests: IO[bytes], responses: IO[bytes]) -> None:
    """Answer requests, one on each line of a stream, until it ends. Each response is one line."""
    while line := requests.readline(MAX_REQUEST + 2):
        if len(line) > MAX_REQUEST:
            _skip_line(line, requests)
        if line.strip() and (answer := session.answer(line)):
            responses.write(answer.encode() + b"\n")
            responses.flush()


def _skip_line(begin: bytes, stream: IO[bytes]) -> None:
    """Read the rest of a line that is too long."""
    while begin and not begin.endswith(b"\n"):
        begin = stream.readline(MAX_REQUEST)


class RpcHttpServer(ThreadingHTTPServer):
    """Answers POST requests that have the token, on the local interface only. Calls are processed one by one.

    Attributes:
        token: Token that requests need in their header `Authorization: Bearer TOKEN`; random if none is given.

    Raises:
        InvalidRequestError: The port is used by another program, or may not be opened.
    """

    daemon_threads = True

    def __init__(self, session: RpcSession, port: int = 0, token: str = "") -> None:
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            text = f"port {port} of {HOST} cannot be opened: {error.strerror}; choose another one, or 0 for any"
            raise InvalidRequestError(text, stage="json-rpc", subjects=(str(port),)) from error
        self.token = token or secrets.token_urlsafe(TOKEN_BYTES)
        self.session = session
        self.guard = threading.Lock()

    @property
    def address(self) -> str:
        """URL of the server."""
        return f"http://{HOST}:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that is gone, whose call is completed and logged."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Handles one connection."""

    server: RpcHttpServer
    timeout = SOCKET_TIMEOUT
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a request, or refuse it."""
        name = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        token = token if scheme.lower() == "bearer" else ""
        length = self.headers.get("Content-Length", "")
        if name.lower() not in LOCAL_NAMES:  # a page of another site that resolves its name to this computer
            self._refuse(HTTPStatus.FORBIDDEN, f"host {name[:100]!r} is not one of {', '.join(LOCAL_NAMES)}")
        elif not hmac.compare_digest(token.encode(errors="replace"), self.server.token.encode()):
            self._refuse(HTTPStatus.UNAUTHORIZED, "the header Authorization does not have the token of this server")
        elif "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            text = "requests need the header Content-Length with a number; bodies in chunks are not accepted"
            self._refuse(HTTPStatus.LENGTH_REQUIRED, text)
        elif len(length) > 12 or int(length) > MAX_REQUEST:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {MAX_REQUEST} bytes are accepted")
        else:
            body = self.rfile.read(int(length))
            if len(body) < int(length):
                raise ConnectionAbortedError("a client has closed its connection in the middle of a request")
            with self.server.guard:
                answer = self.server.session.answer(body)
            self._send(HTTPStatus.OK if answer else HTTPStatus.NO_CONTENT, answer, "application/json")

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self.close_connection = True
        self._send(status, text + "\n", "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, text: str, kind: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Write nothing: the log of calls has every request."""
