"""Keys, certificates and signatures of a keystore, as DDS Security 1.1 (9.3.1, 9.4.1) and SROS 2 have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs7

from ..errors import FileError, InvalidRequestError, Value
from ..system.private_files import write_private_bytes

STAGE = "keystore"
MAX_NAME = 64  # characters of a common name (X.520)
EARLIER = timedelta(days=1)  # certificates are valid from then on, for clocks that are behind


@dataclass(frozen=True)
class Identity:
    """A private key (ECDSA on P-256) and its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def public_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def private_pem(self) -> bytes:
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        return self.key.private_bytes(encoding, form, serialization.NoEncryption())

    def signed(self, document: bytes) -> bytes:
        """A document with its signature (S/MIME, detached)."""
        options = [pkcs7.PKCS7Options.Text, pkcs7.PKCS7Options.DetachedSignature]
        builder = pkcs7.PKCS7SignatureBuilder().set_data(document)
        builder = builder.add_signer(self.certificate, self.key, hashes.SHA256())
        return builder.sign(serialization.Encoding.SMIME, options)


def new_identity(name: str, days: int, issuer: Identity | None = None) -> Identity:
    """A key, with a certificate that an authority has signed; without an issuer, an authority.

    Args:
        name: The common name of the subject: of an enclave, its path.
        days: How long the certificate is valid; it ends with that of its issuer at the latest.

    Raises:
        InvalidRequestError: The name is too long.
    """
    require_name(name)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)])
    now = datetime.now(timezone.utc)
    end = now + timedelta(days=days)
    is_authority = issuer is None
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EARLIER)
        .not_valid_after(min(end, issuer.certificate.not_valid_after_utc) if issuer else end)
        .add_extension(
            x509.BasicConstraints(ca=is_authority, path_length=1 if is_authority else None), critical=is_authority
        )
    )
    return Identity(key, builder.sign(issuer.key if issuer else key, hashes.SHA256()))


def require_name(name: str) -> None:
    """Refuse what is too long for the name of a certificate.

    Raises:
        InvalidRequestError: With the name.
    """
    if len(name) > MAX_NAME:
        text = (
            f"the path of enclave {name} has {len(name)} characters, expected at most {MAX_NAME} in a certificate: "
            "use a shorter namespace or path"
        )
        raise InvalidRequestError(text, stage=STAGE, subjects=(name,), values=(Value("length", len(name), MAX_NAME),))


def flaw(certificate: x509.Certificate, name: str, issuer: x509.Certificate) -> str:
    """Return why a certificate with this name by this issuer is not accepted now; "" if it is."""
    now = datetime.now(timezone.utc)
    if not certificate.not_valid_before_utc <= now:
        return f"valid only from {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
    if now > certificate.not_valid_after_utc:
        return f"expired on {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
    found = [attribute.value for attribute in certificate.subject.get_attributes_for_oid(x509.oid.NameOID.COMMON_NAME)]
    if found != [name]:
        return f"of {', '.join(map(str, found)) or 'nobody'} instead of {name}"
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError):
        return "signed by another authority"
    return ""


def write_identity(identity: Identity, key: Path, certificate: Path) -> None:
    """Write both files, readable by their owner only."""
    write_private_bytes(key, identity.private_pem)
    write_private_bytes(certificate, identity.public_pem)


def read_identity(key: Path, certificate: Path) -> Identity:
    """Read what `write_identity` or SROS 2 has written.

    Raises:
        FileError: A file cannot be read, or the two do not belong together.
    """
    try:
        private = serialization.load_pem_private_key(key.read_bytes(), None)
        public = x509.load_pem_x509_certificate(certificate.read_bytes())
    except (OSError, ValueError, TypeError) as error:
        raise _unusable((key, certificate), str(error)) from error
    if not isinstance(private, ec.EllipticCurvePrivateKey) or private.public_key() != public.public_key():
        raise _unusable((key, certificate), "the certificate is not of this key on an elliptic curve")
    return Identity(private, public)


def _unusable(paths: Sequence[Path], reason: str) -> FileError:
    names = tuple(map(str, paths))
    return FileError(f"{' and '.join(names)}: {reason}", stage=STAGE, subjects=names)
