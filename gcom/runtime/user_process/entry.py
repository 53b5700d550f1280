"""Entry of the application's threads into GCom: what holds though the process interrupts them (decision 0026).

Between any two byte codes an application's thread may be made to do something else, and may hold a lock of GCom's then.

1. *A signal.* Python runs its handler in the main thread, wherever that is. The handler may raise (KeyboardInterrupt),
   or call GCom again. So while the main thread is inside GCom, handlers are held back. They run where it waits, and
   where it comes out: there it holds nothing.
2. *A finalizer.* The collector runs it in any thread, also in the middle of a step. A call that it makes comes from a
   thread that is inside already: it is put behind that step if it needs no answer, and refused if it does.
3. *A fork.* The child has the locks as they were, and none of the threads: nothing of its parent's is used there.

What stands on the library (topics, replicated states, blocks, sessions) has locks and half-done work as well. Its calls
are `uninterrupted`: there handlers are held back too, and run where the call waits (`interruptible`), or at its end.
"""

from __future__ import annotations

import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from queue import SimpleQueue
from threading import Condition, Lock, get_ident
from types import FrameType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from gcom.errors import Forked, WouldBlock

try:
    # Without the enums of the public module, which cost thirty times as much.
    from _signal import getsignal  # type: ignore[import-not-found]
    from _signal import signal as set_signal
except ImportError:
    getsignal, set_signal = signal.getsignal, signal.signal

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="EnteredObject")
SignalHandler = Callable[[int, FrameType | None], Any]
_UNCATCHABLE = {"SIGKILL", "SIGSTOP"}
_SIGNALS = tuple(int(it) for it in signal.Signals if it.name not in _UNCATCHABLE)


class OwnedLock(Protocol):
    """The lock of a node's machines."""

    def is_owned(self) -> bool:
        """Return whether this thread holds it."""
        ...


class EnteredHost(Protocol):
    """The host of a node, as a call into it sees it."""

    @property
    def forked(self) -> bool: ...

    @property
    def lock(self) -> OwnedLock: ...


class EnteredObject(Protocol):
    """An object of the application's, whose methods enter GCom."""

    @property
    def _host(self) -> EnteredHost: ...


class _Place(threading.local):
    """The place of one thread: inside GCom, or out in the application."""

    inside = False  # in a step of the library
    held = False  # the main thread, in a call of what stands on the library
    firm = False  # handlers run at the end of that alone


_here = _Place()


# signals; all of this is the main thread's

_held_back: deque[tuple[SignalHandler, int, FrameType | None]] = deque()  # handlers that are to run where it comes out


class _HeldBack:
    """A handler in the place of the application's, which runs that one at once, or where the thread comes out."""

    __slots__ = ("handler",)

    def __init__(self, handler: SignalHandler) -> None:
        self.handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> object:
        if _here.inside or _here.held:
            _held_back.append((self.handler, number, frame))
            return None
        # The thread came out by an exception, before it had put the application's handler back.
        return self.handler(number, frame)


class _Handlers:
    """The handlers as they were at the last entry: nearly always they are the same at the next."""

    def __init__(self) -> None:
        self._found: list[object] = []
        self._replaced: list[tuple[int, SignalHandler, _HeldBack]] = []

    def hold_back(self) -> list[tuple[int, SignalHandler, _HeldBack]]:
        """Put ours in the place of each handler that is written in Python; return which."""
        found = list(map(getsignal, _SIGNALS))
        if found != self._found:
            python = [(number, it) for number, it in zip(_SIGNALS, found, strict=True) if callable(it)]
            mine = [(number, it, _HeldBack(it)) for number, it in python if not isinstance(it, _HeldBack)]
            self._found, self._replaced = found, mine
        for number, _, ours in self._replaced:
            set_signal(number, ours)
        return self._replaced


_handlers = _Handlers()


def _put_back(replaced: list[tuple[int, SignalHandler, _HeldBack]]) -> None:
    for number, theirs, ours in replaced:
        # Unless the application has set another one meanwhile, in a callback.
        if getsignal(number) is ours:
            set_signal(number, theirs)


def _run_held_back() -> None:
    while _held_back:
        handler, number, frame = _held_back.popleft()
        handler(number, frame)


# in and out


@contextmanager
def entering() -> Iterator[None]:
    """Be inside GCom. In the main thread handlers of signals are held back until the end."""
    holds_back = not _here.held and get_ident() == threading.main_thread().ident
    replaced = _handlers.hold_back() if holds_back else []
    _here.inside = True
    try:
        yield
    finally:
        _here.inside = False
        if holds_back:
            _put_back(replaced)
            _run_held_back()


def _go_out() -> None:
    if _here.firm:
        return
    was_in, _here.inside, _here.held = _here.inside or _here.held, False, False
    if was_in and _held_back and get_ident() == threading.main_thread().ident:
        _run_held_back()


def called_outside(callback: Callable[P, R]) -> Callable[P, R]:
    """Return a function that is called outside by a thread that is inside: it waits, or is the application's code."""

    @wraps(callback)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        inside, held = _here.inside, _here.held
        try:
            _go_out()
            return callback(*args, **kwargs)
        finally:
            _here.inside, _here.held = inside, held

    return called


class InterruptibleCondition(Condition):
    """A condition for which the main thread waits outside, so that handlers of signals run meanwhile."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until notified; return False if `timeout` seconds have passed first. What a handler raises goes on."""
        # As `Condition.wait`, whose own lines a handler must not interrupt: the lock would stay free, or taken.
        waiter = Lock()
        waiter.acquire()
        waiters: deque[Any] = self._waiters  # type: ignore[attr-defined]
        waiters.append(waiter)
        notified = False
        inside, held = _here.inside, _here.held
        saved = self._release_save()  # type: ignore[attr-defined]
        try:
            _go_out()
            notified = waiter.acquire(timeout=-1 if timeout is None else max(0.0, timeout))
        finally:
            _here.inside, _here.held = inside, held  # before any call, which a second handler might interrupt
            self._acquire_restore(saved)  # type: ignore[attr-defined]
            if not notified and waiter in waiters:
                waiters.remove(waiter)
        return notified


def application_call(
    *, deferred: object = None, kept_in: str = "", then: str = ""
) -> Callable[[Callable[Concatenate[S, P], R]], Callable[Concatenate[S, P], R]]:
    """Make a method one that the application may call from any thread, handler or finalizer.

    `deferred`: where a finalizer calls it in the middle of a step, it is carried out behind that, and this is returned;
    None: it is refused. `kept_in` names the deque that gets a result which a handler's exception would lose, and `then`
    the method that is called after that.
    """

    def made(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
        @wraps(method)
        def entered(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
            host = self._host
            if host.forked:
                raise Forked(_FORKED)
            if _here.inside or host.lock.is_owned():
                return _behind(partial(method, self, *args, **kwargs), method.__name__, deferred)  # type: ignore[return-value]
            if get_ident() != threading.main_thread().ident:
                _here.inside = True
                try:
                    return method(self, *args, **kwargs)
                finally:
                    _here.inside = False
            keep = getattr(self, kept_in).append if kept_in else None
            held, result = _here.held, None
            replaced = [] if held else _handlers.hold_back()
            _here.inside = True
            try:
                try:
                    result = method(self, *args, **kwargs)
                finally:
                    _here.inside = False
                    if not held:
                        _put_back(replaced)
                        _run_held_back()
            except BaseException:  # outermost: of a call in the main thread, and it is raised on
                # 1. The call takes an event from the queue. 2. A handler raises. 3. A second one is about to raise. It
                # cannot before `append`, which is written in C, has the event: that is not lost.
                if keep is not None and result is not None:
                    keep(result)
                    if then:
                        getattr(self, then)()
                raise
            return result

        return entered  # type: ignore[return-value]

    return made


# what stands on the library

_NO_RESULT = object()  # of a call that raised, or waits yet


def uninterrupted(
    kept_by: str = "", undone_by: str = "", closes: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function one in which handlers of signals run only where it waits, and at its end.

    So its work is done as a whole, or undone where it waits. `kept_by` names an attribute of the object whose method it
    is: a function in C, such as `deque.append`, which gets a result that a handler's exception would lose at the end,
    also None. `undone_by` names a method that undoes what was done, in that case. If `closes`, the result is closed.
    """

    def made(method: Callable[P, R]) -> Callable[P, R]:
        @wraps(method)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            if _here.held or _here.inside or get_ident() != threading.main_thread().ident:
                return method(*args, **kwargs)
            keep = getattr(args[0], kept_by) if kept_by else None
            replaced, result = _handlers.hold_back(), _NO_RESULT
            _here.held = True
            try:
                try:
                    result = method(*args, **kwargs)
                finally:
                    _here.held = False
                    _put_back(replaced)
                    _run_held_back()
            except BaseException:  # outermost: of a call in the main thread, and it is raised on
                if keep is not None and result is not _NO_RESULT:
                    keep(result)
                if undone_by and result is not _NO_RESULT:
                    getattr(args[0], undone_by)()
                if closes and result is not _NO_RESULT:
                    firmly(result.close)  # type: ignore[attr-defined]
                raise
            return result

        return called

    return made


def interruptible(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what a call returns that waits, or is the application's: handlers of signals run meanwhile."""
    held = _here.held
    if not held or _here.inside or _here.firm:  # inside: a finalizer's, in the middle of a step
        return call(*args, **kwargs)
    try:
        _here.held = False
        _run_held_back()
        return call(*args, **kwargs)
    finally:
        _here.held = held


@uninterrupted()
def firmly(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what a call returns that gives something up and hardly waits: no handler runs before its end."""
    firm, _here.firm = _here.firm, True
    try:
        return call(*args, **kwargs)
    finally:
        _here.firm = firm


_FORKED = (
    "this node was made before a fork, and lives on in the parent alone: connect anew in the child, or start children "
    'by multiprocessing.get_context("spawn")'
)


def own(work: Callable[P, R]) -> Callable[P, R]:
    """Return the work of a thread of GCom's own: whatever calls GCom from it does so in the middle of a step."""

    @wraps(work)
    def worked(*args: P.args, **kwargs: P.kwargs) -> R:
        _here.inside = True
        return work(*args, **kwargs)

    return worked


# behind a step


class _Deferred:
    """The calls that finalizers made in the middle of steps: one thread carries them out, in their order."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], object]] = SimpleQueue()  # may be put into at any time, by its design
        self._thread: threading.Thread | None = None

    def put(self, call: Callable[[], object]) -> None:
        self._calls.put(call)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="gcom deferred", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                self._calls.get()()
            except Exception:  # outermost: of a call for which nobody waits, and whose failure must be seen
                traceback.print_exc()


_deferred = _Deferred()


def _behind(call: Callable[[], object], name: str, deferred: object) -> object:
    """Handle a call from within GCom: of a finalizer, which the collector ran in the middle of a step."""
    if deferred is None:
        raise WouldBlock(
            f"{name} was called in the middle of a step of GCom, by a finalizer (__del__, weakref) say, and cannot "
            "wait there: hand it to another thread"
        )
    _deferred.put(call)
    return deferred


def begin_in_child() -> None:
    """Forget what this process does not have: it is a fork's child."""
    global _deferred
    _deferred = _Deferred()
    _here.inside = _here.held = _here.firm = False
    _held_back.clear()
