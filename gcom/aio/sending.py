"""The multicasting part of an `AsyncGroup`."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from gcom.aio.handle import AsyncHandle
from gcom.aio.waits import Lane
from gcom.errors import WouldBlock
from gcom.runtime.api.guards import deadline_of
from gcom.runtime.api.sending import SendingWaits, SentAs
from gcom.runtime.host import Host
from gcom.runtime.membership import Membership
from gcom.runtime.user_process.entry import application_call
from gcom.values import limits
from gcom.values.run import Payload, check_payload


@dataclass(frozen=True, slots=True)
class CancelledSend:
    """A message whose `send` was cancelled, as far as it is known.

    `number` None: it was not sent, and never will be. Else it was, as that message of `process` in `instance`, and may
    arrive: `AsyncGroup.receipt` says more.
    """

    number: int | None
    process: str
    instance: str

    def __str__(self) -> str:
        if self.number is None:
            return "the message was not sent"
        return f"message {self.number} of {self.process} was sent, and may arrive: look at its receipt"


def cancelled_send(error: BaseException | None) -> CancelledSend | None:
    """Return what became of the message, from the CancelledError of a `send`, or the TimeoutError that it turned into.

    None: the error came from something else.
    """
    while error is not None:
        if error.args and isinstance(error.args[0], CancelledSend):
            return error.args[0]
        error = error.__cause__ or error.__context__
    return None


class AsyncSending(AsyncHandle, SendingWaits):
    """The methods of a group that multicast."""

    def __init__(self, host: Host, membership: Membership) -> None:
        super().__init__(host, membership)
        self._room = Lane()
        self._delivered = Lane()
        self._held: dict[str, Lane] = {"majority": Lane(), "all": Lane()}

    @property
    @application_call()
    def pending(self) -> int:
        """Messages sent here that have not yet gone into the group."""
        with self._host.lock:
            return self._session.unnumbered

    async def send(
        self,
        payload: bytes | str,
        timeout_s: float | None = 10.0,
        held_by: Literal["sender", "majority", "all"] = "sender",
        wait: Literal["sent", "delivered"] = "sent",
    ) -> int:
        """Multicast bytes or text to all members, this one included; waits while the window is full.

        As `gcom.Group.send`, with the same options, number and errors. Tasks that wait for room are served in the order
        of their calls. Cancelled, `cancelled_send(error)` says whether the message was sent.
        """
        check_payload(payload, limits.MESSAGE_BYTES_MAX)
        if held_by != "sender" or wait != "sent":
            self._check_wait(held_by, wait)
        deadline = deadline_of(timeout_s)
        sent: SentAs | None = None

        def note(late: SentAs) -> None:
            nonlocal sent
            sent = late

        try:
            sent = None if self._room.waits else self._put_now(payload)
            if sent is not None:
                await self._give_way()  # behind the step: another task's message must not overtake this one
            else:
                self._raise_in_callback()
                putting = self._put_when_room(payload, timeout_s, deadline)
                sent = await self._waits.run(putting, self._room, deadline, note)
            if wait == "delivered":
                await self._waits.run(self._await_delivered(sent, timeout_s, deadline), self._delivered, deadline)
            if held_by != "sender":
                wait_held = self._await_held(sent, held_by, timeout_s, deadline)
                await self._waits.run(wait_held, self._held[held_by], deadline)
        except CancelledError as error:
            session = sent[0] if sent else self._session
            number = sent[1] if sent else None
            error.args = (CancelledSend(number, session.machine.process, session.machine.instance),)
            raise
        return sent[1]

    async def send_many(self, payloads: Iterable[bytes | str], timeout_s: float | None = 10.0) -> None:
        """Send each; `timeout_s` holds for each. Messages sent before an error, or a cancellation, stay sent."""
        if not isinstance(payloads, list | tuple):
            for payload in payloads:
                await self.send(payload, timeout_s)
            return
        for payload in payloads:
            check_payload(payload, limits.MESSAGE_BYTES_MAX)
        sent = 0
        while sent < len(payloads):
            await self._give_way()
            self._raise_in_callback()
            some = payloads[sent : sent + limits.RUN_MESSAGES_MAX]
            deadline = deadline_of(timeout_s)
            sent += await self._waits.run(self._put_some(some, timeout_s, deadline), self._room, deadline)

    async def flush(self, timeout_s: float | None = 10.0) -> None:
        """Wait until every member holds all that was sent here before the call, as `gcom.Group.flush` does."""
        await self._waits.run(self._await_flushed(timeout_s))

    @application_call()
    def _put_now(self, payload: Payload) -> SentAs | None:
        with self._host.lock:
            session = self._session_with_room()
            return None if session is None else (session, session.put(payload))

    async def _put_when_room(self, payload: Payload, timeout_s: float | None, deadline: float | None) -> SentAs:
        session = await self._await_room(timeout_s, deadline)
        return session, session.put(payload)

    async def _put_some(self, payloads: Sequence[Payload], timeout_s: float | None, deadline: float | None) -> int:
        session = self._session_with_room() or await self._await_room(timeout_s, deadline)
        return session.put_many(payloads)

    def _raise_in_callback(self) -> None:
        # The listener's own task: it would wait for the members to read, and is the one that reads here.
        if self._in_callback and not self._session.has_room:
            group = self._session.machine.group
            raise WouldBlock(f"the window of group {group!r} is full, and a callback must not wait for it")
