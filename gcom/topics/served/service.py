"""The object that a server serves: it carries out the requests of clients, here or at the server of their topic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from loguru import logger

from gcom.errors import GComError, MalformedFrame, Unavailable
from gcom.runtime import pyro
from gcom.topics.errors import ReceiptUnknown, StoreClosed
from gcom.topics.served import callers, codec, fence, operations, requests
from gcom.topics.served.line import ATTEMPT_S, ServerAddress
from gcom.topics.served.parts import PartsServer, packed_answer
from gcom.topics.served.requests import DONE, GONE, LOST, WrittenCall
from gcom.topics.served.routing import Alone, Route, Routing
from gcom.topics.storage import topics
from gcom.topics.storage.commits import Commits
from gcom.topics.storage.topics import TopicInfo
from gcom.topics.storage.transaction import job

NEWS_S_MAX = 5.0  # of one long poll


class TopicsService:
    """The handler of requests, in any thread. `life` tells one start of a server from the next."""

    def __init__(self, commits: Commits | None, life: str) -> None:
        self._own, self._life = commits, life
        self.routing: Routing = Alone()
        self._parts = PartsServer(self._handle)
        self._kinds: dict[str, Callable[..., list[object]]] = {
            requests.CALL: self._call,
            requests.ASK: self._ask,
            requests.NEWS: self._news,
            requests.GREET: self._greet,
            requests.LEAVE: self._leave,
        }

    def receive(self, frame: bytes) -> bytes:
        """Take a call of Pyro5's; return the answer."""
        return self._parts.receive(frame)

    @property
    def _commits(self) -> Commits:
        if self._own is None:
            raise Unavailable("a proxy has no store of its own: the topic's server is asked again")
        return self._own

    def _handle(self, data: bytes) -> bytes:
        try:
            kind, words = requests.read_request(data)
            if forwarded := kind == requests.FORWARDED:
                kind, *words = words
            if kind not in self._kinds:
                raise MalformedFrame(f"no request {kind!r:.40} is known here: the client is of another version")
            return packed_answer([DONE, *self._kinds[kind](forwarded, *words)])
        except (StoreClosed, Unavailable) as error:
            return packed_answer([GONE, str(error)])
        except GComError as error:
            return packed_answer(requests.packed_error(error))
        except TypeError as error:
            return packed_answer(requests.packed_error(MalformedFrame(f"not a request: {error}")))

    def _route(self, topic: str, forwarded: bool, *, writes: bool) -> Route:
        """Return the route of a topic. What was forwarded is not forwarded again: catalogs differ for a moment."""
        route = self.routing.of(topic, writes=writes)
        if forwarded and route.peer is not None:
            raise Unavailable(f"the topic {topic!r} has another server since now: it is asked again")
        return route

    def _elsewhere(self, route: Route, kind: str, *words: object, wait_s: float = 0.0) -> list[object] | None:
        """Return what another server answers; None where this one is asked."""
        if route.peer is None:
            return None
        return self.routing.line(route.peer).once(
            requests.request(requests.FORWARDED, kind, *words), wait_s + ATTEMPT_S
        )

    def _greet(self, forwarded: bool, client: str, topic: str, writes: bool) -> list[object]:
        checked_client(client)
        route = self._route(topic, forwarded, writes=writes)
        if (told := self._elsewhere(route, requests.GREET, client, topic, writes)) is not None:
            return told
        self._commits.call(job(callers.greet, client))
        return [self._commits.name, self._commits.id, self._commits.durable]

    def _leave(self, forwarded: bool, client: str, topic: str) -> list[object]:
        route = self._route(topic, forwarded, writes=False)
        if (told := self._elsewhere(route, requests.LEAVE, client, topic)) is not None:
            return told
        self._commits.call(job(callers.forget, checked_client(client)))
        return []

    def _ask(self, forwarded: bool, topic: str, name: str, arguments: Any) -> list[object]:
        if not topic and name == "listed" and not forwarded:
            return self._listed()
        route = self._route(topic, forwarded, writes=False)
        if (told := self._elsewhere(route, requests.ASK, topic, name, arguments)) is not None:
            return told
        seen = self._commits.commits  # before the answer is looked for: it may lack what comes after it
        found = self._commits.ask(operations.read_call(name, arguments, reads=True))
        return [self._life, seen, codec.in_rows(found)]

    def _listed(self) -> list[object]:
        """Return the topics of all stores."""
        found = list[TopicInfo]()
        for route in self.routing.stores():
            told: Any = self._elsewhere(route, requests.ASK, "", "listed", [])
            found += told[2] if told is not None else self._commits.ask(job(topics.listed))
        return [self._life, 0, sorted(found, key=lambda it: it.name)]

    def _news(self, forwarded: bool, topic: str, life: str, seen: int, wait_s: float) -> list[object]:
        wait_s = min(NEWS_S_MAX, float(wait_s))
        route = self._route(topic, forwarded, writes=False)
        if (told := self._elsewhere(route, requests.NEWS, topic, life, seen, wait_s, wait_s=wait_s)) is not None:
            return told
        if life == self._life:
            self._commits.wait_long(seen, wait_s)
        return [self._life, self._commits.commits]

    def _call(self, forwarded: bool, client: str, upto: int, *words: Any) -> list[object]:
        """Carry out calls, each by itself; return an answer for each."""
        checked_client(client)
        calls = requests.read_calls(words)
        answers, begun = dict[int, Sequence[object]](), dict[int, Future[Any]]()
        there: defaultdict[ServerAddress, list[int]] = defaultdict(list)
        for place, it in enumerate(calls):
            try:
                route = self._route(it.topic, forwarded, writes=True)
                if route.peer is None:
                    begun[place] = self._begun(client, upto, it, route)
                else:
                    there[route.peer].append(place)
            except (Unavailable, StoreClosed) as error:
                answers[place] = [GONE, str(error)]
            except GComError as error:
                answers[place] = requests.packed_error(error)
        for peer, places in there.items():
            found = self._forwarded(peer, client, upto, [calls[place] for place in places])
            answers |= dict(zip(places, found, strict=True))
        answers |= {place: self._answer(future) for place, future in begun.items()}
        seen = self._own.commits if self._own is not None else 0
        return [self._life, seen, *(answers[place] for place in range(len(calls)))]

    def _begun(self, client: str, upto: int, written: WrittenCall, route: Route) -> Future[Any]:
        call = operations.read_call(written.name, written.arguments, reads=False)
        if operations.is_numbered(written.name):
            if not written.number:
                raise MalformedFrame(f"{written.name} needs a number")
            call = job(callers.once, client, written.number, upto, call)
        if route.epoch:
            call = job(fence.fenced, written.topic, self.routing.server, route.epoch, call)
        return self._commits.submit(call)

    def _forwarded(
        self, peer: ServerAddress, client: str, upto: int, calls: Sequence[WrittenCall]
    ) -> list[Sequence[object]]:
        """Return what another server answers to calls; the client's id and numbers stay as they are."""
        try:
            told = self.routing.line(peer).once(
                requests.request(requests.FORWARDED, requests.CALL, client, upto, *calls), ATTEMPT_S
            )
            if len(told) == len(calls) + 2:
                return told[2:]
            return [[LOST, f"{peer.address} answered another number of calls"]] * len(calls)
        except pyro.ConnectionRefused as error:
            return [[GONE, str(error)]] * len(calls)
        except GComError as error:
            return [[LOST, str(error)]] * len(calls)

    def _answer(self, future: Future[Any]) -> Sequence[object]:
        try:
            return [DONE, codec.in_rows(future.result())]
        except fence.NotOwner as error:
            return [GONE, self._passed(error)]
        except StoreClosed as error:
            return [GONE, str(error)]
        except ReceiptUnknown as error:
            return requests.packed_error(error) if isinstance(error, requests.CallForgotten) else [LOST, str(error)]
        except GComError as error:
            # The database is down, and nothing was stored: the client waits for it. What is more special, it is told.
            return [GONE, str(error)] if type(error) is Unavailable else requests.packed_error(error)
        except Exception as error:  # outermost: of what a client asked for; its neighbours have their answers
            logger.opt(exception=True).error("a client's call failed by a fault of this server")
            return requests.packed_error(error)

    def _passed(self, error: fence.NotOwner) -> str:
        try:
            self.routing.passed(error.topic, error.epoch)
        except GComError as other:
            return str(other)
        return str(error)


def checked_client(client: object) -> str:
    """Return the id of a client; raise MalformedFrame for another value."""
    if not isinstance(client, str) or not 8 <= len(client) <= 64:
        raise MalformedFrame("a client has an id of 8 to 64 characters")
    return client
