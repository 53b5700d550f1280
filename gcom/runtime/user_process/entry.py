"""Entry of the application's threads into GCom: what holds though the process interrupts them (decision 0026).

Between any two byte codes an application's thread may be made to do something else, and may hold a lock of GCom's then.

1. *A signal.* Python runs its handler in the main thread, wherever that is. The handler may raise (KeyboardInterrupt),
   or call GCom again. So while the main thread is inside GCom, handlers are held back. They run where it waits, and
   where it comes out: there it holds nothing.
2. *A finalizer.* The collector runs it in any thread, also in the middle of a step. A call that it makes comes from a
   thread that is inside already: it is put behind that step if it needs no answer, and refused if it does.
3. *A fork.* The child has the locks as they were, and none of the threads: nothing of its parent's is used there.
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

    inside = False


_here = _Place()


# signals; all of this is the main thread's

_held_back: deque[tuple[SignalHandler, int, FrameType | None]] = deque()  # handlers that are to run where it comes out


class _HeldBack:
    """A handler in the place of the application's, which runs that one at once, or where the thread comes out."""

    __slots__ = ("handler",)

    def __init__(self, handler: SignalHandler) -> None:
        self.handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> object:
        if _here.inside:
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
    is_main = get_ident() == threading.main_thread().ident
    replaced = _handlers.hold_back() if is_main else []
    _here.inside = True
    try:
        yield
    finally:
        _here.inside = False
        if is_main:
            _put_back(replaced)
            _run_held_back()


@contextmanager
def outside() -> Iterator[None]:
    """Be outside for a while, in a thread that is inside: it waits, or runs the application's code."""
    inside, _here.inside = _here.inside, False
    try:
        if inside and _held_back and get_ident() == threading.main_thread().ident:
            _run_held_back()
        yield
    finally:
        _here.inside = inside


def called_outside(callback: Callable[P, R]) -> Callable[P, R]:
    """Return a function of the application's that GCom may call from inside."""

    @wraps(callback)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        with outside():
            return callback(*args, **kwargs)

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
        self.release()
        try:
            with outside():
                notified = waiter.acquire(timeout=-1 if timeout is None else max(0.0, timeout))
        finally:
            self.acquire()
            if not notified and waiter in waiters:
                waiters.remove(waiter)
        return notified


def application_call(
    *, deferred: object = None, give_back: str = ""
) -> Callable[[Callable[Concatenate[S, P], R]], Callable[Concatenate[S, P], R]]:
    """Make a method one that the application may call from any thread, handler or finalizer.

    `deferred`: where a finalizer calls it in the middle of a step, it is carried out behind that, and this is returned;
    None: it is refused. `give_back` names the method that takes a result which a handler's exception would lose.
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
            replaced, result = _handlers.hold_back(), None
            _here.inside = True
            try:
                try:
                    result = method(self, *args, **kwargs)
                finally:
                    _here.inside = False
                    _put_back(replaced)
                    _run_held_back()
            except BaseException:  # outermost: of a call in the main thread, and it is raised on
                # 1. The call takes an event from the queue. 2. A handler raises. The event is not lost.
                if give_back and result is not None:
                    getattr(self, give_back)(result)
                raise
            return result

        return entered  # type: ignore[return-value]

    return made


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
    _here.inside = False
    _held_back.clear()
