"""`robot_cell keystore`: the keys and permissions with which nodes run in a domain with security."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ...errors import InvalidRequestError
from ...security.keystore import make_keystore
from ...security.policy import read_policy
from ..reporting import echo_json

PATTERN = "*.policy.xml"


def keystore(
    folder: Path, policies: tuple[Path, ...], namespace: str, domain_id: int | None, days: int, as_json: bool
) -> int:
    """Write a keystore, and print its enclaves."""
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
    package = Path(__file__).resolve().parents[2]
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
