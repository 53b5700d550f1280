"""A chat bot that counts words: several run, all know the counts, and the first of them answers `!words NAME`."""

import asyncio
import json
import sys
from collections import Counter

import gcom.aio


async def main(name: str, registry: str) -> None:
    words: Counter[str] = Counter()

    def set_state(data: bytes) -> None:
        words.clear()
        words.update(json.loads(data))

    async with (
        gcom.aio.connect(name, registry) as node,
        node.join(
            "lobby",
            create=gcom.Definition("lobby", "TOTAL"),  # every bot counts the same words before the same question
            get_state=lambda: json.dumps(words).encode(),
            set_state=set_state,
        ) as lobby,
    ):
        print(f"{name} is in", flush=True)
        async for message in lobby:
            if message.text.startswith("!words "):
                asked = message.text.removeprefix("!words ")
                if name == min(it for it in lobby.members if it.startswith("bot")):
                    await lobby.send_to(message.name, f"{asked}: {words[asked]}")
            elif not message.name.startswith("bot"):
                words[message.name] += len(message.text.split())


asyncio.run(main(*sys.argv[1:]))
