"""A keystore as SROS 2 lays it out, from policies: `ROS_SECURITY_KEYSTORE` names its folder.

public/ and private/ have the certificate authority, which signs identities and documents alike; enclaves/ has the
governance document, and for each enclave its key, certificate and permissions.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import FileError, InvalidRequestError, Value
from ..system.private_files import make_folder, write_private_bytes
from .certificates import STAGE, Identity, new_identity, read_identity, write_identity
from .permissions import governance, permissions
from .policy import Enclave, require_path

AUTHORITY = "ca"
ROLES = ("identity_ca", "permissions_ca")  # links to the authority, for those who want two
AUTHORITY_NAME = "sros2CA"
CERTIFICATE, KEY = "cert.pem", "key.pem"
GOVERNANCE, PERMISSIONS = "governance", "permissions"
MAX_DOMAIN = 232
MAX_DAYS = 36_500


def make_keystore(folder: Path, enclaves: Sequence[Enclave], domain: int = 0, days: int = 3650) -> None:
    """Make a keystore with some enclaves, or add them to one that is there.

    The authority and the identities that are there stay; governance and permissions are written anew, so that changes
    of policies and of the domain take effect. Files are their owner's alone.

    Args:
        domain: The ROS_DOMAIN_ID that it is for.
        days: How long new certificates are valid.

    Raises:
        InvalidRequestError: The domain or the days are out of range, or two enclaves have one path.
        FileError: A file cannot be read or written.
    """
    _check(enclaves, domain, days)
    try:
        authority = _authority(folder, days)
        signed = folder / "enclaves" / GOVERNANCE
        _write_signed(signed, governance(domain), authority)
        for enclave in enclaves:
            _add_enclave(folder, enclave, authority, domain, days)
    except OSError as error:
        raise FileError.of(error.filename or folder, error, STAGE) from error


def _check(enclaves: Sequence[Enclave], domain: int, days: int) -> None:
    for name, value, least, greatest in (("domain", domain, 0, MAX_DOMAIN), ("days", days, 1, MAX_DAYS)):
        if not least <= value <= greatest:
            text = f"{name} is {value}, expected {least} to {greatest}"
            raise InvalidRequestError(text, stage=STAGE, subjects=(name,), values=(Value(name, value, greatest),))
    paths = [enclave.path for enclave in enclaves]
    for path in paths:
        require_path(path)
        if paths.count(path) > 1:
            raise InvalidRequestError(f"two policies have the enclave {path}", stage=STAGE, subjects=(path,))


def _authority(folder: Path, days: int) -> Identity:
    public, private = make_folder(folder / "public"), make_folder(folder / "private")
    key, certificate = private / f"{AUTHORITY}.{KEY}", public / f"{AUTHORITY}.{CERTIFICATE}"
    if key.exists() or certificate.exists():
        return read_identity(key, certificate)
    authority = new_identity(AUTHORITY_NAME, days)
    write_identity(authority, key, certificate)
    for role in ROLES:
        _link(private / f"{role}.{KEY}", key)
        _link(public / f"{role}.{CERTIFICATE}", certificate)
    return authority


def _add_enclave(folder: Path, enclave: Enclave, authority: Identity, domain: int, days: int) -> None:
    own = make_folder(folder / "enclaves" / enclave.path.strip("/"))
    key, certificate = own / KEY, own / CERTIFICATE
    if key.exists() or certificate.exists():
        identity = read_identity(key, certificate)
    else:
        identity = new_identity(enclave.path, days, authority)
        write_identity(identity, key, certificate)
    for role in ROLES:
        _link(own / f"{role}.{CERTIFICATE}", folder / "public" / f"{role}.{CERTIFICATE}")
    _link(own / f"{GOVERNANCE}.p7s", folder / "enclaves" / f"{GOVERNANCE}.p7s")
    valid = identity.certificate.not_valid_before_utc, identity.certificate.not_valid_after_utc
    _write_signed(own / PERMISSIONS, permissions(enclave, domain, *valid), authority)


def _write_signed(path: Path, document: bytes, authority: Identity) -> None:
    """Write a document as `.xml`, and with its signature as `.p7s`."""
    write_private_bytes(path.with_suffix(".xml"), document)
    write_private_bytes(path.with_suffix(".p7s"), authority.signed(document))


def _link(link: Path, target: Path) -> None:
    if not link.is_symlink():
        link.symlink_to(os.path.relpath(target, link.parent))
