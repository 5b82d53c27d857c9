"""`robot_cell rpc`: the library over JSON-RPC."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import FileError
from ..system.private_files import make_output_folder, private_log, write_private_text
from .outputs import are_same
from .reporting import FAILED

if TYPE_CHECKING:  # the library takes more than a second to import, and options are refused without it
    from ..rpc.replay import Difference
    from ..rpc.session import RpcSession


@click.command()
@click.argument("cell_file", type=click.Path(path_type=Path), required=False)
@click.option("--cell", "named", type=click.Path(path_type=Path), help="The same as CELL_FILE.")
@click.option("--root", "folders", multiple=True, metavar="FOLDER", help="Folder with packages or meshes; repeatable.")
@click.option("--http", "port", type=click.IntRange(0, 65535), help="Serve HTTP on this port of 127.0.0.1; 0: any.")
@click.option("--token-file", type=click.Path(path_type=Path), help="File for the token of HTTP (default: printed).")
@click.option("--log", type=click.Path(path_type=Path), help="File to which all calls are appended.")
@click.option("--replay", "replayed", type=click.Path(path_type=Path), help="Repeat the calls of a log and compare.")
@click.option("--describe", is_flag=True, help="Print the OpenRPC document of all methods.")
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
    """Answer JSON-RPC 2.0 requests: one on each line of the standard input, or over HTTP with --http.

    The methods are those of the library, in the cell of CELL_FILE, if it is given; docs/rpc.md has an example.
    """
    if cell_file is not None and named is not None:
        raise click.UsageError(f"a cell file is given twice: {cell_file} and --cell {named}")
    if port is None and token_file is not None:
        raise click.UsageError("--token-file is for the token of --http, which is missing")
    if port is not None and replayed is not None:
        raise click.UsageError(
            "--http and --replay exclude each other: the calls of a log are repeated without a server"
        )
    if log is not None and replayed is not None and are_same(log, replayed):
        text = f"--log and --replay are the same file {log}: its calls would be appended to it while they are repeated"
        raise click.UsageError(text)
    from ..rpc.servers import RpcHttpServer, serve_lines
    from ..rpc.session import RpcSession, discover
    from .options import roots_of

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
    from ..rpc.replay import replay

    count = differences = 0
    with path.open("rb") as lines:
        for difference in _named(path, replay(lines, session)):
            count += 1
            if difference is not None:
                differences += 1
                click.echo(str(difference), err=True)
    click.echo(f"{count} calls, {differences} with another response", err=True)
    return FAILED if differences else 0
