"""A scheduler on asyncio of which one process works at a time: start it in several shells, and kill that one.

gcom-registry &
python docs/examples/aio_scheduler.py alice
python docs/examples/aio_scheduler.py bob
"""

import asyncio
import sys

import gcom.aio
import gcom.aio.blocks


async def main(name: str) -> None:
    jobs: set[asyncio.Task[None]] = set()

    async def work(token: int) -> None:
        while True:
            print(f"run {await runs.add()}, token {token}", flush=True)
            await asyncio.sleep(0.05)  # the work

    def lose() -> None:
        jobs.pop().cancel()

    async with (
        gcom.aio.connect(name) as node,
        gcom.aio.blocks.Counter(node, "runs") as runs,
        gcom.aio.blocks.Election(
            node, "scheduler", on_gain=lambda token: jobs.add(asyncio.create_task(work(token))), on_loss=lose
        ),
    ):
        print("ready", flush=True)
        await asyncio.Event().wait()


asyncio.run(main(sys.argv[1]))
