"""The registry's server: the pure directory behind a lock and a clock, the pure sequencer, and a name server.

With a data folder it knows its groups when it starts again, has noted who may be in a next view, and keeps its votes as
an acceptor (ARCHITECTURE 10, 11). It gives no name away before all who have one had time to register.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from loguru import logger

from gcom import __version__
from gcom.core.codec import sequencer as sequencer_codec
from gcom.core.codec.registry import decode_request, encode_answer
from gcom.core.directory.table import Directory
from gcom.core.directory.witness import Witness
from gcom.core.messages.registry import Answer, Create, GroupInfo, Refusal, Register, Remove, Request, Unregister
from gcom.core.messages.sequencer import Unknown
from gcom.core.multicast.signing import RunSigner
from gcom.core.ordering.sequencer import Sequencer
from gcom.errors import GComError, NotPermitted, Unavailable, VersionMismatch
from gcom.runtime import pyro
from gcom.runtime.registry import last_words
from gcom.runtime.security.process import run_keys
from gcom.runtime.user_process.life import is_dead
from gcom.runtime.user_process.process_events import tell_of_forks
from gcom.values import limits
from gcom.values.identity import Identity
from gcom.values.names import Address
from gcom_registry.minting import SealedIds
from gcom_registry.naming import NAME_SERVER, SafeNameServer, list_system
from gcom_registry.quotas import DEFAULT_QUOTAS, EmptyGroups, GroupCounts, GroupQuotas
from gcom_registry.requests import RequestLog
from gcom_registry.rights import Rights, RightsTeller
from gcom_registry.rights_file import RightsFile
from gcom_registry.status import RegistryStatus
from gcom_registry.storage import Creators, Disk, DurableCreators
from gcom_registry.trail.changes import TrailStore, group_of, note_request, note_serials
from gcom_registry.trail.file import Trail

if TYPE_CHECKING:  # it loads `cryptography`, for which loopback has no use
    from gcom_registry.enrolment import Upkeep

TICK_S = limits.TICK_MS / 1000
UPKEEP_S = 1.0  # what is revoked by another process is refused a second later
PROBE_UPKEEPS = 5  # a disk that takes nothing is found out so many upkeeps later, though nothing is to be written
STOPPED_S = 10.0  # a clock that has not gone on for so long will not
RENEWALS_MAX, RENEWAL_BYTES_MAX = 4096, 1024  # registrations that are not decoded anew
_IDS = b"gcom instance ids"  # what a key of the registry is for
DRAIN_S = 5.0  # for what is in progress when it is told to end


class RegistryServer:
    """The registry, once started, until closed. Port 0 takes any free one; `data` is the folder of what it keeps.

    Without a folder it forgets everything when it ends, and waits the longer when it starts again: except at a port
    that was free, which nobody can know from before. Raises BadValue for an address or folder that may not be used,
    Unavailable for one that is taken, or a disk that takes nothing, LocalError for a file that is damaged.
    """

    forked = False  # this process is a child of the one whose registry this is

    def __init__(
        self,
        host: str | pyro.Place = "127.0.0.1",
        port: int = 0,
        data: Path | None = None,
        credentials: pyro.Credentials | pyro.UserSecret | None = None,
        enrol: Callable[[bytes], bytes] | None = None,
        upkeep: Upkeep | None = None,
        rights: RightsFile | None = None,
        trail: Trail | None = None,
        quotas: GroupQuotas = DEFAULT_QUOTAS,
    ) -> None:
        """With a certificate it speaks TLS alone, at any host; else it is on loopback alone.

        `enrol` answers those who have no certificate yet, and `upkeep` is done each second. `rights` has the rules.
        """
        place = host if isinstance(host, pyro.Place) else pyro.Place(host, (port,))
        self._lock = threading.Lock()
        self._closed = self._served = False
        name_server = SafeNameServer()
        self._sequencer = Sequencer()
        self._sequencing = threading.Lock()  # its own: giving serials waits for no lookup
        endpoints = {pyro.DIRECTORY: pyro.Endpoint(self._receive), pyro.SEQUENCER: pyro.Endpoint(self._give_serials)}
        credentials = credentials or pyro.UserSecret()
        self._credentials = credentials
        self._keys: RunSigner | None = None  # to check a signature with; made when first needed
        # A stock Pyro5 proxy proves nothing; what it may change on loopback nobody of ours believes.
        is_open: dict[str, object] = {NAME_SERVER: name_server} if isinstance(credentials, pyro.UserSecret) else {}
        if enrol is not None:
            is_open = {pyro.ENROLMENT: pyro.Endpoint(enrol)}
        elif isinstance(credentials, pyro.Credentials):
            endpoints[pyro.ENROLMENT] = pyro.Endpoint(_without_authority)
        self._trail = trail or Trail(data)
        self._disk: Disk | None = None
        self._closing = threading.Event()
        self._requests = RequestLog()
        self._renewals: dict[bytes, _Renewal] = {}  # by their bytes, as they came
        self._started_s, self._ticked = time.time(), time.monotonic()
        # 1. The port. 2. The disk. 3. The directory, which reads it. 4. start(). The port first, as it tells whether
        #    another registry runs; nothing is served before the last step.
        self.rights = rights or RightsFile(None)
        status, rules = pyro.Endpoint(self._tell_status), pyro.Endpoint(RightsTeller(self.rights).receive)
        telling = {pyro.STATUS: status, pyro.RIGHTS: rules}
        serves = {NAME_SERVER: name_server, **telling, **endpoints, **is_open}
        self._server = pyro.Server.at(place, serves, credentials, openly=frozenset(is_open))
        try:
            self._disk = Disk(data) if data else None
            self._directory = self._make_directory(place.ports[0], SealedIds(credentials.derive(_IDS)))
            self._make_rules(quotas)
        # The port is bound by now: it must be free again for whoever mends the setting and tries once more.
        except GComError:
            self.close()
            raise
        self._ticker = threading.Thread(target=self._tick, name="gcom registry clock", daemon=True)
        self._upkeep = upkeep
        self._keeper = threading.Thread(target=self._run_upkeep, name="gcom registry upkeep", daemon=True)
        tell_of_forks(self)
        self.address: Address = self._server.address
        list_system(name_server, (NAME_SERVER, *endpoints), self.address)

    def _make_rules(self, quotas: GroupQuotas) -> None:
        creators = DurableCreators(self._disk) if self._disk else Creators()
        self._rights = Rights(creators, self.rights)
        self._counts, self._empty = GroupCounts(quotas, creators.of), EmptyGroups(quotas.empty_s)

    def _make_directory(self, port: int, ids: SealedIds) -> Directory:
        disk = self._disk
        if disk is None:
            return Directory(ids, durable=False, grace_ms=limits.FORGOTTEN_GRACE_MS if port else 0)
        witness = Witness(disk.votes(), disk.save_vote)
        # A new folder does not show which names an earlier registry gave away that kept another folder, or none; nor
        # does one without a name which of them another registry of the list gave away while this one was down.
        nobody_knows_it = disk.fresh and not port
        return Directory(
            ids, witness, TrailStore(disk, self._trail), grace_ms=0 if nobody_knows_it else limits.START_GRACE_MS
        )

    @property
    def secure(self) -> bool:
        """Whether it speaks TLS, and nothing else."""
        return isinstance(self._credentials, pyro.Credentials)

    @property
    def grace_s(self) -> float:
        """The seconds for which no name is given away yet."""
        with self._lock:
            return self._directory.grace_ms / 1000

    @property
    def refused(self) -> Counter[str]:
        """Counts of what was refused from the network, by reason."""
        return self._server.refused

    def start(self) -> None:
        self._served = True
        self._server.observe_refusals(self._note_refused_peer)
        self.rights.on_change = lambda rules: self._trail.note("rights", rules=rules)
        self._trail.note("start", version=__version__, address=self.address)
        self._server.start()
        self._ticker.start()
        self._keeper.start()

    def look(self) -> RegistryStatus:
        """Return one look at it: for metrics, probes and `gcom-registry status`."""
        # The two locks one after the other, and neither while the row is made: a scrape must not hold up a lookup or
        # a serial.
        with self._lock:
            groups, members = self._directory.census()
            grace_s = self._directory.grace_ms / 1000
        with self._sequencing:
            sequenced = len(self._sequencer)
        return RegistryStatus(
            address=self.address,
            version=__version__,
            started_s=self._started_s,
            secure=self.secure,
            data=self._disk.folder if self._disk else "",
            grace_s=grace_s,
            groups=groups,
            members=members,
            connections=self._server.connections,
            connections_max=limits.CONNECTIONS_MAX,
            sequenced=sequenced,
            requests=self._requests.counts(),
            refused=self.refused,
            stuck=self.stuck,
            ill=self._ill(),
            unready=self._unready(grace_s),
        )

    def _tell_status(self, data: bytes) -> bytes:
        match pyro.unpack(data):
            case {"ask": "backup"}:
                return pyro.pack(self._back_up(pyro.peer()))
        return pyro.pack(self.look().as_row())

    def _back_up(self, who: Identity | None) -> dict[str, object]:
        if not (who is None or who.registries):
            return {"refused": "a copy is for the registry's own commands alone"}
        with self._lock:
            if self._disk is None or self._closed:
                return {"refused": "this registry keeps nothing, or is ending"}
            try:
                self._disk.copy()
            except GComError as error:
                return {"refused": str(error)}
        self._trail.note("backup")
        return {"copied": True}

    @property
    def stuck(self) -> str:
        """Why it should be started again, in words; empty if it should not."""
        since_s = time.monotonic() - self._ticked
        # Not while it ends: the clock stands then because it was told to.
        stands = since_s > STOPPED_S and not self._closing.is_set()
        return f"its clock has stood for {since_s:.0f} s: start it again" if stands else ""

    def _ill(self) -> str:
        kept = self._disk.trouble if self._disk else "", self._upkeep.trouble if self._upkeep else ""
        troubles = (*kept, self._trail.trouble)
        found = "; ".join(filter(None, troubles))
        # A start needs what is missing, and would forget what only the memory has.
        return self.stuck or (f"{found}. Mend that; do not start it again before" if found else "")

    def _unready(self, grace_s: float) -> str:
        if self._closing.is_set():
            return "it is ending"
        return f"starting: it gives no name away for {grace_s:.1f} s more" if grace_s else self._ill()

    def close(self, drain_s: float = 0.0) -> None:
        """Stop, and answer first what is in progress, for `drain_s` seconds at most; may be called again."""
        if self.forked:
            return
        # First of all: `readyz` says so from here on, and newcomers are sent elsewhere.
        self._closing.set()
        # The server first, the disk last: a vote that is being answered must find the disk open.
        self._server.close(drain_s)
        with self._lock:
            self._closed = True
            if self._disk:
                self._disk.close()
        if self._served:  # else the folder may be another registry's
            self._trail.note("stop")
        self._trail.close()

    def on_forked(self) -> None:
        """Be over, in the child of a fork: the registry is its parent's."""
        self.forked = True
        self._closing.set()

    def _run_upkeep(self) -> None:
        count = 0
        while not self._closing.wait(UPKEEP_S if count else 0):
            self._trail.retry()
            if self._upkeep is not None:
                self._upkeep()
            if self._disk is not None:
                with self._lock:
                    if not self._closed:
                        self._disk.retry()
                if self._disk.trouble or count % PROBE_UPKEEPS == 0:
                    self._disk.probe()
            count += 1

    def _tick(self) -> None:
        """Let the directory's clock go on, and forget groups of which the kernel says that all are dead."""
        count = 0
        while not self._closing.wait(TICK_S):
            count += 1
            with self._lock:
                if self._closed:
                    return
                self._directory.tick(_now_ms())
                self._ticked = time.monotonic()
                # Not at each tick: the kernel is asked about every process of these groups.
                if count % limits.REAP_TICKS:
                    continue
                doubted = self._directory.doubted
                self._expire()
            for entry in doubted:
                self._bury(entry)

    def _expire(self) -> None:
        """Remove groups that nobody has joined for too long; with the lock held."""
        empty = [(group, row.instance) for group, row in self._directory.rows.items() if row.view is None]
        for group in self._empty.expired(empty, time.monotonic()):
            try:
                self._directory.ask(Remove(group), _now_ms())
                self._trail.note("expire", group=group)
            except Unavailable as error:
                logger.warning("{}", error)
                return

    def _bury(self, entry: GroupInfo) -> None:
        seats = [*zip(entry.members, entry.addresses, strict=True), *entry.others]
        # Without the lock: the kernel is asked about each process, and requests need not wait for that.
        dead = [who for who, address in seats if is_dead(address)]
        # All or nothing: a group with one process that may live keeps its name.
        if len(dead) < len(seats):
            return
        with self._lock:
            try:
                # Instance and view are named, so that a group that has registered anew meanwhile is not buried.
                group, instance = entry.definition.group, entry.instance
                if not self._closed and self._directory.bury(group, instance, entry.view, dead):
                    self._trail.note("dead", group=group, instance=instance, processes=dead)
            except Unavailable as error:
                logger.warning("{}", error)

    def _give_serials(self, data: bytes) -> bytes:
        """Give serials; raises MalformedFrame or VersionMismatch, which the server counts and tells the peer."""
        request = sequencer_codec.decode_request(data)
        began = time.perf_counter()
        # On loopback nobody is asked who he is: all are one user's processes, and each may do everything.
        if who := pyro.peer():
            with self._lock:
                refused = self._rights.refusal(request, who, self._directory.askers(request))
            if refused:
                self._note(request, refused, began)
                self._trail.refuse(type(request).__name__.lower(), refused.text, group=request.group)
                raise NotPermitted(refused.text)
        with self._sequencing:
            answer = self._sequencer.ask(request)
        if isinstance(answer, Unknown):
            note_serials(self._trail, request, answer, self._directory.rows.get(request.group))
        self._note(request, answer, began)
        return sequencer_codec.encode_answer(answer)

    def _receive(self, data: bytes) -> bytes:
        """Answer the directory's requests; raises MalformedFrame, which the server counts and tells the peer."""
        # By its bytes, without decoding: the same registration comes once a second from each group, nearly always has
        # the same answer, and is most of what is asked.
        renewal = self._renewals.get(data)
        try:
            request = renewal.request if renewal else self._decoded(data)
        except VersionMismatch as error:
            # In our version, whose number the peer can read.
            return encode_answer(Refusal("VersionMismatch", str(error)))
        began = time.perf_counter()
        answer = self._answer_to(request)
        self._note(request, answer, began)
        return renewal.encoded(answer) if renewal else encode_answer(answer)

    def _decoded(self, data: bytes) -> Request:
        """Return a request; a registration is kept, since its leader sends the very same each second."""
        request = decode_request(data)
        if isinstance(request, Register) and len(data) <= RENEWAL_BYTES_MAX:
            # All at once: to know which are old would cost more at each renewal than to decode each once more.
            if len(self._renewals) >= RENEWALS_MAX:
                self._renewals = {}  # those that are still sent come back within a second
            self._renewals[data] = _Renewal(request)
        return request

    def _answer_to(self, request: Request) -> Answer:
        with self._lock:
            if self._closed:
                return Refusal("Unavailable", "the registry is closing")
            before = self._directory.rows.get(group_of(request))
            try:
                answer = self._carry_out(request, pyro.peer(), before is not None)
            except Unavailable as error:  # of the disk
                answer = Refusal(type(error).__name__, str(error))
        note_request(self._trail, request, answer, before)
        return answer

    def _note(self, request: object, answer: object, began: float) -> None:
        """Count a request, and how long it took."""
        outcome = answer.code if isinstance(answer, Refusal) else "Unknown" if isinstance(answer, Unknown) else "ok"
        self._requests.note(type(request).__name__, outcome, time.perf_counter() - began)

    def _note_refused_peer(self, reason: str, place: str, who: str) -> None:
        self._trail.refuse("connect", reason, **{"by": who, "from": place})

    def _carry_out(self, request: Request, who: Identity | None, known: bool) -> Answer:
        """Answer a request that its asker may put; `known`: its group was in the directory before.

        Nobody is known on loopback, where all are the same user.
        """
        if not known and (full := self._counts.refusal(request, who, self._directory.rows)):
            return full
        if who is None:
            return self._directory.ask(request, _now_ms())
        # A last word is its signer's, whoever hands it in.
        proven = isinstance(request, Unregister) and self._is_proven(request)
        askers = None if proven else self._directory.askers(request)
        if refused := self._rights.refusal(request, who, askers, known=known or not isinstance(request, Create)):
            return refused
        answer = self._directory.ask(request, _now_ms())
        if isinstance(request, Create) and not known:
            self._rights.note_creation(request, answer, who)
        if not known:
            self._counts.note(request, who, self._directory.rows)
        return answer

    def _is_proven(self, request: Unregister) -> bool:
        if not request.proof or not isinstance(self._credentials, pyro.Credentials):
            return False
        if self._keys is None:
            self._keys = run_keys(self._credentials)
        return last_words.proves(request, self._keys)


class _Renewal:
    """A registration that is renewed, and the last answer to it with its encoding. Any thread may ask."""

    __slots__ = ("_last_answer", "request")

    def __init__(self, request: Register) -> None:
        self.request = request
        self._last_answer: tuple[Answer | None, bytes] = (None, b"")

    def encoded(self, answer: Answer) -> bytes:
        """Return an answer as it travels."""
        told = self._last_answer
        if told[0] != answer:
            # Both in one assignment: another thread may read between two.
            self._last_answer = told = answer, encode_answer(answer)
        return told[1]


def _without_authority(data: bytes) -> bytes:  # noqa: ARG001 - whatever is asked
    return pyro.pack({"refused": "this registry has no authority: its certificates are another's"})


# Monotonic: a lease must not end because somebody sets the clock.
def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
