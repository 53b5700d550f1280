"""Questions of `gcom-registry`'s commands to the registry that runs: its status, its rules, its directory."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import fields
from typing import Any

from gcom.certificates.authority import Authority
from gcom.certificates.identity_files import CertificateFiles
from gcom.errors import PeerError, RegistryUnavailable
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.values.names import Address
from gcom_registry import enrolment
from gcom_registry.operation.serving import authority_folder
from gcom_registry.operation.settings import ServiceSettings
from gcom_registry.status import RegistryStatus

BACKUP_S = 60.0  # tens of megabytes at most, on a slow disk
ASK_S = 5.0  # a registry that is paused is told as one that does not answer


def registry_status(wanted: ServiceSettings) -> dict[str, Any]:
    """Return the status of the registry that the settings are of; raises BadValue, RegistryUnavailable, PeerError."""
    try:
        return status_of(*_address_and_credentials(wanted))
    except RegistryUnavailable as error:
        raise RegistryUnavailable(f"{error}{elsewhere(wanted)}") from error


def elsewhere(wanted: ServiceSettings) -> str:
    """Return in words where the registry for other machines ran last; empty unless the settings are of loopback."""
    path = authority_folder(wanted.get("data")) / enrolment.ADDRESS
    if wanted.get("listen") is not None or wanted.get("cert") or not path.exists():
        return ""
    return f"; the registry for other machines ran last at {path.read_text().strip()}: repeat its --listen to ask it"


def status_of(address: Address, credentials: pyro.Credentials | pyro.UserSecret) -> dict[str, Any]:
    """Return the status of the registry at an address; raises RegistryUnavailable, Untrusted, PeerError."""
    try:
        with closing(pyro.Caller(address, pyro.STATUS, credentials)) as caller:
            told = pyro.unpack(caller.call(pyro.pack({"ask": "status"}), ASK_S))
    except (pyro.ConnectionRefused, pyro.ConnectionLost, pyro.TimedOut) as error:
        raise RegistryUnavailable(
            f"{error}; gcom-registry starts one there, --port or --listen name another (gcom-registry config)"
        ) from error
    # Every field: a registry of another version may tell fewer, and the page would fail in its middle.
    if isinstance(told, dict) and told.keys() >= {field.name for field in fields(RegistryStatus)}:
        return told
    raise PeerError(f"malformed answer from {address} to a question for its status: is it of another version?")


def ask_rights(wanted: ServiceSettings, question: str) -> dict[str, Any] | None:
    """Ask the registry of the settings about its rules: `file`, or `reread`; None if none runs. Raises GComError."""
    # Rights are for registries that speak TLS, so as for `invite` it need not be said where this one listens.
    address, credentials = _address_and_credentials(wanted) if wanted.get("cert") else _noted(wanted)
    try:
        with closing(pyro.Caller(address, pyro.RIGHTS, credentials)) as caller:
            told = pyro.unpack(caller.call(pyro.pack({"ask": question}), ASK_S))
    # Refused: nobody listens, and the file alone counts. A registry that is there and silent is no such thing.
    except pyro.ConnectionRefused:
        return None
    except (pyro.ConnectionLost, pyro.TimedOut) as error:
        raise RegistryUnavailable(str(error)) from error
    if isinstance(told, dict) and told.keys() >= {"rules", "trouble"}:
        return told
    raise PeerError(f"malformed answer from {address} to a question for its rules: is it of another version?")


def ask_backup(wanted: ServiceSettings) -> dict[str, Any] | None:
    """Have the registry of the settings write a copy of its file beside it; None if none runs. Raises GComError."""
    try:
        # A folder that is named says where its registry is, so that --listen need not be said again.
        noted = wanted.get("data") and (authority_folder(wanted.get("data")) / enrolment.ADDRESS).exists()
        address, credentials = _noted(wanted) if noted else _address_and_credentials(wanted)
        with closing(pyro.Caller(address, pyro.STATUS, credentials)) as caller:
            told = pyro.unpack(caller.call(pyro.pack({"ask": "backup"}), BACKUP_S))
    except pyro.ConnectionRefused:
        return None
    except (pyro.ConnectionLost, pyro.TimedOut) as error:
        raise RegistryUnavailable(str(error)) from error
    return told if isinstance(told, dict) else {}


def directory(wanted: ServiceSettings) -> DirectoryClient:
    """Return a client of the directory of the registry that the settings are of; raises BadValue."""
    address, credentials = _address_and_credentials(wanted)
    return DirectoryClient(address, ASK_S, credentials=credentials)


def _address_and_credentials(wanted: ServiceSettings) -> tuple[Address, pyro.Credentials | pyro.UserSecret]:
    """Return the address of that registry, and the credentials to ask it with, which are its own."""
    cert, key, ca = (wanted.get(name) for name in ("cert", "key", "ca"))
    # On loopback the settings say it all: no address is noted there, and the user's secret opens it.
    if wanted.get("listen") is None and not cert:
        host = wanted["host"]
        return f"[{host}]:{wanted['port']}" if ":" in host else f"{host}:{wanted['port']}", pyro.UserSecret()
    if cert and key and ca:
        # With a certificate of the operator's own there is no authority's folder, where the address would be noted:
        # it is worked out as the server does it.
        place = pyro.place(wanted.get("listen") or wanted["host"], wanted.get("advertise"), int(wanted["port"]))
        return pyro.dialled_address(place), pyro.Credentials(CertificateFiles(cert, key, ca))
    return _noted(wanted)


def _noted(wanted: ServiceSettings) -> tuple[Address, pyro.Credentials]:
    """Return what the registry has noted beside its authority: its address, and its own certificate."""
    authority = Authority(authority_folder(wanted.get("data")))
    return enrolment.noted_address(authority), pyro.Credentials(enrolment.noted_files(authority))


def page(told: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines for people."""
    yield f"{told['address']}  gcom-registry {told['version']}, {_age(time.time() - float(told['started_s']))}"
    yield f"state        {told['unready'] or 'ready'}"
    yield f"transport    {'TLS, certificates on both sides' if told['secure'] else 'loopback, this user alone'}"
    yield f"data         {told['data'] or 'none: it keeps nothing'}"
    groups = ", ".join(f"{count} {state}" for state, count in told["groups"].items() if count)
    yield f"groups       {groups or 'none'}; {told['members']} members; serials of {told['sequenced']} groups from here"
    yield f"connections  {told['connections']} of {told['connections_max']}"
    for kind, outcomes in told["requests"].items():
        total = sum(outcomes.values())
        mean_ms = 1000 * told["request_s"][kind] / total
        refused = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items() if outcome != "ok")
        yield f"{kind:<17}{total:>9,}  {mean_ms:8.3f} ms each" + (f"  ({refused})" if refused else "")
    if told["refused"]:
        refused = ", ".join(f"{count} {reason}" for reason, count in sorted(told["refused"].items()))
        yield f"refused from the network: {refused}"


def _age(seconds: float) -> str:
    """Return how long it has run, in words."""
    for size, word in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"up for {seconds / size:.0f} {word}"
    return f"up for {max(0.0, seconds):.0f} seconds"
