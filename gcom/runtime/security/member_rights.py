"""The rules about rights at a member of a secure group: learned from the registry, and held against the other members.

The registry refuses what it is asked, but a process may leave it out, and ask the members alone. So each node asks the
registry for the rules each second, and judges every frame and reply by them before its group sees it:

  * a process that may not join is not admitted, and one that may not any more is heard by nobody, so it is put out;
  * a process that may not send is heard, but nothing that it sent. One that lost this right is put out, since a message
    of its may have reached some members and not others: a view change settles that. It comes back as a receiver.

If the registry does not answer, the last rules stay in force. Where members learn of a change at unlike times, what one
refuses too early is sent again; a node itself uses a new right to send only when the others had time to learn of it.
"""

from __future__ import annotations

from contextlib import closing
from threading import Event, Lock
from time import monotonic
from typing import Any

from loguru import logger

from gcom.core.messages.frames import Frame, Join, JoinRefused, Status
from gcom.errors import BadValue, GComError, NotPermitted, PeerError, RegistryUnavailable, Unavailable, Untrusted
from gcom.runtime import pyro
from gcom.values import names
from gcom.values.identity import Identity
from gcom.values.letter import Kind
from gcom.values.names import Address, Process
from gcom.values.rights import Right, RightsTable, table_of

ASK_S = 1.0
HURRY_S = 0.05  # between questions, where a process was refused by rules that may be old
CALL_S = 2.5
SETTLE_S = 3.0  # for others to learn of a right to send
KNOWN_MAX = 4096  # answers and processes remembered; beyond that the oldest are forgotten
_ASKS = (Kind.UNICAST, Kind.REQUEST)


class MemberRights:
    """The rules as this node knows them. Any thread may ask; `run` is the work of one, until `closing` is set."""

    def __init__(self, registry: Address, credentials: pyro.Credentials, closing: Event) -> None:
        """Learn the rules; raises RegistryUnavailable, PeerError."""
        self._registry = registry
        self._credentials = credentials
        self._closing = closing
        self._hurry = Event()
        self._lock = Lock()
        self._table, self._before = RightsTable(), RightsTable()
        self._digest, self._changed_s, self._learned_s = "", -SETTLE_S, 0.0
        self._answers: dict[tuple[Right, str, str], bool] = {}
        self._sent: dict[tuple[str, Process], bool] = {}  # whether it had the right to send, when it was heard last
        self._asked_s: dict[tuple[str, Process], float] = {}  # who waits for an answer to its Join, since when
        self._caller = pyro.Caller(registry, pyro.RIGHTS, credentials)
        try:
            self._learn()
        except Unavailable as error:
            self._caller.close()
            raise RegistryUnavailable(f"no answer from the registry for its rules about rights: {error}") from error
        except GComError:
            self._caller.close()
            raise
        self._before = self._table

    def run(self) -> None:
        """Keep the rules up to date."""
        with closing(self._caller):
            while not self._closing.is_set():
                self._hurry.wait(ASK_S)
                self._hurry.clear()
                try:
                    self._learn()
                except Unavailable:
                    pass  # it is down: the last rules stay
                except GComError as error:
                    logger.warning("no rules about rights from registry {}: {}", self._registry, error)
                    self._closing.wait(ASK_S)
                self._closing.wait(HURRY_S)

    def close(self) -> None:
        """Wake the thread, once `closing` is set."""
        self._hurry.set()

    def judge(self, frame: Frame) -> Frame | None:
        """Return the answer to a frame that is not for the group to see; raises Untrusted, or returns None."""
        name, key = names.name_of(frame.source), (frame.group, frame.source)
        if self._may(Right.JOIN, name, frame.group):
            self._judge_data(frame, name)
            return None
        self._hurry.set()
        if not any(isinstance(item, Join) for item in frame.control):
            raise Untrusted(_words(Right.JOIN, name, frame.group))
        head = frame.group, frame.instance, frame.target, frame.source, Status(0)
        with self._lock:
            asked_s = self._asked_s.setdefault(key, monotonic())
            _bound(self._asked_s)
            # Rules that are older than its question may be too old: it asks again with its next heartbeat.
            if self._learned_s <= asked_s:
                return Frame(*head)
            del self._asked_s[key]
        return Frame(*head, (JoinRefused("NotPermitted", _words(Right.JOIN, name, frame.group)),))

    def judge_reply(self, reply: Frame) -> None:
        """Raise Untrusted for a reply that the group must not see."""
        name = names.name_of(reply.source)
        if not self._may(Right.JOIN, name, reply.group):
            raise Untrusted(_words(Right.JOIN, name, reply.group))
        self._judge_data(reply, name)

    def administers(self, who: Identity, group: str) -> bool:
        """Tell whether an identity is an administrator of a group."""
        return self._table.administers(who, group)

    def raise_if_silent(self, name: str, group: str) -> None:
        """Raise NotPermitted where this node, of that name, may not send."""
        if not self._may(Right.SEND, name, group):
            raise NotPermitted(_words(Right.SEND, name, group))
        fresh = monotonic() - self._changed_s < SETTLE_S
        if fresh and not self._before.may(Right.SEND, name, group):
            text = f"{name} may send in group {group!r} since just now: try again in {SETTLE_S:.0f} s, when all know it"
            raise NotPermitted(text)

    def _judge_data(self, frame: Frame, name: str) -> None:
        may, key = self._may(Right.SEND, name, frame.group), (frame.group, frame.source)
        with self._lock:
            had = self._sent.setdefault(key, may)
            if may and not had:
                self._sent[key] = True
            _bound(self._sent)
        if not may and (had or _has_data(frame)):
            self._hurry.set()
            raise Untrusted(_words(Right.SEND, name, frame.group))

    def _may(self, right: Right, name: str, group: str) -> bool:
        found = self._answers.get((right, name, group))
        if found is not None:
            return found
        with self._lock:
            found = self._answers[right, name, group] = self._table.may(right, name, group)
            _bound(self._answers)
        return found

    def _learn(self) -> None:
        """Ask for the rules, and put those in force that are new. Raises Unavailable, PeerError."""
        asked_s = monotonic()
        match pyro.unpack(self._caller.call(pyro.pack({"ask": "rights", "have": self._digest}), CALL_S)):
            case {"digest": str() as digest, "rules": rows}:
                try:
                    table = table_of(rows)
                except BadValue as error:
                    raise PeerError(f"its rules about rights are none: {error}") from error
                with self._lock:
                    self._before, self._table, self._digest, self._answers = self._table, table, digest, {}
                    self._changed_s = monotonic()
            case {"digest": self._digest}:
                pass
            case _:
                raise PeerError("its answer to a question for its rules about rights is none")
        with self._lock:
            self._learned_s = asked_s


def _has_data(frame: Frame) -> bool:
    """Tell whether a frame has messages of its source, or claims that there are some. What it passes on is others'."""
    runs = any(run.sender == frame.source for run in frame.runs)
    own = runs or any(piece.sender == frame.source for piece in frame.pieces)
    return own or frame.status.sent > 0 or any(letter.kind in _ASKS for letter in frame.letters)


def _words(right: Right, name: str, group: str) -> str:
    text = f"{name} may not {right} in group {group!r}, by the registry's rules: its operator can change that"
    return f"{text} (gcom-registry allow {right} {name} --group {group})"


def _bound(known: dict[Any, Any]) -> None:
    """Forget the oldest half of what is too much."""
    if len(known) > KNOWN_MAX:
        for key in list(known)[: KNOWN_MAX // 2]:
            del known[key]
