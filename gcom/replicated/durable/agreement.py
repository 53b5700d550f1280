"""A durable replica: entries in the group's order, answered once a majority of the configured names has synced them.

Pure. Messages, views and finished writes in; effects out. docs/replicated.md tells why nothing answered is lost:

1. In one instance all replicas append the same entries in the same order (the group's total order).
2. An entry is applied, answered and shown once a majority of the configured names has synced it in the term in force.
3. A new instance begins with a round (`rounds`), whose majority has one of these; its log goes on, and all take it.
4. So does a member that joins an instance which is under way; one whose disk is ahead asks for a round instead.

What a round says is bound to its view, and to the number of times that a round was asked for in it: all who are in the
view see the same, in one order. A new view begins the round anew, until entries flow.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from gcom.errors import MalformedFrame
from gcom.replicated.durable.entries import apply_entry, following
from gcom.replicated.durable.rounds import Configuration, DiskFacts, LogEntry, RoundPlan, committed, decide, waits_for
from gcom.replicated.messages import (
    HelloSaid,
    LogPart,
    MembersNoted,
    NamesSet,
    Promised,
    ReplicaMessage,
    RoundAsked,
    encode,
    of_plain,
    plain,
)
from gcom.replicated.replica import Applied, Replica
from gcom.values.names import name_of

PART_BYTES = 1024 * 1024  # of a log that is told in a round
SNAPSHOT_ENTRIES = 10_000  # a snapshot after so many entries, or so many bytes of them, bounds the log
SNAPSHOT_BYTES = 16 * 1024 * 1024


class LogStage(Enum):
    """The stage of a durable replica."""

    ASKING = "asking"  # HELLOs are collected
    PROMISING = "promising"  # a majority has said HELLO: the new term goes onto disks
    TAKING = "taking"  # the source tells its log
    LIVE = "live"  # entries flow


STAGES: dict[LogStage, tuple[LogStage, ...]] = {
    LogStage.ASKING: (LogStage.PROMISING, LogStage.LIVE),
    LogStage.PROMISING: (LogStage.ASKING, LogStage.TAKING),
    LogStage.TAKING: (LogStage.ASKING, LogStage.LIVE),
    LogStage.LIVE: (LogStage.ASKING,),
}


@dataclass(frozen=True, slots=True)
class SayToAll:
    """Say something to all, in the group's order."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class TellSynced:
    """Tell the other members how far this replica has synced."""

    term: int
    index: int


class AppendEntry(NamedTuple):
    """Write an entry; `written` follows once it is synced."""

    entry: LogEntry
    configuration: Configuration  # behind it


@dataclass(frozen=True, slots=True)
class WritePromise:
    """Write a term, below which no log is taken any more; `written` follows once it is synced."""

    term: int
    lost: bool  # and that the disk is new, in a round that is not the first


@dataclass(frozen=True, slots=True)
class WriteLog:
    """Put a log in the place of the one on disk, in one transaction; `written` follows once it is synced."""

    promised: int
    snapshot: bytes
    index: int  # of the snapshot, with the term of the last entry in it
    term: int
    entries: tuple[LogEntry, ...]
    configuration: Configuration


@dataclass(frozen=True, slots=True)
class WriteSnapshot:
    """Put a snapshot in the place of the entries that it covers."""

    snapshot: bytes
    index: int
    term: int


@dataclass(frozen=True, slots=True)
class SayHello:
    """Say HELLO once all writes before are synced: its facts are of the disk."""

    view: int
    asked: int


class EntryApplied(NamedTuple):
    """An entry was applied."""

    applied: Applied


@dataclass(frozen=True, slots=True)
class LogTaken:
    """The replica's state is another one now; `last` is the index of the last entry that came with it."""

    last: int


@dataclass(frozen=True, slots=True)
class BecameLive:
    """Entries flow from here on: what was sent before, and has no answer, is to be sent again."""


@dataclass(frozen=True, slots=True)
class ReadReady:
    """A read mark has all before it applied."""

    caller: str
    number: int


Write = AppendEntry | WritePromise | WriteLog | WriteSnapshot | SayHello
DurableEffect = SayToAll | TellSynced | Write | EntryApplied | LogTaken | BecameLive | ReadReady


class DurableReplica:
    """The log of one member, and the replica that its committed part makes."""

    def __init__(self, replica: Replica, name: str, facts: DiskFacts, tail: list[LogEntry], base_term: int) -> None:
        self.replica = replica
        self.name = name
        self.stage = LogStage.ASKING
        self.term = 0  # in force, once it is LIVE
        self.disk = facts
        self.configuration = self._log_configuration = facts.configuration
        self._applied_term = base_term  # of the last entry that was applied
        self._tail: deque[LogEntry] = deque(tail)  # entries that are not applied yet
        self._messages: dict[int, ReplicaMessage] = {}  # of these, by index; those that came with a log have none
        self._synced: dict[str, tuple[int, int]] = {}  # by name: term and index
        self._upto = 0  # the index up to which a majority of the configured names has synced, in the term in force
        self._view = self._asked = self._floor = 0
        self._hellos: dict[str, tuple[str, DiskFacts]] = {}
        self._plan: RoundPlan | None = None
        self._promised: set[str] = set()
        self._parts: list[bytes] = []
        self._me = ""
        self._ahead = False  # this disk may be, of the log that others go on with: a round is wanted
        self._marks: list[tuple[str, int, int | None]] = []  # a reader, its number, the index to be applied before
        self._since_snapshot = [0, 0]  # entries, bytes
        self._out: list[DurableEffect] = []

    # what is seen from outside

    @property
    def votes(self) -> bool:
        """Tell whether this member is a configured replica, with a disk."""
        return self.name in self.configuration.names

    @property
    def last(self) -> tuple[int, int]:
        """Return term and index of the last entry that was delivered."""
        entry = self._tail[-1] if self._tail else None
        return (entry.term, entry.index) if entry else (self._applied_term, self.replica.index)

    @property
    def waits_for(self) -> str:
        """Return what this state waits for before commands flow; empty: they flow."""
        if self.stage is LogStage.LIVE:
            return ""
        if self.stage is LogStage.ASKING:
            return waits_for(self._hellos, self._configuration_of_round())
        return f"the log of {self._plan.source if self._plan else 'another replica'}"

    @property
    def synced(self) -> dict[str, int]:
        """Return by name the index up to which each replica has synced in the term in force."""
        return {name: index for name, (term, index) in self._synced.items() if term == self.term}

    def _configuration_of_round(self) -> Configuration:
        return max([self.configuration, *(facts.configuration for _, facts in self._hellos.values())])

    def take_effects(self) -> list[DurableEffect]:
        """Return what is to be done now."""
        found, self._out = self._out, []
        return found

    def _become(self, stage: LogStage) -> None:
        assert stage in STAGES[self.stage], (self.stage, stage)
        self.stage = stage

    # views and instances

    def on_view(self, view: int, me: str) -> None:
        """Note a new view; outside of LIVE the round begins anew in it."""
        self._view, self._asked, self._me = view, 0, me
        # In each view until it is heard: what was asked in the last one may have come too late for it.
        if self._ahead:
            self.ask_for_round()
        if self.stage is not LogStage.LIVE:
            self._begin_round()
        else:
            self.tell_synced()

    def on_instance(self) -> None:
        """Note that another instance of the group was entered: a round comes before any entry."""
        if self.stage is not LogStage.ASKING:
            self._become(LogStage.ASKING)

    def on_own_state(self) -> None:
        """Note that the group goes on with what this process has of its own: others' disks may have more.

        1. A is put out, and B and C go on in the same instance. 2. B and C are killed, and A is back. 3. If A appended
        to what it has, its log could grow longer than B's, in the same term, and what B and C answered would be lost.
        """
        self.on_instance()
        self._ahead = True
        self.ask_for_round()

    def ask_for_round(self) -> None:
        """Ask all for a round in the view in force."""
        self._out.append(SayToAll(encode(RoundAsked(self._view, self.disk.promised))))

    def tell_synced(self) -> None:
        """Tell again how far this replica has synced: some may not know."""
        term, index = self._synced.get(self.name, (0, 0))
        if self.votes and term == self.term and index:
            self._out.append(TellSynced(term, index))

    def nudge(self) -> None:
        """Ask for a round again, since nothing has come of the last one for long."""
        if self.stage is not LogStage.LIVE and self._view:
            self.ask_for_round()

    def on_quorum(self) -> None:
        """Note that a quorum is heard again: some of what was said since it was lost may not have arrived."""
        if self.stage is LogStage.LIVE:
            self.tell_synced()
        else:
            self.ask_for_round()

    def _begin_round(self) -> None:
        if self.stage is not LogStage.ASKING:
            self._become(LogStage.ASKING)
        self._hellos, self._plan, self._promised, self._parts = {}, None, set(), []
        if self.votes:
            self._out.append(SayHello(self._view, self._asked))

    def hello(self, order: SayHello) -> bytes | None:
        """Return the HELLO that was ordered, now that what is on disk is synced; None: it came too late."""
        if (order.view, order.asked) != (self._view, self._asked) or self.stage is not LogStage.ASKING:
            return None
        facts = self.disk
        version, names = facts.configuration
        return encode(
            HelloSaid(order.view, order.asked, facts.promised, facts.term, facts.index, facts.lost, version, names),
        )

    # messages

    def deliver(self, process: str, view: int, payload: bytes, message: Any) -> None:
        """Deal with the next message of the group."""
        match message:
            case HelloSaid(in_view, asked) if (in_view, asked) == (self._view, self._asked):
                self._on_hello(process, message)
            case Promised(in_view, asked, term) if (in_view, asked) == (self._view, self._asked):
                self._on_promised(process, term)
            case LogPart(in_view, asked) if (in_view, asked) == (self._view, self._asked):
                self._on_part(process, message)
            case RoundAsked(in_view, floor) if in_view == self._view:
                self._ahead = False
                self._asked, self._floor = self._asked + 1, max(self._floor, floor)
                self._begin_round()
            case HelloSaid() | Promised() | LogPart() | RoundAsked():
                pass  # of a view, or a round, that is over
            case MembersNoted(in_view) if in_view != view:
                pass  # it waited at its sender, and another view came: another note follows
            case _ if self.stage is LogStage.LIVE:
                self._append(LogEntry(self.term, self.last[1] + 1, process, payload), message)

    def mark(self, caller: str, number: int) -> None:
        """Have `ReadReady` follow once all that was delivered by now is applied."""
        self._marks.append((caller, number, self.last[1] if self.stage is LogStage.LIVE else None))
        self._settle_marks()

    def _on_hello(self, process: str, said: HelloSaid) -> None:
        if self.stage is LogStage.LIVE:
            return
        configuration = Configuration(said.version, said.names)
        facts = DiskFacts(said.promised, said.term, said.index, configuration, said.lost)
        self._hellos[process] = name_of(process), facts
        if self.stage is LogStage.ASKING:
            plan = decide(self._hellos, self._floor)
            if plan is not None:
                self._plan = plan
                self._become(LogStage.PROMISING)
                self._promise(plan)

    def _promise(self, plan: RoundPlan) -> None:
        if self.name not in plan.configuration.names:
            return
        if self.disk.promised >= plan.term:
            # Its HELLO was none of the majority's. No entry of that term can be; but its word stands.
            self.ask_for_round()
            return
        self._out.append(WritePromise(plan.term, not plan.first and not self.disk.known))

    def _on_promised(self, process: str, term: int) -> None:
        plan = self._plan
        if self.stage is not LogStage.PROMISING or plan is None or term != plan.term:
            return
        self._promised.add(name_of(process))
        if len(self._promised & set(plan.configuration.names)) >= plan.configuration.majority:
            self._become(LogStage.TAKING)
            if plan.source == self._me:
                log = self._log_bytes(plan.configuration)
                parts = [log[at : at + PART_BYTES] for at in range(0, len(log), PART_BYTES)]
                for number, part in enumerate(parts):
                    said = LogPart(self._view, self._asked, plan.term, number, len(parts), part)
                    self._out.append(SayToAll(encode(said)))

    def _on_part(self, process: str, said: LogPart) -> None:
        plan = self._plan
        if self.stage is not LogStage.TAKING or plan is None or (process, said.term) != (plan.source, plan.term):
            return
        self._parts.append(said.data)
        if len(self._parts) == said.count:
            log, self._parts = b"".join(self._parts), []
            self._become(LogStage.LIVE)
            self._take_log(log, plan.term, begins=True)

    # logs

    def _log_bytes(self, configuration: Configuration) -> bytes:
        tail = [list(it) for it in self._tail]
        return plain([self.replica.dump(), self.replica.index, self._applied_term, tail, list(configuration)])

    def dump(self) -> bytes:
        """Return what a member that joins is given."""
        live = self.stage is LogStage.LIVE
        return plain([self.term if live else 0, self._log_bytes(self.configuration) if live else b""])

    def load(self, data: bytes) -> None:
        """Take what a member gave, on joining. A disk that is ahead, or new, asks for a round."""
        try:
            term, log = of_plain(data)
            self.on_instance()  # whatever it was in before is over
            if not term:
                return
            _, index, last_term, tail, _ = of_plain(log)
            last = (tail[-1][0], tail[-1][1]) if tail else (last_term, index)
        except (ValueError, TypeError, IndexError) as error:
            raise MalformedFrame(f"no log of a durable state: {error}") from error
        # A lost disk would make a majority with one that has missed what this one had answered: a round tells.
        if self.votes and (not self.disk.known or self.disk.promised > term or self.disk.last > last):
            self._ahead = True
            return
        self._become(LogStage.LIVE)
        self._take_log(log, term, begins=False)

    def _take_log(self, log: bytes, term: int, begins: bool) -> None:
        snapshot, index, last_term, tail, configuration = of_plain(log)
        self.replica.load(snapshot)
        self.term, self._applied_term = term, last_term
        self._tail, self._messages = deque(LogEntry(*it) for it in tail), {}
        self.configuration = Configuration(configuration[0], tuple(configuration[1]))
        self._log_configuration = self.configuration
        for entry in self._tail:
            self._log_configuration = following(self._log_configuration, entry)
        if begins:
            # The first entry of a term goes with the log that it follows. Were the log alone synced, a longer one of a
            # lower term could win later, though what is here was answered (Raft, figure 8).
            self._tail.append(LogEntry(term, self.last[1] + 1, "", b""))
        if self.votes:
            self._out.append(WriteLog(term, snapshot, index, last_term, tuple(self._tail), self._log_configuration))
        self._since_snapshot = [0, 0]
        self._count_synced()
        place = self.last[1]
        self._marks = [(caller, number, place if begins or at is None else at) for caller, number, at in self._marks]
        self._out += [LogTaken(place - begins), BecameLive()]
        self._commit()

    def _append(self, entry: LogEntry, message: ReplicaMessage) -> None:
        self._tail.append(entry)
        self._messages[entry.index] = message
        if isinstance(message, NamesSet):
            self._log_configuration = following(self._log_configuration, entry)
        if self.votes:
            self._out.append(AppendEntry(entry, self._log_configuration))
        self._since_snapshot[0] += 1
        self._since_snapshot[1] += len(entry.payload)
        self._commit()

    # acknowledgements

    def written(self, term: int, index: int, facts: DiskFacts) -> None:
        """Note that the log is synced up to an entry of the term in force, and what the disk has now."""
        self.disk = facts
        if self.stage is LogStage.LIVE and term == self.term and self.votes:
            self._out.append(TellSynced(term, index))
            self.on_synced(self.name, term, index)

    def promise_written(self, term: int, facts: DiskFacts) -> None:
        """Note that a term is promised, on disk."""
        self.disk = facts
        if self.stage is LogStage.PROMISING and self._plan is not None and term == self._plan.term:
            self._out.append(SayToAll(encode(Promised(self._view, self._asked, term))))

    def on_synced(self, name: str, term: int, index: int) -> None:
        """Note how far a replica has synced; it may be said before this replica is in that term."""
        self._synced[name] = max(self._synced.get(name, (0, 0)), (term, index))
        self._count_synced()
        self._commit()

    def _count_synced(self) -> None:
        self._upto = committed(self.synced, self.configuration.names)

    def _commit(self) -> None:
        if self.stage is not LogStage.LIVE:
            return
        while self._tail and self._tail[0].index <= self._upto:
            self._apply(self._tail.popleft())
        if self._marks:
            self._settle_marks()
        count, size = self._since_snapshot
        if self.votes and (count >= SNAPSHOT_ENTRIES or size >= SNAPSHOT_BYTES):
            self.take_snapshot()

    def take_snapshot(self) -> None:
        """Have the state take the place of the entries on disk that it covers; only while entries flow."""
        assert self.stage is LogStage.LIVE, self.stage
        self._since_snapshot = [len(self._tail), sum(len(it.payload) for it in self._tail)]
        self._out.append(WriteSnapshot(self.replica.dump(), self.replica.index, self._applied_term))

    def _apply(self, entry: LogEntry) -> None:
        self._applied_term = entry.term
        message = self._messages.pop(entry.index, None)
        if applied := apply_entry(self.replica, entry, message):
            self._out.append(EntryApplied(applied))
        voted = self.votes
        if message is None or isinstance(message, NamesSet):
            self.configuration = following(self.configuration, entry)
            self._count_synced()  # an entry may change the names that count for the next one
        if self.votes and not voted:  # this replica is one of the configured now: its disk has nothing yet
            dump, index, tail = self.replica.dump(), self.replica.index, tuple(self._tail)
            self._out.append(WriteLog(self.term, dump, index, entry.term, tail, self._log_configuration))

    def names_to_ask(self, names: tuple[str, ...]) -> bytes | None:
        """Return the entry that sets other names; None: not now, since an earlier change may not be settled.

        One name more or one fewer, asked for by a replica that has applied an entry of the term in force (Raft, §4.1).
        """
        settled = self.stage is LogStage.LIVE and self._applied_term == self.term
        settled = settled and self.configuration == self._log_configuration
        return encode(NamesSet(self.configuration.version, names)) if settled else None

    def _settle_marks(self) -> None:
        if self.stage is not LogStage.LIVE:
            return
        waiting = []
        for caller, number, at in self._marks:
            if at is not None and at <= self.replica.index:
                self._out.append(ReadReady(caller, number))
            else:
                waiting.append((caller, number, at))
        self._marks = waiting
