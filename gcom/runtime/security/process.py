"""The security of a process: the registry that it uses, the credentials for it, and where it listens.

It is secure where certificates are given, or where its registry is not on loopback; else it is local. There is no mode
between, and nothing falls back (docs/protocols/security.md).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gcom.certificates import identity_files
from gcom.certificates.identity_files import CertificateFiles
from gcom.errors import BadValue
from gcom.runtime import pyro
from gcom.runtime.pyro.places import HOW_SECURE
from gcom.values import limits, names
from gcom.values.names import Address

if TYPE_CHECKING:
    from gcom.certificates.run_keys import RunKeys

REGISTRY_DEFAULT = f"127.0.0.1:{limits.REGISTRY_PORT}"
REGISTRY_VARIABLE = "GCOM_REGISTRY"
LISTEN_VARIABLE, ADVERTISE_VARIABLE = "GCOM_LISTEN", "GCOM_ADVERTISE"
TLS_VARIABLES = ("GCOM_TLS_CERT", "GCOM_TLS_KEY", "GCOM_TLS_CA")


Security = pyro.Credentials | pyro.UserSecret


@dataclass(frozen=True, slots=True)
class Listening:
    """The settings by which a node is reached: where it listens, its address for others, and its certificates."""

    listen: str | None = None
    advertise: str | None = None
    certificates: CertificateFiles | None = None


def registry_addresses(text: str | None = None, name: str | None = None) -> tuple[Address, ...]:
    """Return the addresses in `text`, else in GCOM_REGISTRY, else of the registry that invited `name`, else the
    default; raises BadValue.

    Without a name, the registry of the identity that was stored last.
    """
    found = names.addresses(text or os.environ.get(REGISTRY_VARIABLE) or _inviting(name) or REGISTRY_DEFAULT)
    places = [names.split_address(address) for address in found]
    for address, (_, port) in zip(found, places, strict=True):
        if port == 0:
            raise BadValue(f"registry address {address!r} has no port: {REGISTRY_DEFAULT} is the usual one")
    # A process is secure or local, as a whole.
    if len({pyro.is_loopback(host) for host, _ in places}) > 1:
        raise BadValue(
            f"registries {','.join(found)}: some are on loopback, some are not; name all by addresses of one kind"
        )
    return found


def registry_address(text: str | None = None, name: str | None = None) -> Address:
    """Return the first of `registry_addresses`."""
    return registry_addresses(text, name)[0]


def _inviting(name: str | None) -> Address | None:
    folder = identity_files.folder_of(name)
    return identity_files.registry_of(folder) if folder else None


def files_from_environment() -> CertificateFiles | None:
    """Return the files that GCOM_TLS_* name, or None; raises BadValue where some are missing."""
    given = [os.environ.get(name) for name in TLS_VARIABLES]
    # Empty counts as not set: container files pass on variables that nobody has filled in.
    if not any(given):
        return None
    missing = [name for name, value in zip(TLS_VARIABLES, given, strict=True) if not value]
    if missing:
        raise BadValue(
            f"{' and '.join(missing)} must be set as well: a certificate, its key and its authority belong together"
        )
    return CertificateFiles(*(value or "" for value in given))


def credentials_for(registry: Address, name: str | None = None, files: CertificateFiles | None = None) -> Security:
    """Return the credentials of a process that uses a registry, or its user's secret where it is local.

    Raises BadValue where it has to have some and has none, or none that names the member.
    """
    files = files or files_from_environment()
    host = names.split_address(registry)[0]
    # Where certificates are given they are used on loopback as well: nothing is less secure than was asked for.
    if files is None:
        folder = identity_files.folder_of(name)
        # A registry on loopback that invited this user speaks TLS: it has no invitations otherwise.
        if pyro.is_loopback(host) and (folder is None or identity_files.registry_of(folder) != registry):
            return pyro.UserSecret()
        if folder is None:
            who = f"an identity {name!r}" if name else "an identity"
            raise BadValue(
                f"registry {registry} is not on this machine alone; other machines need mutual TLS, and this user has "
                f"not {who}: {HOW_SECURE}"
            )
        files = identity_files.files_in(folder)
    found = pyro.Credentials(files)
    # Said here: else each peer would refuse its frames one by one, and its user see only that nobody admits it.
    if name is not None and name not in found.identity.members:
        raise BadValue(
            f"certificate {files.cert!r} is of {found.identity}, so {name!r} may not be its member's name: use a name "
            "that it has, or ask for another invitation"
        )
    return found


def run_keys(credentials: pyro.Credentials) -> RunKeys:
    """Return the key by which a node's processes sign in groups that are signed; raises BadValue."""
    # Here, since it takes a tenth of a second, and no process on loopback needs it.
    from gcom.certificates import run_keys as keys_of_runs

    return keys_of_runs.RunKeys(credentials.files)


def node_place(
    security: Security, registries: Sequence[Address], listen: str | None, advertise: str | None
) -> pyro.Place:
    """Return where a node listens: as told, by GCOM_LISTEN too, or where registries can reach it; raises BadValue."""
    listen = listen or os.environ.get(LISTEN_VARIABLE) or None
    advertise = advertise or os.environ.get(ADVERTISE_VARIABLE) or None
    if listen is None:
        # Where the way to the registry begins: by that way others,
        # who reach the registry too, are likely to reach this node.
        listen = "127.0.0.1" if isinstance(security, pyro.UserSecret) else pyro.own_host(registries)
    return pyro.place(listen, advertise)
