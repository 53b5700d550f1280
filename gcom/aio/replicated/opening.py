"""`open`: enters a replicated state in a thread of its own, and leaves it so."""

from __future__ import annotations

from asyncio import CancelledError, shield
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import gcom.replicated
from gcom.aio.node import AsyncNode, Awaited
from gcom.aio.replicated.ending import StateEnding, end_given_up
from gcom.aio.replicated.handle import AsyncState
from gcom.aio.replicated.wakes import LoopWakes
from gcom.aio.tasks import Worker
from gcom.errors import GComError
from gcom.replicated import Machine
from gcom.values.detection import Detection

M = TypeVar("M", bound=Machine)


def open(
    node: AsyncNode,
    name: str,
    machine: type[M] | Callable[[], M],
    *,
    timeout_s: float = 10.0,
    detection: Detection | float | str = "lan",
    data: str | Path | None = None,
    replicas: tuple[str, ...] = (),
    stale: bool = False,
    records: bool = True,
) -> Awaited[AsyncState[M]]:
    """Enter the replicated state of that name.

        async with gcom.aio.replicated.open(node, "stock", Stock) as stock:
            await stock.take("nails", 3)

    Arguments and errors are those of `gcom.replicated.open`. Cancelled, this process does not stay in the group.
    """

    def enter() -> M:
        return gcom.replicated.open(
            node.blocking,
            name,
            machine,
            timeout_s=timeout_s,
            detection=detection,
            data=data,
            replicas=replicas,
            stale=stale,
            records=records,
        )

    return Awaited(lambda: _open(node, name, enter))


async def _open(node: AsyncNode, name: str, enter: Callable[[], M]) -> AsyncState[M]:
    await end_given_up(node, name)
    worker = Worker(f"{name} {node.name}")
    opening = worker.post(enter)
    ending = StateEnding(node, name, worker, opening)
    try:
        opened: M = await shield(opening)
    except CancelledError:
        ending.given_up = True
        opening.add_done_callback(lambda _: node.start(ending()))
        raise
    except GComError:
        await ending()
        raise
    return AsyncState(opened, LoopWakes(), worker, ending)
