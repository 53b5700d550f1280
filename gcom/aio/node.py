"""`AsyncNode`: a process that takes part in groups, as programs on asyncio hold it."""

from __future__ import annotations

from asyncio import CancelledError, Future, Task, create_task, gather, shield, wait
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import replace
from functools import wraps
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar

from gcom.aio.group import AsyncGroup
from gcom.aio.tasks import Tasks, Worker, in_loop
from gcom.aio.waits import LoopWaits
from gcom.certificates.identity_files import CertificateFiles
from gcom.runtime.api.guards import seconds_of
from gcom.runtime.api.node import Node, checked_group, enter
from gcom.runtime.faults import Faults
from gcom.runtime.host import Host
from gcom.runtime.membership import Membership, Uses
from gcom.values.definition import Definition


class Exited(Protocol):
    """A thing that is made in a loop, and has an end."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


T = TypeVar("T", bound=Exited)
P = ParamSpec("P")
R = TypeVar("R")


class KeptEnd(Protocol):
    """The end of a thing that lives on a node; it takes itself off the node's list."""

    async def __call__(self) -> None: ...


class Awaited(Generic[T]):
    """A thing that is not there yet: `await` it, or use it in an `async with` block, whose end closes it."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._make = make
        self._made: T | None = None

    def __await__(self) -> Generator[Any, Any, T]:
        return self._make().__await__()

    async def __aenter__(self) -> T:
        self._made = await self._make()
        return self._made

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._made is not None:
            await self._made.__aexit__(kind, error, trace)


class HostedNode(Node):
    """A node, and what it runs on."""

    @property
    def host(self) -> Host:
        """The machine room of this process."""
        return self._host


def by_worker(
    method: Callable[Concatenate[Node, P], R],
) -> Callable[Concatenate[AsyncNode, P], Coroutine[Any, Any, R]]:
    """Return a method of `Node` as one of `AsyncNode`, for calls that wait for a registry and are few."""

    @wraps(method)
    async def called(self: AsyncNode, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.work(lambda node: method(node, *args, **kwargs))

    return called


class AsyncNode:
    """A named process in one event loop. Made by `gcom.aio.connect`; use it in an `async with` block, or close it."""

    def __init__(self, node: HostedNode, worker: Worker) -> None:
        self._node = node
        self._worker = worker
        self._state_workers: list[Worker] = []
        self._waits = LoopWaits(node.host)
        self._groups: list[AsyncGroup] = []
        self._tasks = Tasks()
        self._closing: Future[Any] | None = None
        self.kept: list[KeptEnd] = []  # what is closed before this node is

    # properties

    @property
    def name(self) -> str:
        """The name of this process in every group."""
        return self._node.name

    @property
    def address(self) -> str:
        """The address for other nodes: `host:port`, and `@host.life` behind it where the system can name a life."""
        return self._node.address

    @property
    def blocking(self) -> Node:
        """The node of `gcom` under this one, for threads: its calls wait."""
        return self._node

    @property
    def forked(self) -> bool:
        """Tell whether this process is the child of a fork: the node lives on in its parent alone."""
        return self._node.host.forked

    # groups

    create = by_worker(Node.create)
    groups = by_worker(Node.groups)
    info = by_worker(Node.info)
    remove = by_worker(Node.remove)

    async def work(self, call: Callable[[Node], R]) -> R:
        """Return what a call of the blocking node returns, which the node's worker makes: the loop goes on."""
        return await self._worker.run(lambda: call(self._node))

    def join(
        self,
        group: str,
        *,
        create: Definition | None = None,
        receive: bool = True,
        rejoin: bool = True,
        get_state: Callable[[], bytes | Awaitable[bytes]] | None = None,
        set_state: Callable[[bytes], object] | None = None,
        merge_states: Callable[[bytes, bytes], bytes | Awaitable[bytes]] | None = None,
        allow_empty: bool = False,
        timeout_s: float | None = None,
    ) -> Awaited[AsyncGroup]:
        """Become a member; with `create`, make the group first if it is not there.

            async with node.join("news") as group: ...
            group = await node.join("news")

        The options, and what is raised, are those of `gcom.Node.join`. The callbacks are functions or `async def`; the
        loop calls them between two events that it reads.
        """
        given = Uses(receive, rejoin, get_state, set_state, merge_states, None, allow_empty, True)  # type: ignore[arg-type] # awaited in the loop
        seconds = seconds_of(self._node.timeout_s if timeout_s is None else timeout_s)
        group = checked_group(group, create)
        return Awaited(lambda: self._join(group, given, create, seconds))

    async def _join(self, group: str, given: Uses, create: Definition | None, timeout_s: float) -> AsyncGroup:
        tasks = self._tasks
        uses = replace(
            given,
            get_state=given.get_state and in_loop(given.get_state, tasks),
            set_state=given.set_state and in_loop(given.set_state, tasks),
            merge_states=given.merge_states and in_loop(given.merge_states, tasks),
        )
        entering = enter(self._node.host, group, uses, create, timeout_s)
        membership = await self._waits.run(entering, give_back=self._leave)
        # Of its own: a state that waits for the application must not hold up the registry, or another group.
        worker = Worker(f"{group} {self.name}")
        self._state_workers.append(worker)
        joined = AsyncGroup(self._node.host, membership, self._waits, worker)
        self._groups.append(joined)
        return joined

    def _leave(self, membership: Membership) -> None:
        """Leave a group that nobody will hold: the task that entered it was cancelled."""
        self._worker.post(lambda: membership.leave(1.0))

    def start(self, work: Coroutine[Any, Any, R]) -> Task[R]:
        """Start a task that is over when this node is."""
        return self._tasks.start(work)

    # tests, the end

    @property
    def faults(self) -> Faults:
        """The faults that the calls of this node have now; none if nobody asked for any."""
        return self._node.faults

    def inject(self, faults: str | Faults) -> None:
        """Have faults in the calls of this node from now on, in place of those before, as `gcom.Node.inject` does."""
        self._node.inject(faults)

    async def close(self, timeout_s: float = 5.0) -> None:
        """Leave every group, as far as `timeout_s` seconds allow, and stop: no task and no thread is left.

        May be called again. Cancelled, it goes on in a thread.
        """
        deadline = monotonic() + seconds_of(timeout_s)
        try:
            if closings := [create_task(closing()) for closing in self.kept]:
                await wait(closings, timeout=max(0.1, deadline - monotonic()))
                for task in closings:
                    task.cancel()
                await gather(*closings, return_exceptions=True)
            for group in self._groups:
                await group.leave(max(0.0, deadline - monotonic()))
            for group in self._groups:
                await group.end_tasks(max(0.1, deadline - monotonic()))
        finally:
            workers = [self._worker, *self._state_workers]
            if self._closing is None:
                self._closing = self._worker.post(lambda: self._node.close(max(0.0, deadline - monotonic())))
                for worker in workers:
                    worker.close()
        await shield(self._closing)
        await self._tasks.end()
        for worker in workers:
            worker.join()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.forked:
            await self.close()

    def __repr__(self) -> str:
        return repr(self._node).replace("gcom.Node", "gcom.aio.AsyncNode", 1)


def connect(
    name: str,
    registry: str | None = None,
    *,
    log_dir: str | Path | None = None,
    log_digests: bool = False,
    timeout_s: float = 10.0,
    listen: str | None = None,
    advertise: str | None = None,
    certificates: CertificateFiles | None = None,
) -> Awaited[AsyncNode]:
    """Return a node of that name for the event loop that runs, with the options of `gcom.connect`.

    async with gcom.aio.connect("alice") as node: ...
    node = await gcom.aio.connect("alice")
    """

    def make() -> HostedNode:
        return HostedNode(
            name,
            registry,
            log_dir=log_dir,
            log_digests=log_digests,
            timeout_s=timeout_s,
            listen=listen,
            advertise=advertise,
            certificates=certificates,
        )

    return Awaited(lambda: _connect(name, make))


async def _connect(name: str, make: Callable[[], HostedNode]) -> AsyncNode:
    worker, made = Worker(name), list[HostedNode]()
    try:
        await worker.run(lambda: made.append(make()))
    except BaseException as error:  # outermost: of a connect; nobody will hold the node
        if isinstance(error, CancelledError):
            worker.post(lambda: [node.close(0.0) for node in made])
        worker.close()
        raise
    return AsyncNode(made[0], worker)
