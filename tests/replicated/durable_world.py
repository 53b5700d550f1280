"""Durable replicas in a world of one seed: a group that orders and cuts, disks that keep what was synced, crashes.

The group is a model of what the library promises: members of an instance deliver one order; those who go together into
the next view have delivered the same; what one member delivered is contradicted nowhere, unless a majority dies.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from random import Random

from gcom.replicated.durable.agreement import (
    AppendEntry,
    DurableReplica,
    EntryApplied,
    LogStage,
    SayHello,
    SayToAll,
    TellSynced,
    Write,
    WriteLog,
    WritePromise,
    WriteSnapshot,
    apply_entry,
)
from gcom.replicated.durable.rounds import Configuration, DiskFacts, LogEntry
from gcom.replicated.machine import MachineKind
from gcom.replicated.messages import CallerOpened, CommandSent, decode, encode
from gcom.replicated.replica import Replica
from tests.replicated.durable_worker import NAMES, Ledger

KIND = MachineKind.of(Ledger)
CALLER = "client"


@dataclass
class ModelDisk:
    """The synced part of a replica's log."""

    facts: DiskFacts = field(default_factory=lambda: DiskFacts(0, 0, 0, Configuration(0, NAMES)))
    snapshot: bytes = b""
    index: int = 0
    term: int = 0
    entries: list[LogEntry] = field(default_factory=list)
    committed: int = 0

    def write(self, write: Write) -> None:
        match write:
            case AppendEntry(entry, configuration):
                self.entries.append(entry)
                self.facts = DiskFacts(self.facts.promised, entry.term, entry.index, configuration)
            case WritePromise(term, lost):
                self.facts = replace(self.facts, promised=term, lost=lost)
            case WriteLog(promised, snapshot, index, term, entries, configuration):
                self.snapshot, self.index, self.term, self.entries = snapshot, index, term, list(entries)
                last = entries[-1] if entries else LogEntry(term, index, "", b"")
                self.facts = DiskFacts(promised, last.term, last.index, configuration)
            case WriteSnapshot(snapshot, index, term):
                self.snapshot, self.index, self.term = snapshot, index, term
                self.entries = [it for it in self.entries if it.index > index]


@dataclass
class Instance:
    """One life of the group: its order, and the view in force."""

    number: int
    view: int = 0
    members: list[str] = field(default_factory=list)  # names, oldest first
    order: list[tuple[str, bytes]] = field(default_factory=list)  # of the view
    delivered: dict[str, int] = field(default_factory=dict)


class Member:
    """One process: a durable replica, its disk, and the writes that are not synced."""

    def __init__(self, world: World, name: str) -> None:
        self.name, self.process = name, f"{name}#{world.random.randrange(2**32):x}"
        self.disk = world.disks[name]
        self.writes: deque[Write] = deque()
        self.outbox: deque[bytes] = deque()  # what is said goes into whatever view there is then
        replica = Replica(KIND)
        if self.disk.snapshot:
            replica.load(self.disk.snapshot)
        known = [it for it in self.disk.entries if it.index <= self.disk.committed]
        term = self.disk.term
        for entry in known:
            apply_entry(replica, entry, [])
            term = entry.term
        self.durable = world.replica(replica, name, self.disk.facts, self.disk.entries[len(known) :], term)


class World:
    """A run: `step` does something that the seed chooses."""

    replica = DurableReplica
    sync_awaited = True

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.disks = {name: ModelDisk() for name in NAMES}
        self.members: dict[str, Member] = {}  # that live, by name
        self.out: set[str] = set()  # of these, put out of the group, and on their way back
        self.instance: Instance | None = None
        self.stale: Instance | None = None  # of one that hears nobody, and was given up: the others go on elsewhere
        self.instances = 0
        self.told: list[tuple[str, str, TellSynced]] = []
        self.applied: dict[int, bytes] = {}  # by index, what any replica has ever shown
        self.answered: list[int] = []
        self.sent = 0
        self.disks_lost = 0
        self.trace: list[str] = []

    # what happens

    def step(self) -> None:
        what = self.random.choices(
            [self.deliver, self.sync, self.tell, self.send, self.start, self.crash, self.put_out, self.come_back,
             self.kill_all, self.fork, self.say],
            [40, 30, 30, 14, 8, 1.5, 1, 4, 0.3, 0.5, 30],
        )[0]  # fmt: skip
        what()

    def heal(self) -> None:
        """Start all, and let everything arrive: then entries flow, and all that was answered is there."""
        for name in NAMES:
            if name not in self.members:
                self._start(name)
        if self.stale is not None:
            self.out |= set(self.stale.members)
        for name in sorted(self.out):
            self._return(name)
        for _ in range(2000):
            self.say()
            self.deliver()
            self.sync()
            self.tell()
        if any(it.durable.stage is not LogStage.LIVE for it in self.members.values()):
            raise AssertionError(f"no progress: {[(n, m.durable.waits_for) for n, m in self.members.items()]}")
        self.send()
        for _ in range(2000):
            self.say()
            self.deliver()
            self.sync()
            self.tell()
        tops = {name: it.durable.replica.index for name, it in self.members.items()}
        if len(set(tops.values())) != 1 or max(self.answered, default=0) > min(tops.values()):
            raise AssertionError(f"applied {tops}, answered up to {max(self.answered, default=0)}")

    def say(self) -> None:
        inside = [self.members[it] for it in self.instance.members] if self.instance else []
        waiting = [it for it in inside if it.outbox]
        if self.instance is not None and waiting:
            member = self.random.choice(waiting)
            self.instance.order.append((member.process, member.outbox.popleft()))

    def deliver(self) -> None:
        instance = self.instance
        if instance is None:
            return
        behind = [it for it in instance.members if instance.delivered[it] < len(instance.order)]
        if behind:
            self._deliver(instance, self.random.choice(behind))

    def _deliver(self, instance: Instance, name: str) -> None:
        process, payload = instance.order[instance.delivered[name]]
        instance.delivered[name] += 1
        self.members[name].durable.deliver(process, instance.view, payload, decode(payload))
        self._carry_out(self.members[name])

    def sync(self) -> None:
        waiting = [it for it in self.members.values() if it.writes]
        if waiting:
            self._sync(self.random.choice(waiting), self.random.randint(1, 4))

    def _sync(self, member: Member, count: int) -> None:
        for _ in range(min(count, len(member.writes))):
            write = member.writes.popleft()
            member.disk.write(write)
            member.disk.committed = min(member.durable.replica.index, member.disk.facts.index)
            self._written(member, write, member.disk.facts)

    def _written(self, member: Member, write: Write, facts: DiskFacts) -> None:
        durable = member.durable
        if isinstance(write, AppendEntry | WriteLog):
            durable.written(facts.term, facts.index, facts)
        elif isinstance(write, WritePromise):
            durable.promise_written(write.term, facts)
        elif isinstance(write, SayHello) and (said := durable.hello(write)):
            self._multicast(member, said)
        self._carry_out(member)

    def tell(self) -> None:
        if self.told:
            source, target, told = self.told.pop(self.random.randrange(len(self.told)))
            if (member := self.members.get(target)) and self.instance and target in self.instance.members:
                member.durable.on_synced(source, told.term, told.index)
                self._carry_out(member)

    def send(self) -> None:
        inside = [self.members[it] for it in self.instance.members] if self.instance else []
        live = [it for it in inside if it.durable.stage is LogStage.LIVE]
        if live:
            self.sent += 1
            packed = KIND.codec.pack([[f"token {self.sent}"], {}])
            member = self.random.choice(live)
            self._multicast(member, encode(CallerOpened(CALLER)))
            # Without `previous`: what a crash took with it holds up nobody.
            self._multicast(member, encode(CommandSent(CALLER, self.sent, 0, 0, "add", packed)))

    def start(self) -> None:
        gone = [it for it in NAMES if it not in self.members]
        if gone:
            self._start(self.random.choice(gone))

    def _start(self, name: str) -> None:
        self.trace.append(f"start {name}")
        self.members[name] = Member(self, name)
        self._enter(name)

    def _enter(self, name: str) -> None:
        if self.instance is None:
            self._begin_instance([name])
            return
        self._change_view([*self.instance.members, name])

    def crash(self) -> None:
        if self.members:
            self._crash(self.random.choice(sorted(self.members)))

    def _crash(self, name: str) -> None:
        self.trace.append(f"crash {name}")
        del self.members[name]
        self.told = [it for it in self.told if it[0] != name and it[1] != name]
        if name in self.out:
            self.out.remove(name)
        elif self.stale is not None and name in self.stale.members:
            self.stale = None
        elif self.instance is not None:
            self._lose([name])

    def kill_all(self) -> None:
        self.trace.append("kill all")
        self.members, self.out, self.instance, self.stale, self.told = {}, set(), None, None, []
        # One disk at a time: the next only after all are known again.
        if self.random.random() < 0.4 and all(disk.facts.known for disk in self.disks.values()):
            lost = self.random.choice(NAMES)
            self.trace.append(f"lose the disk of {lost}")
            self.disks[lost] = ModelDisk()
            self.disks_lost += 1

    def put_out(self) -> None:
        instance = self.instance
        if instance is not None and len(instance.members) == 3:
            name = self.random.choice(instance.members)
            self.trace.append(f"put out {name}")
            self.out.add(name)
            self._lose([name])

    def fork(self) -> None:
        instance = self.instance
        if instance is not None and len(instance.members) == 3 and self.stale is None:
            name = self.random.choice(instance.members)
            self.trace.append(f"give up {name}")
            left = [it for it in instance.members if it != name]
            self.stale = Instance(instance.number, instance.view, [name], [], {name: 0})
            self._cut(instance, left, max(instance.delivered.values()))
            self._begin_instance(left)

    def come_back(self) -> None:
        if self.out:
            self._return(self.random.choice(sorted(self.out)))

    def _return(self, name: str) -> None:
        self.trace.append(f"{name} comes back")
        self.out.discard(name)
        member = self.members[name]
        member.process = f"{name}#{self.random.randrange(2**32):x}"
        if self.instance is None:  # the others are dead, and it goes on with what it has
            self._begin_instance([name])
        else:
            self._enter(name)

    # the group

    def _lose(self, names: list[str]) -> None:
        """Go on without members that are gone; as a successor if too few of the view are left."""
        instance = self.instance
        assert instance is not None
        left = [it for it in instance.members if it not in names]
        if not left:
            self.trace += ["the stale instance is the only one"] if self.stale else []
            self.instance, self.stale = self.stale, None
        elif 2 * len(left) > len(instance.members):
            self._change_view(left, max(instance.delivered.values()))
        else:
            self._cut(instance, left, max(instance.delivered[it] for it in left))
            self._begin_instance(left)

    def _begin_instance(self, names: list[str]) -> None:
        self.instances += 1
        self.instance = Instance(self.instances, members=names)
        for name in names:
            self.members[name].durable.on_instance()
        self._install()

    def _cut(self, instance: Instance, left: list[str], at_least: int) -> None:
        """Have those who stay deliver the same; what nobody had delivered may be gone."""
        end = self.random.randint(at_least, len(instance.order))
        del instance.order[end:]
        for name in left:
            while instance.delivered[name] < end:
                self._deliver(instance, name)

    def _change_view(self, names: list[str], at_least: int | None = None) -> None:
        instance = self.instance
        assert instance is not None
        stay = [it for it in instance.members if it in names]
        self._cut(instance, stay, len(instance.order) if at_least is None else at_least)
        state = self.members[stay[0]].durable.dump()
        joined = [it for it in names if it not in instance.members]
        instance.members = names
        for name in joined:
            self.members[name].durable.load(state)
            self._carry_out(self.members[name])
        self._install()

    def _install(self) -> None:
        instance = self.instance
        assert instance is not None
        instance.view += 1
        instance.order, instance.delivered = [], dict.fromkeys(instance.members, 0)
        for name in instance.members:
            self.members[name].durable.on_view(instance.view, self.members[name].process)
            self._carry_out(self.members[name])

    def _multicast(self, member: Member, payload: bytes) -> None:
        if self.instance is not None and member.name in self.instance.members:
            member.outbox.append(payload)

    # effects

    def _carry_out(self, member: Member) -> None:
        for effect in member.durable.take_effects():
            match effect:
                case SayToAll(payload):
                    self._multicast(member, payload)
                case TellSynced():
                    self.told += [(member.name, it, effect) for it in NAMES if it != member.name]
                case EntryApplied(applied):
                    self._on_applied(member, applied.index, encode(applied.message), applied.process)
                case AppendEntry() | WritePromise() | WriteLog() | WriteSnapshot() | SayHello():
                    member.writes.append(effect)
                    if not self.sync_awaited and isinstance(effect, AppendEntry):
                        entry, facts = effect.entry, member.durable.disk
                        member.durable.written(entry.term, entry.index, replace(facts, term=entry.term))
        if member.durable._out:
            self._carry_out(member)

    def _on_applied(self, member: Member, index: int, message: bytes, process: str) -> None:
        if self.applied.setdefault(index, message) != message:
            raise AssertionError(f"{member.name} applied another command at index {index} than was shown before")
        if process == member.process:
            self.answered.append(index)


def run(seed: int, steps: int = 600, kind: type[World] = World) -> World:
    """Run a seed, and heal; raises AssertionError, with the story, where a promise is broken."""
    world = kind(seed)
    try:
        for _ in range(steps):
            world.step()
        world.heal()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}; {world.trace}") from error
    return world
