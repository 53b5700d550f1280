"""The protection of a process at a registry, for its application: its identity and certificate, or that all is local.

`accept` takes up an invitation as an application does it, with one line of text.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gcom.certificates import private_files
from gcom.certificates.identity_files import CertificateFiles, files_in
from gcom.certificates.invitation import parse
from gcom.runtime import pyro
from gcom.runtime.security.process import credentials_for, registry_address
from gcom.values import names


@dataclass(frozen=True, slots=True)
class Invitee:
    """The guest and the registry that an invitation names."""

    name: str
    registry: str


@dataclass(frozen=True, slots=True)
class Protection:
    """The protection of a process's calls.

    local: the registry is on loopback, where both ends prove that they know a secret of this user's; nothing leaves the
    machine. tls: mutual TLS 1.3, by a certificate of `identity` that is valid until `valid_until_s` (since 1970), of
    the authority whose certificate has this SHA-256 `fingerprint`.
    """

    kind: Literal["local", "tls"]
    name: str
    registry: str
    identity: str = ""
    valid_until_s: float | None = None
    fingerprint: str = ""


def invitee(invitation: str) -> Invitee:
    """Return what an invitation says, without asking anybody; raises BadValue for a text that is none."""
    found = parse(invitation)
    return Invitee(found.name, found.registry)


def accept(invitation: str, timeout_s: float = 5.0) -> Protection:
    """Take up an invitation (`gcom-registry invite NAME`): make a key here, and get its certificate.

    From then on `connect` uses it. Raises BadValue for an invitation that is none or is refused, Untrusted where
    another registry answers, RegistryUnavailable.
    """
    from gcom.runtime.security import enrolment  # `cryptography` takes a tenth of a second to load

    found = parse(invitation)
    folder = enrolment.accept(found, timeout_s)
    return protection(found.name, found.registry, files_in(folder))


def protection(name: str, registry: str | None = None, certificates: CertificateFiles | None = None) -> Protection:
    """Return how `connect(name, registry, certificates=...)` is protected, without asking anybody.

    Raises BadValue, which says what is wrong: a certificate that is missing, out of date, or of another name.
    """
    # In the order in which `connect` looks, so that this says what that will do.
    place = registry_address(registry, names.member_name(name))
    found = credentials_for(place, name, certificates)
    if not isinstance(found, pyro.Credentials):
        return Protection("local", name, place)
    from gcom.certificates import keys

    own = keys.read_certificate(private_files.read(Path(found.files.cert)), found.files.cert)
    authority = keys.read_certificate(private_files.read(Path(found.files.ca)), found.files.ca)
    return Protection("tls", name, place, str(own.identity), own.ends.timestamp(), authority.fingerprint)
