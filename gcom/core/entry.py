"""How a process gets into a group: look it up, then claim an empty one or ask its leader (GCom 2009 §2.3, §4.1.10).

    start ── Create or Lookup ──► entry ──┬─ nobody in it ──────────► Claim ──► first member of view 1
                                          └─ members ──► Join to each in turn, oldest first ──► Install
                                                           │ Redirect: ask that one first
                                                           └ none answers: look again; once the lease has run out, Claim

Every question is asked again until the caller gives up; the machine keeps the last reason why it is not in.
"""

from __future__ import annotations

from dataclasses import dataclass

from gcom import errors
from gcom.core.directory import Answer, Claim, Create, Entry, Lookup, Refusal, Request
from gcom.core.frames import JoinRefused, Redirect
from gcom.errors import GComError, NotInvited, PeerError, RegistryUnavailable
from gcom.values import limits, names
from gcom.values.definition import Definition
from gcom.values.names import Address, Process


@dataclass(frozen=True, slots=True)
class Ask:
    """Put a request to the registry."""

    request: Request


@dataclass(frozen=True, slots=True)
class Approach:
    """Ask this process to be admitted."""

    process: Process
    address: Address


@dataclass(frozen=True, slots=True)
class First:
    """The claim was granted: this process is the only member of view 1."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Failed:
    error: GComError


Out = Ask | Approach | First | Failed


class Entering:
    """One process on its way in. `target` is whom it asks now."""

    def __init__(self, group: str, process: Process, address: Address, create: Definition | None) -> None:
        self._group = group
        self._process = process
        self._address = address
        self._create = create
        self.entry: Entry | None = None
        self.target: Process | None = None
        self.waits_for = "the registry"
        self._candidates: list[tuple[Process, Address]] = []
        self._unreached: set[Process] = set()
        self._refused: set[Process] = set()  # of these, whose machine says that nobody is there
        self._again_ms: int | None = None

    def start(self) -> list[Out]:
        return [Ask(Create(self._create) if self._create else Lookup(self._group))]

    def on_answer(self, request: Request, answer: Answer | None) -> list[Out]:
        """The registry's answer, or that there was none."""
        if answer is None:
            return [Failed(RegistryUnavailable("the registry does not answer"))]
        if isinstance(answer, Refusal):
            return self._on_refusal(answer)
        if not isinstance(answer, Entry):
            return [Failed(PeerError(f"the registry answered {type(answer).__name__} to {type(request).__name__}"))]
        self.entry = answer
        if isinstance(request, Claim) and answer.members == (self._process,):
            return [First(answer)]
        return self._on_entry(answer)

    def _on_refusal(self, refusal: Refusal) -> list[Out]:
        if refusal.code == "Stale":  # somebody else was faster: look again
            return [Ask(Lookup(self._group))]
        if refusal.code == "UnknownGroup" and self._create:  # its last member took it along: make it again
            return self.start()
        return [Failed(error_of(refusal.code, refusal.text))]

    def _on_entry(self, entry: Entry) -> list[Out]:
        mine = names.name_of(self._process)
        if entry.definition.static and mine not in entry.definition.static:
            return [Failed(NotInvited(uninvited(entry.definition, mine)))]
        if not entry.members:
            self.waits_for = "the registry to grant the first place"
            return [Ask(Claim(entry.definition.group, entry.instance, 0, self._process, self._address))]
        # Its own name may be listed, by a leader that admitted it and died before it said so: there is nobody to ask.
        self._unreached = {self._process}
        self._refused = {self._process}
        self._candidates = list(zip(entry.members, entry.addresses, strict=True))
        return self._approach_next()

    def _approach_next(self) -> list[Out]:
        left = [candidate for candidate in self._candidates if candidate[0] not in self._unreached]
        if not left:
            self.target = None
            return []
        self.target = left[0][0]
        self.waits_for = f"{self.target} at {left[0][1]} to admit it"
        return [Approach(*left[0])]

    def on_unreached(self, peer: Process, refused: bool, now_ms: int) -> list[Out]:
        """A member did not answer twice; `refused`: nobody listens there, or not that process."""
        if peer != self.target:
            return []
        self._unreached.add(peer)
        if refused:
            self._refused.add(peer)
        following = self._approach_next()
        if not following:
            self.waits_for = "any member of the group to answer"
            self._again_ms = now_ms + limits.JOIN_RETRY_MS
        return following

    def on_reply(self, source: Process, item: Redirect | JoinRefused, now_ms: int) -> list[Out]:
        """What a member answered to the Join."""
        if source != self.target:
            return []
        if isinstance(item, JoinRefused):
            return [Failed(error_of(item.code, item.text))]
        if item.process in self._unreached or item.process == self._process:
            # Its leader is being replaced, or is there again: look once more in a while, and ask all anew.
            self._again_ms = now_ms + limits.JOIN_RETRY_MS if self._again_ms is None else self._again_ms
            return []
        self._candidates.insert(0, (item.process, item.address))
        return self._approach_next()

    def tick(self, now_ms: int) -> list[Out]:
        """Nobody could be reached: claim if the group is dead, else look again."""
        if self._again_ms is None or now_ms < self._again_ms or self.entry is None:
            return []
        self._again_ms = None
        entry = self.entry
        if entry.alive or not self._refused.issuperset(entry.members):
            return [Ask(Lookup(self._group))]
        return [Ask(Claim(self._group, entry.instance, entry.view, self._process, self._address, dead=True))]


def error_of(code: str, text: str) -> GComError:
    """The exception that a peer named, or PeerError for a name that is none of ours."""
    kind = getattr(errors, code, None)
    if isinstance(kind, type) and issubclass(kind, GComError):
        return kind(text)
    return PeerError(f"{code}: {text}")


def uninvited(definition: Definition, name: str) -> str:
    """Why a stranger is kept out of a static group."""
    return (
        f"{name!r} is not a member of the static group {definition.group!r}: allowed are {', '.join(definition.static)}"
    )
