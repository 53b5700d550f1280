"""Ctrl-C at random places of a call, or at each in turn; and cancellation at each pause of a task."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dis import opmap
from random import Random
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")
FIRST_S = 0.003  # the first interrupt comes at latest so long after a call's begin
GROWTH = 1.5  # of that time, each time it was too short: a slow machine gets there, too


class Interrupts:
    """Raises KeyboardInterrupt in the main thread, in the middle of what is attempted."""

    def __init__(self, seed: int) -> None:
        self.count = 0
        self._random = Random(seed)
        self._inside = False
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGALRM, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    def _interrupt(self, *_: object) -> None:
        if self._inside:
            raise KeyboardInterrupt

    def attempt(self, work: Callable[[], T]) -> T:
        """Do some work until once it is not interrupted; return what it returns."""
        limit_s = FIRST_S
        while True:
            signal.setitimer(signal.ITIMER_REAL, limit_s * self._random.uniform(0.05, 1.0))
            try:
                self._inside = True
                found = work()
                self._inside = False
            except KeyboardInterrupt:
                self._inside = False
                self.count += 1
                limit_s *= GROWTH
            else:
                return found


# Where Python looks for signals: at the end of these instructions.
_CHECKS = frozenset(number for name, number in opmap.items() if name.startswith(("CALL", "RESUME", "JUMP_BACKWARD")))


class _Step:
    """A signal at the n-th place where Python would run its handler, in this thread."""

    def __init__(self, number: int) -> None:
        self.left = number

    def begin(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        """Watch a frame: a trace function."""
        if self.left <= 0:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        code, passed = frame.f_code.co_code, False

        def step(frame: FrameType, event: str, _argument: object) -> Callable[..., Any]:
            nonlocal passed
            if event == "opcode":
                self.left -= passed
                if passed and self.left == 0:
                    signal.raise_signal(signal.SIGALRM)
                passed = code[frame.f_lasti] in _CHECKS
            return step

        return step


def interrupt_each_step(
    work: Callable[[], object], check: Callable[[bool], object], stride: int = 1, tries_max: int = 2_000
) -> int:
    """Do some work again and again, each time interrupted one step later, until it comes to its end before that.

    `check` is called after each time, and told whether it was interrupted. Returns how often it was.
    """
    before = signal.signal(signal.SIGALRM, _raise_interrupt)
    count = 0
    try:
        for number in range(1, tries_max * stride, stride):
            step, interrupted = _Step(number), False
            try:
                sys.settrace(step.begin)
                work()
                sys.settrace(None)
            except KeyboardInterrupt:
                interrupted = True
            finally:
                sys.settrace(None)
            count += interrupted
            check(interrupted)
            if step.left > 0:
                break
    finally:
        signal.signal(signal.SIGALRM, before)
    return count


def _raise_interrupt(*_: object) -> None:
    raise KeyboardInterrupt


class _CancelledAt:
    """A task's work that is cancelled at its n-th pause: as it begins, or once what it awaits is there."""

    def __init__(self, work: Coroutine[Any, Any, Any], number: int, late: bool) -> None:
        self.left = number
        self._work, self._late = work, late

    def __await__(self) -> Generator[Any, Any, Any]:
        task = asyncio.current_task()
        assert task is not None, "it runs in a task"
        resume, value = self._work.send, None
        while True:
            try:
                pause = resume(value)
            except StopIteration as done:
                return done.value
            self.left -= 1
            if self.left == 0 and self._late and pause is not None:
                pause.add_done_callback(lambda _: task.cancel())
            elif self.left == 0:
                asyncio.get_running_loop().call_soon(task.cancel)
            try:
                value, resume = (yield pause), self._work.send
            except BaseException as error:  # outermost: of a task's step, and its work is told
                value, resume = error, self._work.throw


async def cancel_each_step(
    work: Callable[[], Coroutine[Any, Any, T]], check: Callable[[T | None], Awaitable[object]]
) -> int:
    """Do some work in tasks, each cancelled one pause later, until it comes to its end before that.

    `check` is called after each with what the work returned; None: it was cancelled. Returns how often it was.
    """
    count = 0
    for late in (False, True):
        step, number = None, 0
        while step is None or step.left <= 0:
            number += 1
            step = _CancelledAt(work(), number, late)
            found = None
            try:
                found = await asyncio.ensure_future(_awaited(step))
            except asyncio.CancelledError:
                count += 1
            await check(found)
    return count


async def _awaited(work: Awaitable[T]) -> T:
    return await work
