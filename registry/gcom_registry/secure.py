"""A registry for other machines: its authority, its own certificate, and the server that uses them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gcom.certificates.identity_files import CertificateFiles
from gcom.errors import BadValue
from gcom.runtime import pyro
from gcom.values import names
from gcom_registry import enrolment
from gcom_registry.enrolment import Enrolment, Upkeep
from gcom_registry.quotas import DEFAULT_QUOTAS, GroupQuotas
from gcom_registry.rights_file import RightsFile
from gcom_registry.server import RegistryServer
from gcom_registry.trail.file import Trail

Files = tuple[str | None, str | None, str | None]


def secure_server(
    place: pyro.Place,
    data: Path | None,
    authority_folder: Path,
    files: Files,
    tell: Callable[[str], None],
    rights: RightsFile | None = None,
    quotas: GroupQuotas = DEFAULT_QUOTAS,
) -> RegistryServer:
    """Return a registry that speaks TLS alone; raises BadValue, Unavailable.

    Where no certificate is given, its authority makes one; where there is no authority, that is made first.
    """
    if any(files):
        return RegistryServer(place, data=data, credentials=own_credentials(files), rights=rights, quotas=quotas)
    authority, fresh = enrolment.own_authority(authority_folder)
    if fresh:
        tell(f"made an authority, which signs all certificates, in {str(authority_folder)!r}: keep its key secret")
    # Worked out before the port is taken: an address that cannot be found is the settings' fault.
    hosts = _hosts(place)
    credentials = pyro.Credentials(enrolment.own_files(authority, hosts))
    trail = Trail(data)
    enrol = Enrolment(authority, credentials, trail=trail)
    upkeep = Upkeep(authority, credentials, hosts, trail)
    server = RegistryServer(
        place,
        data=data,
        credentials=credentials,
        enrol=enrol.receive,
        upkeep=upkeep,
        rights=rights,
        trail=trail,
        quotas=quotas,
    )
    # Nobody is answered before it is started.
    enrol.address = server.address
    enrolment.note_address(authority, server.address)
    tell(f"TLS 1.3, with certificates of the authority {authority.fingerprint[:16]}… alone")
    tell(f"invite each member: gcom-registry invite NAME{_in(data, authority_folder)}")
    return server


def own_credentials(files: Files) -> pyro.Credentials:
    """Return a registry's credentials by a certificate of the operator's own; raises BadValue."""
    cert, key, ca = files
    if not (cert and key and ca):
        raise BadValue("--cert, --key and --ca belong together: give all three")
    credentials = pyro.Credentials(CertificateFiles(cert, key, ca))
    # TLS would work with a member's certificate, too; but then any member could stand in for the registry.
    if not credentials.identity.registries:
        raise BadValue(
            f"certificate {cert!r} is of {credentials.identity}, and not of a registry: its alternative names want "
            "URI:gcom://registry/NAME (gcom certs issue NAME --registry)"
        )
    return credentials


def _hosts(place: pyro.Place) -> list[str]:
    """Return the names and addresses under which others may dial this registry; raises BadValue."""
    # Port 1 stands for any: the host alone is taken.
    public, _ = names.split_address(pyro.public_address(place, 1))
    return list(dict.fromkeys(host for host in (public, place.host) if host not in pyro.WILDCARDS))


def _in(data: Path | None, authority_folder: Path) -> str:
    return f" --data {data}" if data and authority_folder.parent == data else ""
