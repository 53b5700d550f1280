"""A world of one seed: members of a group that orders and cuts, disks that keep what was synced, and faults.

The group is a model of what GCom promises. The members of an instance deliver one order. Those who go together into the
next view have delivered the same. What one member delivered is contradicted nowhere, unless a majority dies.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from gcom.replicated.evidence.simulated import SimulatedLogs
from gcom.replicated.machine import MachineKind
from gcom.replicated.messages import CommandSent
from gcom.replicated.simulated.arguments import CommandDraw
from gcom.replicated.simulated.disk import SimulatedDisk
from gcom.replicated.simulated.history import Invariant, PromiseBroken, StateHistory
from gcom.replicated.simulated.member import SimulatedMember

NAMES = ("a", "b", "c", "d", "e")
SETTLE_STEPS = 50_000  # of the end, in which nothing goes wrong any more
ORPHANS_MAX = 50


@dataclass(slots=True)
class SimulatedInstance:
    """A life of the group: its view, and the order of that view's messages."""

    members: list[str]  # names, oldest first
    view: int = 0
    order: list[tuple[str, str, bytes]] = field(default_factory=list)  # name, process, payload
    delivered: dict[str, int] = field(default_factory=dict)
    name: str = ""


class ReplicaWorld:
    """A run: `step` does something that the seed chooses, and `heal` lets all arrive and judges the end."""

    def __init__(
        self,
        kind: MachineKind,
        seed: int,
        durable: bool,
        draw: CommandDraw,
        invariant: Invariant | None,
        logs: SimulatedLogs | None = None,
    ) -> None:
        self.kind = kind
        self.logs = logs
        self.durable = durable
        self.history = StateHistory(kind, invariant)
        self.story: list[str] = []
        self.faults: Counter[str] = Counter()
        self.instances = 0
        self._draw = draw
        self._random = Random(seed)
        self._names = NAMES[: self._random.choice((3, 3, 3, 5))]
        self._disks = {name: SimulatedDisk(self._names) for name in self._names} if durable else {}
        self._members: dict[str, SimulatedMember] = {}  # that live, by name
        self._out: set[str] = set()  # of these, put out of the group, and on their way back
        self._instance: SimulatedInstance | None = None
        self._stale: SimulatedInstance | None = None  # of one that hears nobody; the others go on elsewhere
        self._places: dict[str, tuple[str, int]] = {}  # by name: the last instance and view
        self._told: list[tuple[str, str, bytes]] = []  # unicasts under way: source, target, payload
        self._orphans: deque[CommandSent] = deque(maxlen=ORPHANS_MAX)  # commands of the dead, for others to retry
        self._usual = (self._say, self._work, self._deliver, self._sync, self._tell_one)
        storm = self._random.choice((1, 1, 5))
        self._acts: dict[Callable[[], object], float] = {
            self._go_about: 100, self._call: 14, self._read: 2, self._retry: 2, self._snapshot: 3, self._nudge: 1,
            self._start: 4 * storm, self._crash: 1.5 * storm, self._put_out: 1, self._come_back: 4,
            self._kill_all: 0.3 * storm, self._cut_off: 0.5 * storm, self._pause: 1, self._go_on: 3,
            self._kill_others_of_cut: 1,
        }  # fmt: skip
        if self._random.random() < 0.8:  # else they come one by one
            for name in self._names:
                self._start_one(name)

    # the run

    def step(self) -> None:
        """Do something by chance."""
        acts = list(self._acts)
        self._random.choices(acts, [self._acts[it] for it in acts])[0]()

    def heal(self) -> None:
        """Start all, let everything arrive, and judge the end; raises PromiseBroken."""
        self._go_on(all_of_them=True)
        for name in self._names:
            if name not in self._members:
                self._start_one(name)
        if self._stale is not None:
            self._out |= set(self._stale.members)
        for name in sorted(self._out):
            self._return(name)
        self._settle_all()
        for member in self._members.values():
            member.call(self._draw(self._random))
            member.read()
        self._settle_all()
        waiting = {
            name: it.log.waits_for or f"{len(it.unanswered)} answers"
            for name, it in self._members.items()
            if not it.ready or it.unanswered
        }
        if waiting:
            raise PromiseBroken(f"all is healed, and these wait: {waiting}")
        for member in self._members.values():
            member.records.close()
        self.history.judge({name: it.log.replica for name, it in self._members.items()})

    def _settle_all(self) -> None:
        for _ in range(SETTLE_STEPS):
            if not [it for it in self._usual if it()]:
                return
        raise PromiseBroken(f"all is healed, and there is no end of messages after {SETTLE_STEPS:,} steps")

    def _note(self, fault: str, what: str) -> None:
        self.faults[fault] += 1
        self.story.append(what)

    # the usual

    def _go_about(self) -> None:
        """Do a few things that are no faults."""
        for _ in range(self._random.randint(1, 8)):
            self._random.choice(self._usual)()

    def _inside(self) -> list[SimulatedMember]:
        names = self._instance.members if self._instance else []
        return [it for it in map(self._members.__getitem__, names) if not it.paused]

    def _one_of(self, members: list[SimulatedMember]) -> SimulatedMember | None:
        return self._random.choice(members) if members else None

    def _say(self) -> bool:
        """Put a member's next message into the order."""
        member = self._one_of([it for it in self._inside() if it.outbox])
        if member is None or self._instance is None:
            return False
        self._instance.order.append((member.name, member.process, member.outbox.popleft()))
        return True

    def _work(self) -> bool:
        member = self._one_of([it for it in self._inside() if it.jobs])
        if member is not None:
            member.work()
        return member is not None

    def _deliver(self) -> bool:
        instance = self._instance
        if instance is None:
            return False
        member = self._one_of([it for it in self._inside() if instance.delivered[it.name] < len(instance.order)])
        if member is not None:
            self._deliver_next(instance, member)
        return member is not None

    def _deliver_next(self, instance: SimulatedInstance, member: SimulatedMember) -> None:
        _, process, payload = instance.order[instance.delivered[member.name]]
        instance.delivered[member.name] += 1
        member.deliver(process, instance.view, payload)

    def _sync(self) -> bool:
        member = self._one_of([it for it in self._members.values() if it.writer and it.writer.waits and not it.paused])
        if member is not None and member.writer is not None:
            member.writer.sync(self._random.randint(1, 4))
        return member is not None

    def _tell_one(self) -> bool:
        if not self._told:
            return False
        source, target, payload = self._told.pop(self._random.randrange(len(self._told)))
        members = self._instance.members if self._instance else []
        if source in members and target in members:
            self._members[target].told(self._members[source].process, payload)
        return True

    def _call(self) -> None:
        if member := self._one_of(self._inside()):
            member.call(self._draw(self._random))

    def _read(self) -> None:
        if member := self._one_of([it for it in self._inside() if it.ready]):
            member.read()

    def _retry(self) -> None:
        member = self._one_of([it for it in self._inside() if it.ready])
        if member and self._orphans:
            member.retry(self._random.choice(self._orphans))

    def _snapshot(self) -> None:
        if member := self._one_of(self._inside()):
            member.take_snapshot()

    def _nudge(self) -> None:
        if member := self._one_of([it for it in self._inside() if not it.ready]):
            member.log.nudge()

    # what a member asks

    def view_of(self, name: str) -> tuple[int, tuple[str, ...]] | None:
        """Return number and processes of the view that a member is in."""
        if self._instance is None or name not in self._instance.members:
            return None
        return self._instance.view, tuple(self._members[it].process for it in self._instance.members)

    def place_of(self, name: str) -> tuple[str, int]:
        """Return the instance and the view in which a member is, or was last."""
        for it in (self._stale, self._instance):
            if it is not None and name in it.members:
                self._places[name] = it.name, it.view
        return self._places.get(name, ("", 0))

    def identify(self) -> str:
        """Return the name of a new caller."""
        return f"caller {self._random.randrange(2**32):x}"

    def tell(self, source: str, payload: bytes) -> None:
        """Send something to each other member."""
        if self._instance is not None:
            self._told += [(source, it, payload) for it in self._instance.members if it != source]

    # the faults

    def _start(self) -> None:
        if gone := [it for it in self._names if it not in self._members]:
            self._start_one(self._random.choice(gone))

    def _start_one(self, name: str) -> None:
        self._note("start", f"start {name}")
        self._members[name] = SimulatedMember(self, name, self._process(name), self._disks.get(name))
        self._enter(name)

    def _process(self, name: str) -> str:
        return f"{name}#{self._random.randrange(2**32):x}"

    def _enter(self, name: str) -> None:
        if self._instance is None:
            self._begin_instance([name])
        else:
            self._change_view([*self._instance.members, name])

    def _crash(self) -> None:
        inside = self._instance.members if self._instance else []
        names = sorted(self._members)
        if not self.durable and len(inside) == 1:  # the last one with the state: only `_kill_all` kills it
            names = [it for it in names if it not in inside]
        if names:
            self._crash_one(self._random.choice(names))

    def _crash_one(self, name: str) -> None:
        self._note("crash", f"crash {name}")
        member = self._members[name]
        self._bury(member)
        if name in self._out:
            del self._members[name]
            self._out.remove(name)
        elif self._stale is not None and name in self._stale.members:
            del self._members[name]
            self._stale = None
        else:
            self._lose(name)

    def _bury(self, member: SimulatedMember) -> None:
        """Leave a dead process's commands to others, and its disk as a crash leaves it."""
        self._orphans += member.unanswered
        self._end_log(member)
        self._told = [it for it in self._told if member.name not in it[:2]]
        if member.writer is None:
            return
        kept = self._random.choice((0, 0, 1, 2, 3))
        member.writer.crash(kept)
        if kept:
            self._note("torn tail", f"{member.name}'s disk has {kept} more writes at most")
        # One disk at a time: the next one only after all have the log again.
        if self._random.random() < 0.15 and all(it.log.facts.known for it in self._disks.values()):
            self._note("disk lost", f"lose the disk of {member.name}")
            self._disks[member.name].lose()

    def _end_log(self, member: SimulatedMember) -> None:
        if self.logs is not None:
            self.logs.crash(member.process)

    def _kill_all(self) -> None:
        self._note("all killed", "kill all")
        for name in sorted(self._members):
            self._bury(self._members[name])
        self._members, self._out, self._instance, self._stale, self._told = {}, set(), None, None, []
        if not self.durable:
            self.history.on_lost()
            self._orphans.clear()

    def _pause(self) -> None:
        if member := self._one_of(self._inside()):
            self._note("pause", f"pause {member.name}")
            member.paused = True

    def _go_on(self, all_of_them: bool = False) -> None:
        paused = [it for it in self._members.values() if it.paused]
        for member in paused if all_of_them else paused[:1]:
            self.story.append(f"{member.name} goes on")
            member.paused = False

    def _put_out(self) -> None:
        instance = self._instance
        if instance is not None and len(instance.members) == len(self._names):
            name = self._random.choice(instance.members)
            self._note("put out", f"put out {name}")
            self._out.add(name)
            self._lose(name)

    def _cut_off(self) -> None:
        """Have one stay in the old instance alone, by its tie-breaker; an operator has the others begin a new one.

        Both sides have the same past; then each has messages of its own.
        """
        instance = self._instance
        if instance is not None and len(instance.members) == len(self._names) and self._stale is None:
            name = self._random.choice(instance.members)
            self._note("cut", f"cut off {name}")
            left = [it for it in instance.members if it != name]
            self._cut(instance, instance.members, max(instance.delivered.values()))
            self._stale = SimulatedInstance([name], instance.view, [], {name: 0}, instance.name)
            self._begin_instance(left)

    def _kill_others_of_cut(self) -> None:
        """Leave only the one that was cut off: those who start again join it, though their disks are ahead."""
        if self._stale is not None and self._instance is not None and self.durable:
            for name in sorted(self._instance.members):
                self._crash_one(name)

    def _come_back(self) -> None:
        if self._out:
            self._return(self._random.choice(sorted(self._out)))

    def _return(self, name: str) -> None:
        self.story.append(f"{name} comes back")
        self._out.discard(name)
        member = self._members[name]
        self._end_log(member)
        member.process = self._process(name)
        member.outbox.clear()  # of another incarnation
        member.on_instance()
        self._enter(name)

    # the group

    def _lose(self, name: str) -> None:
        """Go on without a member: in the next view, or, if too few are left, in an instance that succeeds."""
        instance = self._instance
        assert instance is not None
        left = [it for it in instance.members if it != name]
        quorum = 2 * len(left) > len(instance.members)
        # In memory members go one at a time, so what one has delivered another one holds (SAFE).
        witnesses = instance.members if quorum or not self.durable else left
        delivered = max((instance.delivered[it] for it in witnesses), default=0)
        if name not in self._out:
            del self._members[name]
        if not left:
            self._instance, self._stale = self._stale, None
            if self._instance is not None:  # it goes on in its old instance, and who comes later joins that one
                self._install()
        else:
            self._cut(instance, left, delivered)
            if quorum:
                self._change_view(left)
            else:
                self._begin_instance(left)

    def _begin_instance(self, names: list[str]) -> None:
        self.instances += 1
        self._instance = SimulatedInstance(names, name=f"instance-{self.instances}")
        for name in names:
            self._members[name].on_instance()
        self._install()
        for name in names:
            self._members[name].on_quorum()

    def _cut(self, instance: SimulatedInstance, left: list[str], at_least: int) -> None:
        """Have those who stay deliver the same; what nobody had delivered is sent again, or died with its sender."""
        end = self._random.randint(at_least, len(instance.order))
        rest, instance.order = instance.order[end:], instance.order[:end]
        for name, _, payload in reversed(rest):
            if name in left:
                self._members[name].outbox.appendleft(payload)
        for name in left:
            while instance.delivered[name] < end:
                self._deliver_next(instance, self._members[name])

    def _change_view(self, names: list[str]) -> None:
        instance = self._instance
        assert instance is not None
        stay = [it for it in instance.members if it in names]
        joined = [it for it in names if it not in instance.members]
        if joined:
            self._cut(instance, stay, len(instance.order))
        state = self._members[stay[0]].log.dump()
        instance.members = names
        for name in joined:
            self._members[name].load(state)
        self._install()

    def _install(self) -> None:
        instance = self._instance
        assert instance is not None
        instance.view += 1
        instance.order, instance.delivered = [], dict.fromkeys(instance.members, 0)
        for name in instance.members:
            self._members[name].on_view(instance.view)
