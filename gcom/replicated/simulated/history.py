"""The promises of a replicated state, judged while it runs: all that replicas apply and callers are told comes here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gcom.replicated.errors import CommandRefused
from gcom.replicated.machine import Machine, MachineKind
from gcom.replicated.messages import CommandSent, ReplicaMessage, encode
from gcom.replicated.replica import Applied, Replica
from gcom.replicated.simulated.arguments import DrawnCommand

CommandKey = tuple[str, int]  # caller and number
Invariant = Callable[[Any], object]


class PromiseBroken(AssertionError):
    """Replicas did what they must not."""


class StateHistory:
    """The commands by their index, as first applied anywhere, and the answers that callers got."""

    def __init__(self, kind: MachineKind, invariant: Invariant | None) -> None:
        self._kind = kind
        self._invariant = invariant
        self.commands = 0  # applied
        self.answers = 0
        self._begin()

    def _begin(self) -> None:
        self._applied: dict[int, tuple[str, ReplicaMessage, str, bytes]] = {}
        self._states: dict[int, bytes] = {}
        self._places: dict[CommandKey, int] = {}
        self._asked: dict[CommandKey, tuple[DrawnCommand, int]] = {}
        self.answered_upto = 0

    def on_lost(self) -> None:
        """Begin anew: the state lived in memory alone, and its last member is gone."""
        self._begin()

    # callers

    def on_asked(self, message: CommandSent, drawn: DrawnCommand) -> None:
        """Note a command; all that was answered by now stands before it."""
        self._asked[message.caller, message.number] = drawn, self.answered_upto

    def on_answer(self, message: CommandSent, result: object, error: Exception | None, member: str) -> None:
        """Judge what a caller was told."""
        index = self._places.get((message.caller, message.number))
        if index is None:
            raise PromiseBroken(f"{member} was answered {message.name}, which no replica has applied")
        codec, kept = self._kind.codec, self._applied[index][3]
        if error is None:
            told = codec.pack(["value", result])
        else:
            told = codec.pack(["refused", error]) if isinstance(error, CommandRefused) else b""
        if (told or "failed") != (kept if told else codec.unpack(kept)[0]):
            raise PromiseBroken(
                f"{member} was answered {error or result!r} by {described(message)}, "
                f"which gave {codec.unpack(kept)!r} at index {index}"
            )
        self.answers += 1
        self.answered_upto = max(self.answered_upto, index)

    def on_read(self, needs: int, index: int, member: str) -> None:
        """Judge a fresh query: it must see what was answered before it was asked."""
        if index < needs:
            raise PromiseBroken(f"a fresh query of {member} saw index {index}, and {needs} was answered before")

    # replicas

    def on_applied(self, applied: Applied, replica: Replica, member: str) -> None:
        """Judge one message that a replica has applied."""
        message, index = applied.message, applied.index
        found = applied.process, message, applied.fate, applied.answer
        first = self._applied.setdefault(index, found)
        if first[:2] != found[:2]:
            raise PromiseBroken(
                f"{member} applied {described(message)} at index {index}, "
                f"where {described(first[1])} was applied before"
            )
        if first != found:
            raise PromiseBroken(f"{member} answered {described(message)} at index {index} otherwise than another")
        if isinstance(message, CommandSent) and applied.fate == "applied":
            self._on_command(message, index, member)
        self.on_state(replica, member)

    def _on_command(self, message: CommandSent, index: int, member: str) -> None:
        key = message.caller, message.number
        if self._places.setdefault(key, index) != index:
            raise PromiseBroken(
                f"{member} applied {described(message)} at index {index}, and it was applied at {self._places[key]}"
            )
        _, after = self._asked[key]
        if index <= after:
            raise PromiseBroken(f"{described(message)} has index {index}, and {after} was answered before it was sent")
        self.commands += 1

    def on_state(self, replica: Replica, member: str) -> None:
        """Compare a replica's state with that of the others at its index, and ask the invariant."""
        codec = self._kind.codec
        state = self._kind.state_of(replica.machine)
        if (first := self._states.setdefault(replica.index, state)) != state:
            raise PromiseBroken(
                f"at index {replica.index} {member} has {codec.unpack(state)!r:.500}, "
                f"and another replica has {codec.unpack(first)!r:.500}"
            )
        self._check_invariant(replica.machine, replica.index, f"{codec.unpack(state)!r:.500}", member)

    def _check_invariant(self, machine: Machine, index: int, state: str, member: str) -> None:
        if self._invariant is None:
            return
        try:
            holds = self._invariant(machine)
        except AssertionError as error:
            raise PromiseBroken(f"the invariant fails at index {index} of {member}: {error}") from error
        if holds is False:
            raise PromiseBroken(f"the invariant fails at index {index} of {member}: {state}")

    # the end

    def judge(self, replicas: dict[str, Replica]) -> None:
        """Judge the end of a run, when all has arrived everywhere."""
        tops = {name: it.index for name, it in replicas.items()}
        if len(set(tops.values())) != 1 or self.answered_upto > min(tops.values()):
            raise PromiseBroken(f"the replicas end at {tops}, and index {self.answered_upto} was answered")
        state = self._replayed(min(tops.values()))
        for name, replica in replicas.items():
            if self._kind.state_of(replica.machine) != state:
                raise PromiseBroken(f"{name} ends with another state than all that was applied, in its order, gives")

    def _replayed(self, upto: int) -> bytes:
        """Return the state that the messages give, applied one after the other by a replica that nothing befalls."""
        twin = Replica(self._kind)
        for index in sorted(it for it in self._applied if it <= upto):
            process, message, _, _ = self._applied[index]
            twin.index = index - 1
            twin.apply(process, message)  # type: ignore[arg-type]
        return self._kind.state_of(twin.machine)


def described(message: ReplicaMessage) -> str:
    """Return a message in a few words."""
    if isinstance(message, CommandSent):
        return f"{message.name} (command {message.number} of {message.caller})"
    return f"{type(message).__name__} {encode(message)!r:.60}"
