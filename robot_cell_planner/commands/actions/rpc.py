"""`robot_cell rpc`: the library over JSON-RPC."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click

from ...errors import FileError
from ...rpc.replay import Difference
from ...rpc.replay import replay as repeated
from ...rpc.servers import RpcHttpServer, serve_lines
from ...rpc.session import RpcSession, discover
from ...system.private_files import make_output_folder, private_log, write_private_text
from ..reporting import FAILED
from .cells import roots_of


def rpc(
    cell_file: Path | None,
    named: Path | None,
    folders: tuple[str, ...],
    port: int | None,
    token_file: Path | None,
    log: Path | None,
    replayed: Path | None,
    describe: bool,
) -> int:
    """Answer the requests on a stream or over HTTP, or repeat those of a log."""
    if describe:
        click.echo(json.dumps(discover(), indent=1))
        return 0
    with ExitStack() as stack:
        requests, responses = sys.stdin.buffer, stack.enter_context(os.fdopen(os.dup(1), "wb"))
        os.dup2(2, 1)  # what libraries print must not get between the responses
        for written in filter(None, (log, token_file)):
            make_output_folder(written)
        opened = None if log is None else stack.enter_context(private_log(log))
        session = RpcSession(roots_of(folders), opened)
        stack.callback(session.close)
        if (loaded := cell_file or named) is not None:
            session.load_cell(str(loaded))
        if replayed is not None:
            return _replay(replayed, session)
        if port is None:
            serve_lines(session, requests, responses)
            return 0
        server = stack.enter_context(RpcHttpServer(session, port))
        if token_file is not None:
            write_private_text(token_file, server.token + "\n")
        where = f"token in {token_file}" if token_file is not None else f"token {server.token}"
        click.echo(f"JSON-RPC on {server.address}, {where}", err=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


def _named(path: Path, found: Iterator[Difference | None]) -> Iterator[Difference | None]:
    """Yield the same; an error about a line also names the file."""
    try:
        yield from found
    except FileError as error:
        raise error.with_message(f"{path}, {error.message}") from error


def _replay(path: Path, session: RpcSession) -> int:
    """Print what differs; the exit status is 1 if anything does."""
    count = differences = 0
    with path.open("rb") as lines:
        for difference in _named(path, repeated(lines, session)):
            count += 1
            if difference is not None:
                differences += 1
                click.echo(str(difference), err=True)
    click.echo(f"{count} calls, {differences} with another response", err=True)
    return FAILED if differences else 0
