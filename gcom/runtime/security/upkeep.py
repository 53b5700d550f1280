"""The upkeep of a secure process: which certificates are revoked, its own renewed at two thirds of its life, and where
the registry is that invited it.

The registry is asked each second. Without an answer the last list stays, and without a renewal the certificate is asked
for again: a group goes on. A renewed certificate is of the same key, so that one file is replaced, whole.

A registry that has the authority's records tells its own address. Where the identity's files say another one, and a
registry of that authority, with its records, answers at the address that was told, the files are brought up to date:
the next start finds the registry where it moved to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from threading import Event
from time import monotonic

from loguru import logger

from gcom.certificates import identity_files
from gcom.errors import BadValue, GComError, PeerError, StorageUnavailable, Unavailable, Untrusted
from gcom.runtime import pyro
from gcom.runtime.security.certificate_watch import CertificateWatch
from gcom.values import names
from gcom.values.names import Address

SERIAL_BYTES = 20  # of a certificate, at the most
ASK_S = 1.0  # a certificate that was revoked is refused within a second or two
CALL_S = 2.5  # as long as any other call
RETRY_S = 60.0  # between attempts at a renewal


def certificate_works(
    registries: Iterable[Address],
    credentials: pyro.Credentials,
    closing: Event,
    name: str,
    take_up: Callable[[], None],
) -> list[Callable[[], None]]:
    """Return the work of one thread per registry, for the node of a member; `take_up` reads its files again."""
    watch = CertificateWatch(credentials, name, take_up)
    # Those that do not have the authority's records say so, and are not asked again.
    return [CertificateUpkeep(at, credentials, closing, watch).run for at in registries]


class CertificateUpkeep:
    """The work of one thread, until `closing` is set."""

    def __init__(
        self, registry: Address, credentials: pyro.Credentials, closing: Event, watch: CertificateWatch
    ) -> None:
        self._registry = registry
        self._credentials = credentials
        self._closing = closing
        self._watch = watch
        self._renew_after = 0.0  # monotonic
        self._told: object = None  # the address that was looked at last

    def run(self) -> None:
        with closing(pyro.Caller(self._registry, pyro.ENROLMENT, self._credentials)) as caller:
            while not self._closing.wait(ASK_S):
                self._watch.look()
                try:
                    if not self._learn_revoked(caller):
                        return
                    self._watch.on_answer()
                    self._renew(caller)
                except Untrusted as error:
                    self._watch.on_refusal(self._registry, error)
                    self._rest()
                except StorageUnavailable as error:
                    logger.warning("the certificate cannot be renewed: {}", error)
                    self._rest()
                except Unavailable:
                    continue  # it is down: the last list stays
                except GComError as error:
                    logger.warning("registry {} did not tell which certificates are revoked: {}", self._registry, error)
                    self._rest()

    def _rest(self) -> None:
        """Wait before the registry is asked again, until other files were taken up at the longest."""
        over = monotonic() + RETRY_S
        while monotonic() < over and not self._closing.wait(ASK_S) and not self._watch.look():
            pass

    def _learn_revoked(self, caller: pyro.Caller) -> bool:
        """Ask for the list; return whether this registry has one, and not certificates of another's authority."""
        match _asked(caller):
            case {"revoked": bytes() as serials, **more} if len(serials) % SERIAL_BYTES == 0:
                starts = range(0, len(serials), SERIAL_BYTES)
                self._credentials.revoked = frozenset(
                    int.from_bytes(serials[at : at + SERIAL_BYTES], "big") for at in starts
                )
                # Each address once: one that does not answer here may be right for others.
                told, self._told = self._told, more.get("address")
                if isinstance(self._told, str) and self._told not in ("", told):
                    self._follow(names.address(self._told))
                return True
            case {"unavailable": _}:
                return True  # the last list stays; its operator is told there
            case {"refused": _}:
                return False
            case _:
                raise PeerError("malformed list of revoked certificates: expected their serial numbers")

    def _follow(self, told: Address) -> None:
        """Store where the registry is now, if the identity's files say another address."""
        folder = Path(self._credentials.files.cert).parent
        stored = identity_files.registry_of(folder)
        # Files without an address are not of an invitation: where their registry is, is said elsewhere.
        if stored is None or stored == told:
            return
        # It is dialled first: only who holds a registry's certificate of our authority, and its records, is believed.
        with closing(pyro.Caller(told, pyro.ENROLMENT, self._credentials)) as caller:
            match _asked(caller):
                case {"revoked": bytes()}:
                    identity_files.note_registry(folder, told)
                    logger.warning("the registry has moved from {} to {}: {} says so from now on", stored, told, folder)

    def _renew(self, caller: pyro.Caller) -> None:
        if not self._credentials.needs_renewal() or monotonic() < self._renew_after:
            return
        from gcom.certificates import keys, private_files

        # Before it asks: a registry that refuses, or does not answer, is asked again in a minute, and not each second.
        self._renew_after = monotonic() + RETRY_S
        files = self._credentials.files
        key = keys.load_key(private_files.read_private(Path(files.key)), files.key)
        match pyro.unpack(caller.call(pyro.pack({"ask": "renew", "request": keys.request(key)}), CALL_S)):
            case {"certificate": bytes() as certificate}:
                # Stored in the place of the one in use, it would leave a node whose key fits no certificate.
                if not keys.belong_together(certificate, key):
                    raise PeerError("it renewed the certificate of another key")
                private_files.write(Path(files.cert), certificate)
                self._watch.renewed()
            case {"refused": str() as text}:
                raise BadValue(f"it did not renew {files.cert!r}: {text}")
            case _:
                raise PeerError("malformed answer to a request for renewal: expected a certificate")


def _asked(caller: pyro.Caller) -> object:
    return pyro.unpack(caller.call(pyro.pack({"ask": "revoked"}), CALL_S))
