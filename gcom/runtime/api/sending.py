"""The multicasting part of a group: send, wait until the members hold it, flush."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic
from typing import Literal

from gcom.errors import BadValue, Detached, GComTimeout, WouldBlock
from gcom.runtime.api import guards
from gcom.runtime.api.guards import deadline_of
from gcom.runtime.api.handle import GroupHandle
from gcom.runtime.session import Session
from gcom.runtime.user_process.entry import application_call
from gcom.runtime.waiting import run
from gcom.values import limits
from gcom.values.definition import Multicast
from gcom.values.run import are_bytes, check_payload

HeldBy = Literal["sender", "majority", "all"]
SentAs = tuple[Session, int]  # and the number of a message that was put into it
ASK_S = 0.02  # as often a sender that waits asks the members what they hold


class SendingWaits(GroupHandle):
    """The waits of a group that multicasts, for threads and for asyncio."""

    def _session_with_room(self) -> Session | None:
        """Return the session if a message may be sent in it now; None: wait for room. Holds the lock."""
        rights = self._host.rights
        # Asked once for each set of rules: this is the path of every message.
        if rights is not None and self._membership.may_send_by is not rights.in_force:
            self._membership.raise_if_silent()
        session = self._membership.session
        # The usual case first: this is the path of every message.
        if session.ended is not None or session.detached or session.leaving or not session.has_room:
            return None
        return session

    async def _await_room(self, timeout_s: float | None, deadline: float | None) -> Session:
        while True:
            # Anew after each wait: this process may be in another session by now, or out of its group.
            session = self._session_to_send_in()
            if session.has_room:
                return session
            group = session.machine.group
            if self._in_callback:
                raise WouldBlock(f"the window of group {group!r} is full, and a callback must not wait for it")
            if not await session.wait_for_room(deadline):
                waits_for = session.machine.waits_for or "the members to read"
                raise GComTimeout(f"no room to send in group {group!r} after {timeout_s} s: it waits for {waits_for}")

    async def _await_held(self, sent: SentAs, held_by: HeldBy, timeout_s: float | None, deadline: float | None) -> None:
        """Wait until enough members hold a message, and log that."""
        session, number = sent
        undone = f"{_named(session, number)} is not held by {held_by}"
        await self._wait_for_acks(
            session,
            number,
            lambda: self._is_held(session, number, held_by, undone),
            undone,
            deadline,
            lambda: _why_not_held(session, number, held_by, timeout_s),
        )
        # Into the log as well: the audit holds the group to it, since
        # what was confirmed must not be lost (rule CONTINUITY).
        session.confirm(number, held_by)

    async def _await_delivered(self, sent: SentAs, timeout_s: float | None, deadline: float | None) -> None:
        """Wait until a message is delivered here; raises Detached, NotAMember, GComTimeout."""
        session, number = sent
        undone = f"{_named(session, number)} is not delivered here"
        with session.awaiting_acks():  # a delivery that a direct listener takes wakes nobody else
            while session.own.delivered < number:
                if session.own.is_lost(number):
                    raise Detached(
                        f"{_named(session, number)} is lost: no member has it, and none delivers it; send it again"
                    )
                guards.raise_if_ended(self._membership, session, undone)
                guards.raise_if_detached(session, undone)
                if not await session.wait_for_change(deadline):
                    waits = session.machine.waits_for or "its place in the order"
                    raise GComTimeout(f"{undone} after {timeout_s} s: it waits for {waits}")

    async def _await_flushed(self, timeout_s: float | None) -> None:
        deadline = deadline_of(timeout_s)
        session, undone = self._session, "not all that was sent is held by all"
        number, ends = session.last_number, session.machine.unicast_ends()

        def arrived() -> bool:
            if number and not self._is_held(session, number, "all", undone):
                return False
            if session.machine.unicasts_held(ends):
                return True
            guards.raise_if_ended(self._membership, session, undone)
            return False

        def why_not() -> str:
            why = session.machine.waits_for or ", ".join(session.machine.lacking(number)) or "unicasts to arrive"
            text = f"not all that was sent in group {session.machine.group!r} has arrived after {timeout_s} s"
            return f"{text}: it waits for {why}"

        await self._wait_for_acks(session, number, arrived, undone, deadline, why_not)
        definition = session.machine.definition
        if number and definition and definition.multicast is Multicast.RELIABLE and not session.own.is_lost(number):
            # Into the log the last alone: a cut is a prefix, so who loses an earlier one loses this one, too.
            session.confirm(number, "all")

    async def _wait_for_acks(
        self,
        session: Session,
        number: int,
        arrived: Callable[[], bool],
        undone: str,
        deadline: float | None,
        why_not: Callable[[], str],
    ) -> None:
        """Wait until something has arrived; the members are asked for what they hold up to a number. Holds the lock.

        Raises Detached, which says with `undone` what came of it, and GComTimeout, with the words of `why_not`.
        """
        asked_s = monotonic()
        with session.awaiting_acks():
            while not arrived():
                guards.raise_if_detached(session, undone)
                # Acks come by themselves. But that a member knows the place, or has read the message, its next
                # heartbeat would tell, too late for a sender that waits.
                if monotonic() - asked_s >= ASK_S:
                    session.ask_status(session.machine.lacking(number))
                    asked_s = monotonic()
                again = asked_s + ASK_S
                changed = await session.wait_for_change(again if deadline is None else min(again, deadline))
                if not changed and deadline is not None and monotonic() >= deadline:
                    raise GComTimeout(why_not())

    def _check_wait(self, held_by: str, wait: str) -> None:
        definition = self._session.machine.definition
        assert definition is not None, "a Group is made for a member"
        group, multicast = definition.group, definition.multicast
        if held_by not in ("sender", "majority", "all"):
            raise BadValue(f"held_by must be sender, majority or all; got {held_by!r}")
        if wait not in ("sent", "delivered"):
            raise BadValue(f"wait must be sent or delivered; got {wait!r}")
        if held_by != "sender" and multicast is not Multicast.RELIABLE:
            raise BadValue(f"held_by {held_by!r} needs RELIABLE; group {group!r} is {multicast}")
        if self._in_callback:
            raise WouldBlock(
                f"a callback of group {group!r} must not wait for what the members hold, or for a delivery"
            )

    def _is_held(self, session: Session, number: int, held_by: HeldBy, undone: str) -> bool:
        """Tell whether enough members hold a message.

        Raises what says `undone`, if the session has ended and it may not have arrived.
        """
        machine, ended = session.machine, session.ended
        lacking, count = len(machine.lacking(number)), len(session.members) - len(machine.newcomers(number))
        # In a total order copies are not enough: until a majority holds its place, a view change may order it
        # otherwise.
        if machine.placed(number) and (not lacking or (held_by == "majority" and 2 * lacking < count)):
            return True
        if ended is not None and (ended.settled is None or number > machine.number):
            guards.raise_if_ended(self._membership, session, undone)
        return ended is not None  # a leaver's messages are in the cut of the view that goes on


class Sending(SendingWaits):
    """The methods of a group that multicast."""

    @property
    @application_call()
    def pending(self) -> int:
        """Messages sent here that have not yet gone into the group."""
        with self._host.lock:
            return self._session.unnumbered

    @application_call(deferred=0)
    def send(
        self,
        payload: bytes | str,
        timeout_s: float | None = 10.0,
        held_by: Literal["sender", "majority", "all"] = "sender",
        wait: Literal["sent", "delivered"] = "sent",
    ) -> int:
        """Multicast bytes or text to all members, this one included; blocks while the window is full.

        Returns the message's number in this process's stream, under which all members deliver it, and which `receipt`
        takes. It holds as long as `process` and `instance` stay what they are: a message that was not sent before a
        Departure has none (`unsent`), or, where the same process goes on in a successor, one of that instance.

        With `held_by` "majority" or "all" (RELIABLE only) it returns once so many members of the view, this one
        included, have stored the message, whether or not they have read it: a crash of the others does not lose it.
        In a causal order they have what it follows, in a total one they know its place. Members that left the view do
        not count. Inside a callback that raises WouldBlock, and nothing is sent.

        With `wait` "delivered" it returns once the message is delivered here: in a total order its place is settled
        then, and `receipt(number).serial` tells it. It goes with either `held_by`, and not inside a callback.

        Called by a finalizer in the middle of a step of GCom, it is carried out after that, and 0 is returned.

        Raises MessageTooLarge, BadValue, NotAMember (once `leave` began), NotPermitted (by the registry's rules),
        Detached, GComTimeout; WouldBlock inside a callback. After an error that names the message, it was sent, and may
        still arrive.
        """
        # Before the lock: to measure 16 MiB of text takes longer than a step.
        check_payload(payload, limits.MESSAGE_BYTES_MAX)
        if held_by != "sender" or wait != "sent":
            return self._send_and_wait(payload, timeout_s, held_by, wait)
        with self._host.lock:
            return self._with_room(timeout_s).put(payload)

    def send_many(self, payloads: Iterable[bytes | str], timeout_s: float | None = 10.0) -> None:
        """Send each; `timeout_s` holds for each. Messages sent before an error stay sent."""
        # What is perhaps made only while it is sent is sent one by one.
        if isinstance(payloads, list | tuple):
            self._send_all(payloads, timeout_s)
            return
        for payload in payloads:
            self.send(payload, timeout_s)

    @application_call(deferred=0)
    def _send_all(self, payloads: list[bytes | str] | tuple[bytes | str, ...], timeout_s: float | None) -> None:
        # What has to be measured, or refused, is so in its turn.
        if not are_bytes(payloads, limits.MESSAGE_BYTES_MAX):
            for payload in payloads:
                check_payload(payload, limits.MESSAGE_BYTES_MAX)
                with self._host.lock:
                    self._with_room(timeout_s).put(payload)
            return
        sent = 0
        while sent < len(payloads):
            # As many as there is room for in one step: alone, each would cost ten times as much.
            with self._host.lock:
                sent += self._with_room(timeout_s).put_many(payloads[sent : sent + limits.RUN_MESSAGES_MAX])

    def _with_room(self, timeout_s: float | None) -> Session:
        """Return the session, once there is room for a message. Holds the lock."""
        # A bad time is told where there is room, too, and not only on the day when there is none.
        if type(timeout_s) is not float or not timeout_s >= 0:
            deadline_of(timeout_s)
        return self._session_with_room() or run(self._await_room(timeout_s, deadline_of(timeout_s)))

    @application_call()
    def flush(self, timeout_s: float | None = 10.0) -> None:
        """Wait until every member holds all that was sent here before the call, as `send` with `held_by` "all" does.

        Unicasts and answers too: until those to whom they went hold them. Over BASIC, where nobody says what it holds,
        it returns once all was put to each member. It does not wait for what other threads send meanwhile, nor for what
        was sent before a `Returned`, by an earlier process or in the instance before: `Settled` tells of that.

        Raises GComTimeout, NotAMember, Detached.
        """
        with self._host.lock:
            run(self._await_flushed(timeout_s))

    def _send_and_wait(self, payload: bytes | str, timeout_s: float | None, held_by: HeldBy, wait: str) -> int:
        # Before the message is put: after an error of these nothing was sent.
        self._check_wait(held_by, wait)
        deadline = deadline_of(timeout_s)
        with self._host.lock:
            session = run(self._await_room(timeout_s, deadline))
            number = session.put(payload)
            if wait == "delivered":
                run(self._await_delivered((session, number), timeout_s, deadline))
            if held_by != "sender":
                run(self._await_held((session, number), held_by, timeout_s, deadline))
        return number


def _named(session: Session, number: int) -> str:
    return f"message {number} of {session.machine.process} in group {session.machine.group!r}"


def _why_not_held(session: Session, number: int, held_by: HeldBy, timeout_s: float | None) -> str:
    machine = session.machine
    names_it = _named(session, number)
    if number > machine.number:
        return f"{names_it} still waits to be sent after {timeout_s} s, for {machine.waits_for or 'its turn'}"
    lacking = ", ".join(machine.lacking(number)) or "its place in the order"
    return f"{names_it} is sent, but not held by {held_by} after {timeout_s} s: it waits for {lacking}"
