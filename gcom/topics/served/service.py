"""The object that a server serves: it carries out the requests of clients at its own store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from loguru import logger

from gcom.errors import GComError, MalformedFrame
from gcom.topics.errors import StoreClosed
from gcom.topics.served import callers, operations, requests
from gcom.topics.served.parts import PartsServer, packed_answer
from gcom.topics.served.requests import DONE, GONE, WrittenCall
from gcom.topics.storage.commits import Commits
from gcom.topics.storage.transaction import job
from gcom.topics.store import TopicStore

NEWS_S_MAX = 5.0  # of one long poll


class TopicsService:
    """The handler of requests, in any thread. `life` tells one start of a server from the next."""

    def __init__(self, store: TopicStore, commits: Commits, life: str) -> None:
        self._store, self._commits, self._life = store, commits, life
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

    def _handle(self, data: bytes) -> bytes:
        try:
            kind, words = requests.read_request(data)
            if kind not in self._kinds:
                raise MalformedFrame(f"no request {kind!r:.40} is known here: the client is of another version")
            return packed_answer([DONE, *self._kinds[kind](*words)])
        except StoreClosed as error:
            return packed_answer([GONE, str(error)])
        except GComError as error:
            return packed_answer(requests.packed_error(error))
        except TypeError as error:
            return packed_answer(requests.packed_error(MalformedFrame(f"not a request: {error}")))

    def _greet(self, client: str) -> list[object]:
        self._commits.call(job(callers.greet, checked_client(client)))
        return [self._store.name, self._store.id, self._commits.durable]

    def _leave(self, client: str) -> list[object]:
        self._commits.call(job(callers.forget, checked_client(client)))
        return []

    def _ask(self, topic: str, name: str, arguments: Any) -> list[object]:
        seen = self._commits.commits  # before the answer is looked for: it may lack what comes after it
        return [self._life, seen, self._commits.ask(operations.read_call(name, arguments, reads=True))]

    def _news(self, topic: str, life: str, seen: int, wait_s: float) -> list[object]:
        if life == self._life:
            self._commits.wait_long(seen, min(NEWS_S_MAX, float(wait_s)))
        return [self._life, self._commits.commits]

    def _call(self, client: str, upto: int, *words: Any) -> list[object]:
        """Carry out calls, each by itself; return an answer for each."""
        checked_client(client)
        futures = [self._begun(client, upto, it) for it in requests.read_calls(words)]
        return [self._life, self._commits.commits, *map(_answer, futures)]

    def _begun(self, client: str, upto: int, written: WrittenCall) -> Future[Any]:
        try:
            call = operations.read_call(written.name, written.arguments, reads=False)
            if operations.is_numbered(written.name):
                if not written.number:
                    raise MalformedFrame(f"{written.name} needs a number")
                call = job(callers.once, client, written.number, upto, call)
            return self._commits.submit(call)
        except GComError as error:
            refused: Future[Any] = Future()
            refused.set_exception(error)
            return refused


def checked_client(client: object) -> str:
    """Return the id of a client; raise MalformedFrame for another value."""
    if not isinstance(client, str) or not 8 <= len(client) <= 64:
        raise MalformedFrame("a client has an id of 8 to 64 characters")
    return client


def _answer(future: Future[Any]) -> Sequence[object]:
    try:
        return [DONE, future.result()]
    except StoreClosed as error:
        return [GONE, str(error)]
    except GComError as error:
        return requests.packed_error(error)
    except Exception as error:  # outermost: of what a client asked for; its neighbours have their answers
        logger.opt(exception=True).error("a client's call failed by a fault of this server")
        return requests.packed_error(error)
