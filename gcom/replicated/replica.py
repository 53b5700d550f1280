"""A replica: applies messages in the group's order, each command once. Pure: no clock, no thread, no chance.

State machine replication (Schneider 1990), with client sessions as in Raft (Ongaro 2014, §6.3): the table of callers
is part of the state. A caller's record has the number of its last command, and the answers that it may still need.

A command that fails is undone: the machine is made anew from the last *base*, the state's bytes at some index, and the
commands since are run again. A base is taken every 1,000 commands; its digest is what replicas compare.
"""

from __future__ import annotations

import traceback
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from gcom.errors import BadValue, MalformedFrame, VersionMismatch
from gcom.replicated.errors import CommandRefused
from gcom.replicated.machine import CommandContext, Machine, MachineKind
from gcom.replicated.messages import (
    CallerClosed,
    CallerOpened,
    CommandSent,
    MembersNoted,
    ReplicaMessage,
    of_plain,
    plain,
)

FORMAT = 1  # of a replica's bytes
BASE_EVERY = 1_000  # commands; in a large state so many more, doubled, that packing costs less than the commands
BASE_BYTES_EACH = 500  # bytes of a state that a command pays for
SINCE_BYTES_MAX = 8 * 1024 * 1024  # of arguments since the base; at the bound a base is taken
CALLERS_MAX = 4_096  # at the bound the one that has been silent for the longest is forgotten
ANSWER_BYTES_MAX = 1024 * 1024  # a command with a larger answer fails, and changes nothing

Fate = Literal["applied", "repeated", "early", "forgotten"]


class MachineRun(NamedTuple):
    """One call of the machine: a command, or `on_members` where the name is empty."""

    index: int  # type: ignore[assignment]  # of a tuple
    process: str
    name: str
    arguments: bytes


class Applied(NamedTuple):
    """A message that was dealt with. `early`: an earlier command of its caller is missing, so it was passed over."""

    index: int  # type: ignore[assignment]  # of a tuple
    process: str
    message: ReplicaMessage
    fate: Fate = "applied"
    answer: bytes = b""
    defect: str = ""  # the traceback, where the machine failed


@dataclass(slots=True)
class CallerRecord:
    """A caller: the number of its last command, and the answers that it may still ask for."""

    last: int = 0
    answers: dict[int, bytes] = field(default_factory=dict)


class Replica:
    """A machine, the table of callers, and the place in the log that both are of."""

    def __init__(self, kind: MachineKind) -> None:
        self._kind = kind
        self.machine: Machine = kind.build()
        self.index = 0
        self.members: tuple[str, ...] = ()
        self.callers: OrderedDict[str, CallerRecord] = OrderedDict()
        self.broken = ""  # the reason why no command is applied any more
        self._base = kind.state_of(self.machine)
        self._base_members: tuple[str, ...] = ()
        self._since: list[MachineRun] = []
        self._since_bytes = 0
        self._digests: dict[int, bytes] = {}
        self._told: dict[int, dict[str, bytes]] = {}

    # messages

    def apply(self, process: str, message: CallerOpened | CallerClosed | CommandSent | MembersNoted) -> Applied:
        """Deal with the next message of the log."""
        self.index += 1
        match message:
            case CommandSent():
                done = self._apply_command(process, message)
            case CallerOpened(caller):
                self.callers.setdefault(caller, CallerRecord())
                while len(self.callers) > CALLERS_MAX:
                    self.callers.popitem(last=False)
                done = Applied(self.index, process, message)
            case CallerClosed(caller):
                self.callers.pop(caller, None)
                done = Applied(self.index, process, message)
            case MembersNoted(_, members):
                self.members = members
                _, defect = self._perform(MachineRun(self.index, process, "", plain(list(members))))
                done = Applied(self.index, process, message, defect=defect)
        self._take_base_if_due()
        return done

    def _apply_command(self, process: str, command: CommandSent) -> Applied:
        record = self.callers.get(command.caller)
        if record is None:
            return Applied(self.index, process, command, "forgotten")
        if command.number <= record.last:
            return Applied(self.index, process, command, "repeated", record.answers.get(command.number, b""))
        if command.previous > record.last:
            return Applied(self.index, process, command, "early")
        self.callers.move_to_end(command.caller)
        answer, defect = self._perform(MachineRun(self.index, process, command.name, command.arguments))
        record.last = command.number
        # In ascending order, so the answers that the caller has are the first.
        while record.answers and (first := next(iter(record.answers))) <= command.done:
            del record.answers[first]
        record.answers[command.number] = answer
        return Applied(self.index, process, command, "applied", answer, defect)

    # the machine

    def _perform(self, run: MachineRun) -> tuple[bytes, str]:
        """Run the machine; return the answer, and the traceback if it failed and is as before."""
        codec = self._kind.codec
        if self.broken:
            return codec.pack(["failed", self.broken]), ""
        try:
            answer = codec.pack(["value", self._run(run)])
            if len(answer) > ANSWER_BYTES_MAX:
                raise BadValue(f"an answer has {len(answer):,} bytes; at most {ANSWER_BYTES_MAX:,} travel")
        except CommandRefused as refusal:
            answer = _packed_refusal(self._kind, refusal)
        except Exception as error:  # outermost: of the user's code, which every replica undoes alike
            defect = traceback.format_exc()
            self._undo()
            return codec.pack(["failed", f"{run.name or 'on_members'}: {type(error).__name__}: {error}"[:1000]]), defect
        self._since.append(run)
        self._since_bytes += len(run.arguments)
        return answer, ""

    def _run(self, run: MachineRun) -> Any:
        machine, kind = self.machine, self._kind
        members = self.members if run.name else tuple(of_plain(run.arguments))
        kind.enter(machine, CommandContext(run.index, run.process, members))
        try:
            if not run.name:
                return machine.on_members(members)
            method = kind.commands.get(run.name)
            if method is None:
                raise BadValue(f"the machine of this replica has no command {run.name!r}: give all the same program")
            arguments, keywords = kind.codec.unpack(run.arguments)
            return method(machine, *arguments, **keywords)
        finally:
            kind.enter(machine, None)

    def _undo(self) -> None:
        members = self.members
        self._rebuild()
        self.members = members
        self.take_base()  # so that the next one that fails costs no replay

    def _rebuild(self) -> None:
        """Make the machine anew: the base, and what ran since."""
        self.machine, self.members = self._kind.machine_of(self._base), self._base_members
        for run in self._since:
            if not run.name:
                self.members = tuple(of_plain(run.arguments))
            try:
                self._run(run)
            except CommandRefused:
                continue

    def _take_base_if_due(self) -> None:
        every = BASE_EVERY
        while every * BASE_BYTES_EACH < len(self._base):
            every *= 2
        if self.index % every == 0:
            self.take_base()
            if not self.broken:
                self._digests[self.index] = blake2b(self._base, digest_size=16).digest()
        elif self._since_bytes > SINCE_BYTES_MAX:
            self.take_base()

    def take_base(self) -> None:
        """Make the state as it is now the base: nothing that ran before it is run again."""
        try:
            self._base = self._kind.state_of(self.machine)
        except Exception as error:  # outermost: of the user's code; nobody could be given this state any more
            self.broken = f"the state cannot be packed, so no command is applied any more: {error}"
            return
        self._base_members = self.members
        self._since, self._since_bytes = [], 0

    # bytes

    def dump(self) -> bytes:
        """Return this replica's bytes, for one that joins."""
        callers = [[caller, it.last, list(it.answers.items())] for caller, it in self.callers.items()]
        base = [self._base, list(self._base_members), [list(run) for run in self._since]]
        return plain([FORMAT, self._kind.name, self.index, list(self.members), base, callers, self.broken])

    def load(self, data: bytes) -> None:
        """Take the place of the replica that such bytes are of; raises MalformedFrame, VersionMismatch."""
        match of_plain(data):
            case [int(written), *_] if written != FORMAT:
                raise VersionMismatch(f"a state of format {written}: this version of GCom reads format {FORMAT}")
            case [_, str(name), *_] if name != self._kind.name:
                raise BadValue(
                    f"the state is of a machine {name!r}, not {self._kind.name!r}: open it with the same class"
                )
            case [
                _,
                _,
                int(index),
                list(members),
                [bytes(base), list(base_members), list(since)],
                list(callers),
                broken,
            ]:
                self.index, self.broken = index, str(broken)
                self._base, self._base_members = base, tuple(base_members)
                self._since = [MachineRun(*it) for it in since]
                self._since_bytes = sum(len(run.arguments) for run in self._since)
                self._rebuild()
                self.members = tuple(members)
                self.callers = OrderedDict((it[0], CallerRecord(it[1], dict(it[2]))) for it in callers)
                self._digests, self._told = {}, {}
            case _:
                raise MalformedFrame("bytes that are no state of a replica")

    # digests

    def take_digest(self, index: int) -> tuple[int, bytes] | None:
        """Return index and digest of a base that was taken there, to be told to the others."""
        digest = self._digests.get(index)
        return (index, digest) if digest else None

    def on_digest(self, process: str, index: int, digest: bytes) -> bool:
        """Note another's digest; return True once this replica is known to differ from most."""
        finished = [it for it in self._told if it < index]
        self._told.setdefault(index, {})[process] = digest
        if set(self.members) <= self._told[index].keys():
            finished.append(index)
        differs = any(self._differs(it) for it in finished)
        for it in finished:
            del self._told[it]
        self._digests = {it: own for it, own in self._digests.items() if it >= index}
        return differs

    def _differs(self, index: int) -> bool:
        """Tell whether this replica's digest is none of the most frequent ones; of two the oldest member's is right."""
        told, own = self._told[index], self._digests.get(index)
        count = Counter(told.values())
        rank = {process: place for place, process in enumerate(self.members)}
        first = min(told, key=lambda it: (-count[told[it]], rank.get(it, len(rank)), it))
        return own is not None and own != told[first]


def _packed_refusal(kind: MachineKind, refusal: CommandRefused) -> bytes:
    try:
        return kind.codec.pack(["refused", refusal])
    except BadValue:
        return kind.codec.pack(["refused", CommandRefused(str(refusal))])
