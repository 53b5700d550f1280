"""A tiny network of group machines, driven by hand: what a test does not lose arrives at once, and time is a number.

Frames pass through the codec, and every effect through the checker that the simulator uses, so each scenario is
checked for safety at every step, whatever else it looks at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gcom.core import codec, events, frames
from gcom.core.directory import Directory
from gcom.core.effects import AskRegistry, Deliver, Effect, Ended, EntryFailed, Installed, Skip, Suspected
from gcom.core.frames import Control, Frame
from gcom.core.group import GroupMachine, Stage
from gcom.errors import GComError
from gcom.sim.checkers import Checker
from gcom.values.definition import Definition
from gcom.values.names import Process
from gcom.values.run import Payload
from tests.core.making import address

_E = TypeVar("_E", bound=Effect)

STEP_MS = 5
LIMIT_MS = 20_000


class Network:
    """Processes by their ids, in the order in which they were started."""

    def __init__(self, definition: Definition | None = None) -> None:
        self.definition = definition or Definition.parse("g")
        self.now_ms = 10_000
        self.machines: dict[Process, GroupMachine] = {}
        self.effects: dict[Process, list[Effect]] = {}
        self.carried: list[Frame] = []  # every frame that arrived
        self.lose: Callable[[Frame], bool] = lambda frame: False  # such calls break before they arrive
        self.cut_off: set[Process] = set()  # neither reach anybody nor are reached
        self.slow: set[Process] = set()  # their applications read nothing
        self._dead: set[Process] = set()
        self._doomed: dict[Process, tuple[type[Control], int]] = {}
        self._checkers: dict[str, Checker] = {}
        self._minted = 0
        self._todo: list[tuple[Process, events.Event]] = []
        self.directory = Directory(self._mint)

    def _mint(self) -> str:
        self._minted += 1
        return f"i{self._minted}"

    # what a test does

    def start(self, name: str, incarnation: str = "1") -> Process:
        process = f"{name}#{incarnation}"
        self.machines[process] = GroupMachine(self.definition.group, process, address(process), self.definition)
        self.effects[process] = []
        self.handle(process, events.Start())
        return process

    def form(self, *names: str) -> list[Process]:
        """Start members one after the other, so that their rank is their place; returns once all have one view."""
        members: list[Process] = []
        for name in names:
            members.append(self.start(name))
            self.until_view(*members)
        return members

    def send(self, who: Process, *payloads: Payload) -> None:
        self.handle(who, events.Submit(list(payloads)))

    def leave(self, who: Process) -> None:
        self.handle(who, events.Leave())

    def kill(self, who: Process) -> None:
        """From now on its port refuses."""
        self._dead.add(who)

    def kill_after(self, who: Process, kind: type[Control], reached: int) -> None:
        """Kill a process once its frames with an item of this kind have reached so many."""
        self._doomed[who] = (kind, reached)

    def handle(self, who: Process, event: events.Event) -> None:
        self._see(who, self.machines[who].handle(event, self.now_ms))

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
        """Who is in the view of a process; nobody if it is no member."""
        machine = self.machines[who]
        return set(machine.view.members) if machine.view and machine.stage is Stage.MEMBER else set()

    def number(self, who: Process) -> int:
        """Of its view."""
        view = self.machines[who].view
        return view.number if view else 0

    def delivered(self, who: Process) -> list[Payload]:
        return [payload for effect in self.of(who, Deliver) for payload in effect.run.payloads]

    def skipped(self, who: Process) -> int:
        return sum(effect.count for effect in self.of(who, Skip))

    def of(self, who: Process, kind: type[_E]) -> list[_E]:
        """The effects of one kind, in order."""
        return [effect for effect in self.effects[who] if isinstance(effect, kind)]

    def end(self, who: Process) -> Ended | None:
        """How its stay ended."""
        return next(iter(self.of(who, Ended)), None)

    def error(self, who: Process) -> GComError | None:
        """Why it could not get in."""
        return next((effect.error for effect in self.of(who, EntryFailed)), None)

    def views(self, who: Process) -> list[Installed]:
        return self.of(who, Installed)

    def suspected(self, who: Process) -> list[tuple[Process, str]]:
        """Whom a process began to suspect, and why."""
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
        for who, machine in list(self.machines.items()):
            if self.alive(who):
                if machine.deadline_ms is not None and machine.deadline_ms <= self.now_ms:
                    self.handle(who, events.Tick())
                for peer in machine.peers:
                    self._call(who, peer)
        todo, self._todo = self._todo, []
        for who, event in todo:
            if self.alive(who):
                self.handle(who, event)

    def _see(self, who: Process, effects: list[Effect]) -> None:
        machine = self.machines[who]
        self.effects[who] += effects
        for effect in effects:
            self._checkers.setdefault(machine.instance, Checker(self.definition)).see(who, effect)
            match effect:
                case AskRegistry(request):
                    answer = self.directory.ask(request, self.now_ms)
                    self._todo.append((who, events.RegistryAnswered(request, answer)))
                case Deliver(run) if who not in self.slow:
                    self._todo.append((who, events.Consumed(run.sender, run.last, len(run.encoded))))
                case _:
                    pass
        if machine.stage is Stage.ENDED:
            self._todo = [(one, event) for one, event in self._todo if one != who]

    def _call(self, who: Process, peer: Process) -> None:
        frame, effects = self.machines[who].take(peer, self.now_ms)
        self._see(who, effects)
        if frame is None:
            return
        if who in self.cut_off or peer in self.cut_off or self.lose(frame):
            self.handle(who, events.CallFailed(peer, refused=False))
        elif peer not in self.machines or not self.alive(peer):
            self.handle(who, events.CallFailed(peer, refused=True))
        else:
            self._arrive(who, peer, codec.decode(codec.encode(frame)))

    def _arrive(self, who: Process, peer: Process, frame: Frame) -> None:
        self.carried.append(frame)
        reply, effects = self.machines[peer].receive(frame, self.now_ms)
        self._see(peer, effects)
        self._count_down(frame)
        if self.alive(who):
            self.handle(who, events.Replied(peer, codec.decode_reply(codec.encode(reply))))

    def _count_down(self, frame: Frame) -> None:
        kind, left = self._doomed.get(frame.source, (frames.Join, 0))
        if left and any(isinstance(item, kind) for item in frame.control):
            self._doomed[frame.source] = (kind, left - 1)
            if left == 1:
                self.kill(frame.source)
