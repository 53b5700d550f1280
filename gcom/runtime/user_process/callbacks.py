"""Checks of the application's callbacks, at the call that hands them over."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import isasyncgenfunction, iscoroutinefunction, signature

from gcom.errors import BadValue


def check_callback(name: str, callback: object, count: int, awaited: bool = False) -> None:
    """Raise BadValue for a callback that cannot be called with `count` arguments; None is none.

    `awaited`: an event loop calls it, and it may be async.
    """
    if callback is None:
        return
    if not callable(callback):
        raise BadValue(f"{name} must be a function, or left out; got {callback!r}")
    if not awaited and _is_async(callback):
        raise BadValue(
            f"{name} is an async function, which a thread cannot await: join by gcom.aio, or give a plain one"
        )
    try:
        given = signature(callback)
    except ValueError:  # some functions written in C say nothing of themselves
        return
    try:
        given.bind(*range(count))
    except TypeError as error:
        arguments = f"{count} argument{'s' * (count != 1)}" if count else "no arguments"
        raise BadValue(f"{name} is called with {arguments}; got a function of {given}") from error


def _is_async(callback: Callable[..., object]) -> bool:
    while isinstance(callback, partial):
        callback = callback.func
    called = getattr(callback, "__call__", None)  # noqa: B004 - of an object, whose own method may be async
    return any(test(it) for test in (iscoroutinefunction, isasyncgenfunction) for it in (callback, called))
