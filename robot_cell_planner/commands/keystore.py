"""`robot_cell keystore`: the keys and permissions with which nodes run in a domain with security."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ..errors import InvalidRequestError
from ..security.keystore import make_keystore
from ..security.policy import read_policy
from .reporting import echo_json, reporting

PATTERN = "*.policy.xml"


@click.command()
@reporting
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
def keystore(
    folder: Path, policies: tuple[Path, ...], namespace: str, domain_id: int | None, days: int, as_json: bool
) -> int:
    """Make a keystore of SROS 2 in FOLDER, or renew the permissions in one that is there.

    It has a certificate authority, and for the enclave of each policy a key, a certificate and signed permissions.
    Nodes use it with ROS_SECURITY_KEYSTORE=FOLDER, ROS_SECURITY_ENABLE=true and ROS_SECURITY_STRATEGY=Enforce.
    """
    found = [file for path in policies or (shipped(),) for file in _files(path)]
    enclaves = [enclave.in_namespace(namespace) for file in found for enclave in read_policy(file)]
    domain = _domain_of_environment() if domain_id is None else domain_id
    warnings = make_keystore(folder, enclaves, domain, days)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        echo_json(
            {
                "keystore": str(folder),
                "domain": domain,
                "enclaves": [enclave.path for enclave in enclaves],
                "warnings": warnings,
            }
        )
        return 0
    for enclave in enclaves:
        click.echo(
            f"{enclave.path}: publishes {len(enclave.publishes)} topics, subscribes to {len(enclave.subscribes)}"
        )
    click.echo(f"keystore {folder} for ROS_DOMAIN_ID={domain}; keep {folder / 'private'} where no node runs")
    return 0


def shipped() -> Path:
    """The folder of the package's own policies.

    Raises:
        click.ClickException: It is not installed.
    """
    package = Path(__file__).resolve().parents[1]
    installed = [parent / "share" / package.name for parent in package.parents]
    for root in (package.parent, *installed):
        if (root / "config" / "security").is_dir():
            return root / "config" / "security"
    raise click.ClickException("the policies of this package are not installed: name some with --policy")


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob(PATTERN))
    if not found:
        raise click.ClickException(f"there is no {PATTERN} in {path}")
    return found


def _domain_of_environment() -> int:
    text = os.environ.get("ROS_DOMAIN_ID") or "0"
    if not text.isdecimal():
        raise InvalidRequestError(f"ROS_DOMAIN_ID is {text!r}, expected a whole number", stage="keystore")
    return int(text)
