"""The member-to-member part of a group: unicast, and group calls with an answer from each.

None of it waits for, or is held up by, multicasts and view changes (docs/protocols/unicast.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic

from gcom.core.messages import events
from gcom.errors import BadValue, UnknownMember
from gcom.runtime.api.guards import deadline_of
from gcom.runtime.api.handle import GroupHandle
from gcom.runtime.api.results import Results
from gcom.runtime.group_calls import OpenCall
from gcom.runtime.session import Session
from gcom.runtime.user_process.callbacks import check_callback
from gcom.runtime.user_process.entry import application_call
from gcom.runtime.waiting import run
from gcom.values import limits, names, spelling
from gcom.values.answers import Wait
from gcom.values.names import Process
from gcom.values.run import Payload, check_payload


class CallingWaits(GroupHandle):
    """The waits of a group that addresses members, for threads and for asyncio."""

    async def _send_when_read(self, member: str, payload: Payload, deadline: float | None) -> None:
        # Each turn looks anew: meanwhile the member may have departed, or this process may have gone on in another
        # session.
        while True:
            session = self._session_to_send_in()
            target = _member(session, member)
            if session.machine.has_room_for(target):
                break
            await self._await(session, deadline, f"{target} to read its unicasts")
        session.step(events.SendUnicast(target, payload))

    async def _begin_call(
        self, payload: Payload, deadline: float | None, targets: Iterable[str] | None, exclude_self: bool
    ) -> tuple[Session, OpenCall]:
        # Each turn looks anew, as for a unicast: the session that had too many calls may be over.
        while len((session := self._session_to_send_in()).calls) >= limits.CALLS_OPEN_MAX:
            await self._await(session, deadline, f"one of {limits.CALLS_OPEN_MAX} open calls to end")
        # A text can be gone through as well: it would ask members with names of one letter.
        named = [targets] if isinstance(targets, str) else targets
        # One that is named twice is asked once: answers are kept by member.
        members = session.members if named is None else tuple(dict.fromkeys(_member(session, it) for it in named))
        asked = tuple(it for it in members if not (exclude_self and it == session.machine.process))
        # The time that is left: some of it may have gone while another call had to end first.
        for_ms = None if deadline is None else int((deadline - monotonic()) * 1000)
        return session, session.calls.begin(payload, asked, for_ms)


class Calling(CallingWaits):
    """The methods of a group that address members. A member is given by its name, or by its process id."""

    @application_call(deferred=())
    def send_to(self, member: str, payload: bytes | str, timeout_s: float | None = 10.0) -> None:
        """Send bytes or text to one member, or to itself, which gets a Unicast event.

            group.send_to("bob", "only you know")

        It arrives once, after this process's earlier unicasts to that member, unless the member departs: then an
        Undelivered event tells. Blocks while too many wait for that member to read. Raises MessageTooLarge (over 128
        KiB), BadValue, UnknownMember, NotAMember, Detached, GComTimeout; WouldBlock inside a callback.
        """
        check_payload(payload, limits.ENVELOPE_BYTES_MAX, "a unicast")
        deadline = deadline_of(timeout_s)
        with self._host.lock:
            run(self._send_when_read(member, payload, deadline))

    @application_call()
    def on_call(
        self, handler: Callable[[bytes | str, str], bytes | str] | None
    ) -> Callable[[bytes | str, str], bytes | str] | None:
        """Answer group calls with `handler(payload, caller)`, which returns bytes or text; None: with an error again.

            @group.on_call
            def answer(payload, caller):
                return f"{len(payload)} bytes from {caller}"

        `join(on_call=)` sets it before anybody can call; else calls wait for it until half a second after the entry.
        It runs in a thread of the group's own, one request at a time, and may itself send and call; while it waits for
        a call of its own, other requests are served: it must hold no lock then that a handler wants. What it raises is
        the caller's result, an error with its text.
        """
        check_callback("the handler of calls", handler, 2)
        with self._host.lock:
            self._membership.call_server.handler = handler
        return handler

    @application_call()
    def call(
        self,
        payload: bytes | str,
        wait: Wait = Wait.ALL,
        timeout_s: float | None = 10.0,
        *,
        targets: Iterable[str] | None = None,
        exclude_self: bool = False,
    ) -> Results:
        """Ask all members of the view, this one included, and wait for a result of each.

            for member, result in group.call("how many?").items():
                print(member, result.outcome, result.text)

        A member that departs first is marked DEPARTED, so a call of ALL ends with each member's answer or departure.
        FIRST: until one value is there; MAJORITY: until more than half of those asked answered, be it with an error;
        both also end once that cannot be any more, so look at what came (`Results.first` is None without a value).
        NONE: at once, and the results come in until `timeout_s` is over (`Results.arriving`). A handler that has begun
        goes on when its caller waits no more, and later requests wait behind it. `targets`: ask these members only.
        Raises CallTimeout and CallDetached, which carry the results that came; MessageTooLarge, BadValue,
        UnknownMember, NotAMember; WouldBlock inside a callback while too many calls are open.
        """
        check_payload(payload, limits.ENVELOPE_BYTES_MAX, "a call")
        wait = checked_wait(wait)
        deadline = deadline_of(timeout_s)
        with self._host.lock:
            session, call = run(self._begin_call(payload, deadline, targets, exclude_self))
        results = Results(self._membership, session, call)
        if wait is Wait.NONE:
            return results
        # Closed however the wait ends: a request that has not left yet would have a member work for an answer that
        # nobody reads.
        try:
            return results.await_enough(wait, deadline)
        finally:
            results.withdraw()

    def call_to(self, member: str, payload: bytes | str, timeout_s: float | None = 10.0) -> bytes | str:
        """Ask one member; returns what its handler returned.

            total = int(group.call_to("bob", "how many?"))

        Raises HandlerFailed, with the text of what the handler raised, MemberDeparted, and what `call` raises.
        """
        (result,) = self.call(payload, Wait.ALL, timeout_s, targets=[member]).values()
        return result.value


def _member(session: Session, member: object) -> Process:
    """Return the process in the view that a name or a process id means; raises UnknownMember."""
    named = spelling.normal(member) if isinstance(member, str) else member
    found = next((it for it in session.members if named in (it, names.name_of(it))), None)
    if found is None:
        present = ", ".join(map(names.name_of, session.members))
        raise UnknownMember(f"{member!r} is not in the view of group {session.machine.group!r}, only {present}")
    return found


def checked_wait(wait: object) -> Wait:
    """Return one of the ways to wait for answers; raises BadValue."""
    try:
        return Wait(wait)  # type: ignore[arg-type]
    except ValueError as error:
        raise BadValue(f"wait must be one of {', '.join(Wait)}; got {wait!r}") from error
