"""`open`, and the object that it returns: it has the machine's methods, and acts on all replicas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import gcom
from gcom.errors import BadValue, WouldBlock
from gcom.replicated.machine import Machine, MachineKind
from gcom.replicated.membership import StateOptions
from gcom.replicated.state import ReplicatedState
from gcom.replicated.submission import Submission
from gcom.runtime.user_process.entry import uninterrupted
from gcom.values.detection import Detection

M = TypeVar("M", bound=Machine)
_OPTIONS = "_gcom_options"


@dataclass(frozen=True, slots=True)
class _Options:
    state: ReplicatedState
    fresh: bool
    timeout_s: float | None
    awaited: bool = False  # by a program on asyncio: nothing here may wait


@uninterrupted(closes=True)
def open(
    node: gcom.Node,
    name: str,
    machine: type[M] | Callable[[], M],
    *,
    timeout_s: float = 10.0,
    detection: Detection | float | str = "lan",
    data: str | Path | None = None,
    replicas: tuple[str, ...] = (),
    stale: bool = False,
    records: bool = True,
) -> M:
    """Enter the replicated state of that name, and return an object with the machine's methods.

        with gcom.connect("alice") as node, gcom.replicated.open(node, "stock", Stock) as stock:
            stock.take("nails", 3)

    `machine` is a class, or a function without arguments, that makes the state as it is at first: all members must give
    the same. `timeout_s`: how long opening, a command or a fresh query waits; `stock.within(60).take(...)`: longer.
    `detection`: as of a group.

    `replicas`, the names of nodes, make it durable: each has a folder `data` with a log, and a command is confirmed
    once a majority of these names has synced it. All members must give the same; others are members without a log.
    Opening waits until a majority is there; with `stale` it returns without, and queries answer from this disk.

    `records`: with a delivery log (`log_dir` of the node) the audit also judges what the state applied and answered.

    Raises BadValue, StorageFailed, and what `Node.join` and `Group.wait_for_state` raise.
    """
    kind = MachineKind.of(machine)
    if data is not None and not replicas:
        raise BadValue('data needs replicas, the names of the nodes that have a folder: replicas=("a", "b", "c")')
    options = StateOptions(timeout_s, detection, None if data is None else Path(data), replicas, stale, records)
    state = ReplicatedState(node, name, kind, options)
    return cast(M, _handle(_handle_class(kind), _Options(state, False, timeout_s)))


def local(machine: M) -> M:
    """Return an opened machine of which queries alone may be called, each answered at once: for programs on asyncio."""
    return cast(M, _handle(type(machine), replace(_options(machine), fresh=False, awaited=True)))


def _handle(kind: type, options: _Options) -> Any:
    handle: Any = object.__new__(kind)
    object.__setattr__(handle, _OPTIONS, options)
    return handle


def _handle_class(kind: MachineKind) -> type:
    """Return a class with the machine's methods, each acting on the replicated state."""
    methods: dict[str, Any] = {name: getattr(_Opened, name) for name in _SHOWN}
    methods |= {name: _command(name, method) for name, method in kind.commands.items()}
    methods |= {name: _query(name, method) for name, method in kind.queries.items()}
    return type(kind.kind.__name__, (kind.kind,), methods)


def _command(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        options: _Options = object.__getattribute__(self, _OPTIONS)
        if options.awaited:
            raise WouldBlock(f"{name} is a command: await it, as state.{name}(...) or state.call(..., ...)")
        return options.state.command(name, arguments, keywords, options.timeout_s)

    return _named(call, method)


def _query(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        options: _Options = object.__getattribute__(self, _OPTIONS)
        return options.state.query(name, arguments, keywords, options.fresh, options.timeout_s)

    return _named(call, method)


def _named(call: Callable[..., Any], method: Callable[..., Any]) -> Callable[..., Any]:
    call.__name__, call.__doc__ = method.__name__, method.__doc__
    call.__qualname__ = method.__qualname__
    return call


class _Opened:
    """The methods that an opened machine has besides its own."""

    @property
    def submit(self) -> Submission:
        return Submission(_options(self).state)

    @property
    def replicas(self) -> ReplicatedState:
        return _options(self).state

    def fresh(self) -> Any:
        if _options(self).awaited:
            raise WouldBlock("a fresh query waits: await state.fresh().query(...)")
        return _handle(type(self), replace(_options(self), fresh=True))

    def within(self, timeout_s: float | None) -> Any:
        return _handle(type(self), replace(_options(self), timeout_s=timeout_s))

    def close(self) -> None:
        _options(self).state.close()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__}.{name} is the machine's own: write a query that returns it")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is the machine's own: write a command that changes it")

    def __repr__(self) -> str:
        state = _options(self).state
        return f"<{type(self).__name__} of {state.group.name!r} as {state.process}, index {state.index}>"


_SHOWN = ("submit", "replicas", "fresh", "within", "close", "__getattr__", "__setattr__", "__repr__")


def _options(handle: object) -> _Options:
    found: _Options = object.__getattribute__(handle, _OPTIONS)
    return found
