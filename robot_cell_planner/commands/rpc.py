"""Declaration of `robot_cell rpc`."""

from __future__ import annotations

from pathlib import Path

import click

from .deferred import deferred
from .inputs import InputPath
from .options import CELL, root_option
from .outputs import are_same


@click.command()
@click.argument("cell_file", type=CELL, required=False)
@click.option("--cell", "named", type=CELL, help="The same as CELL_FILE.")
@root_option
@click.option("--http", "port", type=click.IntRange(0, 65535), help="Serve HTTP on this port of 127.0.0.1; 0: any.")
@click.option("--token-file", type=click.Path(path_type=Path), help="File for the token of HTTP (default: printed).")
@click.option("--log", type=click.Path(path_type=Path), help="File to which all calls are appended.")
@click.option("--replay", "replayed", type=InputPath("rpc"), help="Repeat the calls of a log and compare.")
@click.option("--describe", is_flag=True, help="Print the OpenRPC document of all methods.")
@deferred
def rpc(
    cell_file: Path | None,
    named: Path | None,
    port: int | None,
    token_file: Path | None,
    log: Path | None,
    replayed: Path | None,
    **others: object,
) -> None:
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
