"""One simulated process: drives a GroupMachine exactly as the Pyro5 shell does, and plays its application."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from gcom.core import codec, events
from gcom.core.directory import Request
from gcom.core.effects import AskRegistry, Deliver, Effect, Ended, EntryFailed, Installed, Sent, Skip, Suspected
from gcom.core.frames import Frame, Refused
from gcom.core.group import GroupMachine, Stage
from gcom.errors import GComError
from gcom.sim.network import CALL_TIMEOUT_MS, Fate
from gcom.trace.writer import DeliveryLog
from gcom.values import names
from gcom.values.names import Process

if TYPE_CHECKING:
    from gcom.sim.world import World

_WORDS = ("ask", "build", "cut", "deliver", "election", "fetch", "größe", "hold", "install", "join")

_LOGGED = Sent | Deliver | Skip | Installed | Suspected | Ended


class Actor:
    """`crashed` is for ever; `paused` holds back everything that happens to it."""

    def __init__(self, world: World, process: Process, address: str, seed: float) -> None:
        self.process = process
        self.name = names.name_of(process)
        self.crashed = False
        self.paused = False
        self.doomed = False  # crashes at its next view
        self.failure: GComError | None = None
        self._world = world
        self._rng = Random(seed)
        self._held: list[object] = []  # what happened to it while it was paused, as closures
        self._sent = 0
        self._log: DeliveryLog | None = None
        self.machine = GroupMachine(world.plan.definition.group, process, address, world.plan.definition)

    @property
    def is_member(self) -> bool:
        return self.machine.stage is Stage.MEMBER and not self.crashed

    def describe(self) -> str:
        view = self.machine.view
        if self.failure:
            return f"{self.process} failed: {self.failure}"
        where = f"view {view.number} {view.members}" if view else "no view"
        return f"{self.process} {self.machine.stage.value} ({self.machine.waits_for}) in {where}"

    # what the world does to it

    def start(self) -> None:
        self._handle(events.Start())
        self._tick()
        self._write()

    def leave(self) -> None:
        self._when_running(lambda: self._handle(events.Leave()))

    def crash(self) -> None:
        self.crashed = True
        if self._log:
            self._log.flush()  # what was not flushed would be lost; the log of a crash ends here

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False
        held, self._held = self._held, []
        for action in held:
            self._when_running(action)

    def close_log(self) -> None:
        if self.crashed:
            return
        self._when_running(lambda: self._handle(events.Exit()))
        if self._log:
            self._log.close()

    def send_marker(self) -> tuple[Process, int]:
        """Send one message more; returns which it will be."""
        self._handle(events.Submit(["marker"]))
        number = self._world.checker(self.machine.instance).sent_by(self.process) + self.machine.pending
        return self.process, number

    # its machine

    def _when_running(self, action: object) -> None:
        if self.crashed:
            return
        if self.paused:
            self._held.append(action)
        else:
            assert callable(action)
            action()

    def _handle(self, event: events.Event) -> None:
        self._carry_out(self.machine.handle(event, self._world.now_ms))

    def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            self._record(effect)
            match effect:
                case AskRegistry(request):
                    self._ask_registry(request)
                case Deliver(run):
                    self._read(events.Consumed(run.sender, run.last, len(run.encoded)))
                case Skip(sender, first, count, _):
                    self._read(events.Consumed(sender, first + count - 1, 0))
                case EntryFailed(error):
                    self.failure = error
                case Installed() if self.doomed and not self._world.network.healed:
                    self._world.count("crash at install")
                    self.crash()
                    return
                case _:
                    pass
        self._call_peers()

    def _record(self, effect: Effect) -> None:
        self._world.note(self.process, effect)
        self._world.checker(self.machine.instance).see(self.process, effect)
        definition = self.machine.definition
        if (
            self._world.log_dir
            and definition
            and isinstance(effect, Sent | Deliver | Skip | Installed | Suspected | Ended)
        ):
            if self._log is None:
                self._log = DeliveryLog(
                    self._world.log_dir,
                    self.process,
                    wall_ns=1_700_000_000_000_000_000,
                    clock_us=lambda: self._world.now_ms * 1000,
                    on_trouble=self._world.trouble,
                )
            self._log.record(definition, self.machine.instance, effect)

    def _ask_registry(self, request: Request) -> None:
        delay = self._rng.randint(1, 5)

        def answer() -> None:
            reply = self._world.directory.ask(request, self._world.now_ms)
            self._world.at(
                delay, lambda: self._when_running(lambda: self._handle(events.RegistryAnswered(request, reply)))
            )

        self._world.at(delay, answer)

    def _tick(self) -> None:
        if self.crashed:
            return
        self._when_running(lambda: self._handle(events.Tick()))
        self._call_due()
        deadline = self.machine.deadline_ms
        if deadline is not None:
            self._world.at(max(1, deadline - self._world.now_ms), self._tick)

    def _call_due(self) -> None:
        if not self.paused and not self.crashed:
            for peer in self.machine.peers:
                self._call(peer)

    def _call_peers(self) -> None:
        for peer in self.machine.woken():
            if peer in self.machine.peers:
                self._call(peer)

    def _call(self, peer: Process) -> None:
        frame, effects = self.machine.take(peer, self._world.now_ms)
        if frame is not None:
            _Call(self._world, self, peer, codec.encode(frame), self._world.network.fate()).begin()
        if effects or frame is not None:
            self._carry_out(effects)

    def receive(self, data: bytes) -> bytes:
        """The exposed endpoint."""
        reply, effects = self.machine.receive(codec.decode(data), self._world.now_ms)
        self._carry_out(effects)
        return codec.encode(reply)

    def on_call_ended(self, event: events.Replied | events.CallFailed) -> None:
        self._when_running(lambda: self._handle(event))

    # its application

    def _write(self) -> None:
        """Send something now and then, until the plan's messages are sent."""
        if self.crashed or self.machine.stage in (Stage.LINGERING, Stage.ENDED):
            return
        if self.is_member and not self.paused and self.machine.pending < 200:
            count = min(self._rng.choice([1, 1, 1, 2, 5, 40]), self._world.plan.messages - self._sent)
            if count > 0:
                payloads = [self._message(self._sent + index) for index in range(count)]
                self._sent += count
                self._handle(events.Submit(payloads))
        if self._sent < self._world.plan.messages:
            self._world.at(self._rng.randint(1, 120), self._write)

    def _message(self, index: int) -> bytes | str:
        text = f"{self.name} {index} " + self._rng.choice(_WORDS) * self._rng.choice([1, 3, 30])
        return text.encode() if self._rng.random() < 0.3 else text

    def _read(self, event: events.Consumed) -> None:
        """Read what was delivered, or lost, some time later."""

        def consume() -> None:
            if self.is_member:
                self._handle(event)

        self._world.at(self._rng.randint(0, 30), lambda: self._when_running(consume))


class _Call:
    """One call in the network; the caller learns its end once."""

    def __init__(self, world: World, caller: Actor, peer: Process, data: bytes, fate: Fate) -> None:
        self._world, self._caller, self._peer, self._data, self._fate = world, caller, peer, data, fate
        self._over = False

    def begin(self) -> None:
        world, fate = self._world, self._fate
        if fate.arrives_ms is not None:
            world.at(fate.arrives_ms, self._arrive)
        if fate.again_ms is not None:
            world.count("duplicate")
            world.at(fate.again_ms, self._arrive_again)
        if fate.fails_ms is not None:
            world.count("broken call")
            world.at(fate.fails_ms, lambda: self._fail(False))
        world.at(CALL_TIMEOUT_MS, lambda: self._fail(False))

    def _arrive(self) -> None:
        callee = self._world.actors[self._peer]
        if callee.crashed:
            self._world.at(self._fate.reply_ms, lambda: self._fail(True))
        elif callee.paused:
            callee._held.append(self._arrive)
        else:
            data = callee.receive(self._data)
            answer = (lambda: self._fail(True)) if callee.crashed else (lambda: self._answer(data))
            self._world.at(self._fate.reply_ms, answer)

    def _arrive_again(self) -> None:
        callee = self._world.actors[self._peer]
        if not callee.crashed and not callee.paused:
            callee.receive(self._data)

    def _answer(self, data: bytes) -> None:
        if not self._over:
            self._over = True
            reply: Frame | Refused = codec.decode_reply(data)
            self._caller.on_call_ended(events.Replied(self._peer, reply))

    def _fail(self, refused: bool) -> None:
        if not self._over:
            self._over = True
            self._caller.on_call_ended(events.CallFailed(self._peer, refused))
