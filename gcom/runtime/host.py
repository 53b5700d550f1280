"""The machine room of one process: its server, its one lock, its clock, its threads, and the sessions they serve.

Threads: one accepts connections and one per connection serves them (pyro), one reads what peers answer (links), and one
per peer address dials, for as long as that takes; one asks the registry, one dials its sequencer, one flushes the
delivery logs if there are any; of a group, those that serve calls (request_handlers.py) and a listener (api), for which
those that serve connections may call back, too. The lock is never held across a call or a callback, and across a wait
for a disk only when a log's buffer is full.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from threading import Event, Thread
from time import monotonic

from loguru import logger

from gcom.core.codec import frames as codec
from gcom.core.ended import answer_for_ended
from gcom.core.machine import GroupMachine, Stage
from gcom.core.messages.frames import Frame, Refused, Reply
from gcom.core.messages.registry import Lookup, Request
from gcom.core.messages.sequencer import SequencerRequest
from gcom.errors import BadValue, NotAMember, PeerError, Untrusted, VersionMismatch
from gcom.runtime import pyro
from gcom.runtime.fault_injection import REGISTRY, FaultInjector, wanted
from gcom.runtime.faults import Faults, refuse_off_loopback
from gcom.runtime.inspection import status
from gcom.runtime.inspection.snapshots import snapshot_of
from gcom.runtime.joining import await_entry, await_exit, await_withdrawn, withdraw
from gcom.runtime.links.link import Link
from gcom.runtime.links.link_table import LinkTable
from gcom.runtime.links.reader import Reader
from gcom.runtime.logs import DeliveryLogs, Logging
from gcom.runtime.membership import Membership, Uses
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.registry.requests import RegistryRequests
from gcom.runtime.registry.sequencer_client import SequencerClient
from gcom.runtime.security.member_rights import MemberRights
from gcom.runtime.security.process import Listening, credentials_for, node_place, registry_addresses, run_keys
from gcom.runtime.security.upkeep import certificate_works
from gcom.runtime.session import Session
from gcom.runtime.session_table import SessionTable
from gcom.runtime.step_lock import StepLock
from gcom.runtime.user_process.entry import called_outside, own
from gcom.runtime.user_process.life import Life
from gcom.runtime.user_process.process_events import end_with_program, tell_of_forks
from gcom.runtime.waiting import run
from gcom.values import limits, names
from gcom.values.definition import Definition, unsigned
from gcom.values.names import Address, Process
from gcom.values.snapshot import Snapshot

FLUSH_S = 0.05  # delivery lines reach the operating system within 100 ms


class Host:
    """The machine room of one `Node`. Any thread may call it; the headings below say where the lock is held."""

    def __init__(
        self,
        name: str,
        registry: str | None,
        logging: Logging,
        faults: str | Faults | None,
        listening: Listening,
    ) -> None:
        with ExitStack() as made:  # of what is to be let go of where the rest cannot be had
            self._make(made, name, registry, logging, faults, listening)
            made.pop_all()

    def _make(
        self,
        made: ExitStack,
        name: str,
        registry: str | None,
        logging: Logging,
        faults: str | Faults | None,
        listening: Listening,
    ) -> None:
        self.name = names.member_name(name)
        addresses = registry_addresses(registry, self.name)
        address = addresses[0]
        self.credentials = credentials_for(address, self.name, listening.certificates)
        wanted_faults = wanted(faults)
        # Before the first call, so that it has them, too: a registry behind a cut must look so from the start.
        self._faults = FaultInjector(self.name, wanted_faults) if wanted_faults else None
        self.has_faults = self._faults is not None  # calls have faults on purpose, or once had
        self.directory = DirectoryClient(
            ",".join(addresses), put=self.call_registry, credentials=self.credentials, tell=logger.warning
        )
        made.callback(self.directory.close)
        # A registry that is not there is an error now, not in some thread. To wait for its answer may take seconds.
        called_outside(self.directory.ask)(Lookup("gcom"))
        self.lock = StepLock()
        self.forked = False  # this process is a child of the one whose node this is
        self.logs = DeliveryLogs(logging)
        self.sessions = SessionTable()
        self._entered: set[str] = set()
        self._unsent: dict[str, int] = {}  # by group, when the node was closed
        self._process = self._new_process()
        self.links = LinkTable(self)
        # A fresh list at each tick: links come and go while the reader waits.
        self.reader = Reader(self, lambda: [*self.links, *self._sequencers.values()])
        made.callback(self.reader.close)
        self._sequencers: dict[Address, SequencerClient] = {
            at: SequencerClient(self, at, self.credentials) for at in addresses
        }
        self._leaving = False  # closed for joins; the threads go on until every group is left
        self._next_tick_ms = 0
        self._closing = Event()
        self.misbehaved: Counter[Process] = Counter()
        self._refused: Counter[str] = Counter()  # frames, by the code of the refusal
        secure = self.credentials if isinstance(self.credentials, pyro.Credentials) else None
        self._signer = run_keys(secure) if secure else None
        self._requests = RegistryRequests(self.directory, self._signer)
        self.rights = MemberRights(addresses, secure, self._closing) if secure else None
        self._begin(made, addresses, listening)

    def _begin(self, made: ExitStack, addresses: Sequence[Address], listening: Listening) -> None:
        """Serve others, and start the threads."""
        place = node_place(self.credentials, addresses, listening.listen, listening.advertise)
        serves: dict[str, object] = {
            pyro.NODE: pyro.Endpoint(own(self._receive)),
            pyro.STATUS: pyro.Endpoint(own(self._tell_status)),
        }
        self.server = pyro.Server.at(place, serves, self.credentials, toward=addresses, callbacks=self.lock)
        made.callback(self.server.close)
        # Before its address is told to anybody: whoever is told it may dial at once.
        self.server.start()
        self._life = Life()
        made.callback(self._life.end)
        # With the name that the kernel has of this life: whoever is on this host can ask it whether that is over.
        self.address: Address = self.server.address + (f"@{self._life.name}" if self._life.name else "")
        self._threads = [Thread(target=self._guarded, args=(work,), daemon=True) for work in self._works()]
        self.reader.start()
        made.callback(self._closing.set)
        made.callback(self._requests.close)
        for thread in self._threads:
            thread.start()
        tell_of_forks(self)
        end_with_program(self)

    def on_forked(self) -> None:
        """Be over, in the child of a fork: it has none of the threads, and its locks may be taken for good."""
        self.forked = True
        self._closing.set()

    def _works(self) -> list[Callable[[], None]]:
        flushing = [self._flush_logs] if self.logs.folder else []
        keeping = []
        if isinstance(self.credentials, pyro.Credentials) and self._signer is not None:
            own = (self.credentials, self._closing, self.name, self._signer.take_up)
            keeping = certificate_works(self.directory.addresses, *own)
        if self.rights is not None:
            keeping += self.rights.works
        sequencing = [sequencer.serve for sequencer in self._sequencers.values()]
        return [self._requests.serve, *sequencing, *flushing, *keeping]

    @property
    def closed(self) -> bool:
        """Tell whether the threads have been told to end."""
        return self._closing.is_set()

    @property
    def unregistered(self) -> tuple[str, ...]:
        """The groups that this node left as the last, and that its registry lists still (`Node.unregistered`)."""
        return self._requests.unregistered

    @property
    def refused(self) -> Counter[str]:
        """Counts of what was refused from the network, by reason."""
        with self.lock:
            return self.server.refused + self._refused

    # entering a group; holds the lock

    async def enter(self, group: str, uses: Uses, create: Definition | None, timeout_s: float) -> Membership:
        """Become a member of a group, and wait until that is so (`Node.join`)."""
        deadline = monotonic() + timeout_s
        await await_exit(self, group, deadline)
        if create is not None and create.signed and self._signer is None:
            raise BadValue(unsigned(create))
        membership = Membership(self, uses)
        if group in self._entered:
            self.renew_process()  # a process enters an instance once; its other groups keep theirs
        self._entered.add(group)
        gives, takes = uses.gives_state, uses.takes_state
        seat = (group, self._process, self.address)
        machine = GroupMachine(*seat, create, gives_state=gives, takes_state=takes, signer=self._signer)
        session = membership.begin(machine)
        try:
            # The wait gives the lock back, as a condition's does: the other groups of this node go on.
            await await_entry(self, session, timeout_s, deadline)
        except BaseException:  # outermost: of a join; nobody will hold the group, so it must not stay in it
            withdraw(session)
            if session.machine.stage is Stage.ENDED:
                self.sessions.drop(session)
            raise
        return membership

    def raise_if_leaving(self) -> None:
        """Raise NotAMember once the node was told to close."""
        if self._leaving:
            raise NotAMember(f"the node {self.name!r} is closed")

    # calls to peers and the registry; the lock is not held

    @property
    def faults(self) -> Faults:
        """The faults that calls have now."""
        return Faults() if self._faults is None else self._faults.faults

    def inject(self, faults: str | Faults) -> None:
        """Have faults in the calls from now on (`Node.inject`)."""
        # Faults on purpose are for tests: off loopback one node's setting would be another user's outage.
        refuse_off_loopback(self.directory.address, self.address)
        if self._faults is None:
            self._faults, self.has_faults = FaultInjector(self.name, faults), True
        else:
            self._faults.change(faults)

    def check_reply(self, reply: Reply) -> None:
        """Raise Untrusted for a reply that no group may see, by the rules about rights."""
        if self.rights is not None and isinstance(reply, Frame):
            self.rights.judge_reply(reply)

    def call(self, caller: pyro.Caller, peer: str, data: bytes, timeout_s: float) -> bytes:
        """Make one call to a process or to the registry, through the faults that were asked for."""
        if self._faults is None:
            return caller.call(data, timeout_s)
        return self._faults.call(caller, peer, data, timeout_s)

    def call_registry(self, caller: pyro.Caller, data: bytes, timeout_s: float) -> bytes:
        return self.call(caller, REGISTRY, data, timeout_s)

    def count_misbehaviour(self, peer: Process, error: PeerError) -> None:
        """Count an answer that is no reply of ours, and warn once per peer."""
        self.misbehaved[peer] += 1
        # Once: a peer of another kind answers every heartbeat so, and would fill the log.
        # Of our own certificate its upkeep tells, and not each peer.
        if self.misbehaved[peer] == 1 and "our certificate" not in str(error):
            logger.warning("{} answered what is no reply of ours: {}", peer, error)

    # services for memberships, sessions and links; the lock is held

    def raise_if_silent(self, group: str) -> object:
        """Raise NotPermitted where this node may not send; return the rules by which it may (`MemberRights`)."""
        return None if self.rights is None else self.rights.raise_if_silent(self.name, group)

    @staticmethod
    def now_ms() -> int:
        """Return milliseconds of the monotonic clock: the time that every machine of this host is told."""
        return time.monotonic_ns() // 1_000_000

    def renew_process(self) -> Process:
        """Be another incarnation from now on, in what is entered next."""
        self._process = self._new_process()
        return self._process

    def _new_process(self) -> Process:
        process = names.process(self.name, secrets.token_hex(4))
        self.logs.open(process)
        return process

    def add_session(self, membership: Membership, machine: GroupMachine) -> Session:
        session = Session(self, machine, self.logs.get(machine.process), membership)
        self.sessions.add(session)
        return session

    def serve(self, session: Session, peer: Process) -> None:
        """Have the link to a peer, if it is one still, take turns for the session."""
        self.links.serve(session, peer)

    def snapshot(self, membership: Membership) -> Snapshot:
        """Return one look at a membership (`Group.snapshot`)."""

        def round_trip_s(peer: Process) -> float | None:
            link = self.links.to(membership.session, peer)
            return link.round_trip_s if link else None

        return snapshot_of(membership, self.now_ms(), round_trip_s)

    def forget(self, link: Link) -> None:
        """Let go of a link that has no peer left."""
        self.links.forget(link)

    def ask_registry(self, session: Session, request: Request) -> None:
        """Have the registry thread put a request; the answer comes back to the session."""
        self._requests.put(session, request)

    def ask_sequencer(self, session: Session, request: SequencerRequest) -> None:
        """Have a request put after this step; the answer comes back to the session."""
        definition = session.machine.definition
        assert definition is not None, "only a member has an order"
        at = definition.home or self.directory.address
        self._sequencers.get(at, self._sequencers[self.directory.address]).ask(
            request, session.handle, definition.detection
        )

    def reschedule(self, session: Session) -> None:
        """Wake the reader if a step has brought the machine's deadline forward, or answers are awaited."""
        # Most steps move no deadline; to wake the reader at each would cost a switch of threads per frame.
        deadline = session.machine.deadline_ms
        if deadline is not None and deadline < self._next_tick_ms:
            self._next_tick_ms = deadline  # it is woken once for it
            self.reader.reschedule()
        if session.acks_awaited:
            self.reader.end_rest()

    def tick_sessions(self, now_ms: int, together: bool) -> None:
        """Step the machines whose deadline has come; `together`: with those that soon come."""
        deadlines = [session.machine.deadline_ms for session in self.sessions.all]
        # All that are due soon with the first that is: from then on they are due together. With the links' times, too.
        together = together or any(at is not None and at <= now_ms for at in deadlines)
        for session, deadline in zip(self.sessions.all, deadlines, strict=True):
            if together and deadline is not None and deadline <= now_ms + limits.TICKS_TOGETHER_MS:
                session.tick()
            if session.machine.stage is Stage.ENDED:
                self.sessions.drop(session)

    def next_tick_ms(self, by_ms: int) -> int:
        """Return the earliest deadline of a machine, `by_ms` at the latest."""
        deadlines = [session.machine.deadline_ms for session in self.sessions]
        self._next_tick_ms = min([by_ms, *[at for at in deadlines if at is not None]])
        return self._next_tick_ms

    # frames from peers, in the workers of the server

    def _receive(self, data: bytes) -> bytes:
        """Answer a frame. MalformedFrame goes on to the server, which counts it and answers so."""
        try:
            frame = codec.decode(data)
        except VersionMismatch as error:
            return self._answer(Refused("version", str(error)))
        who = pyro.peer()
        if who is not None and not who.speaks_for(frame.source):
            raise Untrusted(f"the certificate of this connection is of {who}, and not of {frame.source}")
        if self.rights is not None and (judged := self.rights.judge(frame)) is not None:
            return self._answer(judged)
        try:
            # All under one lock: a session that ended in between would be answered `unknown`, which proves nothing.
            with self.lock:
                session = self.sessions.target(frame, self.name)
                reply = self._not_here(frame) if session is None else session.receive(frame)
                several = session is not None and len(self.sessions) > 1 and isinstance(reply, Frame)
                if several and session is not None and (link := self.links.to(session, frame.source)):
                    link.heard(session, frame.source)
            if session is not None:
                session.log_before_frame()  # after the lock: nothing waits for a disk while it holds up the node
        except Exception:  # outermost: of what is ours in the worker's thread; the server logs it
            self.on_defect()
            raise
        if isinstance(reply, Refused):
            with self.lock:
                present = self.sessions.latest(frame.group)
                reply = answer_for_ended(frame, reply, present.machine if present else None)
        return self._answer(reply)

    def _not_here(self, frame: Frame) -> Refused:
        """Return the answer to a frame for a process that takes no part, or no more. Holds the lock."""
        text = f"{frame.target} is not in group {frame.group!r} here"
        # With the name of this life: from another one at the same
        # address it proves that the process asked for is dead.
        return Refused("ended" if self.sessions.is_over(frame) else "unknown", text, life=self._life.name)

    def _answer(self, reply: Reply) -> bytes:
        if isinstance(reply, Refused):
            with self.lock:
                self._refused[reply.code] += 1
        return codec.encode(reply)

    def _tell_status(self, data: bytes) -> bytes:
        """Answer `gcom status`, in a worker of the server."""
        group = status.asked(data)
        with self.lock:
            session = self.sessions.latest(group)
            membership = session.membership if session else None
            seen = self.snapshot(membership) if isinstance(membership, Membership) and membership.shown else None
        who = pyro.peer()
        admin = who is not None and self.rights is not None and self.rights.administers(who, group)
        return status.answer(group, seen, who, admin)

    # threads

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            own(work)()
        except Exception:  # outermost: of this thread; without it a defect would only show as silence
            self.on_defect()
            raise

    def on_defect(self) -> None:
        """End all sessions, and say so, where a thread ends by a defect of GCom: nothing here can be relied on.

        Whoever calls this raises on, so that the traceback is seen: the library's log may be disabled.
        """
        with self.lock:
            for session in self.sessions:
                session.end_by_defect()
            self.sessions.drop_all()
            # The kernel then says that this life is over, so that others
            # need not wait for its silence: nothing here votes any more.
            self._life.end()

    def _flush_logs(self) -> None:
        while not self._closing.wait(FLUSH_S):
            with self.lock:
                # Under the lock only the choice is made: closing a log writes to a disk, which may take long.
                unused = self.logs.take_unused({self._process, *self.sessions.processes})
            for log in unused:
                log.close()
            self.logs.flush()
            if self.logs.troubles:
                self._tell_log_troubles()

    def _tell_log_troubles(self) -> None:
        with self.lock:
            for session in self.sessions:
                reason = self.logs.troubles.get(session.machine.process)
                if reason and session.machine.view:
                    session.membership.on_log_stopped(session, reason)

    # the end

    def close(self, timeout_s: float) -> None:
        """Leave every group, as far as the time allows, and stop (`Node.close`)."""
        if self.forked:
            return
        deadline = monotonic() + timeout_s
        with self.lock:
            self._leaving = True
            for session in self.sessions:
                session.changed.notify_all()  # a join in progress ends
            run(await_withdrawn(self.sessions, deadline))
            inside = [it.membership for it in self.sessions if it.membership.session.machine.view]
        inside.sort(key=lambda membership: membership.session.detached)  # which may take all the time that there is
        # Each once: a membership may have two sessions for a moment, one that ends and one that returns.
        for membership in dict.fromkeys(inside):
            membership.leave(max(0.0, deadline - monotonic()))
            if count := membership.session.unnumbered:
                self._unsent[membership.session.machine.group] = count
        self._await_time_wait(deadline)
        self._requests.await_owed(max(0.0, deadline - monotonic()))
        if not self._closing.is_set():
            self._stop()

    def unsent(self) -> dict[str, int]:
        """Return the number of messages that were not sent when this node was closed, by group."""
        return self._unsent

    def _await_time_wait(self, deadline: float) -> None:
        """Wait for leaders that left, and still tell the others which view goes on."""
        with self.lock:
            sessions, polled = self.sessions.all, self.lock.condition()
            while any(session.machine.stage is Stage.TIME_WAIT for session in sessions):
                if monotonic() >= deadline:
                    return
                polled.wait(limits.JOIN_GATHER_MS / 1000)

    def _stop(self) -> None:
        # Each thread is in a wait of its own, and each wait has to be ended before the thread can be joined: of a
        # fault, of a link or its call, of the reader, for a request.
        self._closing.set()
        if self.rights is not None:
            self.rights.close()
        if self._faults is not None:
            self._faults.close()
        with self.lock:
            links = list(self.links)
            for link in links:
                link.close()
            self.reader.close()
        self._requests.close()
        for sequencer in self._sequencers.values():
            sequencer.close()
        # After the links: until then peers may call, and are told that
        # the sessions are over, instead of finding a closed port.
        self.server.close()
        self._life.end()
        # A second for each, no longer: one may be within a call to a registry that hangs, and all are daemons.
        for thread in self._threads:
            thread.join(1.0)
        self._requests.keep_owed()
        self.reader.join(1.0)
        for link in links:
            link.join(1.0)
        self.logs.close()
        self.directory.close()
