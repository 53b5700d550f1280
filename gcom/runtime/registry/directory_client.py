"""The client of the directory that one registry keeps, or several together (gcom/core/directory/several.py)."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, RLock
from time import monotonic

from gcom import errors
from gcom.core.directory.several import Answers, Homes, Puts, converse, within
from gcom.core.messages.registry import (
    Answer,
    Create,
    Entries,
    Fork,
    GroupInfo,
    ListGroups,
    Lookup,
    Refusal,
    Remove,
    Request,
)
from gcom.runtime import pyro
from gcom.runtime.registry.registry_client import RegistryClient
from gcom.runtime.security.process import Security, credentials_for
from gcom.values import names
from gcom.values.definition import Definition, unsigned
from gcom.values.names import Address

STARTING_S, STARTING_POLL_S = 15.0, 0.25  # how long a registry that starts is waited for, and how often it is asked
_WORKERS = 8  # that ask several registries at once


class DirectoryClient:
    """A client of the registry at `address`, or of several, `HOST:PORT,HOST:PORT`; any thread may ask.

    Every method raises RegistryUnavailable within `timeout_s` seconds if there is no registry, and VersionMismatch if
    it speaks another protocol version.
    """

    def __init__(
        self,
        address: Address,
        timeout_s: float = 2.5,
        put: Callable[[pyro.Caller, bytes, float], bytes] = pyro.Caller.call,
        credentials: Security | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Have calls made by `put`, in place of `Caller.call`, and with credentials, else as this user may.

        `tell` is called, in any thread, with a sentence when one of several registries stops to answer while others do.
        Raises BadValue for an address off loopback where this user has no identity.
        """
        self.addresses = names.addresses(address)
        self.address = self.addresses[0]
        credentials = credentials or credentials_for(self.address)
        self._secure = isinstance(credentials, pyro.Credentials)
        self._each = {at: RegistryClient(at, timeout_s, put, credentials) for at in self.addresses}
        self._homes, self._lock = Homes(), RLock()  # a signal's handler may ask, too
        self._tell, self._silent = tell, set[Address]()  # those of which it was told, and that have not answered since
        self._workers = ThreadPoolExecutor(_WORKERS, "gcom registries")  # without a thread until several are asked
        self._closed = Event()

    def ask(self, request: Request) -> Answer:
        """Return the directory's answer; a refusal is an answer."""
        if len(self.addresses) == 1:
            return self._ask_only(request)
        # Which registry is put what, and what the answers mean together, is the pure core's to say: the simulator
        # runs the same conversation.
        talk = converse(request, self.addresses, self._homes)
        failures: list[errors.GComError] = []
        answers: Answers | None = None
        try:
            while True:
                with self._lock:  # of the homes; not while registries are asked
                    puts = next(talk) if answers is None else talk.send(answers)
                answers = self._ask_each(puts, failures)
        except StopIteration as over:
            answer: Answer | None = over.value
        if answer is not None:
            return answer
        if failures:
            # The first of the list: users name their usual registry
            # first, and its trouble is the one that they can mend.
            raise failures[0]
        raise errors.RegistryUnavailable("no registry has told which of them is the group's home: look it up first")

    def _ask_only(self, request: Request) -> Answer:
        answer = self._each[self.address].ask(request)
        if not isinstance(request, Create | Lookup):
            return answer
        # A copy, of a group that is at home at a registry which is not in the list.
        return within(answer, self.addresses) or answer

    def _ask_each(self, puts: Puts, failures: list[errors.GComError]) -> dict[Address, Answer | None]:
        """Put requests to several registries at once; one that does not answer says nothing."""
        try:
            # All at once: one after the other, a registry that is off would cost each request its whole time.
            asked = {at: self._workers.submit(self._each[at].ask, request) for at, request in puts.items()}
        except RuntimeError as error:  # what submit raises after shutdown
            raise errors.RegistryUnavailable("the registries are not asked any more: this client is closed") from error
        answers: dict[Address, Answer | None] = {}
        failed: dict[Address, errors.GComError] = {}
        for at, future in asked.items():
            try:
                answers[at] = future.result()
            except errors.GComError as error:
                answers[at], failed[at] = None, error
        failures += failed.values()
        self._tell_silent([at for at in answers if at not in failed], failed)
        return answers

    def _tell_silent(self, answered: list[Address], failed: dict[Address, errors.GComError]) -> None:
        """Tell of each registry that does not answer, once until it does. Where none does, the request fails anyway."""
        with self._lock:
            news = {at: error for at, error in failed.items() if answered and at not in self._silent}
            self._silent = (self._silent | news.keys()) - set(answered)
        if self._tell is not None:
            for at, error in news.items():
                self._tell(f"registry {at} does not answer, {' and '.join(answered)} did: {error}")

    def groups(self) -> tuple[GroupInfo, ...]:
        """Return all groups, sorted by name."""
        found: list[GroupInfo] = []
        more = True
        while more:
            page = _accepted(self.ask(ListGroups(found[-1].definition.group if found else "")))
            # A page with nothing on it that promises more would be asked for again without end.
            if not isinstance(page, Entries) or (page.more and not page.groups):
                raise errors.PeerError(f"registry {self.address} answered a list with {type(page).__name__}")
            found += page.groups
            more = page.more
        return tuple(found)

    def lookup(self, group: str) -> GroupInfo:
        """Return a group; raises UnknownGroup."""
        return self._entry(Lookup(names.group_name(group)))

    def create(self, definition: Definition) -> GroupInfo:
        """Make a group, or return the equal one that is there; raises GroupExists if its definition is another.

        Raises BadValue for a signed one where this process has no certificate.
        """
        if definition.signed and not self._secure:
            raise errors.BadValue(unsigned(definition))
        return self._entry(Create(definition))

    def remove(self, group: str) -> None:
        """Remove an empty group; raises UnknownGroup, GroupInUse."""
        _accepted(self.ask(Remove(names.group_name(group))))

    def fork(self, entry: GroupInfo) -> None:
        """Let what is left of the entry's group begin a successor without proof; raises UnknownGroup, Unavailable."""
        _accepted(self.ask(Fork(entry.definition.group, entry.instance)))

    def starting(self) -> bool:
        """Tell whether the registry gives no name away yet, since groups that have one may still register."""
        # A registry that starts refuses what it does not know, instead of saying that it is not there.
        answer = self.ask(Lookup(f"none-{secrets.token_hex(8)}"))  # of a name that it does not know it says so
        return isinstance(answer, Refusal) and answer.code == "RegistryStarting"

    def close(self) -> None:
        """Drop the connections; requests in progress go on."""
        self._closed.set()
        self._workers.shutdown(wait=False)
        for each in self._each.values():
            each.close()

    def __repr__(self) -> str:
        return f"<gcom.Directory at {','.join(self.addresses)}>"

    def _entry(self, request: Request) -> GroupInfo:
        answer = _accepted(self._ask_once_started(request))
        if not isinstance(answer, GroupInfo):
            raise errors.PeerError(f"registry {self.address} answered a {type(request).__name__} with {answer!r:.80}")
        return answer

    def _ask_once_started(self, request: Request) -> Answer:
        """Ask again until the registry has started, `STARTING_S` at most: it gives no name away for some seconds."""
        deadline = monotonic() + STARTING_S
        while True:
            answer = self.ask(request)
            starting = isinstance(answer, Refusal) and answer.code == "RegistryStarting"
            # No sleep: a thread that waits for a registry to start must end when this client is closed.
            if not starting or monotonic() >= deadline or self._closed.wait(STARTING_POLL_S):
                return answer


def _accepted(answer: Answer) -> Answer:
    """Raise what a refusal says, as the exception of that name."""
    if isinstance(answer, Refusal):
        raise errors.error_of(answer.code, answer.text)
    return answer
