"""`AsyncState`: a replicated state as programs on asyncio hold it."""

from __future__ import annotations

from asyncio import CancelledError, Future, get_running_loop, shield
from collections.abc import Callable, Coroutine
from concurrent.futures import Future as ThreadFuture
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from gcom.aio.replicated.ending import StateEnding
from gcom.aio.replicated.starting import CommandStarts, StartTurn
from gcom.aio.replicated.wakes import LoopWakes
from gcom.aio.replicated.watching import WatchedChanges
from gcom.aio.tasks import Worker
from gcom.errors import GComTimeout, LocalError
from gcom.replicated import Change, Machine, OutcomeUnknown, ReplicatedState, StateReplaced
from gcom.replicated.handle import local
from gcom.replicated.machine import RESERVED
from gcom.replicated.window import CommandRetry, PendingCommand
from gcom.runtime.api.guards import seconds_of

M = TypeVar("M", bound=Machine)
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
FOREVER_S = 3600.0
ADVICE = "`await state.retry(error)` finds out"
Started = PendingCommand | StartTurn


@dataclass(frozen=True, slots=True)
class CancelledCommand:
    """A command whose task was cancelled, as far as it is known.

    `sent` False: it was not sent, and never will be. Else it may be applied: `await state.retry(found)` returns its
    result, and applies it if that has not happened.
    """

    command: str
    sent: bool
    started: Started | None = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.command} " + (
            "may be applied: await state.retry(...) finds out" if self.sent else "was not sent"
        )


def cancelled_command(error: BaseException | None) -> CancelledCommand | None:
    """Return what became of a command, from its CancelledError, or the TimeoutError that this turned into.

    None: the error came from something else.
    """
    while error is not None:
        if error.args and isinstance(error.args[0], CancelledCommand):
            return error.args[0]
        error = error.__cause__ or error.__context__
    return None


class AsyncState(Generic[M]):
    """An opened machine: its commands are awaited, and `here` has its queries.

        left = await stock.take("nails", 3)                  # by name: mypy sees that it is to be awaited
        left = await stock.call(Stock.take, "nails", 3)      # the same, and mypy checks arguments and result
        stock.here.of("nails")                               # at once, from this replica
        await stock.fresh().of("nails")                      # with all that was confirmed before

    Made by `gcom.aio.replicated.open`; of one event loop.
    """

    def __init__(self, machine: M, wakes: LoopWakes, worker: Worker, ending: StateEnding) -> None:
        self._here = local(machine)
        self._replicas: ReplicatedState = machine.replicas
        self.wakes = wakes
        self._starts = CommandStarts(worker, lambda: self._replicas.failure)
        self._ending = ending
        self._fresh = False
        self._timeout_s: float | None = self._replicas.timeout_s

    @property
    def here(self) -> M:
        """The machine as this replica has it: call its queries, which do not wait. It may lack the last changes."""
        return self._here

    @property
    def replicas(self) -> ReplicatedState:
        """The replicated state itself: `members`, `process`, `index`, `ready`, `group`."""
        return self._replicas

    def fresh(self) -> Self:
        """Return this state with queries that see all that was confirmed, anywhere, before they were called."""
        found = copy(self)
        found._fresh = True
        return found

    def within(self, timeout_s: float | None) -> Self:
        """Return this state with another time that a command or a fresh query waits; None: no limit."""
        found = copy(self)
        found._timeout_s = None if timeout_s is None else seconds_of(timeout_s)
        return found

    async def call(self, method: Callable[Concatenate[M, P], R], *arguments: P.args, **keywords: P.kwargs) -> R:
        """Carry out a command of the class, or of `fresh()` a query: `await stock.call(Stock.take, "nails", 3)`.

        Raises what the command raised, OutcomeUnknown, and what `gcom.Group.send` raises: nothing was sent then.
        Cancelled, `cancelled_command(error)` says what is known.
        """
        found: R = await self._call(method.__name__, arguments, keywords)
        return found

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in RESERVED or not hasattr(type(self._here), name):
            raise AttributeError(f"{type(self._here).__name__} has no command or query {name!r}")
        return partial(self._by_name, name)

    async def _by_name(self, name: str, /, *arguments: Any, **keywords: Any) -> Any:
        return await self._call(name, arguments, keywords)

    async def _call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        limit_s = FOREVER_S if self._timeout_s is None else self._timeout_s
        if self._replicas.is_query(name):
            return await self._query(name, arguments, keywords, limit_s)
        deadline = monotonic() + limit_s
        started = self._starts.start(partial(self._replicas.begin, name, arguments, keywords), deadline)
        return await self._answer(name, started, deadline, limit_s)

    async def _query(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], limit_s: float) -> Any:
        if not self._fresh:
            raise LocalError(f"{name} is a query: here.{name}(...) answers at once, await fresh().{name}(...) waits")
        deadline = monotonic() + limit_s
        barrier = self._starts.start(self._replicas.barrier, deadline)
        try:
            found = await barrier.wait() if isinstance(barrier, StartTurn) else barrier
            await self._result(found, deadline)
        except TimeoutError:
            raise GComTimeout(f"no fresh answer of {self._replicas.name!r} after {limit_s} s") from None
        return getattr(self._here, name)(*arguments, **keywords)

    async def _answer(self, name: str, started: Started, deadline: float, limit_s: float) -> Any:
        try:
            pending: PendingCommand = await started.wait() if isinstance(started, StartTurn) else started
            return await self._result(pending.future, deadline)
        except TimeoutError as error:
            if isinstance(error, GComTimeout):
                raise
            raise self._replicas.unknown(pending, f"after {limit_s} s", ADVICE) from None
        except CancelledError as error:
            sent = not (isinstance(started, StartTurn) and started.withdraw())
            error.args = (CancelledCommand(name, sent, started if sent else None),)
            raise

    async def _result(self, found: ThreadFuture[R], deadline: float) -> R:
        """Return the result of a Future that another thread sets; raises TimeoutError."""
        if found.done():
            return found.result()
        loop = get_running_loop()
        answered: Future[None] = loop.create_future()
        timer = loop.call_later(max(0.0, deadline - monotonic()), _finish, answered)
        found.add_done_callback(lambda _: self.wakes.post(partial(_finish, answered)))
        try:
            await answered
        finally:
            timer.cancel()
        return found.result(0)

    async def retry(self, error: OutcomeUnknown | CancelledCommand, timeout_s: float | None = None) -> Any:
        """Return the result of a command whose outcome is unknown, and apply it if that has not happened: once in all.

        Raises what the command raised, OutcomeUnknown again after `timeout_s`, Forgotten, LocalError if nothing was
        sent. The error may be of a state that was closed meanwhile.
        """
        limit_s = self._replicas.timeout_s if timeout_s is None else seconds_of(timeout_s)
        deadline = monotonic() + limit_s
        again = error.again if isinstance(error, OutcomeUnknown) else await self._retry_of(error)
        if not isinstance(again, CommandRetry):
            raise error if isinstance(error, OutcomeUnknown) else LocalError(f"{error}: call it again")
        started = self._starts.start(partial(again.begin, self._replicas), deadline)
        return await self._answer(again.pending.message.name, started, deadline, limit_s)

    async def _retry_of(self, cancelled: CancelledCommand) -> CommandRetry | None:
        if isinstance(cancelled.started, StartTurn):
            return CommandRetry(self._replicas, await shield(cancelled.started.started))
        return CommandRetry(self._replicas, cancelled.started) if cancelled.started else None

    def changes(self) -> WatchedChanges[Change]:
        """Yield the changes from now on, in their order, until the state is closed.

        At most 10,000 wait for their reader: then they are dropped, and a StateReplaced says to read all anew.
        """
        return self.watched(self._replicas.watch, lambda: StateReplaced(self._replicas.index))

    def watched(
        self, watch: Callable[[Callable[[T], object]], Callable[[], None]], missed: Callable[[], T]
    ) -> WatchedChanges[T]:
        """Return an iterator over what `watch` tells, until the state is closed; `missed` makes up for what it lost."""
        found = WatchedChanges(watch, missed, lambda: self._replicas.failure, self.wakes)
        self._ending.end_too(found)
        return found

    def when_answered(self, error: BaseException, take: Callable[[ThreadFuture[Any]], object]) -> None:
        """Call back with the answer that comes after an error: of a task that was cancelled, or OutcomeUnknown."""
        found = cancelled_command(error)
        again = error.again if isinstance(error, OutcomeUnknown) else None
        if isinstance(again, CommandRetry):
            again.pending.future.add_done_callback(take)
        elif found and isinstance(found.started, PendingCommand):
            found.started.future.add_done_callback(take)
        elif found and isinstance(found.started, StartTurn):
            found.started.when_begun(lambda pending: pending.future.add_done_callback(take), lambda: None)

    def when_started(self, error: BaseException, call: Callable[[], object]) -> None:
        """Call once a command whose task was cancelled has been sent, or will not be: at once, unless it waits."""
        found = cancelled_command(error)
        if found and isinstance(found.started, StartTurn):
            found.started.when_begun(lambda _: call(), call)
        else:
            call()

    async def close(self) -> None:
        """Leave the group. Commands without an answer end with OutcomeUnknown. May be called again."""
        await self._ending()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self._here)


def _finish(answered: Future[None]) -> None:
    if not answered.done():
        answered.set_result(None)
