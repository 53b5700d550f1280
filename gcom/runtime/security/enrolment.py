"""Enrolment: a process accepts an invitation for its certificate; the key that it makes never leaves it.

The newcomer first asks whoever answers for the authority's certificate, and compares its fingerprint with that of the
invitation; then it dials again, trusts that authority alone, and only then shows the secret.

An invitation works once, for one key. So that key is on the disk before anybody is asked, and goes from there only when
all is stored: whatever fails between, the same invitation is accepted again with the same key, and the registry gives
the same certificate.
"""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from gcom.certificates import identity_files, keys, private_files
from gcom.certificates.invitation import Invitation
from gcom.errors import BadValue, GComError, PeerError, RegistryUnavailable, StorageUnavailable, Untrusted
from gcom.runtime import pyro
from gcom.values.names import Address

ATTEMPTS = 3  # the same key may ask again, where an answer was lost


def accept(invitation: Invitation, timeout_s: float = 5.0) -> Path:
    """Get the certificate of an invitation, and store it; return its folder. After a failure it may be called again.

    Raises Untrusted where another answers, BadValue for an invitation that the registry refuses, and where nothing can
    be stored; RegistryUnavailable, PeerError.
    """
    _refuse_another(invitation)
    key, fresh = identity_files.kept_key(invitation.name)
    # Until the secret is shown nobody has made a certificate. Afterwards an answer may be lost, but not a refusal.
    with _forgetting(invitation.name if fresh else None, GComError):
        authority = _believed_authority(invitation, timeout_s)
    with _forgetting(invitation.name if fresh else None, BadValue, Untrusted):
        certificate = _enrolled(invitation, key, authority, timeout_s)
    return _stored(invitation, (keys.key_pem(key), certificate, authority.encode()))


@contextmanager
def _forgetting(name: str | None, *kinds: type[GComError]) -> Iterator[None]:
    """Forget the key that is kept for a name where the block raises one of these errors."""
    try:
        yield
    except kinds:
        if name is not None:
            identity_files.forget_kept_key(name)
        raise


def _believed_authority(invitation: Invitation, timeout_s: float) -> str:
    # Asked of somebody who is not known yet: what he says is worth
    # no more than its fingerprint, which the invitation has.
    authority = authority_at(invitation.registry, timeout_s)
    if fingerprint_of(authority) != invitation.fingerprint:
        raise Untrusted(
            f"{invitation.registry} is not the registry that invited: its authority has another fingerprint. Ask for a "
            "new invitation, and whether that address is right"
        )
    return authority


def _enrolled(invitation: Invitation, key: keys.Key, authority: str, timeout_s: float) -> bytes:
    """Show the secret, and return the certificate for it."""
    asked = {"ask": "enrol", "secret": invitation.secret, "request": keys.request(key)}
    match ask(invitation.registry, asked, pyro.Newcomer(authority), timeout_s):
        case {"certificate": bytes() as certificate} if keys.belong_together(certificate, key):
            return certificate
        case {"refused": str() as text}:
            raise BadValue(f"{invitation.registry}: {text}")
        case {"unavailable": str() as text}:
            raise RegistryUnavailable(
                f"{invitation.registry} cannot enrol now: {text}. Accept the same line again later"
            )
    raise PeerError(f"malformed answer from {invitation.registry} to an enrolment: expected a certificate")


def _refuse_another(invitation: Invitation) -> None:
    """Raise BadValue where an identity of that name is there, of another authority: its key would be lost."""
    folder = identity_files.folder_of(invitation.name)
    # At the registry that invited that one, too, its authority is of no use any more: the registry has another now.
    if folder is None or identity_files.registry_of(folder) == invitation.registry:
        return
    known = private_files.read(folder / identity_files.AUTHORITY).decode(errors="replace")
    if fingerprint_of(known) != invitation.fingerprint:
        raise BadValue(
            f"there is an identity {invitation.name!r} of another authority in {str(folder)!r}: move that folder away, "
            "or ask for an invitation for another name; this one was not used"
        )


def _stored(invitation: Invitation, files: tuple[bytes, bytes, bytes]) -> Path:
    try:
        folder = identity_files.store(invitation.name, *files, registry=invitation.registry)
    except (BadValue, StorageUnavailable) as error:
        text = f"{error}. Mend that, and accept the same invitation here again: it is still good"
        raise type(error)(text) from error
    identity_files.forget_kept_key(invitation.name)
    return folder


def fingerprint_of(pem: str) -> bytes:
    """Return the SHA-256 of a certificate in PEM; nothing for a text that is none."""
    try:
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem.strip())).digest()
    except ValueError:
        return b""


def authority_at(registry: Address, timeout_s: float) -> str:
    """Return the certificate in PEM that whoever listens there calls its authority's: believe it by its fingerprint."""
    match ask(registry, {"ask": "authority"}, pyro.Newcomer(None), timeout_s):
        case {"authority": str() as pem}:
            # Read before it is trusted: OpenSSL would take any PEM, and say nothing of what it was.
            keys.read_certificate(pem.encode(), f"what {registry} says")
            return pem
    raise PeerError(f"malformed answer from {registry} to a question for its authority: is it a gcom-registry?")


def ask(registry: Address, asked: Mapping[str, object], credentials: pyro.Dialer, timeout_s: float) -> Any:
    """Put a question to a registry's enrolment; raises RegistryUnavailable, Untrusted, PeerError."""
    with closing(pyro.Caller(registry, pyro.ENROLMENT, credentials)) as caller:
        for attempt in range(ATTEMPTS):
            try:
                return pyro.unpack(caller.call(pyro.pack(asked), timeout_s))
            # Not tried again: nobody listens there, and that is no answer that was lost.
            except pyro.ConnectionRefused as error:
                raise RegistryUnavailable(f"nobody listens at {registry}: does its gcom-registry run?") from error
            except (pyro.ConnectionLost, pyro.TimedOut) as error:
                if attempt == ATTEMPTS - 1:
                    raise RegistryUnavailable(f"no answer from {registry}: {error}") from error
    raise AssertionError("unreachable: the last attempt returns or raises")
