"""The results of a group call: one for each member asked, as they come (Derecho's QueryResults).

The session fills an `OpenCall`; these classes show it to the application.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from gcom.errors import Detached, GComTimeout, HandlerFailed, MemberDeparted
from gcom.runtime.api import guards
from gcom.runtime.group_calls import OpenCall
from gcom.runtime.membership import Membership
from gcom.runtime.session import Session
from gcom.runtime.user_process.closable import Closable
from gcom.runtime.user_process.entry import application_call
from gcom.runtime.waiting import run
from gcom.values import names
from gcom.values.answers import Outcome, Wait, enough
from gcom.values.run import data_of, text_of


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of one member, or its absence. `payload` is the handler's value, or says why there is none."""

    member: str
    outcome: Outcome = Outcome.PENDING
    payload: bytes | str = ""

    @property
    def name(self) -> str:
        """The member's name, without its incarnation."""
        return names.name_of(self.member)

    @property
    def value(self) -> bytes | str:
        """The handler's value; raises HandlerFailed, MemberDeparted, or GComTimeout if there is no answer yet."""
        match self.outcome:
            case Outcome.VALUE:
                return self.payload
            case Outcome.ERROR:
                raise HandlerFailed(f"{self.member} could not answer: {self.text}")
            case Outcome.DEPARTED:
                raise MemberDeparted(f"{self.member} departed before it answered")
            case Outcome.PENDING:
                raise GComTimeout(f"{self.member} has not answered yet")

    @property
    def text(self) -> str:
        """The payload as text; bytes that are no UTF-8 are replaced."""
        return text_of(self.payload)

    @property
    def data(self) -> bytes:
        """The payload as bytes; text as UTF-8."""
        return data_of(self.payload)


class ResultsSoFar(Mapping[str, Result]):
    """The results that one group call has by now, by process or name, in the order of the view; the rest is PENDING."""

    def __init__(self, membership: Membership, session: Session, call: OpenCall) -> None:
        self._host = membership.host
        self._membership = membership
        self._session = session
        self._call = call

    # results by member

    def __getitem__(self, member: str) -> Result:
        answers = self._call.answers
        if member not in answers:
            # A name means one process of these: a view never has two of one name.
            member = {names.name_of(process): process for process in answers}[member]
        return Result(member, *answers[member])

    def __iter__(self) -> Iterator[str]:
        return iter(self._call.answers)

    def __len__(self) -> int:
        return len(self._call.answers)

    @property
    def pending(self) -> tuple[str, ...]:
        """Members without a result."""
        return self._with(Outcome.PENDING)

    @property
    def departed(self) -> tuple[str, ...]:
        """Members that departed before they answered."""
        return self._with(Outcome.DEPARTED)

    def _with(self, outcome: Outcome) -> tuple[str, ...]:
        # A copy of the items, for answers come in while the application looks, which it does without the lock.
        return tuple(member for member, (found, _) in list(self._call.answers.items()) if found is outcome)

    @property
    def first(self) -> Result | None:
        """The first value that came."""
        # A copy, as in `_with`: more may come in while it is gone through.
        arrived = [self[member] for member in list(self._call.arrived)]
        return next((result for result in arrived if result.outcome is Outcome.VALUE), None)

    def __repr__(self) -> str:
        rows = ", ".join(f"{member}: {outcome}" for member, (outcome, _) in list(self._call.answers.items()))
        return f"<gcom.Results {rows}>"

    # waiting, for threads and for asyncio; a handler that waits here lets the next request be served: two members that
    # call each other would wait for ever

    async def _until_more_than(self, count: int) -> bool:
        """Wait until more results are in; return False if none will come. Holds the lock."""
        arrived = self._call.arrived
        with self._membership.call_server.stepping_aside():
            while count == len(arrived) and not self._call.over:
                await self._pause(None)
            return count < len(arrived)

    async def _until_enough(self, wait: Wait, deadline: float | None) -> None:
        """Wait until that many answers are in; raises CallTimeout, CallDetached, NotAMember. Holds the lock."""
        with self._membership.call_server.stepping_aside():
            while not enough(wait, [outcome for outcome, _ in self._call.answers.values()]):
                if self._call.over or not await self._pause(deadline):
                    raise CallTimeout(f"{', '.join(self.pending)} did not answer in time", self)

    async def _pause(self, deadline: float | None) -> bool:
        """Wait for news; return False at the deadline. Raises CallDetached, NotAMember. Holds the lock."""
        try:
            # Looked at before each wait: what happened before it would wake nobody.
            guards.raise_if_ended(self._membership, self._session)
            guards.raise_if_detached(self._session, f"{', '.join(self.pending)} did not answer yet")
        except Detached as error:
            raise CallDetached(str(error), self) from error
        return await self._session.wait_for_change(deadline)

    def withdraw(self) -> None:
        """Take no more results, within a call of the application's. Takes the lock."""
        with self._session.changed:
            self._session.calls.withdraw(self._call)


class Results(ResultsSoFar, Closable):
    """The results of one group call, by process or name, in the order of the view; those that are not in are PENDING.

    They come in until each member has one, the call's time is over, or `close`.

        results = group.call("free space?", wait=gcom.NONE, timeout_s=5)
        for result in results.arriving():
            print(result.name, result.outcome, result.text)
        print("no word from", results.pending)
    """

    def arriving(self) -> Iterator[Result]:
        """Yield results as they come, until each member has one or the call is over; members then `pending` have none.

        Raises NotAMember or Detached when this process loses the group meanwhile, or its quorum.
        """
        # Nothing is yielded within the lock: what the application does with one result must not hold up the node.
        index, arrived = 0, self._call.arrived
        while True:
            if not self._await_more_than(index):
                return
            index += 1
            yield self[arrived[index - 1]]

    @application_call()
    def _await_more_than(self, count: int) -> bool:
        """Wait until more results are in; return False if none will come."""
        with self._session.changed:
            return run(self._until_more_than(count))

    @application_call()
    def wait(self, wait: Wait = Wait.ALL, timeout_s: float | None = None) -> Self:
        """Wait until that many answers are in; raises CallTimeout, CallDetached, NotAMember, BadValue.

        `timeout_s` cannot be longer than what the call itself was given. After CallDetached by a lost quorum it may be
        waited for again: the answers come when this process hears the members again.
        """
        return self.await_enough(wait, guards.deadline_of(timeout_s))

    def await_enough(self, wait: Wait, deadline: float | None) -> Self:
        """Do what `wait` does, within a call of the application's."""
        with self._session.changed:
            run(self._until_enough(wait, deadline))
        return self

    @application_call()
    def close(self) -> None:
        """Take no more results: those that are not in stay PENDING, and requests that have not left are withdrawn."""
        self.withdraw()


class CallTimeout(GComTimeout):
    """A group call whose answers did not all come in time; `results` has those that did."""

    def __init__(self, text: str, results: ResultsSoFar) -> None:
        super().__init__(text)
        self.results = results


class CallDetached(Detached):
    """A loss of the group, or of the quorum, during a group call; `results` has what had come."""

    def __init__(self, text: str, results: ResultsSoFar) -> None:
        super().__init__(text)
        self.results = results
