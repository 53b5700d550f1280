"""A process that takes part in groups: one Pyro5 server, one lock, and a few threads around the pure machines.

Threads: one worker per connection (Pyro5's), one per peer address (connection.py), one timer, one for the registry, one
for its sequencer, one that flushes delivery logs if there are any; of a group, those that serve calls
(request_handlers.py) and a listener. The lock is never held across a call or a callback, and across a
wait for a disk only when a log's buffer is full.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Event, Lock, Thread
from time import monotonic
from types import TracebackType
from typing import Self

from loguru import logger

from gcom.core.codec import frames as codec
from gcom.core.machine import GroupMachine, Stage
from gcom.core.messages import events
from gcom.core.messages.frames import Refused, Reply
from gcom.core.messages.registry import Answer, Entry, Lookup, Request
from gcom.core.messages.sequencer import SequencerRequest
from gcom.errors import BadValue, GComError, GComTimeout, LocalError, NotAMember, PeerError, VersionMismatch
from gcom.runtime import pyro
from gcom.runtime.connection import Link
from gcom.runtime.fault_injection import REGISTRY, FaultInjector, wanted
from gcom.runtime.group import Group
from gcom.runtime.life import Life
from gcom.runtime.registry.directory_client import DirectoryClient, registry_address
from gcom.runtime.registry.sequencer_client import SequencerLink
from gcom.runtime.rejoin import Membership
from gcom.runtime.session import Session
from gcom.runtime.state_callbacks import GetState, MergeStates, SetStateCallback, Uses
from gcom.trace.writer import DeliveryLog
from gcom.values import limits, names
from gcom.values.definition import Definition
from gcom.values.names import Address, Process

IDLE_TICK_MS = 1_000  # the timer of a node without groups
SUCCEEDED_MAX = 16  # stays that are kept to say which instance succeeds theirs; the oldest are forgotten
FLUSH_S = 0.05  # delivery lines reach the operating system within 100 ms


def _log_folder(text: str | Path | None) -> Path | None:
    """The folder, made if need be; raises BadValue for one that cannot be had, before anything is half-created."""
    if text is None:
        return None
    try:
        Path(text).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadValue(f"log folder {str(text)!r} cannot be used: {error.strerror}") from error
    return Path(text)


class Node:
    """One named process. Made by `gcom.connect`; use it in a `with` block, or close it.

    Safe to use from any number of threads.
    """

    def __init__(
        self,
        name: str,
        registry: str | None = None,
        *,
        log_dir: str | Path | None = None,
        timeout_s: float = 10.0,
        faults: str | None = None,
    ) -> None:
        self.name = names.member_name(name)
        wanted_faults = wanted(faults)
        self._faults = FaultInjector(self.name, wanted_faults) if wanted_faults else None
        self.directory = DirectoryClient(registry_address(registry), put=self._put_registry)
        self.directory.ask(Lookup("gcom"))  # a registry that is not there is an error now, not in some thread
        self.timeout_s = timeout_s
        self.lock = Lock()
        self._log_dir = _log_folder(log_dir)
        self._logs: dict[Process, DeliveryLog] = {}
        self._log_troubles: dict[Process, str] = {}  # why logs have ended; set and get are atomic
        self._entered: set[str] = set()
        self._process = self._new_process()
        self._sessions: dict[tuple[str, Process], Session] = {}
        self._succeeded: dict[
            tuple[str, Process, str], Session
        ] = {}  # by instance, too: whose process goes on in another
        self._ended: dict[tuple[str, Process], None] = {}  # in order; at most GONE_MAX: they never take part again
        self._links: dict[Address, Link] = {}
        self.waiting_links = 0
        self._requests: SimpleQueue[tuple[Session, Request] | None] = SimpleQueue()
        self._sequencer = SequencerLink(self, self.directory.address)
        self._ticking = Condition(self.lock)
        self._leaving = False  # closed for joins; the threads go on until every group is left
        self._next_tick_ms = 0
        self._closing = Event()
        self._misbehaved: dict[Process, int] = {}
        self._refused: Counter[str] = Counter()  # frames, by the code of the refusal
        self._server = pyro.Server("127.0.0.1", 0, {pyro.NODE: pyro.Endpoint(self._receive)})
        self._server.start()
        self._life = Life()
        self.address: Address = self._server.address + (f"@{self._life.name}" if self._life.name else "")
        self._threads = [Thread(target=self._guarded, args=(work,), daemon=True) for work in self._works()]
        for thread in self._threads:
            thread.start()

    def _works(self) -> list[Callable[[], None]]:
        return [self._tick, self._serve_registry, self._sequencer.serve, *([self._flush_logs] if self._log_dir else [])]

    # groups

    def create(
        self,
        group: str,
        ordering: str = "FIFO",
        multicast: str = "RELIABLE",
        static: tuple[str, ...] = (),
        safe: bool = False,
        netsplit: str = "PRIMARY",
        tie_breaker: str = "LEADER",
    ) -> Entry:
        """Make an empty group; it is kept until it is removed or its last member leaves.

        An equal definition that is there already is no error. Raises BadValue, GroupExists, RegistryUnavailable.
        """
        if self._closing.is_set():
            raise NotAMember(f"the node {self.name!r} is closed")
        wanted = Definition.parse(group, ordering, multicast, static, safe, netsplit, tie_breaker)
        return self.directory.create(wanted)

    def groups(self) -> tuple[Entry, ...]:
        """The groups that the registry knows, sorted by name."""
        return self.directory.groups()

    def info(self, group: str) -> Entry:
        """What the registry knows of a group; raises UnknownGroup."""
        return self.directory.lookup(group)

    def remove(self, group: str) -> None:
        """Forget an empty group; raises UnknownGroup, GroupInUse."""
        self.directory.remove(group)

    def join(
        self,
        group: str,
        *,
        create: Definition | None = None,
        receive: bool = True,
        rejoin: bool = True,
        get_state: GetState | None = None,
        set_state: SetStateCallback | None = None,
        merge_states: MergeStates | None = None,
        timeout_s: float | None = None,
    ) -> Group:
        """Become a member; with `create`, make the group first if it is not there.

        `receive=False`: deliveries are dropped, for a process that only sends. `rejoin=False`: a process that is put
        out of its group, or loses contact to a quorum, stays out; else it comes back by itself, as another process.
        `set_state(data)` is called before the first event, with what a member's `get_state()` returned: the state that
        came of all messages before, which replaces what the application has. Both are called by the thread that
        receives, `get_state` when somebody joins. A state that nobody can give is a StateLost event.
        `merge_states(mine, theirs)`, in a PARTITIONABLE group, returns one state for two: when instances have met, all
        members call it at one place of their histories, with `theirs` of a member that came from the other instance.
        It must be a function of the two, the same at all members, and may be given what `mine` has already.
        Raises UnknownGroup, GroupExists, NameTaken, NotInvited, VersionMismatch, RegistryUnavailable, GComTimeout.
        """
        names.group_name(group)
        uses = Uses(receive, rejoin, get_state, set_state, merge_states)
        if create is not None and create.group != group:
            raise LocalError(f"the definition is of group {create.group!r}, not {group!r}")
        with self.lock:
            self._raise_if_in(group)
            membership = Membership(self, uses)
            if group in self._entered:
                self.renew_process()  # a process enters an instance once; its other groups keep theirs
            self._entered.add(group)
            machine = GroupMachine(
                group,
                self._process,
                self.address,
                create,
                gives_state=uses.gives_state,
                takes_state=uses.takes_state,
            )
            session = membership.begin(machine)
            try:
                self._await_entry(session, group, self.timeout_s if timeout_s is None else timeout_s)
            except BaseException:  # outermost: of a join; nobody will hold the group, so it must not stay in it
                session.step(events.Exit())
                self._drop(session)
                raise
        return Group(self, membership)

    def _raise_if_in(self, group: str) -> None:
        self._raise_if_leaving()
        sessions = [
            session for session in self._sessions.values() if session.machine.group == group and not session.ended
        ]
        if any(session.machine.stage is not Stage.ENDED for session in sessions):
            raise LocalError(f"{self.name!r} is in group {group!r} already: leave it first")

    def _await_entry(self, session: Session, group: str, timeout_s: float) -> None:
        deadline = monotonic() + timeout_s
        while session.machine.view is None:
            self._raise_if_leaving()
            if session.failure is not None:
                raise session.failure
            if (
                not session.wait(deadline) and session.machine.view is None
            ):  # it may have come in while this thread slept
                raise GComTimeout(
                    f"{self.name!r} is not in group {group!r} after {timeout_s:.3g} s: it waited for "
                    f"{session.machine.waits_for}; try again, or give it more time"
                )

    def _raise_if_leaving(self) -> None:
        if self._leaving:
            raise NotAMember(f"the node {self.name!r} is closed")

    def _drop(self, session: Session) -> None:
        """A session is over, and no other of that process can follow; whoever asks for it is told so."""
        key = session.machine.group, session.machine.process
        if self._sessions.get(key) is session:
            del self._sessions[key]
            self._ended[key] = None
        for oldest in list(self._ended)[: -limits.GONE_MAX]:
            del self._ended[oldest]

    def renew_process(self) -> Process:
        """Be another incarnation from now on, in what is entered next. Holds the lock."""
        self._process = self._new_process()
        return self._process

    def add_session(self, membership: Membership, machine: GroupMachine) -> Session:
        """A session of the present incarnation, not yet started. Holds the lock."""
        session = Session(self, machine, self._logs.get(machine.process), membership)
        if before := self._sessions.get(key := (machine.group, machine.process)):
            self._succeeded[*key, before.machine.instance] = before
            for oldest in list(self._succeeded)[:-SUCCEEDED_MAX]:
                del self._succeeded[oldest]
        self._sessions[key] = session
        return session

    def _new_process(self) -> Process:
        process = names.process(self.name, secrets.token_hex(4))
        if self._log_dir is not None:
            self._logs[process] = DeliveryLog(
                self._log_dir,
                process,
                wall_ns=time.time_ns(),
                clock_us=lambda: time.monotonic_ns() // 1000,
                on_trouble=partial(self._on_log_trouble, process),
            )
        return process

    def _on_log_trouble(self, process: Process, text: str) -> None:
        """A delivery log has ended. Called with and without the lock: the thread that flushes tells applications."""
        logger.warning("{}", text)
        self._log_troubles[process] = text

    @property
    def refused(self) -> Counter[str]:
        """How often something from the network was refused here, by reason."""
        with self.lock:
            return self._server.refused + self._refused

    # calls

    def inject(self, faults: str) -> None:
        """Have faults in the calls of this node from now on, for tests (docs/TESTING.md); raises BadValue."""
        if self._faults is None:
            self._faults = FaultInjector(self.name, faults)
        else:
            self._faults.change(faults)

    def call(self, caller: pyro.Caller, peer: str, data: bytes, timeout_s: float) -> bytes:
        """One call to a process or to the registry, through the faults that were asked for."""
        if self._faults is None:
            return caller.call(data, timeout_s)
        return self._faults.call(caller, peer, data, timeout_s)

    def _put_registry(self, caller: pyro.Caller, data: bytes, timeout_s: float) -> bytes:
        return self.call(caller, REGISTRY, data, timeout_s)

    # what stays and links need; the lock is held

    @staticmethod
    def now_ms() -> int:
        """Milliseconds of the monotonic clock: the time that every machine of this node is told."""
        return time.monotonic_ns() // 1_000_000

    @property
    def idle(self) -> bool:
        """Whether some link waits for work, or there is none."""
        return self.waiting_links > 0 or not self._links

    def link(self, address: Address) -> Link:
        """The link to an address, made when first needed."""
        found = self._links.get(address)
        if found is None:
            found = self._links[address] = Link(self, address)
        return found

    def forget(self, link: Link) -> None:
        """A link has no peer left; its thread ends."""
        self._links.pop(link.address, None)

    def ask_registry(self, session: Session, request: Request) -> None:
        """Have the registry thread put a request; the answer comes back to the session."""
        self._requests.put((session, request))

    def ask_sequencer(self, session: Session, request: SequencerRequest) -> None:
        """Have the sequencer's thread put a request; the answer comes back to the session."""
        self._sequencer.put(session, request)

    def count_misbehaviour(self, peer: Process, error: PeerError) -> None:
        """Said once a peer, counted each time."""
        count = self._misbehaved[peer] = self._misbehaved.get(peer, 0) + 1
        if count == 1:
            logger.warning("{} answered what is no reply of ours: {}", peer, error)

    # threads

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:  # outermost: of this thread; without it a defect would only show as silence
            self.on_defect()
            raise

    def on_defect(self) -> None:
        """End all sessions, and say so, where a thread ends by a defect of GCom: nothing of this node can be relied on.

        Whoever calls this raises on, so that the traceback is seen: the library's log may be disabled.
        """
        with self.lock:
            for session in self._sessions.values():
                session.end_by_defect()
                self._ended[session.machine.group, session.machine.process] = None
            self._sessions.clear()
            self._life.end()

    def _receive(self, data: bytes) -> bytes:
        """The exposed endpoint. MalformedFrame goes on to the server, which counts it and answers so."""
        try:
            frame = codec.decode(data)
        except VersionMismatch as error:
            return self._answer(Refused("version", str(error)))
        key = frame.group, frame.target
        with self.lock:
            session = self._sessions.get(key)
            if session is not None and session.machine.instance != frame.instance:
                session = self._succeeded.get((*key, frame.instance), session)
            over = key in self._ended
            if frame.hail and names.name_of(frame.target) == self.name:
                session = self._present(frame.group)
        if session is None:
            text = f"{frame.target} is not in group {frame.group!r} here"
            told = Refused("ended" if over else "unknown", text, life=self._life.name)
            return self._answer(self._unless_returning(frame.group, told))
        try:
            return self._answer(self._unless_returning(frame.group, session.receive(frame)))
        except Exception:  # outermost: of what is ours in the worker's thread; the server logs it
            self.on_defect()
            raise

    def _unless_returning(self, group: str, reply: Reply) -> Reply:
        """Say of one whose session is over if it is on its way back, as another process."""
        if not isinstance(reply, Refused) or reply.code != "ended":
            return reply
        with self.lock:
            present = self._present(group)
            if present and present.machine.stage is Stage.ENTERING and present.machine.returns:
                return replace(reply, code="returning", settled=present.machine.last_view)
        return reply

    def _present(self, group: str) -> Session | None:
        """The latest stay in a group: a hail is for whoever has the name now. Holds the lock."""
        return next((session for session in reversed(self._sessions.values()) if session.machine.group == group), None)

    def _answer(self, reply: Reply) -> bytes:
        if isinstance(reply, Refused):
            with self.lock:
                self._refused[reply.code] += 1
        return codec.encode(reply)

    def _tick(self) -> None:
        with self.lock:
            while not self._closing.is_set():
                now = self.now_ms()
                for session in [*self._succeeded.values(), *self._sessions.values()]:
                    deadline = session.machine.deadline_ms
                    if deadline is not None and deadline <= now:
                        session.tick()
                    if session.machine.stage is Stage.ENDED:
                        self._drop(session)
                self._ticking.wait(self._until_next_tick_s(now))

    def _until_next_tick_s(self, now_ms: int) -> float:
        deadlines = [session.machine.deadline_ms for session in self._sessions.values()]
        self._next_tick_ms = min([now_ms + IDLE_TICK_MS, *[at for at in deadlines if at is not None]])
        return max(0.001, (self._next_tick_ms - now_ms) / 1000)

    def hurry(self, session: Session) -> None:
        """A step may have brought a machine's deadline forward. Holds the lock."""
        deadline = session.machine.deadline_ms
        if deadline is not None and deadline < self._next_tick_ms:
            self._ticking.notify_all()

    def _serve_registry(self) -> None:
        while (item := self._requests.get()) is not None:
            session, request = item
            answer: Answer | None = None
            failure: GComError | None = None
            try:
                answer = self.directory.ask(request)
            except GComError as error:
                failure = error
            session.on_registry(request, answer, failure)

    def _flush_logs(self) -> None:
        while not self._closing.wait(FLUSH_S):
            for log in self._take_finished_logs():
                log.close()
            for log in list(self._logs.values()):
                log.flush()
            if self._log_troubles:
                self._tell_log_troubles()

    def _tell_log_troubles(self) -> None:
        with self.lock:
            for session in self._sessions.values():
                reason = self._log_troubles.get(session.machine.process)
                if reason and session.machine.view:
                    session.tell_log_ended(reason)

    def _take_finished_logs(self) -> list[DeliveryLog]:
        """Those of earlier incarnations that are in no group any more; each holds a descriptor until it is closed."""
        with self.lock:
            used = {self._process, *[process for _, process in self._sessions]}
            finished = [process for process in self._logs if process not in used]
            for process in finished:
                self._log_troubles.pop(process, None)
            return [self._logs.pop(process) for process in finished]

    # the end

    def close(self, timeout_s: float = 5.0) -> None:
        """Leave every group, as far as `timeout_s` seconds allow, and stop. May be called again."""
        deadline = monotonic() + timeout_s
        with self.lock:
            self._leaving = True
            for session in self._sessions.values():
                session.changed.notify_all()  # a join in progress ends
            inside = [
                session.membership for session in self._sessions.values() if session.membership.session.machine.view
            ]
        inside.sort(key=lambda membership: membership.session.detached)  # which may take all the time that there is
        for membership in dict.fromkeys(inside):
            Group(self, membership).leave(max(0.0, deadline - monotonic()))
        self._await_lingerers(deadline)
        if self._closing.is_set():
            return
        self._closing.set()
        if self._faults is not None:
            self._faults.close()
        with self.lock:
            links = list(self._links.values())
            for link in links:
                link.close()
            self._ticking.notify_all()
        self._requests.put(None)
        self._sequencer.close()
        self._server.close()
        self._life.end()
        for thread in self._threads:
            thread.join(1.0)
        for link in links:
            link.join(1.0)
        for log in self._logs.values():
            log.close()
        self.directory.close()

    def _await_lingerers(self, deadline: float) -> None:
        """A leader that left still tells the others which view goes on."""
        with self.lock:
            both = [*self._sessions.values(), *self._succeeded.values()]
            while any(session.machine.stage is Stage.LINGERING for session in both):
                if monotonic() >= deadline:
                    return
                self._ticking.wait(limits.JOIN_GATHER_MS / 1000)

    def __repr__(self) -> str:
        return f"<gcom.Node {self.name!r} at {names.place_of(self.address)}, registry {self.directory.address}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
