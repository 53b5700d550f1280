"""Requests of a node's groups to its registry: one thread puts them, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from queue import SimpleQueue
from threading import Condition, Lock
from typing import Protocol

from gcom.core.messages.registry import Answer, Done, GroupInfo, Lookup, Refusal, Request, Unregister
from gcom.core.multicast.signing import RunSigner
from gcom.errors import GComError
from gcom.runtime.registry import last_words
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.registry.last_words import LastWord
from gcom.values.names import GroupName, InstanceId


class Asker(Protocol):
    """A session, which takes the answer, or why there is none."""

    def on_registry(self, request: Request, answer: Answer | None, failure: GComError | None) -> None: ...


class RegistryRequests:
    """The queue and its thread. Any thread may put a request; a registry that hangs holds up the requests alone."""

    def __init__(self, directory: DirectoryClient, signer: RunSigner | None) -> None:
        self._directory, self._signer = directory, signer
        self._requests: SimpleQueue[tuple[Asker, Request] | None] = SimpleQueue()
        self._owed: dict[tuple[GroupName, InstanceId], Unregister] = {}  # by groups that this node left as the last
        self._answered = Condition(Lock())
        self.unregistered: tuple[GroupName, ...] = ()  # groups of which the registry lists members that have all left

    def put(self, asker: Asker, request: Request) -> None:
        if isinstance(request, Unregister):
            request = last_words.signed(request, self._signer)
            with self._answered:
                self._owed[request.group, request.instance] = request
        self._requests.put((asker, request))

    def serve(self) -> None:
        """Put the requests, until `close`; first of all the last words of nodes that are over."""
        for word in last_words.kept():
            self._hand_in(word)
        while (item := self._requests.get()) is not None:
            asker, request = item
            answer: Answer | None = None
            failure: GComError | None = None
            try:
                answer = self._directory.ask(request)
            except GComError as error:
                failure = error
            if isinstance(request, Unregister):
                self._on_unregistered(request, answer)
            asker.on_registry(request, answer, failure)

    def _on_unregistered(self, request: Unregister, answer: Answer | None) -> None:
        # A refusal is an answer: the entry is newer, or another instance.
        if not isinstance(answer, Done | Refusal):
            return
        with self._answered:
            self._owed.pop((request.group, request.instance), None)
            self._answered.notify_all()

    def await_owed(self, timeout_s: float) -> None:
        """Wait until the registry has answered for the groups that this node left as the last."""
        with self._answered:
            self._answered.wait_for(lambda: not self._owed, timeout_s)

    def close(self) -> None:
        """End the thread, once it has put what is queued."""
        self._requests.put(None)

    def keep_owed(self) -> None:
        """Keep on the disk what no registry has answered; no request is put any more."""
        with self._answered:
            owed, self._owed = list(self._owed.values()), {}
        for request in owed:
            last_words.keep(request, self._directory.addresses)
        self.unregistered = tuple(request.group for request in owed)

    def _hand_in(self, word: LastWord) -> None:
        """Tell the registry a last word, if it lists the group; forget it, if it is the registry that should know."""
        try:
            listed = self._directory.ask(Lookup(word.request.group))
            if isinstance(listed, GroupInfo) and listed.instance == word.request.instance:
                answer: Answer = self._directory.ask(word.request)
            else:
                answer = listed
        except GComError:
            return  # the next node will try again
        # A registry that moved is another address, and knows the group. One that does not may be a stranger to it.
        if isinstance(answer, Done) or _meets(word.registries, self._directory.addresses):
            last_words.drop(word.path)


def _meets(some: Sequence[str], others: Sequence[str]) -> bool:
    return not set(some).isdisjoint(others)
