"""A pass-through proxy in front of one node, which notes every request it forwards.

It looks at nothing but a request's length, API key, version, client id and, of a Fetch, its
max-wait. Clients are told the proxy's address as the node's (advertised.listeners).
"""

import asyncio
import contextlib
import struct

FETCH = 1
FLEXIBLE_SINCE = 12  # Fetch versions with tagged fields in the request header
NO_REPLICA_ID_SINCE = 15


class Traffic:
    """The requests of one connection."""

    def __init__(self, now):
        self.client, self.opened = "", now
        self.fetches, self.others, self.max_wait_ms = [], [], 0

    def note(self, now, frame):
        if len(frame) < 10:
            return
        key, version, _, length = struct.unpack_from(">hhih", frame)
        at = 10 + max(length, 0)
        self.client = frame[10:at].decode(errors="replace")
        if key != FETCH:
            self.others.append(now)
            return
        at += (1 if version >= FLEXIBLE_SINCE else 0) + (0 if version >= NO_REPLICA_ID_SINCE else 4)
        self.max_wait_ms = struct.unpack_from(">i", frame, at)[0]
        self.fetches.append(now)

    def count(self, since):
        return {"client": self.client, "max_wait_ms": self.max_wait_ms,
                "fetches": sum(t >= since for t in self.fetches),
                "others": sum(t >= since for t in self.others)}


class Proxy:
    def __init__(self, port, node_port):
        self.port, self.node_port = port, node_port
        self.server, self.traffic = None, []

    async def open(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def close(self):
        """Refuses connections from now on, as a dead node does."""
        if self.server:
            self.server.close()
            self.server = None

    def counts(self, since):
        """What each connection has carried since that time of the loop's clock."""
        return [traffic.count(since) for traffic in self.traffic]

    async def _serve(self, client_reader, client_writer):
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.node_port)
        except OSError:
            client_writer.transport.abort()
            return
        traffic = Traffic(asyncio.get_running_loop().time())
        self.traffic.append(traffic)
        ways = [asyncio.create_task(self._requests(traffic, client_reader, writer)),
                asyncio.create_task(self._replies(reader, client_writer))]
        with contextlib.suppress(asyncio.CancelledError):  # when the whole run ends
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        # One side is gone, so the other goes as well.
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        writer.close()
        client_writer.close()

    async def _requests(self, traffic, reader, writer):
        while True:
            size = await reader.readexactly(4)
            frame = await reader.readexactly(struct.unpack(">i", size)[0])
            traffic.note(asyncio.get_running_loop().time(), frame)
            writer.write(size + frame)
            await writer.drain()

    async def _replies(self, reader, writer):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
