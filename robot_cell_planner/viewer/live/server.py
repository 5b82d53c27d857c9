"""viser's server for the browsers of this computer alone."""

from __future__ import annotations

import io
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial

import viser
import websockets.asyncio.server
from websockets.typing import Origin

from ...errors import ResourceError

HOST = "127.0.0.1"
STAGE = "start viewer"
PORT_VARIABLE = "_VISER_PORT_OVERRIDE"  # an environment variable of viser that would move the page
NO_ORIGIN = None  # of programs that are no browsers


class LocalServer(viser.ViserServer):
    """A server that only this computer reaches, and only pages that it served itself may use.

    viser can make its page public through a relay on the internet; here it cannot, even if a page requests it.
    """

    def request_share_url(self, verbose: bool = True) -> str | None:
        return None

    def stop(self) -> None:
        with redirect_stdout(io.StringIO()):
            super().stop()


def start_server(port: int, title: str) -> LocalServer:
    """Start a server at a port of the loopback interface. port: 0 for a free one.

    Raises:
        ResourceError: The port cannot be used.
    """
    port = _free_port(port)
    with _own_pages_only(port), _without(PORT_VARIABLE), redirect_stdout(io.StringIO()):
        server = LocalServer(host=HOST, port=port, label=title, verbose=False)
    if server.get_port() != port:  # another process took it meanwhile
        server.stop()
        raise _port_error(port, "it was taken by another program")
    server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="large")
    return server


@contextmanager
def _own_pages_only(port: int) -> Iterator[None]:
    """Let servers that are started meanwhile refuse WebSockets of pages with another origin (HTTP status 403).

    A page of any website could otherwise connect to this port in the background, and act as the user. viser has no
    option for it, but calls this function of websockets, which has one.
    """
    serve = websockets.asyncio.server.serve
    origins = [Origin(f"http://{name}:{port}") for name in (HOST, "localhost")]
    limited = partial(serve, origins=[*origins, NO_ORIGIN])
    websockets.asyncio.server.serve = limited  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        websockets.asyncio.server.serve = serve  # type: ignore[misc]


@contextmanager
def _without(variable: str) -> Iterator[None]:
    value = os.environ.pop(variable, None)
    try:
        yield
    finally:
        if value is not None:
            os.environ[variable] = value


def _free_port(port: int) -> int:
    """Return a port that is free now, since viser takes the next one instead of an occupied one."""
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
            return int(probe.getsockname()[1])
    except OSError as error:
        raise _port_error(port, error.strerror or str(error)) from error


def _port_error(port: int, reason: str) -> ResourceError:
    text = f"port {port} of {HOST} cannot be used: {reason}; set the parameter port, 0 for any free one"
    return ResourceError(text, stage=STAGE, subjects=(str(port),))
