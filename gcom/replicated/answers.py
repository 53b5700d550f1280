"""Answers of a machine, on their way from a replica to the caller's Future, and to those who watch."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from gcom.replicated.changes import Change, CommandApplied, MembersChanged
from gcom.replicated.errors import MachineFailed
from gcom.replicated.machine import MachineKind
from gcom.replicated.messages import CommandSent, MembersNoted
from gcom.replicated.replica import Applied


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
