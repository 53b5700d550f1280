"""A key-value service on TCP (`SET key=value`, `GET key`): all instances have all keys, whichever is killed."""

import asyncio
import sys

import gcom.aio
import gcom.aio.blocks


async def main(name: str, registry: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async for line in reader:
            word, _, rest = line.decode().strip().partition(" ")
            if word == "SET":
                key, _, value = rest.partition("=")
                await values.set(key, value)  # from here on no crash of an instance loses it
                writer.write(b"ok\n")
            else:
                value = await values.fresh(rest, "")  # with all that any instance has set
                writer.write(f"{value}\n".encode())
            await writer.drain()

    async with (
        gcom.aio.connect(name, registry) as node,
        gcom.aio.blocks.Dict(node, "values") as values,
        await asyncio.start_server(serve, "127.0.0.1", 0) as server,
    ):
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


asyncio.run(main(*sys.argv[1:]))
