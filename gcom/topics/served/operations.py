"""Operations: the functions of the storage modules that a client may have carried out, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gcom.errors import BadValue, MalformedFrame
from gcom.topics.served import codec
from gcom.topics.storage import appends, handover, subscriptions, topics, trimming
from gcom.topics.storage.transaction import StoreCall, together

TOGETHER = "together"
READS: dict[str, Callable[..., Any]] = {
    "find": topics.find,
    "info": topics.info,
    "listed": topics.listed,
    "producers": topics.producers,
    "place_after": topics.place_after,
    "read": topics.read,
    "check_messages": topics.check,
    "infos": subscriptions.infos,
    "has_news": subscriptions.has_news,
    "has_free": subscriptions.has_free,
    "check": subscriptions.check,
    "look_on": subscriptions.look_on,
    "look_from": subscriptions.look_from,
}
# Carried out again, they change nothing more: also where the second time is much later.
REPEATABLE: dict[str, Callable[..., Any]] = {
    "append": appends.append,
    "last_seq": appends.last_seq,
    "leases": subscriptions.leases,
    "extend": subscriptions.extend,
    "reached": subscriptions.reached,
    "release": subscriptions.release,
    "next_after": handover.next_after,
    "take_over": handover.take_over,
}
# Each is carried out once, by the number that its client gave it (`callers`).
NUMBERED: dict[str, Callable[..., Any]] = {
    "ensure": topics.ensure,
    "delete": topics.delete,
    "retire": topics.retire,
    "claim": appends.claim,
    "add": appends.add,
    "append_next": appends.append_next,
    "open_and_append": appends.open_and_append,
    "subscribe": subscriptions.ensure,
    "end": subscriptions.end,
    "fetch": subscriptions.fetch,
    "acknowledge": subscriptions.acknowledge,
    "refuse": subscriptions.refuse,
    "replay": subscriptions.replay,
    "process": subscriptions.process,
    "trim": trimming.trim,
    "bound": topics.bound,
}
_WRITES = REPEATABLE | NUMBERED
_NAMES = {function: name for name, function in (READS | _WRITES).items()}


def name_of(call: StoreCall[Any]) -> str:
    """Return the name of an operation."""
    return TOGETHER if call.function is together else _NAMES[call.function]


def is_numbered(name: str) -> bool:
    """Tell whether an operation is to be carried out once by its number."""
    return name in NUMBERED or name == TOGETHER


def written(call: StoreCall[Any]) -> list[object]:
    """Return a call as it travels: its name and its arguments."""
    if call.function is together:
        (calls,) = call.arguments
        return [TOGETHER, [written(it) for it in calls]]  # type: ignore[attr-defined]
    return [name_of(call), [codec.in_rows(it) for it in call.arguments]]


def read_call(name: object, arguments: object, *, reads: bool) -> StoreCall[Any]:
    """Return the call that a client wrote; raise MalformedFrame."""
    if name == TOGETHER and not reads and isinstance(arguments, list):
        return StoreCall(together, ([_inner(it) for it in arguments],))
    function = (READS if reads else _WRITES).get(name) if isinstance(name, str) else None
    if function is None:
        raise MalformedFrame(f"there is no operation {name!r:.40}: the other side has another version of GCom")
    return StoreCall(function, codec.checked_arguments(function, arguments))


def _inner(it: object) -> StoreCall[Any]:
    match it:
        case [name, arguments] if name != TOGETHER:
            return read_call(name, arguments, reads=False)
    raise MalformedFrame("a transaction has calls, each a name and its arguments")


def read_result(call: StoreCall[Any], result: object) -> Any:
    """Return the result of a call from what the server answered; raise MalformedFrame."""
    if call.function is not together:
        return codec.checked_result(call, result)
    (calls,) = call.arguments
    if not isinstance(result, list) or len(result) != len(calls):  # type: ignore[arg-type]
        raise MalformedFrame("the answer to a transaction has a result for each of its calls")
    return [codec.checked_result(one, it) for one, it in zip(calls, result, strict=True)]  # type: ignore[call-overload]


def check_named(call: StoreCall[Any]) -> None:
    """Raise BadValue for a call that only a job of this process may be."""
    if call.function is together:
        (calls,) = call.arguments
        for it in calls:  # type: ignore[attr-defined]
            check_named(it)
    elif call.function not in _NAMES:
        raise BadValue(f"{call.function.__name__} needs the store itself: open it where its file or database is")
