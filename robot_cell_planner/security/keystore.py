"""A keystore as SROS 2 lays it out, from policies: `ROS_SECURITY_KEYSTORE` names its folder.

public/ and private/ have the certificate authority, which signs identities and documents alike; enclaves/ has the
governance document, and for each enclave its key, certificate and permissions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

from ..errors import FileError, InvalidRequestError, Value
from ..system.private_files import make_folder, write_private_bytes
from .certificates import STAGE, Identity, flaw, new_identity, read_identity, require_name, write_identity
from .permissions import governance, permissions
from .policy import Enclave, require_path

AUTHORITY = "ca"
ROLES = ("identity_ca", "permissions_ca")  # links to the authority, for those who want two
AUTHORITY_NAME = "sros2CA"
CERTIFICATE, KEY = "cert.pem", "key.pem"
GOVERNANCE, PERMISSIONS = "governance", "permissions"
MAX_DOMAIN = 232
MAX_DAYS = 36_500


def make_keystore(folder: Path, enclaves: Sequence[Enclave], domain: int = 0, days: int = 3650) -> tuple[str, ...]:
    """Make a keystore with some enclaves, or add them to one that is there.

    The authority and the identities that are there stay; governance and permissions are written anew, so that changes
    of policies and of the domain take effect. Files are their owner's alone.

    Args:
        domain: The ROS_DOMAIN_ID that it is for.
        days: How long new certificates are valid; they end with the authority at the latest.

    Returns:
        Warnings about certificates that end earlier than requested, or are valid for longer than the authority.

    Raises:
        InvalidRequestError: The domain or the days are out of range, two enclaves have one path, or one is too long.
        FileError: A file cannot be read or written; or an authority or identity that is there is not valid now, or not
            of this authority or enclave. Nothing is written then.
    """
    _check(enclaves, domain, days)
    try:
        known = _existing_authority(folder)
        authority = known or new_identity(AUTHORITY_NAME, days)
        existing = _existing_identities(folder, enclaves, authority)
        identities = {
            enclave.path: existing.get(enclave.path) or new_identity(enclave.path, days, authority)
            for enclave in enclaves
        }
        if known is None:
            _write_authority(folder, authority)
        _write_signed(make_folder(folder / "enclaves") / GOVERNANCE, governance(domain), authority)
        for enclave in enclaves:
            _write_enclave(folder, enclave, identities[enclave.path], authority, domain)
    except OSError as error:
        raise FileError.of(error.filename or folder, error, STAGE) from error
    return tuple(_warnings(identities, existing, authority, days))


def _check(enclaves: Sequence[Enclave], domain: int, days: int) -> None:
    for name, value, least, greatest in (("domain", domain, 0, MAX_DOMAIN), ("days", days, 1, MAX_DAYS)):
        if not least <= value <= greatest:
            text = f"{name} is {value}, expected {least} to {greatest}"
            raise InvalidRequestError(text, stage=STAGE, subjects=(name,), values=(Value(name, value, greatest),))
    paths = [enclave.path for enclave in enclaves]
    for path in paths:
        require_path(path)
        require_name(path)
        if paths.count(path) > 1:
            raise InvalidRequestError(f"two policies have the enclave {path}", stage=STAGE, subjects=(path,))


def _authority_files(folder: Path) -> tuple[Path, Path]:
    return folder / "private" / f"{AUTHORITY}.{KEY}", folder / "public" / f"{AUTHORITY}.{CERTIFICATE}"


def _existing_authority(folder: Path) -> Identity | None:
    key, certificate = _authority_files(folder)
    if not (key.exists() or certificate.exists()):
        return None
    authority = read_identity(key, certificate)
    end = authority.certificate.not_valid_after_utc
    if datetime.now(timezone.utc) > end:
        text = (
            f"{certificate} expired on {end:%Y-%m-%d %H:%M} UTC, and with it all certificates of the keystore: "
            f"move {folder} away, make it anew and give it to all computers again"
        )
        raise FileError(text, stage=STAGE, subjects=(str(certificate),))
    return authority


def _write_authority(folder: Path, authority: Identity) -> None:
    key, certificate = _authority_files(folder)
    make_folder(certificate.parent)
    make_folder(key.parent)
    write_identity(authority, key, certificate)
    for role in ROLES:
        _link(key.with_name(f"{role}.{KEY}"), key)
        _link(certificate.with_name(f"{role}.{CERTIFICATE}"), certificate)


def _existing_identities(folder: Path, enclaves: Sequence[Enclave], authority: Identity) -> dict[str, Identity]:
    """Return the identities that are there, by enclave.

    Raises:
        FileError: Some would be refused by nodes.
    """
    found: dict[str, Identity] = {}
    flaws: dict[Path, str] = {}
    for enclave in enclaves:
        own = _folder_of(folder, enclave)
        key, certificate = own / KEY, own / CERTIFICATE
        if key.exists() or certificate.exists():
            found[enclave.path] = read_identity(key, certificate)
            reason = flaw(found[enclave.path].certificate, enclave.path, authority.certificate)
            if reason:
                flaws[certificate] = reason
    if flaws:
        listed = ", ".join(f"{path} is {reason}" for path, reason in flaws.items())
        text = f"{listed}; to make them anew, delete their folders and run this again"
        raise FileError(text, stage=STAGE, subjects=tuple(map(str, flaws)))
    return found


def _write_enclave(folder: Path, enclave: Enclave, identity: Identity, authority: Identity, domain: int) -> None:
    own = make_folder(_folder_of(folder, enclave))
    if not (own / KEY).exists():
        write_identity(identity, own / KEY, own / CERTIFICATE)
    for role in ROLES:
        _link(own / f"{role}.{CERTIFICATE}", folder / "public" / f"{role}.{CERTIFICATE}")
    _link(own / f"{GOVERNANCE}.p7s", folder / "enclaves" / f"{GOVERNANCE}.p7s")
    valid = identity.certificate.not_valid_before_utc, identity.certificate.not_valid_after_utc
    _write_signed(own / PERMISSIONS, permissions(enclave, domain, *valid), authority)


def _folder_of(folder: Path, enclave: Enclave) -> Path:
    return folder / "enclaves" / enclave.path.strip("/")


def _warnings(
    identities: Mapping[str, Identity], existing: Mapping[str, Identity], authority: Identity, days: int
) -> Iterator[str]:
    end = authority.certificate.not_valid_after_utc
    ends = f"the authority of the keystore ends on {end:%Y-%m-%d %H:%M} UTC"
    new = sorted(identities.keys() - existing.keys())
    requested = datetime.now(timezone.utc) + timedelta(days=days)
    if new and requested - end > timedelta(hours=1):  # the authority may be a moment older
        yield f"{ends}, and so do the new certificates, which were to be valid for {days} days: {', '.join(new)}"
    longer = sorted(path for path, each in existing.items() if each.certificate.not_valid_after_utc > end)
    if longer:
        yield f"{ends}, after which these certificates are refused, although they end later: {', '.join(longer)}"


def _write_signed(path: Path, document: bytes, authority: Identity) -> None:
    """Write a document as `.xml`, and with its signature as `.p7s`."""
    write_private_bytes(path.with_suffix(".xml"), document)
    write_private_bytes(path.with_suffix(".p7s"), authority.signed(document))


def _link(link: Path, target: Path) -> None:
    if not link.is_symlink():
        link.symlink_to(os.path.relpath(target, link.parent))
