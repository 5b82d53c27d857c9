"""Declaration of `robot_cell keystore`."""

from __future__ import annotations

from pathlib import Path

import click

from .deferred import deferred
from .reporting import json_option


@click.command()
@json_option
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    "policies",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Policy file of SROS 2, or a folder of them; repeatable (default: those of this package).",
)
@click.option("--namespace", default="", metavar="NAME", help="Namespace that the nodes are started in.")
@click.option("--domain-id", type=int, metavar="N", help="ROS_DOMAIN_ID (default: the variable's value, else 0).")
@click.option("--days", default=3650, show_default=True, help="How long new certificates are valid.")
@deferred
def keystore(**options: object) -> None:
    """Make a keystore of SROS 2 in FOLDER, or renew the permissions in one that is there.

    It has a certificate authority, and for the enclave of each policy a key, a certificate and signed permissions.
    Nodes use it with ROS_SECURITY_KEYSTORE=FOLDER, ROS_SECURITY_ENABLE=true and ROS_SECURITY_STRATEGY=Enforce.
    """
