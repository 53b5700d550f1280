"""A key-value service on TCP (`SET key=value`, `GET key`): all instances have all keys, whichever is killed."""

import asyncio
import json
import sys
from contextlib import suppress

import gcom.aio


async def main(name: str, registry: str) -> None:
    values: dict[str, str] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async for line in reader:
            word, _, rest = line.decode().strip().partition(" ")
            while word == "SET":
                with suppress(gcom.Detached):  # while it is not certain that others are dead
                    await group.send(rest, held_by="all")  # from here on no crash of an instance loses it
                    break
                await group.wait_for_members(1)
            writer.write(b"ok\n" if word == "SET" else f"{values.get(rest, '')}\n".encode())

    async with (
        gcom.aio.connect(name, registry) as node,
        node.join(
            "values",
            create=gcom.Definition("values", "TOTAL"),
            get_state=lambda: json.dumps(values).encode(),
            set_state=lambda data: values.update(json.loads(data)),
        ) as group,
    ):
        group.listen(on_message=lambda message: values.__setitem__(*message.text.split("=", 1)))
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            print(server.sockets[0].getsockname()[1], flush=True)
            await server.serve_forever()


asyncio.run(main(*sys.argv[1:]))
