"""The registry's side of certificates: it gives them to those whom it invited (docs/protocols/security.md)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from loguru import logger

from gcom import __version__
from gcom.certificates import identity_files, keys, private_files
from gcom.certificates.authority import KEY, Authority, make_authority, now_utc
from gcom.certificates.identity_files import CertificateFiles
from gcom.errors import BadValue, GComError, LocalError, StorageUnavailable
from gcom.runtime import pyro
from gcom.runtime.security.upkeep import SERIAL_BYTES
from gcom.values import identity, limits, names
from gcom.values.identity import Identity
from gcom.values.names import Address
from gcom_registry.trail.file import Trail

REVOKED_MAX = limits.FRAME_BYTES_MAX // SERIAL_BYTES // 2  # whoever revokes more within 30 days needs a new authority
REACH_S = 2.0
OWN, ADDRESS = "registry", "address"


class Upkeep:
    """The upkeep of a registry's own certificate, each second: it renews it, and learns which others are revoked.

    `trouble` says why the last one failed, and is empty if it did not.
    """

    def __init__(
        self,
        authority: Authority,
        credentials: pyro.Credentials,
        hosts: Sequence[str] = (),
        trail: Trail | None = None,
    ) -> None:
        self._authority, self._credentials, self._hosts = authority, credentials, hosts
        self._trail = trail or Trail(None)
        self._revoked: frozenset[int] = frozenset()  # as the trail knows them
        self.trouble = ""

    def __call__(self) -> None:
        try:
            # Each second from the records, not by a message: `gcom certs revoke` is another process, and only
            # writes them.
            self._note_revoked(refuse_revoked(self._authority, self._credentials))
            self._authority.records.retry()
            # No restart for it: new connections have the new certificate, and those that are open go on.
            if self._credentials.needs_renewal():
                own_files(self._authority, self._hosts)
                self._credentials.reload()
            self.trouble = ""
        except GComError as error:
            if str(error) != self.trouble:  # told once, and not each second
                logger.warning("{}", error)
            self.trouble = str(error)

    def _note_revoked(self, revoked: frozenset[int]) -> None:
        if fresh := revoked - self._revoked:
            for it in self._authority.records.issued():
                # By its time as well: those that an earlier life of this registry told are not told again.
                if it.serial in fresh and (it.revoked or 0) >= int(self._trail.ended_s):
                    names_of = str(identity.from_uris(it.uris))
                    self._trail.note("revoke", member=names_of, serial=f"{it.serial:x}")
        self._revoked = revoked


class Enrolment:
    """The one object that a newcomer without a certificate may call; members renew theirs at it.

    `address` is the registry's for others; members are told it, so that they find it where it moved to.
    """

    def __init__(
        self, authority: Authority, credentials: pyro.Credentials, address: Address = "", trail: Trail | None = None
    ) -> None:
        self._authority, self._credentials, self.address = authority, credentials, address
        self._trail = trail or Trail(None)

    def receive(self, data: bytes) -> bytes:
        asked = pyro.unpack(data)
        try:
            return pyro.pack(self._answer(asked))
        # Of the records: they are locked, say, or lost. In words without paths, as anybody may ask.
        except (StorageUnavailable, LocalError) as error:
            logger.warning("{}", error)
            return pyro.pack({"unavailable": "its records cannot be used at the moment: ask its operator"})

    def _answer(self, asked: object) -> dict[str, object]:
        match asked:
            # Told to everybody: a newcomer compares it with its invitation's fingerprint before it shows the secret.
            case {"ask": "authority"}:
                return {
                    "authority": self._authority.pem.decode(),
                    "protocol": limits.PROTOCOL_VERSION,
                    "time": time.time(),
                }
            # Of members alone: else anybody could have this registry dial whatever address he likes.
            case {"ask": "reach", "address": str() as address} if (pyro.peer() or identity.NOBODY).members:
                return {"reached": _dial_error(address)}
            case {"ask": "enrol", "secret": bytes() as secret, "request": bytes() as request}:
                return self._enrol(secret, request)
            case {"ask": "renew", "request": bytes() as request}:
                return self._renew(request, pyro.peer() or identity.NOBODY)
            case {"ask": "revoked"}:
                serials = refuse_revoked(self._authority, self._credentials)
                listed = b"".join(it.to_bytes(SERIAL_BYTES, "big") for it in sorted(serials)[:REVOKED_MAX])
                return {"revoked": listed, "address": self.address}
        return {"refused": f"this registry, of version {__version__}, does not know that question"}

    def _renew(self, request: bytes, who: Identity) -> dict[str, object]:
        """Give a holder another certificate of the same names."""
        # What the server refuses is a second old; a certificate that was revoked since must not get a successor.
        if pyro.peer_serial() in refuse_revoked(self._authority, self._credentials):
            return self._refused("renew", "the certificate that is to be renewed is revoked: ask the operator")
        if who == identity.NOBODY:
            return self._refused("renew", "whoever asks for a renewal must show the certificate that is to be renewed")
        try:
            certificate = self._authority.issue(keys.requested_key(request), who, now_utc())
        except BadValue as error:
            return self._refused("renew", str(error))
        self._note_issued("renew", certificate)
        return {"certificate": certificate}

    def _enrol(self, secret: bytes, request: bytes) -> dict[str, object]:
        try:
            certificate = self._authority.enrol(secret, request, now_utc())
        except BadValue as error:
            # To the operator as well: here it shows that somebody tries an invitation that was used, or that nobody
            # made.
            logger.warning("an enrolment was refused: {}", error)
            return self._refused("enrol", str(error))
        self._note_issued("enrol", certificate)
        return {"certificate": certificate}

    def _refused(self, request: str, reason: str) -> dict[str, object]:
        self._trail.refuse(request, reason)
        return {"refused": reason}

    def _note_issued(self, event: str, certificate: bytes) -> None:
        found = keys.read_certificate(certificate)
        self._trail.note(event, member=str(found.identity), serial=f"{found.serial:x}")


def refuse_revoked(authority: Authority, credentials: pyro.Credentials) -> frozenset[int]:
    """Read which certificates are revoked, refuse them from now on, and return them; raises BadValue.

    Whoever asks is told what this registry itself obeys: else a group puts a member out that still comes in here.
    """
    credentials.revoked = authority.records.revoked(int(time.time()))
    return credentials.revoked


def _dial_error(address: Address) -> str:
    """Dial a member's address for its `gcom doctor`; return the failure in words, empty if there was none."""
    try:
        with pyro.dial(*names.split_address(address), monotonic() + REACH_S):
            return ""
    except (OSError, BadValue) as error:
        return str(error) or "no answer"


def own_authority(folder: Path) -> tuple[Authority, bool]:
    """Return the authority in a folder, and whether it was made just now; raises BadValue."""
    # By the key, which is written last: a folder without one holds the beginning of an authority at best.
    if (folder / KEY).exists():
        return Authority(folder), False
    return make_authority(folder, now_utc()), True


def own_files(authority: Authority, hosts: Sequence[str] = ()) -> CertificateFiles:
    """Return the files of the registry's own certificate, which names its `hosts`; it is made anew where it is too old.

    GCom goes by the identity, which no address changes; stock Pyro5 programs go by the host.
    """
    folder = authority.folder / OWN
    files = identity_files.files_in(folder)
    # The key stays: instance ids are sealed by it (registry/gcom_registry/minting.py).
    path = Path(files.key)
    key = keys.load_key(private_files.read_private(path), repr(str(path))) if path.exists() else keys.new_key()
    if not _is_good(authority, files, key, hosts):
        certificate = authority.issue(key.public_key(), identity.registry(), now_utc(), hosts=hosts)
        identity_files.save(folder, keys.key_pem(key), certificate, authority.pem)
    return files


def _is_good(authority: Authority, files: CertificateFiles, key: keys.Key, hosts: Sequence[str]) -> bool:
    """Tell whether the certificate that is there may be used: each one that is issued is a row of the records."""
    if not (Path(files.cert).exists() and Path(files.ca).exists()):
        return False
    pem = private_files.read(Path(files.cert))
    found, now = keys.read_certificate(pem, files.cert), now_utc()
    fits = keys.belong_together(pem, key) and keys.is_signed_by(pem, authority.pem) and found.hosts == set(hosts)
    # An instance of GCom's registry renews it at two thirds of its life, when it starts as well.
    fresh = found.begins <= now < found.begins + 2 * (found.ends - found.begins) / 3
    return fits and fresh and found.serial not in authority.records.revoked(int(now.timestamp()))


def noted_files(authority: Authority) -> CertificateFiles:
    """Return the certificate that the registry made for itself when it started last; raises BadValue."""
    return identity_files.files_in(authority.folder / OWN)


def note_address(authority: Authority, address: Address) -> None:
    """Write down where the registry is, for the invitations to it."""
    private_files.write(authority.folder / ADDRESS, f"{address}\n".encode())


def noted_address(authority: Authority) -> Address:
    """Return where the registry is, or was when it ran last; raises BadValue."""
    path = authority.folder / ADDRESS
    if not path.exists():
        raise BadValue("no registry has run with this authority: start one first, with gcom-registry --listen ADDRESS")
    # Of a registry that is not running, too: an invitation is made beside it, and taken up later.
    return path.read_text().strip()
