"""The member-to-member part of an `AsyncGroup`: unicast, group calls, and the handler that answers them."""

from __future__ import annotations

from asyncio import Semaphore, Task
from collections.abc import AsyncIterator, Callable, Iterable
from time import monotonic
from typing import Any

from loguru import logger

from gcom.aio.handle import AsyncHandle
from gcom.aio.tasks import awaited
from gcom.aio.waits import LoopWaits
from gcom.core.messages import events
from gcom.core.messages.effects import Serve
from gcom.errors import BadValue
from gcom.runtime.api.calling import CallingWaits, checked_wait
from gcom.runtime.api.guards import deadline_of
from gcom.runtime.api.results import Result, ResultsSoFar
from gcom.runtime.group_calls import OpenCall
from gcom.runtime.membership import Membership
from gcom.runtime.request_handlers import NESTED_MAX, Stepped, words
from gcom.runtime.session import Session
from gcom.runtime.user_process.callbacks import check_callback
from gcom.runtime.user_process.entry import application_call
from gcom.values import limits
from gcom.values.answers import Wait
from gcom.values.run import Payload, check_payload

AsyncHandler = Callable[[Payload, str], Any]


class AsyncResults(ResultsSoFar):
    """The results of one group call, by process or name, in the order of the view; those that are not in are PENDING.

    They come in until each member has one, the call's time is over, or `close`.
    """

    def __init__(self, waits: LoopWaits, membership: Membership, session: Session, call: OpenCall) -> None:
        super().__init__(membership, session, call)
        self._waits = waits

    async def arriving(self) -> AsyncIterator[Result]:
        """Yield results as they come, until each member has one or the call is over; members then `pending` have none.

        Raises NotAMember or Detached when this process loses the group meanwhile, or its quorum.
        """
        index = 0
        while await self._waits.run(self._until_more_than(index)):
            index += 1
            yield self[self._call.arrived[index - 1]]

    async def wait(self, wait: Wait = Wait.ALL, timeout_s: float | None = None) -> AsyncResults:
        """Wait until that many answers are in; raises CallTimeout, CallDetached, NotAMember, BadValue."""
        await self._waits.run(self._until_enough(checked_wait(wait), deadline_of(timeout_s)))
        return self

    @application_call()
    def close(self) -> None:
        """Take no more results: those that are not in stay PENDING, and requests that have not left are withdrawn."""
        self.withdraw()


class AsyncCalling(AsyncHandle, CallingWaits):
    """The methods of a group that address members. A member is given by its name, or by its process id."""

    _serving: Task[None] | None = None

    async def send_to(self, member: str, payload: bytes | str, timeout_s: float | None = 10.0) -> None:
        """Send bytes or text to one member, or to itself, which gets a Unicast event, as `gcom.Group.send_to` does.

        Cancelled while too many wait for that member to read, it has sent nothing.
        """
        check_payload(payload, limits.ENVELOPE_BYTES_MAX, "a unicast")
        deadline = deadline_of(timeout_s)
        await self._give_way()
        await self._waits.run(self._send_when_read(member, payload, deadline))

    def on_call(self, handler: AsyncHandler | None) -> AsyncHandler | None:
        """Answer group calls with `handler(payload, caller)`, a function or an `async def`; None: with an error again.

            @group.on_call
            async def answer(payload, caller):
                return f"{len(payload)} bytes from {caller}"

        It returns bytes or text. Up to 16 requests are served at once, begun in the order in which they came: between
        two `await` of one handler another one may change what both use. What it raises is the caller's result.
        """
        check_callback("the handler of calls", handler, 2, awaited=True)
        self._set_handler(handler)
        if handler is not None and (self._serving is None or self._serving.done()):
            self._serving = self._tasks.start(self._serve())
        return handler

    async def call(
        self,
        payload: bytes | str,
        wait: Wait = Wait.ALL,
        timeout_s: float | None = 10.0,
        *,
        targets: Iterable[str] | None = None,
        exclude_self: bool = False,
    ) -> AsyncResults:
        """Ask all members of the view, this one included, and wait for a result of each, as `gcom.Group.call` does.

        Cancelled, it takes no more results; a request that has left is served all the same.
        """
        check_payload(payload, limits.ENVELOPE_BYTES_MAX, "a call")
        wait, deadline = checked_wait(wait), deadline_of(timeout_s)
        begun: list[AsyncResults] = []

        async def begin() -> AsyncResults:
            session, call = await self._begin_call(payload, deadline, targets, exclude_self)
            begun.append(AsyncResults(self._waits, self._membership, session, call))
            return begun[0]

        try:
            results = await self._waits.run(begin())
            if wait is not Wait.NONE:
                await results.wait(wait, None if deadline is None else max(0.0, deadline - monotonic()))
        except BaseException:  # outermost: of a call; a request that has not left would be answered for nobody
            wait = Wait.ALL
            raise
        finally:
            if wait is not Wait.NONE and begun:
                begun[0].close()
        return results

    async def call_to(self, member: str, payload: bytes | str, timeout_s: float | None = 10.0) -> bytes | str:
        """Ask one member; returns what its handler returned. Raises HandlerFailed, MemberDeparted, and as `call`."""
        (result,) = (await self.call(payload, Wait.ALL, timeout_s, targets=[member])).values()
        return result.value

    # answers to others

    @application_call()
    def _set_handler(self, handler: AsyncHandler | None) -> None:
        with self._host.lock:
            self._membership.call_server.serve_in_loop(handler)

    async def _serve(self) -> None:
        turns = Semaphore(NESTED_MAX)
        while True:
            await turns.acquire()
            request = await self._waits.run(self._membership.call_server.next_request())
            self._tasks.start(self._answer(*request)).add_done_callback(lambda _: turns.release())

    async def _answer(self, session: Stepped, request: Serve) -> None:
        handler = self._membership.call_server.handler
        failed = True
        try:
            answer: Any = await awaited(handler(request.payload, request.caller)) if handler else "no handler"
            check_payload(answer, limits.ENVELOPE_BYTES_MAX, "a handler's answer")
            failed = handler is None
        except BadValue as error:
            answer = words(error)
        except Exception as error:  # outermost: of the application's handler; the caller is told, whatever it was
            logger.opt(exception=True).info("a handler could not answer {}", request.caller)
            answer = words(error)
        self._tell_answer(session, events.Served(request.caller, request.call, answer, failed))

    @application_call()
    def _tell_answer(self, session: Stepped, served: events.Served) -> None:
        with self._host.lock:
            session.step(served)
