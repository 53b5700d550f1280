"""The credentials of a secure process: its certificate and key, and the one authority that it trusts.

TLS 1.3 alone, no system authorities, and no tickets: every connection shows its certificate anew. The host that was
dialled is not compared with the certificate; its identity is (docs/protocols/security.md).
"""

from __future__ import annotations

import hashlib
import hmac
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gcom.certificates import private_files
from gcom.certificates.identity_files import CertificateFiles
from gcom.errors import BadValue
from gcom.values.identity import Identity

if TYPE_CHECKING:
    from gcom.certificates.keys import Certificate


class Dialer(Protocol):
    """The credentials that a connection may be dialled with."""

    verifies: bool
    revoked: frozenset[int]

    @property
    def client(self) -> ssl.SSLContext: ...


class Newcomer:
    """A process without a certificate, which trusts an authority; or nobody yet, and then it must tell nothing."""

    revoked: frozenset[int] = frozenset()

    def __init__(self, authority: str | None) -> None:
        """Trust the authority of this certificate in PEM; raises BadValue for what is none."""
        self.verifies = authority is not None
        self.client = _bare_context(ssl.PROTOCOL_TLS_CLIENT)
        self.client.verify_mode = ssl.CERT_REQUIRED if self.verifies else ssl.CERT_NONE
        try:
            if authority is not None:
                self.client.load_verify_locations(cadata=authority)
        except (ssl.SSLError, ValueError) as error:
            raise BadValue(f"the authority's certificate is not fit for TLS: {error}") from error


class Credentials:
    """The identity of a process, and its TLS contexts; `reload` takes up files that were renewed.

    Raises BadValue for files that cannot be read, do not belong together, or are out of date.
    """

    verifies = True
    identity: Identity
    ends: datetime
    client: ssl.SSLContext
    server: ssl.SSLContext
    open_server: ssl.SSLContext  # takes dialers without a certificate, too; one with a wrong certificate it refuses

    def __init__(self, files: CertificateFiles) -> None:
        self.files = files
        self.revoked: frozenset[int] = frozenset()  # serial numbers of certificates
        self.reload()

    def reload(self) -> None:
        """Read the files again, for the connections from now on; those that are open go on as they are."""
        # All is checked before anything is replaced: a renewal that
        # went wrong leaves the connections of before working.
        found = _checked(self.files)
        contexts = [_context(self.files, protocol) for protocol in _PROTOCOLS]
        # A newcomer has no certificate yet, and must get in far enough to ask for one.
        contexts[2].verify_mode = ssl.CERT_OPTIONAL
        self.identity, self.ends = found.identity, found.ends
        self._renewal_at = found.begins + 2 * (found.ends - found.begins) / 3
        self.client, self.server, self.open_server = contexts

    def needs_renewal(self) -> bool:
        """Tell whether two thirds of the certificate's life are over."""
        return datetime.now(UTC) >= self._renewal_at

    def derive(self, purpose: bytes) -> bytes:
        """Return a secret key for one purpose, the same for as long as the certificate's own key; raises BadValue."""
        return hmac.digest(private_files.read_private(Path(self.files.key)), purpose, hashlib.sha256)

    def __repr__(self) -> str:
        return f"<credentials of {self.identity}>"


_PROTOCOLS = (ssl.PROTOCOL_TLS_CLIENT, ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_SERVER)


def _checked(files: CertificateFiles) -> Certificate:
    """Return what the certificate says; raises BadValue, saying which of them is wrong."""
    # Here, since it takes a tenth of a second, and no process on loopback needs it.
    from gcom.certificates import keys
    from gcom.certificates.authority import now_utc

    pem, authority = private_files.read(Path(files.cert)), private_files.read(Path(files.ca))
    found = keys.read_certificate(pem, files.cert)
    key = keys.load_key(private_files.read_private(Path(files.key)), files.key)
    if not keys.belong_together(pem, key):
        raise BadValue(f"certificate {files.cert!r} is not of key {files.key!r}: give the two that were made together")
    if not keys.is_signed_by(pem, authority):
        raise BadValue(f"certificate {files.cert!r} is not of the authority in {files.ca!r}: ask that one for another")
    state = found.state(now_utc())
    if state == "expired":
        raise BadValue(
            f"certificate {files.cert!r} expired at {found.ends:%Y-%m-%d %H:%M} UTC, or this clock is wrong: "
            "gcom certs renew, or a new invitation (gcom-registry invite)"
        )
    if state != "valid":
        raise BadValue(
            f"certificate {files.cert!r} is valid from {found.begins:%Y-%m-%d %H:%M} UTC on: this machine's clock is "
            "slow, or the authority's is fast; set them"
        )
    return found


def _bare_context(protocol: int) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # Hosts are not compared: the identity in the certificate is (docs/protocols/security.md).
    context.check_hostname = False
    if protocol == ssl.PROTOCOL_TLS_SERVER:
        # Without tickets each connection shows its certificate anew, so that one that was revoked meanwhile is seen.
        context.num_tickets = 0
    return context


def _context(files: CertificateFiles, protocol: int) -> ssl.SSLContext:
    context = _bare_context(protocol)
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_cert_chain(files.cert, files.key)
        context.load_verify_locations(files.ca)
    except (ssl.SSLError, OSError) as error:
        raise BadValue(f"{files.cert!r}, {files.key!r} and {files.ca!r} are not fit for TLS: {error}") from error
    return context
