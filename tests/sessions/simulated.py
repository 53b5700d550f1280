"""Sessions under chance from one seed: lagging replicas, lost answers, moves, and tokens that are lost or copied.

The sessions, tokens and tables are the real ones; the order and the replicas' places in it are simulated. No wait takes
time: what is not there yet is a SessionTimeout, and the user tries again. Replicas' clocks may be wrong by any time:
each deadline is one of 0 s, and nothing else asks a clock.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any

from gcom.errors import GComError
from gcom.replicated import OutcomeUnknown
from gcom.replicated.machine import CommandContext, Machine, MachineKind, command, query
from gcom.sessions import BadToken, ClientSession, SessionForked, SessionTimeout, SessionToken, SessionUnknown
from gcom.sessions.recorded import RecordedReplica
from gcom.sessions.table import SessionRecords
from gcom.sessions.tokens import GUARANTEES, PREFIX
from tests.oracle.build import Logs

Command = tuple[str, tuple[Any, ...]]


class Notes(Machine):
    """A list of notes: each is a number that is used once."""

    def __init__(self) -> None:
        self.notes: list[int] = []

    @command
    def put(self, note: int) -> int:
        self.notes.append(note)
        return len(self.notes)

    @query
    def all(self) -> list[int]:
        return list(self.notes)


NOTES = MachineKind.of(Notes)
RECORDS = MachineKind.of(lambda: SessionRecords(NOTES))


class SimulatedLog:
    """The delivery log of one replica: a process of its own after each restart."""

    enabled = True

    def __init__(self, world: SimulatedWorld, name: str) -> None:
        self._world = world
        self._name = name
        self._starts = 1

    @property
    def process(self) -> str:
        return f"{self._name}#{self._starts}"

    def restart(self) -> None:
        self._starts += 1

    def note(self, kind: str, fields: str) -> None:
        of = f"state {self._world.seed}"
        self._world.logs[self.process].append({"type": kind, "of": of, "term": 1, **json.loads(f"{{{fields}}}")})


class SimulatedTable:
    """One replica: its place in the order, and the calls that sessions make on it."""

    def __init__(self, world: SimulatedWorld, name: str) -> None:
        self._world = world
        self._log = SimulatedLog(world, name)
        self.machine = RECORDS.build()
        self.applied = 0
        self._disk = [(0, RECORDS.state_of(self.machine))]
        self.replicas = SimpleNamespace(process=f"{name}#1", records=self._log, watch=lambda _: lambda: None)

    def apply(self, upto: int) -> Any:
        """Apply commands of the order; return the result of the last one, or the error."""
        found: Any = None
        while self.applied < upto:
            name, arguments = self._world.order[self.applied]
            self.applied += 1
            RECORDS.enter(self.machine, CommandContext(self.applied, "sim#1", ()))
            try:
                found = RECORDS.commands[name](self.machine, *arguments)
            except GComError as error:
                found = error
            RECORDS.enter(self.machine, None)
        return found

    def sync(self) -> None:
        """Write the state to the disk."""
        self._disk.append((self.applied, RECORDS.state_of(self.machine)))

    def restart(self) -> None:
        """Come back with a state that was on the disk at some time."""
        self._log.restart()
        self.applied, state = self._world.chance.choice(self._disk)
        self.machine = RECORDS.machine_of(state)

    def within(self, _: float) -> SimulatedTable:
        return self

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in RECORDS.queries:
            return lambda *arguments: self._world.query(self, name, arguments)
        return lambda *arguments: self._world.submit(self, (name, arguments))


class SimulatedUser:
    """A holder of a token: what it wrote for certain, what it knows not, and what it read."""

    def __init__(self, token: SessionToken) -> None:
        self.token = token
        self.pending: int | None = None  # a note whose outcome is unknown
        self.written: list[int] = []
        self.seen: list[int] = []


class SimulatedWorld:
    """One store, its replicas and users, and what went wrong."""

    dirty = False  # a mutant: reads show what is not in the order

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = Random(seed)
        self.logs: Logs = defaultdict(list)
        self.order: list[Command] = []
        self.late: list[Command] = []  # sent, and in the order later or never
        self.calm = True  # no answer is lost
        self.tables = [SimulatedTable(self, name) for name in "abc"]
        self.users: list[SimulatedUser] = []
        self.rules: list[tuple[int, tuple[int, ...]]] = []  # a note, and the notes that its writer had seen
        self.certain: list[int] = []
        self.impossible: list[int] = []  # notes whose write was refused
        self.wrong: list[str] = []
        self._notes = 0
        self.identity = str(self.tables[0].identify(f"store {seed}"))

    # the order

    def submit(self, at: SimulatedTable, asked: Command) -> Any:
        """Order a command, as a replica does that confirms it; or lose it, or its answer."""
        fate = (
            "confirmed" if self.calm else self.chance.choice(("confirmed", "confirmed", "late", "lost", "unanswered"))
        )
        if fate == "late":
            self.late.append(asked)
        if fate in ("late", "lost"):
            raise OutcomeUnknown("no answer")
        self.order.append(asked)
        found = at.apply(len(self.order))
        if fate == "unanswered":
            raise OutcomeUnknown("no answer")
        if isinstance(found, GComError):
            raise found
        return found

    def query(self, at: SimulatedTable, name: str, arguments: tuple[Any, ...]) -> Any:
        machine = at.machine
        if self.dirty and name == "read":
            shadow = SimulatedTable(self, "shadow")
            shadow.machine, shadow.applied = RECORDS.machine_of(RECORDS.state_of(machine)), at.applied
            before = len(self.order)
            self.order[before:] = self.late
            shadow.apply(len(self.order))
            del self.order[before:]
            machine = shadow.machine
        return RECORDS.codec.copy(RECORDS.queries[name](machine, *arguments))

    # the users

    def session(self, token: SessionToken, at: SimulatedTable | None = None) -> ClientSession[Notes]:
        table: Any = at or self.chance.choice(self.tables)
        return ClientSession(NOTES, RecordedReplica(table), token, 0.0)

    def open(self) -> SimulatedUser:
        """Open a session for a new user."""
        secret = f"secret {len(self.users)} {self.chance.random()}"
        number = self.chance.choice(self.tables).begin(secret)
        user = SimulatedUser(SessionToken(self.identity, number, secret, GUARANTEES))
        self.users.append(user)
        return user

    def write(self, user: SimulatedUser) -> None:
        """Write a note at some replica; one with an unknown outcome is written again first."""
        note = user.pending
        if note is None:
            self._notes += 1
            note = self._notes
            self.rules.append((note, tuple(user.seen)))
        session = self.session(user.token)
        try:
            session.state.put(note)
        except OutcomeUnknown:
            user.pending = note
            return
        except SessionTimeout:
            return
        except (SessionForked, SessionUnknown):
            # Another holder of this token was first, or has closed it: this one has lost its session.
            if user.pending is None:
                self.impossible.append(note)
            self.users.remove(user)
            return
        user.pending = None
        user.token = SessionToken.decode(session.token)
        user.written.append(note)
        self.certain.append(note)

    def read(self, user: SimulatedUser) -> None:
        """Read all notes at some replica, and check what must be among them."""
        session = self.session(user.token)
        try:
            found = session.state.all()
        except SessionTimeout:
            return
        except SessionUnknown:
            self.users.remove(user)
            return
        if missing := set(user.written) - set(found):
            self.wrong.append(f"RYW: {missing} missing")
        if found[: len(user.seen)] != user.seen:
            self.wrong.append(f"MR: {found} after {user.seen}")
        user.seen, user.token = found, SessionToken.decode(session.token)

    def move(self, user: SimulatedUser) -> None:
        """Have a token travel as text."""
        user.token = SessionToken.decode(user.token.encode())

    def copy(self, user: SimulatedUser) -> None:
        """Have two go on with one token."""
        twin = SimulatedUser(user.token)
        twin.written, twin.seen = list(user.written), list(user.seen)
        if user.pending is None:
            self.users.append(twin)

    def end(self, user: SimulatedUser) -> None:
        """Close a session; nobody may go on with it, once a replica knows."""
        if user.pending is not None or len(self.users) < 3:
            return
        self.calm = True
        table = self.chance.choice(self.tables)
        with suppress(SessionUnknown):
            table.end(user.token.session, user.token.secret)
        self.calm = False
        self.must_raise(SessionUnknown, lambda: self.session(user.token, table).state.all(), "a closed session")
        self.users.remove(user)

    def tamper(self, user: SimulatedUser) -> None:
        """Use tokens that were edited, that are of another store, or that are guessed."""
        text = user.token.encode()
        place = self.chance.randrange(len(PREFIX), len(text))
        other = self.chance.choice([it for it in "ABCDEFGH" if it != text[place]])
        edited = text[:place] + other + text[place + 1 :]
        if place < len(text) - 1:  # bits of the last character may mean nothing
            self.must_raise(BadToken, lambda: SessionToken.decode(edited), "an edited token")
        self.must_raise(BadToken, lambda: SessionToken.decode(text[:place]), "a token that was cut")
        if user.written:
            early = _edited(user.token, write_index=0, read_index=0)
            self.must_raise(
                BadToken, lambda: self.session(SessionToken.decode(early)).state.all(), "a token with earlier places"
            )
        numbers = (user.token.session, user.token.secret, GUARANTEES)
        table = self.chance.choice(self.tables)
        table.apply(len(self.order))
        strange = SessionToken("another store", *numbers)
        self.must_raise(BadToken, lambda: self.session(strange, table).state.all(), "a token of another store")
        guessed = SessionToken(self.identity, user.token.session, "guessed", GUARANTEES)
        self.must_raise(SessionUnknown, lambda: self.session(guessed, table).state.all(), "a guessed session")

    def must_raise(self, kind: type[GComError], act: Callable[[], object], what: str) -> None:
        """Note that something was taken which must be refused."""
        try:
            act()
        except kind:
            return
        except GComError as error:
            self.wrong.append(f"{what} gave {type(error).__name__}")
            return
        self.wrong.append(f"{what} was taken")

    # the run

    def run(self, steps: int) -> list[str]:
        """Let chance act; then heal, and judge the whole. Return what is wrong."""
        for _ in range(2):
            self.open()
        self.calm = False
        for _ in range(steps):
            self._step()
        self.calm = True
        self.order += self.late
        for user in list(self.users):
            while user.pending is not None and user in self.users:
                for table in self.tables:
                    table.apply(len(self.order))
                self.write(user)
        for table in self.tables:
            table.apply(len(self.order))
        self._judge()
        return self.wrong

    def _step(self) -> None:
        table = self.chance.choice(self.tables)
        match self.chance.choice(("lag", "lag", "late", "disk", "restart", "open", *["user"] * 8)):
            case "lag":
                table.apply(self.chance.randint(table.applied, len(self.order)))
            case "late" if self.late:
                self.order.append(self.late.pop(self.chance.randrange(len(self.late))))
            case "disk":
                table.sync()
            case "restart":
                table.restart()
            case "open" if len(self.users) < 4:
                self.calm = True
                self.open()
                self.calm = False
            case "user" if self.users:
                acts = (*[self.write, self.read] * 4, self.move, self.copy, self.end, self.tamper)
                self.chance.choice(acts)(self.chance.choice(self.users))
            case _:
                pass

    def _judge(self) -> None:
        states = {tuple(NOTES.machine_of(it.machine.snapshot()[0]).notes) for it in self.tables}  # type: ignore[attr-defined]
        if len(states) != 1:
            self.wrong.append("replicas differ")
        notes = list(states.pop())
        place = {note: at for at, note in enumerate(notes)}
        if len(place) != len(notes):
            self.wrong.append("a note is there twice")
        self.wrong += [f"note {it} was confirmed, and is not there" for it in self.certain if it not in place]
        self.wrong += [f"note {it} was refused, and is there" for it in self.impossible if it in place]
        for user in self.users:
            at = [place.get(note, -1) for note in user.written]
            if at != sorted(at):
                self.wrong.append(f"MW: {user.written} are at {at}")
        for note, seen in self.rules:
            if note in place and any(place.get(it, len(notes)) > place[note] for it in seen):
                self.wrong.append(f"WFR: note {note} stands before one that its writer had read")


def _edited(token: SessionToken, **fields: Any) -> str:
    """Return a token's text with other fields, and the checksum of before."""
    before, after = (urlsafe_b64decode(it.encode()[len(PREFIX) :] + "==") for it in (token, replace(token, **fields)))
    return PREFIX + urlsafe_b64encode(before[:4] + after[4:]).decode().rstrip("=")
