"""The rules about rights at a member of a secure group: learned from the registry, and held against the other members.

The registry refuses what it is asked, but a process may leave it out, and ask the members alone. So each node asks the
registry for the rules each second, and judges every frame and reply by them before its group sees it:

  * a process that may not join is not admitted, and one that may not any more is heard by nobody, so it is put out;
  * a process that may not send is heard, but nothing that it sent. One that lost this right is put out, since a message
    of its may have reached some members and not others: a view change settles that. It comes back as a receiver.

If a registry does not answer, its last rules stay in force; of several, each may deny. Where members learn of a change
at unlike times, what one refuses too early is sent again; a node itself uses a new right to send only when the others
had time to learn of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from threading import Event, Lock
from time import monotonic
from typing import Any

from loguru import logger

from gcom.core.messages.frames import Frame, Join, JoinRefused, Status
from gcom.errors import BadValue, GComError, NotPermitted, PeerError, RegistryUnavailable, Unavailable, Untrusted
from gcom.runtime import pyro
from gcom.values import names
from gcom.values.envelope import Kind
from gcom.values.identity import Identity
from gcom.values.names import Address, Process
from gcom.values.rights import Right, RightsTable, table_of

ASK_S = 1.0  # a right that was taken away ends within a second or two, and a question costs next to nothing
ASK_AGAIN_S = 0.05  # between questions, where a process was refused by rules that may be old
CALL_S = 2.5  # as long as any other call
SETTLE_S = 3.0  # for others to learn of a right to send
KNOWN_MAX = 4096  # answers and processes remembered; beyond that the oldest are forgotten
# Answers are not among these: who may not send may still be asked, and its asker must not wait in vain.
_ASKS = (Kind.UNICAST, Kind.REQUEST)


class RegistryRules:
    """The rules of one registry, as it told them last; `run` is the work of one thread, until `closing` is set."""

    def __init__(self, registry: Address, credentials: pyro.Credentials, closing: Event) -> None:
        self.table: RightsTable | None = None  # until it has answered
        self.before = RightsTable()
        self.changed_s, self.learned_s = -SETTLE_S, 0.0
        self.ask_soon = Event()
        self._registry = registry
        self._closing = closing
        self._digest = ""
        self._caller = pyro.Caller(registry, pyro.RIGHTS, credentials)

    def run(self, on_change: Callable[[], None]) -> None:
        """Keep the rules up to date."""
        told = ""
        with closing(self._caller):
            while not self._closing.is_set():
                self.ask_soon.wait(ASK_S)
                self.ask_soon.clear()
                try:
                    if self.learn():
                        on_change()
                    told = ""
                except (Unavailable, Untrusted):
                    pass  # it is down, or says to the certificate's upkeep what is wrong: the last rules stay
                except GComError as error:
                    if str(error) != told:
                        logger.warning("no rules about rights from registry {}: {}", self._registry, error)
                    told = str(error)
                    self._closing.wait(ASK_S)
                self._closing.wait(ASK_AGAIN_S)

    def close(self) -> None:
        """Let go of the registry, where no thread runs."""
        self._caller.close()

    def learn(self) -> bool:
        """Ask for the rules; return whether they are new. Raises Unavailable, PeerError."""
        asked_s, known = monotonic(), self.table
        # With the digest of what is known: nearly always the answer is that nothing has changed.
        match pyro.unpack(self._caller.call(pyro.pack({"ask": "rights", "have": self._digest}), CALL_S)):
            case {"digest": str() as digest, "rules": rows}:
                try:
                    table = table_of(rows)
                except BadValue as error:
                    raise PeerError(f"malformed rules about rights: {error}") from error
                # What was in force until now: a right to send that is new
                # counts here only when the others have had time to learn of it.
                self.before, self.changed_s = known or table, monotonic() if known else -SETTLE_S
                self.table, self._digest = table, digest
            case {"digest": self._digest}:
                pass
            case _:
                raise PeerError("malformed answer to a question for the rules about rights")
        # The time of the question, not of the answer: a change that came between the two may not be in it.
        self.learned_s = asked_s
        return self.table is not known


class MemberRights:
    """The rules as this node knows them; what one registry denies is denied. Any thread may ask."""

    def __init__(self, registries: Sequence[Address], credentials: pyro.Credentials, closing: Event) -> None:
        """Learn the rules of those that answer; raises RegistryUnavailable if none does, PeerError."""
        self._sources = [RegistryRules(at, credentials, closing) for at in registries]
        self._lock = Lock()
        self._answers: dict[tuple[Right, str, str], bool] = {}
        self._sent: dict[tuple[str, Process], bool] = {}  # whether it had the right to send, when it was heard last
        self._asked_s: dict[tuple[str, Process], float] = {}  # who waits for an answer to its Join, since when
        try:
            self._learn_first()
        except GComError:
            for source in self._sources:
                source.close()
            raise

    def _learn_first(self) -> None:
        why: Unavailable | None = None
        for source in self._sources:
            try:
                source.learn()
            except Unavailable as error:
                why = error
        if why is not None and not self._known:
            raise RegistryUnavailable(f"no answer from the registry for its rules about rights: {why}") from why

    @property
    def works(self) -> list[Callable[[], None]]:
        """The work of one thread for each registry."""
        return [partial(source.run, self._forget_answers) for source in self._sources]

    @property
    def _known(self) -> list[tuple[RegistryRules, RightsTable]]:
        return [(source, source.table) for source in self._sources if source.table is not None]

    def close(self) -> None:
        """Wake the threads, once `closing` is set."""
        self._ask_soon()

    def _ask_soon(self) -> None:
        for source in self._sources:
            source.ask_soon.set()

    def _forget_answers(self) -> None:
        with self._lock:
            self._answers = {}

    def judge(self, frame: Frame) -> Frame | None:
        """Return the answer to a frame that is not for the group to see; raises Untrusted, or returns None."""
        name, key = names.name_of(frame.source), (frame.group, frame.source)
        if self._may(Right.JOIN, name, frame.group):
            self._judge_data(frame, name)
            return None
        self._ask_soon()
        if not any(isinstance(item, Join) for item in frame.control):
            raise Untrusted(_words(Right.JOIN, name, frame.group))
        head = frame.group, frame.instance, frame.target, frame.source, Status(0)
        with self._lock:
            asked_s = self._asked_s.setdefault(key, monotonic())
            _bound(self._asked_s)
            denying = [source for source, table in self._known if not table.may(Right.JOIN, name, frame.group)]
            # Rules that are older than its question may be too old: it asks again with its next heartbeat.
            if any(source.learned_s <= asked_s for source in denying):
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
        return all(table.administers(who, group) for _, table in self._known)

    def permits(self, who: Identity, right: Right, group: str) -> bool:
        """Tell whether an identity has a right in a group, as a process that is no member of it."""
        return any(self._may(right, name, group) for name in who.members)

    @property
    def in_force(self) -> object:
        """The identity of the rules in force: another object once they have changed."""
        return self._answers

    def raise_if_silent(self, name: str, group: str) -> object:
        """Raise NotPermitted where this node, of that name, may not send; return `in_force`, for which it may."""
        in_force = self.in_force  # before they are looked at: they may change meanwhile
        if not self._may(Right.SEND, name, group):
            raise NotPermitted(_words(Right.SEND, name, group))
        fresh = [source for source in self._sources if monotonic() - source.changed_s < SETTLE_S]
        if not all(source.before.may(Right.SEND, name, group) for source in fresh):
            text = f"{name} may send in group {group!r} since just now: try again in {SETTLE_S:.0f} s, when all know it"
            raise NotPermitted(text)
        return in_force

    def raise_if_outside(self, name: str, group: str) -> None:
        """Raise NotPermitted where this node, of that name, may not join."""
        if not self._may(Right.JOIN, name, group):
            raise NotPermitted(_words(Right.JOIN, name, group))

    def _judge_data(self, frame: Frame, name: str) -> None:
        may, key = self._may(Right.SEND, name, frame.group), (frame.group, frame.source)
        with self._lock:
            # The right that it had when it was first heard. Who never had it is heard as a receiver;
            # who had it and lost it is not heard at all, so it is put out, and comes back as one.
            had = self._sent.setdefault(key, may)
            if may and not had:
                self._sent[key] = True
            _bound(self._sent)
        if not may and (had or _has_data(frame)):
            self._ask_soon()
            raise Untrusted(_words(Right.SEND, name, frame.group))

    def _may(self, right: Right, name: str, group: str) -> bool:
        # Without the lock, since each frame asks twice: a lookup in a dict
        # is one step, and an answer that is missed is only computed again.
        found = self._answers.get((right, name, group))
        if found is not None:
            return found
        with self._lock:
            found = all(table.may(right, name, group) for _, table in self._known)
            self._answers[right, name, group] = found
            _bound(self._answers)
        return found


def _has_data(frame: Frame) -> bool:
    """Tell whether a frame has messages of its source, or claims to; messages that it relays do not count."""
    runs = any(run.sender == frame.source for run in frame.runs)
    own = runs or any(fragment.sender == frame.source for fragment in frame.fragments)
    return own or frame.status.sent > 0 or any(envelope.kind in _ASKS for envelope in frame.envelopes)


def _words(right: Right, name: str, group: str) -> str:
    text = f"{name} may not {right} in group {group!r}, by the registry's rules: its operator can change that"
    return f"{text} (gcom-registry allow {right} {name} --group {group})"


def _bound(known: dict[Any, Any]) -> None:
    """Forget the oldest half once the bound is passed."""
    if len(known) > KNOWN_MAX:
        for key in list(known)[: KNOWN_MAX // 2]:
            del known[key]
