"""What a group call has brought: one result for each member asked, as they come (Derecho's QueryResults).

A result object is filled by the threads that carry out the machine's effects, and read by the application's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gcom.core.messages import events
from gcom.errors import Detached, GComTimeout, HandlerFailed, MemberDeparted
from gcom.runtime import payloads
from gcom.values import names
from gcom.values.answers import Outcome, Wait, enough
from gcom.values.names import Process
from gcom.values.run import Payload

if TYPE_CHECKING:
    from gcom.runtime.session import Session


@dataclass(frozen=True, slots=True)
class Result:
    """Where one member's answer stands. `payload` is its handler's value, or in words why there is none."""

    member: Process
    outcome: Outcome = Outcome.PENDING
    payload: Payload = ""

    @property
    def name(self) -> str:
        """The member's name, without its incarnation."""
        return names.name_of(self.member)

    @property
    def value(self) -> Payload:
        """What the handler returned; raises HandlerFailed, MemberDeparted, or GComTimeout if there is no answer yet."""
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
        return payloads.text_of(self.payload)

    @property
    def data(self) -> bytes:
        """The payload as bytes; text as UTF-8."""
        return payloads.data_of(self.payload)


class Results(Mapping[Process, Result]):
    """The results of one group call, by process or name, in the order of the view; those that are not in are PENDING.

    They come in until each member has one, the call's time is over, or `close`.

        results = group.call("free space?", wait=gcom.NONE, timeout_s=5)
        for result in results.arriving():
            print(result.name, result.outcome, result.text)
        print("no word from", results.pending)
    """

    def __init__(self, session: Session, call: int, members: tuple[Process, ...]) -> None:
        self._session = session
        self._call = call
        self._results = {member: Result(member) for member in members}
        self._arrived: list[Result] = []
        self._over = not members

    # what it holds

    def __getitem__(self, member: Process) -> Result:
        if member in self._results:
            return self._results[member]
        return self._results[{names.name_of(process): process for process in self._results}[member]]

    def __iter__(self) -> Iterator[Process]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    @property
    def pending(self) -> tuple[Process, ...]:
        """Members without a result."""
        return self._with(Outcome.PENDING)

    @property
    def departed(self) -> tuple[Process, ...]:
        """Members that departed before they answered."""
        return self._with(Outcome.DEPARTED)

    def _with(self, outcome: Outcome) -> tuple[Process, ...]:
        return tuple(member for member, result in list(self._results.items()) if result.outcome is outcome)

    @property
    def first(self) -> Result | None:
        """The first value that came."""
        return next((result for result in list(self._arrived) if result.outcome is Outcome.VALUE), None)

    def __repr__(self) -> str:
        rows = ", ".join(f"{result.member}: {result.outcome}" for result in list(self._results.values()))
        return f"<gcom.Results {rows}>"

    # waiting

    def arriving(self) -> Iterator[Result]:
        """The results as they come, until each member has one or the call is over; who is `pending` then has none.

        Raises NotAMember or Detached when this process loses the group meanwhile, or its quorum.
        """
        index = 0
        while True:
            with self._session.changed, self._session.membership.answering.stepping_aside():
                while index == len(self._arrived) and not self._over:
                    self._pause(None)
                if index == len(self._arrived):
                    return
                result = self._arrived[index]
            index += 1
            yield result

    def wait(self, wait: Wait = Wait.ALL, timeout_s: float | None = None) -> Self:
        """Wait until that many answers are in; raises CallTimeout, CallDetached, NotAMember.

        `timeout_s` cannot be longer than what the call itself was given. After CallDetached by a lost quorum it may be
        waited for again: the answers come when this process hears the members again.
        """
        deadline = None if timeout_s is None else monotonic() + timeout_s
        with self._session.changed, self._session.membership.answering.stepping_aside():
            while not enough(wait, [result.outcome for result in self._results.values()]):
                if self._over or not self._pause(deadline):
                    raise CallTimeout(f"{', '.join(self.pending)} did not answer in time", self)
        return self

    def _pause(self, deadline: float | None) -> bool:
        """Wait for news; False at the deadline. Raises CallDetached, NotAMember. Holds the lock."""
        try:
            self._session.raise_if_ended()
            self._session.raise_if_detached(f"{', '.join(self.pending)} did not answer yet")
        except Detached as error:
            raise CallDetached(str(error), self) from error
        return self._session.wait(deadline)

    def close(self) -> None:
        """Take no more results: those that are not in stay PENDING, and requests that have not left are withdrawn."""
        with self._session.changed:
            if not self._over:
                self.finish()
                self._session.step(events.EndGroupCall(self._call))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # what the session does; it holds the lock

    def put(self, member: Process, outcome: Outcome, payload: Payload) -> None:
        """A result of a member came."""
        result = self._results[member] = Result(member, outcome, payload)
        self._arrived.append(result)
        if len(self._arrived) == len(self._results):
            self.finish()

    def finish(self) -> None:
        """Nothing follows."""
        self._over = True
        self._session.calls.pop(self._call, None)


class CallTimeout(GComTimeout):
    """A group call whose answers did not all come in time; `results` has those that did."""

    def __init__(self, text: str, results: Results) -> None:
        super().__init__(text)
        self.results = results


class CallDetached(Detached):
    """This process lost its group, or its quorum, while it waited for a group call; `results` has what had come."""

    def __init__(self, text: str, results: Results) -> None:
        super().__init__(text)
        self.results = results
