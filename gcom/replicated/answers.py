"""Answers of a machine, on their way from a replica to the caller's Future, and to those who watch."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from time import monotonic
from typing import Any

from gcom.errors import GComTimeout
from gcom.replicated.changes import Change, CommandApplied, MembersChanged
from gcom.replicated.errors import MachineFailed
from gcom.replicated.machine import MachineKind
from gcom.replicated.messages import CommandSent, MembersNoted
from gcom.replicated.replica import Applied
from gcom.runtime.user_process.uninterrupted import result_of


def outcome(kind: MachineKind, answer: bytes) -> tuple[Any, Exception | None]:
    """Return the result that an answer brings, or the error."""
    how, value = kind.codec.unpack(answer)
    if how == "value":
        return value, None
    if how == "refused":
        return None, value
    return None, MachineFailed(f"{value}; the state is as it was before")


def settle(kind: MachineKind, future: Future[Any], answer: bytes) -> None:
    """Give a caller its answer."""
    result, error = outcome(kind, answer)
    if error is None:
        complete(future, result)
    else:
        fail(future, error)


def complete(future: Future[Any], result: object) -> None:
    """Set a Future's result, unless its owner has cancelled it."""
    if future.set_running_or_notify_cancel():
        future.set_result(result)


def fail(future: Future[Any], error: Exception) -> None:
    """Set a Future's error, unless its owner has cancelled it."""
    if future.set_running_or_notify_cancel():
        future.set_exception(error)


def answer_query(found: Future[Any], query: Callable[[], Any], barrier: Future[None]) -> None:
    """Set the answer of a fresh query, now that its barrier is done."""
    try:
        barrier.result()
        complete(found, query())
    except Exception as error:  # outermost: of the application's query, whose error is its caller's
        fail(found, error)


def await_barrier(barrier: Future[None], deadline: float, late: Callable[[], str]) -> None:
    """Wait for a barrier, in a call that is uninterrupted; raises GComTimeout, and what ended it."""
    try:
        result_of(barrier, max(0.0, deadline - monotonic()))
    except FutureTimeout:
        raise GComTimeout(late()) from None


def change_of(kind: MachineKind, applied: Applied) -> Change | None:
    """Return what those who watch are told; None: nothing that they could see."""
    match applied.message:
        case CommandSent(name=name, arguments=packed) if applied.fate == "applied":
            arguments, keywords = kind.codec.unpack(packed)
            result, error = outcome(kind, applied.answer)
            return CommandApplied(applied.index, applied.process, name, tuple(arguments), keywords, result, error)
        case MembersNoted(_, members):
            return MembersChanged(applied.index, members)
    return None
