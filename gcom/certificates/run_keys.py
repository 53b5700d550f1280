"""Keys that sign runs: an Ed25519 key of each node's life, for which the node's certificate vouches.

A member's certificate has a P-256 key, since every TLS 1.3 speaks that; Ed25519 signs and checks in less time. The
credential is the certificate, the Ed25519 key, and the certificate's signature over that key and the process that has
it, name and incarnation (docs/protocols/signing.md).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from gcom.certificates import keys, private_files
from gcom.certificates.identity_files import CertificateFiles
from gcom.errors import BadValue
from gcom.values import limits
from gcom.values.names import Process

_KEY_BYTES = 32
_HEAD = struct.Struct(f">H{_KEY_BYTES}s")  # bytes of the certificate that follows; the key that signs runs
_HASH = ec.ECDSA(hashes.SHA256())


class RunKeys:
    """The key of one node's life, and the authority by whose certificates those of others are believed."""

    def __init__(self, files: CertificateFiles) -> None:
        """Read the files; raises BadValue for a certificate that is too large to go with runs."""
        self._files = files
        # In memory alone, and another in each life: what is not on a disk is in no backup.
        self._key = Ed25519PrivateKey.generate()
        self._public = self._key.public_key().public_bytes_raw()
        self.take_up()

    def take_up(self) -> None:
        """Read the files again, which were replaced; raises as the first reading."""
        files = self._files
        found = keys.load_certificate(private_files.read(Path(files.cert)), files.cert)
        certificate = found.public_bytes(serialization.Encoding.DER)
        # 256 is room for the rest of the credential: 34 bytes of head, and a signature of up to 139 (P-521, in DER).
        most = limits.CREDENTIAL_BYTES_MAX - 256
        if len(certificate) > most:
            raise BadValue(f"certificate {files.cert!r} has {len(certificate)} bytes: at most {most} are allowed")
        certified = keys.load_key(private_files.read_private(Path(files.key)), files.key)
        self._authority = keys.load_certificate(private_files.read(Path(files.ca)), files.ca)
        self._certificate, self._certified = certificate, certified
        # Asked for each run, and the same for as long as a process lives. A node has few processes, and 64 peers each.
        self.credential = lru_cache(maxsize=64)(self._credential)
        # A credential that gives no key is remembered as well: a peer that repeats it is checked once.
        self.verifier = lru_cache(maxsize=1024)(self._verifier)

    def sign(self, data: bytes) -> bytes:
        """Return the signature of this node's key."""
        return self._key.sign(data)

    def _credential(self, process: Process) -> bytes:
        """Return the proof that the key is of a process of this node."""
        vouched = self._certified.sign(_statement(process, self._public), _HASH)
        return _HEAD.pack(len(self._certificate), self._public) + self._certificate + vouched

    def _verifier(self, sender: Process, credential: bytes) -> Callable[[bytes, bytes], bool] | None:
        """Return the check by the key that a credential gives to the sender; None: it gives none.

        The dates of the certificate are not looked at: members whose clocks differ would judge a run differently.
        """
        try:
            size, public = _HEAD.unpack_from(credential)
            body = credential[_HEAD.size :]
            certificate = x509.load_der_x509_certificate(body[:size])
            # Before anything that it says is looked at: of another authority it says nothing.
            certificate.verify_directly_issued_by(self._authority)
            certified = certificate.public_key()
            if not keys.identity_in(certificate).speaks_for(sender):
                return None
            if not isinstance(certified, ec.EllipticCurvePublicKey):
                return None
            certified.verify(body[size:], _statement(sender, public), _HASH)
            key = Ed25519PublicKey.from_public_bytes(public)
        except (struct.error, *keys.UNREADABLE):
            return None
        return lambda signature, data: _is_of(key, signature, data)


def _statement(process: Process, public: bytes) -> bytes:
    # The words in front keep a signature that the same key made for another end, such as TLS, from passing for this.
    return b"gcom run key\0" + process.encode() + b"\0" + public


def _is_of(key: Ed25519PublicKey, signature: bytes, data: bytes) -> bool:
    try:
        key.verify(signature, data)
    except InvalidSignature:
        return False
    return True
