"""A tiny network of group machines, driven by hand: what a test does not lose arrives at once, and time is a number.

Frames pass through the codec, and every effect through the checker that the simulator uses, so each scenario is
checked for safety at every step, whatever else it looks at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from gcom.core.codec import frames as codec
from gcom.core.directory.rows import DissolvedInstance, Row, Store
from gcom.core.directory.table import Directory
from gcom.core.directory.witness import Witness, WitnessRecord
from gcom.core.ended import answer_for_ended
from gcom.core.machine import RETURNS, GroupMachine, Stage
from gcom.core.messages import events, frames
from gcom.core.messages.effects import (
    AskRegistry,
    AskSequencer,
    Deliver,
    Effect,
    Ended,
    EntryFailed,
    Installed,
    Skip,
    Suspected,
)
from gcom.core.messages.frames import Control, Frame, Reply
from gcom.core.messages.registry import Answer, GroupInfo, Lookup, Request
from gcom.core.messages.sequencer import SequencerAnswer, SequencerRequest
from gcom.core.multicast.signing import RunSigner
from gcom.core.ordering.sequencer import Sequencer
from gcom.errors import GComError
from gcom.sim.checkers import Checker
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process, name_of
from gcom.values.run import Payload
from tests.core.ids import CountedIds
from tests.core.making import address

_E = TypeVar("_E", bound=Effect)

STEP_MS = 5
LIMIT_MS = 20_000


class Disk(Store):
    """The disk of a registry: what it has written, and finds again in its next life."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._gone: dict[str, DissolvedInstance] = {}

    def rows(self) -> Iterable[Row]:
        return [replace(row, renewed_ms=None, forked_ms=None) for row in self._rows.values()]

    def dissolved(self) -> Iterable[DissolvedInstance]:
        return self._gone.values()

    def save(self, row: Row) -> None:
        self._rows[row.definition.group] = row

    def drop(self, group: str) -> None:
        del self._rows[group]

    def bury(self, gone: DissolvedInstance) -> None:
        self._gone[gone.group] = gone

    def forget(self, group: str) -> None:
        del self._gone[group]


class Observer:
    """Sees what passes over a network; this one looks away. What is lost on its way is not seen."""

    def called(self, frame: Frame) -> None:
        """A frame arrived."""

    def replied(self, callee: Process, caller: Process, reply: Reply) -> None:
        """The reply to it arrived."""

    def asked(self, who: Process, request: Request | SequencerRequest, answer: Answer | SequencerAnswer | None) -> None:
        """The registry, or its sequencer, was asked; without an answer it was not reached."""


class Network:
    """Processes by their ids, in the order in which they were started."""

    def __init__(self, definition: Definition | None = None) -> None:
        self.definition = definition or Definition.parse("g")
        self.now_ms = 10_000
        self.machines: dict[Process, GroupMachine] = {}
        self.effects: dict[Process, list[Effect]] = {}
        self.carried: list[Frame] = []  # every frame that arrived
        self.lose: Callable[[Frame], bool] = lambda frame: False  # such calls break before they arrive
        self.lose_reply: Callable[[Frame], bool] = lambda frame: False  # these break on their way back
        self.cut_off: set[Process] = set()  # neither reach anybody nor are reached, whatever their incarnation
        self.cuts: set[tuple[str, str]] = set()  # by name: what the first says does not reach the second
        self.signer: Callable[[Process], RunSigner | None] = lambda process: None  # of a signed group
        self.tamper: Callable[[Frame], Frame] = lambda frame: frame  # what a liar says in place of a frame
        self.slow: set[Process] = set()  # their applications read nothing
        self.lose_answer: Callable[[Process, SequencerRequest], bool] = lambda who, request: False
        self.sequencer_paused = False  # what it is asked waits in `waiting`
        self.waiting: list[tuple[Process, SequencerRequest]] = []
        self.watch: Callable[[Process, Effect], None] = lambda who, effect: None  # sees each effect as it happens
        self.asked: list[tuple[Process, SequencerRequest, SequencerAnswer | None]] = []  # of the sequencer, in order
        self.registry_asked: Counter[Process] = Counter()  # the directory, so often
        self.tells_of_death = True  # the kernel of whoever is killed; of another host it says nothing
        self.returning = False  # who loses its group comes again by itself, as the shell does it
        self.successors: dict[Process, Process] = {}
        self.succeeded: list[tuple[Process, GroupMachine]] = []  # whose process goes on in a successor
        self._dead: set[Process] = set()
        self._leaving: set[Process] = set()  # their applications asked for it: they do not come again
        self._hanging: dict[Process, list[Process]] = {}  # paused processes, and whose calls wait for them
        self._doomed: dict[Process, tuple[type[Control], int]] = {}
        self._checkers: dict[str, Checker] = {}
        self.ids = CountedIds()
        self._todo: list[tuple[Process, events.Event, GroupMachine | None]] = []
        self.votes: dict[str, WitnessRecord] = {}  # on the registry's disk
        self.disk = Disk()
        self.answers_lost: Callable[[Process, Request], bool] = lambda who, request: False  # of the registry
        self.observer = Observer()
        self.start_registry()

    def start_registry(self) -> None:
        """A registry in its first or another life: it knows only what is on its disk."""
        self.registry_up = True
        witness = Witness(self.votes.values(), self._save)
        grace_ms = limits.START_GRACE_MS if self.now_ms else 0
        self.directory = Directory(self.ids, witness, self.disk, grace_ms=grace_ms)
        self.sequencer = Sequencer()

    def stop_registry(self) -> None:
        """From now on it answers nobody."""
        self.registry_up = False

    def _save(self, record: WitnessRecord) -> None:
        self.votes[record.instance] = record

    # what a test does

    def start(self, name: str, incarnation: str = "1") -> Process:
        process = f"{name}#{incarnation}"
        self.machines[process] = self.machine(process)
        self.effects[process] = []
        self.handle(process, events.Start())
        return process

    def again(self, former: Process) -> Process:
        """Start the next incarnation of a process that lost its group; in a successor of it the same one goes on."""
        if self.machines[former].succeeded:
            self.succeeded.append((former, self.machines[former]))
            self.machines[former] = self.machines[former].again(former)
            self.handle(former, events.Start())
            return former
        name, _, incarnation = former.partition("#")
        process = self.successors[former] = f"{name}#{int(incarnation) + 1}"
        self.machines[process] = self.machines[former].again(process)
        self.effects[process] = []
        self.handle(process, events.Start())
        return process

    def latest(self, who: Process) -> Process:
        """The present incarnation of a process."""
        while who in self.successors:
            who = self.successors[who]
        return who

    def form(self, *names: str) -> list[Process]:
        """Start members one after the other, so that their rank is their place; returns once all have one view."""
        members: list[Process] = []
        for name in names:
            members.append(self.start(name))
            self.until_view(*members)
        return members

    def machine(self, process: Process) -> GroupMachine:
        signer = self.signer(process)
        return GroupMachine(self.definition.group, process, address(process), self.definition, signer=signer)

    def send(self, who: Process, *payloads: Payload) -> None:
        self.handle(who, events.Submit(list(payloads)))

    def leave(self, who: Process, *, reads_on: bool = False, at_once: bool = False) -> None:
        self._leaving.add(who)
        self.handle(who, events.Leave(reads_on, at_once))

    def kill(self, who: Process) -> None:
        """From now on its port refuses."""
        self._dead.add(who)

    def pause(self, who: Process) -> None:
        """It stands still, and calls to it do not end."""
        self._hanging[who] = []

    def resume(self, who: Process) -> None:
        for caller in self._hanging.pop(who):
            if self.alive(caller):
                self.handle(caller, self._failed(who, refused=False))

    def _failed(self, peer: Process, refused: bool) -> events.CallFailed:
        """A call failed; its kernel says of a process that was killed that it is dead."""
        return events.CallFailed(peer, refused, dead=self.tells_of_death and peer in self._dead)

    def kill_after(self, who: Process, kind: type[Control], reached: int) -> None:
        """Kill a process once its frames with an item of this kind have reached so many."""
        self._doomed[who] = (kind, reached)

    def split(self, *sides: str) -> None:
        """Part the network: each side is names with spaces between; `registry` is the registry's."""
        groups = [side.split() for side in sides]
        self.cuts = {(a, b) for one in groups for two in groups if one is not two for a in one for b in two}

    def heal(self) -> None:
        self.cuts.clear()
        self.cut_off.clear()

    def _reaches(self, one: str, two: str) -> bool:
        """Whether what one name says reaches another."""
        off = {name_of(who) for who in self.cut_off}
        return one not in off and two not in off and (one, two) not in self.cuts

    def arrive(self, frame: Frame) -> None:
        """A frame arrives late, or again; its caller has long given it up."""
        if self.alive(frame.target):
            machine = self._machine_of(frame, frame.target)
            self._see(frame.target, machine.receive(frame, self.now_ms)[1], machine)

    def answered(self, who: Process, request: SequencerRequest, answer: SequencerAnswer | None) -> None:
        """The sequencer's answer arrives, or again."""
        self.handle(who, events.SequencerAnswered(request, answer))

    def later(self, who: Process, event: events.Event) -> None:
        """Let something happen after this step; so an application calls from within a callback."""
        self._todo.append((who, event, None))

    def handle(self, who: Process, event: events.Event, machine: GroupMachine | None = None) -> None:
        """Let something happen to a process, or to one of its machines."""
        machine = machine or self.machines[who]
        self._see(who, machine.handle(event, self.now_ms), machine)

    def until(self, condition: Callable[[], bool], limit_ms: int = LIMIT_MS) -> None:
        """Run until the condition holds; fails at the limit."""
        end_ms = self.now_ms + limit_ms
        while not condition():
            assert self.now_ms < end_ms, self.describe()
            self.step()

    def until_view(self, *members: Process) -> None:
        """Until these, and nobody else, are in a view of these."""
        self.until(lambda: all(self.members(who) == set(members) for who in members))

    def pass_ms(self, duration_ms: int) -> None:
        end_ms = self.now_ms + duration_ms
        while self.now_ms < end_ms:
            self.step()

    # what a test looks at

    def alive(self, who: Process) -> bool:
        return who not in self._dead

    def members(self, who: Process) -> set[Process]:
        """Return the members of a process's view; nobody if it is no member."""
        machine = self.machines.get(who)
        return set(machine.view.members) if machine and machine.view and machine.stage is Stage.MEMBER else set()

    @property
    def registered(self) -> GroupInfo:
        """The group's entry at the registry."""
        found = self.directory.ask(Lookup("g"), self.now_ms)
        assert isinstance(found, GroupInfo)
        return found

    @property
    def instances_alive(self) -> int:
        """How many instances have members now."""
        return len(
            {machine.instance for who, machine in self.machines.items() if self.alive(who) and self.members(who)}
        )

    def number(self, who: Process) -> int:
        """Of its view."""
        view = self.machines[who].view
        return view.number if view else 0

    def serials(self, who: Process) -> dict[int, tuple[Process, int]]:
        """Which message each serial is for, as far as a process delivered or gave it up."""
        found: dict[int, tuple[Process, int]] = {}
        for effect in self.effects[who]:
            match effect:
                case Deliver(run, _, serial) if serial:
                    found |= {serial + index: (run.sender, run.first + index) for index in range(len(run.payloads))}
                case Skip(sender, first, count, _, serial) if serial:
                    found |= {serial + index: (sender, first + index) for index in range(count)}
                case _:
                    pass
        return found

    def delivered(self, who: Process) -> list[Payload]:
        return [payload for effect in self.of(who, Deliver) for payload in effect.run.payloads]

    def skipped(self, who: Process) -> int:
        return sum(effect.count for effect in self.of(who, Skip))

    def of(self, who: Process, kind: type[_E]) -> list[_E]:
        """The effects of one kind, in order."""
        return [effect for effect in self.effects[who] if isinstance(effect, kind)]

    def end(self, who: Process) -> Ended | None:
        """How its session ended."""
        return next(iter(self.of(who, Ended)), None)

    def error(self, who: Process) -> GComError | None:
        """Why it could not get in."""
        return next((effect.error for effect in self.of(who, EntryFailed)), None)

    def views(self, who: Process) -> list[Installed]:
        return self.of(who, Installed)

    def suspected(self, who: Process) -> list[tuple[Process, str]]:
        """Return the processes that one began to suspect, and why."""
        return [(effect.process, effect.reason) for effect in self.of(who, Suspected)]

    def describe(self) -> str:
        rows = [
            f"{who}{'' if self.alive(who) else ' dead'} {machine.stage.value} {machine.view} {machine.waits_for}"
            for who, machine in self.machines.items()
        ]
        return "\n".join(rows)

    # the network itself

    def step(self) -> None:
        self.now_ms += STEP_MS
        self.directory.tick(self.now_ms)
        for who, machine in [*self.succeeded, *self.machines.items()]:
            if self.alive(who) and who not in self._hanging:
                if machine.deadline_ms is not None and machine.deadline_ms <= self.now_ms:
                    self.handle(who, events.Tick(), machine)
                for peer in machine.peers:
                    self._call(who, peer, machine)
        todo, self._todo = self._todo, []
        for who, event, asker in todo:
            if self.alive(who):
                self.handle(who, event, asker)

    def _machine_of(self, frame: Frame, who: Process) -> GroupMachine:
        """That of the frame's instance, if it is one that the process was in; else the present one."""
        former = (machine for one, machine in self.succeeded if (one, machine.instance) == (who, frame.instance))
        return next(former, self.machines[who])

    def _see(self, who: Process, effects: list[Effect], machine: GroupMachine) -> None:
        self.effects[who] += effects
        for effect in effects:
            if machine.instance not in self._checkers:
                self._checkers[machine.instance] = Checker(self.definition, before=self._checkers)
            self._checkers[machine.instance].see(who, effect)
            self.hand_over(who, effect)  # first: the end of one session before the beginning of the next
            match effect:
                case AskRegistry(request):
                    self.registry_asked[who] += 1
                    known = self.directory.ask(request, self.now_ms) if self._served(who) else None
                    lost = self.answers_lost(who, request)
                    answer = events.RegistryAnswered(request, None if lost else known)
                    self.observer.asked(who, request, answer.answer)
                    self._todo.append((who, answer, machine))  # a successor's machine has not asked
                case AskSequencer(question):
                    self._ask(who, question, machine)
                case Ended(_, "succession"):
                    self.again(who)
                case Ended(_, reason) if self.returning and reason in RETURNS and who not in self._leaving:
                    self.again(who)
                case _:
                    pass
            self.watch(who, effect)
        if self.machines[who].stage is Stage.ENDED:
            self._todo = [it for it in self._todo if it[0] != who]

    def hand_over(self, who: Process, effect: Effect) -> None:
        """Hand an effect to the application of a process."""
        match effect:
            case Deliver(run) if who not in self.slow:
                self.later(who, events.Consumed(run.sender, run.last, len(run.encoded)))
            case Skip(sender, first, count) if who not in self.slow:
                self.later(who, events.Consumed(sender, first + count - 1, 0))
            case _:
                pass

    def _ask(self, who: Process, question: SequencerRequest, machine: GroupMachine) -> None:
        if self.sequencer_paused:
            self.waiting.append((who, question))
            return
        answer = self.sequencer.ask(question) if self._served(who) else None
        self.asked.append((who, question, answer))
        told = None if self.lose_answer(who, question) else answer
        refused = not self.registry_up
        self.observer.asked(who, question, told)
        self._todo.append((who, events.SequencerAnswered(question, told, refused), machine))

    def _served(self, who: Process) -> bool:
        """Whether a process reaches the registry."""
        name = name_of(who)
        reached = self._reaches(name, "registry") and self._reaches("registry", name)
        return self.registry_up and reached

    def _call(self, who: Process, peer: Process, machine: GroupMachine) -> None:
        frame, effects = machine.take(peer, self.now_ms)
        self._see(who, effects, machine)
        if frame is None or not self.alive(who):
            return
        if peer in self._hanging:
            self._hanging[peer].append(who)
            return
        if not self._reaches(name_of(who), name_of(peer)) or self.lose(frame):
            self.handle(who, self._failed(peer, refused=False), machine)
        elif peer not in self.machines or not self.alive(peer):
            self.handle(who, self._failed(peer, refused=True), machine)
        else:
            to = self.latest(peer) if frame.discovery else peer
            self._arrive(who, peer, codec.decode(codec.encode(self.tamper(frame))), to, machine)

    def _arrive(self, who: Process, peer: Process, frame: Frame, to: Process, caller: GroupMachine) -> None:
        self.carried.append(frame)
        self.observer.called(frame)
        callee = self._machine_of(frame, to)
        reply, effects = callee.receive(frame, self.now_ms)
        self._see(to, effects, callee)
        # As a node says of a process whose stay is over that it is on its way back, as another one, or in again.
        reply = answer_for_ended(frame, reply, self.machines[self.latest(to)])
        self._count_down(frame)
        lost = isinstance(reply, Frame) and self.lose_reply(reply)
        if lost or not self._reaches(name_of(peer), name_of(who)):
            self.handle(who, self._failed(peer, refused=False), caller)
        elif not self.alive(peer):  # it died of what it was told
            self.handle(who, self._failed(peer, refused=True), caller)
        elif self.alive(who):
            self.observer.replied(to, who, reply)
            self.handle(who, events.Replied(peer, codec.decode_reply(codec.encode(reply))), caller)

    def _count_down(self, frame: Frame) -> None:
        kind, left = self._doomed.get(frame.source, (frames.Join, 0))
        if left and any(isinstance(item, kind) for item in frame.control):
            self._doomed[frame.source] = (kind, left - 1)
            if left == 1:
                self.kill(frame.source)
