"""Keys, requests and certificates in PEM, and what a certificate says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import NameOID

from gcom.errors import BadValue
from gcom.values import identity
from gcom.values.identity import Identity

Key = ec.EllipticCurvePrivateKey

# What reading a certificate or a request may raise, at once or when one of its fields is asked for. They have no base
# in common below Exception: one that is missing here would end the thread that reads what a peer sent.
UNREADABLE = (
    ValueError,
    TypeError,
    InvalidSignature,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
    CryptographyDeprecationWarning,  # where warnings are errors
)


def new_key() -> Key:
    """Return a new private key: P-256, which every TLS 1.3 speaks."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def load_key(pem: bytes, where: str) -> Key:
    """Return the private key in a PEM; raises BadValue, naming where it stood."""
    try:
        key = serialization.load_pem_private_key(pem, None)
    except (ValueError, TypeError) as error:
        raise BadValue(f"{where} holds no private key that is readable without a password: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise BadValue(f"{where} holds a key of another kind: expected an elliptic curve's")
    return key


def request(key: Key) -> bytes:
    """Return a certificate request for a key, as PEM. It names nobody: whoever signs it says whose it is."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gcom")])
    built = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return built.public_bytes(serialization.Encoding.PEM)


def requested_key(pem: bytes) -> ec.EllipticCurvePublicKey:
    """Return the key that a request asks to have certified, which its asker holds; raises BadValue."""
    try:
        found = x509.load_pem_x509_csr(pem)
        proven, key = found.is_signature_valid, found.public_key()
    except UNREADABLE as error:
        raise BadValue(f"this is no certificate request: {error}") from error
    # The signature shows that the asker holds the key: else it could have a certificate made for the key of another.
    if not proven or not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name != "secp256r1":
        raise BadValue("a certificate request must be for a P-256 key, and signed with it")
    return key


def key_id(key: ec.EllipticCurvePublicKey) -> bytes:
    """Return the id of a public key: its SHA-256."""
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    digest = hashes.Hash(hashes.SHA256())
    digest.update(der)
    return digest.finalize()


@dataclass(frozen=True, slots=True)
class Certificate:
    """The fields of a certificate that GCom reads. Times are in UTC."""

    identity: Identity
    serial: int
    begins: datetime
    ends: datetime
    issuer: str
    fingerprint: str  # SHA-256, hexadecimal
    is_authority: bool
    hosts: frozenset[str]  # names and addresses of machines

    def state(self, now: datetime) -> str:
        """Return `valid`, `expired` or `not yet valid`."""
        return "expired" if now > self.ends else "not yet valid" if now < self.begins else "valid"


def load_certificate(pem: bytes, where: str) -> x509.Certificate:
    """Return the first certificate in a PEM; raises BadValue, naming where it stood."""
    try:
        return x509.load_pem_x509_certificate(pem)
    except UNREADABLE as error:
        raise BadValue(f"{where} holds no certificate in PEM: {error}") from error


def read_certificate(pem: bytes, where: str = "the file") -> Certificate:
    """Return the fields of the first certificate in a PEM; raises BadValue, naming where it stood."""
    # All fields at once, and here: `cryptography` looks at a field when it is asked for, and what a peer put there must
    # be refused in one place.
    found = load_certificate(pem, where)
    try:
        return Certificate(
            identity=identity_in(found),
            serial=found.serial_number,
            begins=found.not_valid_before_utc,
            ends=found.not_valid_after_utc,
            issuer=found.issuer.rfc4514_string(),
            fingerprint=found.fingerprint(hashes.SHA256()).hex(),
            is_authority=_is_authority(found),
            hosts=frozenset(_names(found, x509.DNSName)) | {str(it) for it in _names(found, x509.IPAddress)},
        )
    except UNREADABLE as error:
        raise BadValue(f"{where} holds a certificate with a field that cannot be read: {error}") from error


def is_signed_by(pem: bytes, authority_pem: bytes) -> bool:
    """Tell whether the authority signed the first certificate of a PEM."""
    try:
        load_certificate(pem, "it").verify_directly_issued_by(load_certificate(authority_pem, "the authority's"))
    except UNREADABLE:
        return False
    return True


def belong_together(certificate_pem: bytes, key: Key) -> bool:
    """Tell whether a certificate is of this key."""
    try:
        return load_certificate(certificate_pem, "it").public_key() == key.public_key()
    except UNREADABLE:
        return False


def identity_in(found: x509.Certificate) -> Identity:
    """Return the identity that a certificate gives."""
    return identity.from_uris(_names(found, x509.UniformResourceIdentifier))


def _names(found: x509.Certificate, kind: Any) -> list[Any]:
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    # No names at all, and no error: whoever asks then finds that it speaks for nobody.
    except (x509.ExtensionNotFound, *UNREADABLE):
        return []
    return names.get_values_for_type(kind)


def _is_authority(found: x509.Certificate) -> bool:
    try:
        return bool(found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca)
    except (x509.ExtensionNotFound, *UNREADABLE):
        return False
