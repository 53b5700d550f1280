"""`gcom-registry doctor`: checks of a registry's set-up, before it starts or while it runs.

Each check is made whatever the others find, since few depend on another. Nothing is changed, except that a transaction
which a killed registry left half done on the disk is rolled back, as the next registry would do.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from gcom.certificates import private_files
from gcom.certificates.authority import CERTIFICATE, KEY, Authority, now_utc
from gcom.certificates.identity_files import CertificateFiles
from gcom.certificates.keys import Certificate, read_certificate
from gcom.cli.findings import Finding, lifetime
from gcom.errors import (
    BadValue,
    GComError,
    PeerError,
    RegistryUnavailable,
    StorageUnavailable,
    Unavailable,
    Untrusted,
)
from gcom.runtime import pyro
from gcom.values import names
from gcom_registry import enrolment, storage
from gcom_registry.operation import locks, serving
from gcom_registry.operation.asking import elsewhere, status_of
from gcom_registry.operation.settings import ServiceSettings, settings
from gcom_registry.secure import own_credentials

CLOCK_S = 120.0  # what was written by this machine's clock may be so far ahead of it
RESOLVE_S = 3.0


def examine(flags: Mapping[str, str | None]) -> Iterator[Finding]:
    """Yield what is found, of the settings first: where they are wrong, nothing else can be looked at."""
    try:
        wanted = settings(flags)
        secure = serving.is_secure(wanted)
        # Only to see whether there is one: without it no other check could be made.
        serving.place_of(wanted)
    except BadValue as error:
        yield Finding("settings", False, str(error))
        return
    yield Finding(
        "settings", True, f"settings are valid, {f'with those of {wanted.file}' if wanted.file else 'no file'}"
    )
    for code, check in (_CHECKS | _SECURE_CHECKS if secure else _CHECKS).items():
        try:
            yield from check(wanted)
        # What this user may not read is a finding as well.
        except (GComError, OSError) as error:
            yield Finding(code, False, str(error))


def _data(wanted: ServiceSettings) -> Iterator[Finding]:
    folder = _folder(wanted)
    if folder is None:
        text = "it keeps nothing: after its end nobody can tell who has a name (--data FOLDER)"
        yield Finding("data", True, text, warning=True)
        return
    there = folder
    # The nearest folder above that is there: the first start makes the rest in it, or cannot.
    while not there.exists():
        there = there.parent
    if not there.is_dir():
        raise BadValue(f"data folder {str(folder)!r} cannot be made: {str(there)!r} is a file")
    state = there.stat()
    owner = f"{private_files.owner(state.st_uid)}, mode {stat.S_IMODE(state.st_mode):o}"
    try:
        # Tried, and not read off the mode: a mount may be read-only, and there are access lists.
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        raise BadValue(
            f"data folder {str(folder)!r}: this user (uid {os.getuid()}) cannot write in {str(there)!r}, which is of "
            f"{owner} ({error.strerror}): run it as that user, or name another by --data"
        ) from error
    if there != folder:
        yield Finding("data", True, f"data folder {str(folder)!r} is not there: the first start makes it")
        return
    private_files.refuse_open_folder(folder, storage.FILE)
    yield Finding("data", True, f"data folder {str(folder)!r} is of {owner}; this user may write")


def _database(wanted: ServiceSettings) -> Iterator[Finding]:
    folder = _folder(wanted)
    # The registry keeps nothing, or it never ran: its first start makes the file.
    if folder is None or not (folder / storage.FILE).exists():
        return
    path = folder / storage.FILE
    try:
        groups, votes = storage.inspect(folder)
    except StorageUnavailable as error:
        if not _uses(wanted, folder):
            raise StorageUnavailable(f"{error}{locks.held_by(path)}{elsewhere(wanted)}") from error
        yield Finding("database", True, f"the registry of these settings uses {str(path)!r}, and tells how it is")
        return
    yield Finding("database", True, f"{str(path)!r} is whole: {groups} groups, {votes} votes")


def _uses(wanted: ServiceSettings, folder: Path) -> bool:
    """Tell whether the registry of these settings runs, and has this folder."""
    try:
        told = status_of(pyro.dialled_address(serving.place_of(wanted)), _own_credentials(wanted))
    except GComError:
        return False
    return bool(told["data"]) and Path(told["data"]).resolve() == folder.resolve()


def _port(wanted: ServiceSettings) -> Iterator[Finding]:
    place = serving.place_of(wanted)
    host, free = pyro.listenable(place.host, secure=serving.is_secure(wanted)), list[int]()
    held: list[Finding] = []
    for port in place.ports:
        try:
            pyro.try_listening(host, port)
            free.append(port)
        except Unavailable as error:
            held.append(_holder(wanted, replace(place, ports=(port,)), str(error)))
    # Of a range: the registry may run at one port, while others are free, or another's.
    if ours := [found for found in held if found.code == "runs"]:
        yield ours[0]
    elif free:
        yield Finding("port", True, f"port {free[0] or 'of any number'} at {host} is free: no registry runs there")
    else:
        yield held[0]


def _holder(wanted: ServiceSettings, place: pyro.Place, taken: str) -> Finding:
    """Return a finding about the process that has the port: the registry of these settings, or another."""
    address = pyro.dialled_address(place)
    try:
        told = status_of(address, _own_credentials(wanted))
    except (Untrusted, BadValue) as error:
        text = f"{taken}. What has it is another user's registry, one with other certificates, or none"
        return Finding("port", False, f"{text} (ss -ltnp shows it): {error}")
    except (RegistryUnavailable, PeerError) as error:
        return Finding("port", False, f"{taken}. What has it is no gcom-registry (ss -ltnp shows it): {error}")
    # Whoever starts or ends is not ready, and nothing is wrong with it.
    how = told["unready"] or "ready"
    return Finding("runs", not told["ill"], f"the registry of these settings runs at {address}: {how}")


def _certificates(wanted: ServiceSettings) -> Iterator[Finding]:
    # A certificate of the operator's own: then the registry has no authority, and nothing renews it.
    files = serving.own_certificate(wanted)
    if any(files):
        cert = own_credentials(files).files.cert
        mend = "nobody renews a certificate of one's own; put a new one there, and start the registry again"
        yield _lasting(
            "certificate", read_certificate(private_files.read(Path(cert)), cert), f"certificate {cert!r}", mend
        )
        return
    folder = serving.authority_folder(wanted.get("data"))
    if not (folder / KEY).exists():
        yield Finding("authority", True, f"no authority is in {str(folder)!r}: the first start makes one")
        return
    authority = Authority(folder)
    found = read_certificate(authority.pem, str(folder / CERTIFICATE))
    mend = "gcom-registry with a new --data folder makes another, which invites everybody anew"
    if found.state(now_utc()) != "valid":
        raise BadValue(
            f"the authority in {str(folder)!r} is {found.state(now_utc())}: is this clock right? Else {mend}"
        )
    if damage := authority.records.damage():
        raise BadValue(f"the authority's records in {str(folder)!r} are damaged: {damage}; restore a copy")
    yield _lasting("authority", found, f"authority {authority.fingerprint[:16]}… in {str(folder)!r}", mend)
    yield from _own(authority)


def _own(authority: Authority) -> Iterator[Finding]:
    """Check the certificate that the registry made for itself."""
    path = Path(enrolment.noted_files(authority).cert)
    # There is none before the registry's first start, which makes it.
    if not path.exists():
        return
    own = read_certificate(private_files.read(path), str(path))
    mend = "the registry renews it while it runs, and makes another when it starts"
    if own.state(now_utc()) == "valid":
        yield _lasting("certificate", own, "the registry's own certificate", mend)
    else:
        text = f"the registry's own certificate is {own.state(now_utc())}: {mend}"
        yield Finding("certificate", True, text, warning=True)


def _lasting(code: str, found: Certificate, what: str, mend: str) -> Finding:
    """Return the end of a certificate's life as a finding, a warning where two thirds of that are over."""
    now = now_utc()
    if now >= found.begins + 2 * (found.ends - found.begins) / 3:
        return lifetime(code, (found.ends - now).total_seconds() / 86400, what, mend)
    return Finding(code, True, f"{what} is valid until {found.ends:%Y-%m-%d %H:%M} UTC")


def _rights(wanted: ServiceSettings) -> Iterator[Finding]:
    rules, path = serving.rights_file(wanted).table.rules, serving.rights_path(wanted)
    found = f"{len(rules)} rules in {str(path)!r}" if path.exists() else f"no rules, as {str(path)!r} is not there"
    yield Finding("rights", True, f"rights: {found}")


def _advertised(wanted: ServiceSettings) -> Iterator[Finding]:
    place = serving.place_of(wanted)
    host, port = names.split_address(pyro.public_address(place, place.ports[0]))
    try:
        # As this machine sees it, which others need not share; a name that is misspelt is found all the same.
        found = pyro.resolved(host, port or 1, time.monotonic() + RESOLVE_S)
    except OSError as error:
        raise BadValue(
            f"the address for others is {host!r}, which this machine does not know ({error.strerror}): mend that name, "
            "or say an IP address with --advertise"
        ) from error
    addresses = ", ".join(dict.fromkeys(str(each[4][0]) for each in found))
    yield Finding(
        "advertised", True, f"the address for others is {host}" + (f" ({addresses})" if addresses != host else "")
    )


def _clock(wanted: ServiceSettings) -> Iterator[Finding]:
    """Compare the clock with the times of files written by it, which shows only a clock that was set back."""
    folder, authority = _folder(wanted), serving.authority_folder(wanted.get("data"))
    # There is nothing else to compare with: no other machine has to be there, and none would be believed.
    written = {
        str(path): path.stat().st_mtime
        for path in (folder and folder / storage.FILE, authority / CERTIFICATE, authority / enrolment.ADDRESS)
        if path and path.exists()
    }
    now = time.time()
    for path, at in written.items():
        if at > now + CLOCK_S:
            raise BadValue(f"this clock is slow, or was fast: {path!r} was written {at - now:.0f} s from now; set it")
    shown = datetime.fromtimestamp(now, UTC)
    yield Finding("clock", True, f"the clock says {shown:%Y-%m-%d %H:%M} UTC, and nothing was written later")


def _folder(wanted: ServiceSettings) -> Path | None:
    return serving.data_folder(wanted.get("data"), serving.place_of(wanted).ports[0])


def _own_credentials(wanted: ServiceSettings) -> pyro.Credentials | pyro.UserSecret:
    """Return the credentials that the registry of these settings has; raises BadValue."""
    if not serving.is_secure(wanted):
        return pyro.UserSecret()
    cert, key, ca = serving.own_certificate(wanted)
    if cert and key and ca:
        return pyro.Credentials(CertificateFiles(cert, key, ca))
    return pyro.Credentials(enrolment.noted_files(Authority(serving.authority_folder(wanted.get("data")))))


_CHECKS = {"data": _data, "database": _database, "port": _port, "clock": _clock}
_SECURE_CHECKS = {"certificate": _certificates, "rights": _rights, "advertised": _advertised}
