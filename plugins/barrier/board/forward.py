#!/usr/bin/env python3
"""Another machine's end of the daemon's socket, as `ssh -L` makes it: `forward.py HERE DAEMON`. Data passes in pieces
of a few bytes, files do not pass, and where one side ends so does the other."""

import asyncio
import itertools
import sys

HERE, DAEMON = sys.argv[1:3]
PIECES = itertools.cycle((1, 50, 7, 33, 200, 3))


async def pump(source, sink):
    try:
        while data := await source.read(65536):
            while data:
                size = next(PIECES)
                sink.write(data[:size])
                await sink.drain()
                await asyncio.sleep(0)
                data = data[size:]
    except ConnectionError:
        pass
    sink.close()


async def forward(reader, writer):
    to_daemon = await asyncio.open_unix_connection(DAEMON)
    await asyncio.gather(pump(reader, to_daemon[1]), pump(to_daemon[0], writer))


async def main():
    async with await asyncio.start_unix_server(forward, HERE) as server:
        await server.serve_forever()


asyncio.run(main())
