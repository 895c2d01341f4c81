"""One connection of the witness to a node: the requests of tests/lib/groups.py, without blocking.

A call's encoder and decoder are those of groups.Client; only the bytes go through the event loop.
Replies come in the order of the requests, so a call whose time is up takes the connection with it,
as it does in the real clients.
"""

import asyncio
import collections
import ctypes
import os
import socket
import struct

import groups
import wire

CLONE_NEWNET = 0x40000000
FRAME_BYTES_MAX = 64 << 20
_libc = ctypes.CDLL(None, use_errno=True)


class Lost(Exception):
    """The connection's end while a call had no answer yet: "timeout", "closed", "garbled" (bytes
    that are not an answer), or "refused" where there was none to send the call on."""

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason


class Place:
    """Where sockets are made: a network namespace by its name, or (None) this process's own."""

    def __init__(self, name=None):
        self.name = name
        self._home = self._there = None
        if name is not None:
            self._home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
            self._there = os.open(f"/var/run/netns/{name}", os.O_RDONLY)

    def socket(self):
        """A TCP socket that lives there. A namespace is a thread's own, so nobody else notices."""
        if self.name is None:
            return socket.socket()
        self._enter(self._there)
        try:
            return socket.socket()
        finally:
            self._enter(self._home)

    def _enter(self, namespace):
        if _libc.setns(namespace, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns to {self.name}")

    def close(self):
        for namespace in (self._home, self._there):
            if namespace is not None:
                os.close(namespace)


class Codec(groups.Client):
    """groups.Client between bytes and bytes: send() keeps the frame, receive() reads [reply]."""

    def __init__(self, client_id):  # no socket: not the parent's
        self.client_id, self.correlation_id = client_id, 0
        self.awaited = collections.deque()
        self.request = self.reply = None

    def send(self, api_key, version, body):
        self.request = self.frame(api_key, version, body)

    def receive(self):
        return self.body(self.reply)


class Link(asyncio.Protocol):
    def __init__(self, node, client_id):
        self.node = node  # "n2"
        self.codec = Codec(client_id)
        self.transport = None
        self.is_lost = False
        self._waiting = collections.deque()  # (correlation id, future), as the requests went out
        self._received = bytearray()

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self._received += data
        while len(self._received) >= 4:
            length = struct.unpack_from(">i", self._received)[0]
            if not 0 <= length <= FRAME_BYTES_MAX or not self._waiting:
                self.drop("garbled")
                return
            if len(self._received) < 4 + length:
                return
            frame = bytes(self._received[4:4 + length])
            del self._received[:4 + length]
            self._answer(frame)

    def _answer(self, frame):
        _, future = self._waiting.popleft()
        if not future.done():  # else nobody waits for it any more
            future.set_result(frame)

    def connection_lost(self, _):
        self._end("closed")

    def drop(self, reason="closed"):
        """Ends the connection at once; all that wait are told why."""
        if self.transport is not None:
            self.transport.abort()
        self._end(reason)

    def _end(self, reason):
        self.is_lost = True
        while self._waiting:
            _, future = self._waiting.popleft()
            if not future.done():
                future.set_exception(Lost(reason))

    def _expire(self, future):
        if not future.done():
            future.set_exception(Lost("timeout"))
            self.drop()

    async def call(self, name, *args, timeout_s, before_send=None, **kwargs):
        """groups.Client's call of that name; Lost. [before_send] runs when the request is certain
        to be passed on to the system."""
        if self.is_lost:
            raise Lost("refused")
        getattr(self.codec, f"{name}_begin")(*args, **kwargs)
        request, correlation = self.codec.request, self.codec.correlation_id
        if before_send is not None:
            before_send()
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._waiting.append((correlation, future))
        self.transport.write(request)
        timer = loop.call_later(timeout_s, self._expire, future)
        try:
            frame = await future
        finally:
            timer.cancel()
        try:
            self.codec.reply = frame
            self.codec.awaited = collections.deque([correlation])
            return getattr(self.codec, f"{name}_end")()
        except (wire.WireError, UnicodeDecodeError):
            self.drop()
            raise Lost("garbled") from None

    def throw(self, data):
        """Writes bytes that may be no request."""
        self.transport.write(data)


async def connect(place, node, address, timeout_s, client_id="witness"):
    """A Link; Lost("refused")."""
    loop = asyncio.get_running_loop()
    sock = place.socket()
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.wait_for(loop.sock_connect(sock, address), timeout_s)
        _, link = await loop.create_connection(lambda: Link(node, client_id), sock=sock)
        return link
    except (OSError, asyncio.TimeoutError):
        sock.close()
        raise Lost("refused") from None
    except BaseException:
        sock.close()
        raise
