"""A node that answers what a test tells it to, for the tests of the witness."""

import asyncio
import struct
import threading

import groups
import wire
from wire import array, int16, int32, string

SILENCE, HANG_UP, NOISE = object(), object(), object()


def joined(error, generation=-1, leader="", member="", members=()):
    """A JoinGroup v5 reply's body. [members]: ids, for the leader."""
    rows = [string(who) + string(None) + groups.data(groups.subscription(["t"])) for who in members]
    return int32(0) + int16(error) + int32(generation) + string("range") + string(leader) + \
        string(member) + array(rows)


def synced(error, pairs=()):
    return int32(0) + int16(error) + groups.data(groups.assignment(pairs))


def beaten(error):
    return int32(0) + int16(error)


def left(error):
    return int32(0) + int16(0) + array([string("m") + string(None) + int16(error)])


def committed(errors):
    """[errors]: {(topic, partition): error}"""
    rows = [string(topic) + array([int32(index) + int16(error)])
            for (topic, index), error in errors.items()]
    return int32(0) + array(rows)


class Node:
    """Listens on a port of its own. [script]: {api key: [reply body, SILENCE, HANG_UP or NOISE]},
    of which the last is used for ever. `seen`: (api key, body) of what came, without
    FindCoordinator, which is answered with this node."""

    def __init__(self, script):
        self.script = {key: list(replies) for key, replies in script.items()}
        self.seen = []
        self.server = self.address = None

    async def start(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = self.server.sockets[0].getsockname()
        return self

    async def _serve(self, reader, writer):
        try:
            while True:
                length = struct.unpack(">i", await reader.readexactly(4))[0]
                request = wire.Reader(await reader.readexactly(length))
                key, _, correlation = request.int16(), request.int16(), request.int32()
                request.string()
                reply = self._reply(key, request.data[request.at:])
                if reply is HANG_UP:
                    break
                if reply is NOISE:
                    writer.write(int32(6) + int32(correlation) + b"?!")
                elif reply is not SILENCE:
                    writer.write(int32(4 + len(reply)) + int32(correlation) + reply)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    def _reply(self, key, body):
        if key == wire.FIND_COORDINATOR:
            host, port = self.address
            return int32(0) + int16(0) + string(None) + int32(1) + string(host) + int32(port)
        self.seen.append((key, body))
        replies = self.script[key]
        return replies.pop(0) if len(replies) > 1 else replies[0]

    def keys(self):
        return [key for key, _ in self.seen]

    async def stop(self):
        self.server.close()


class Book:
    """A history.Writer that keeps its events."""

    def __init__(self):
        self.events, self.lock = [], threading.Lock()

    def write(self, process, type_, f, value, **more):
        with self.lock:
            self.events.append({"process": process, "type": type_, "f": f, "value": value, **more})

    def told(self, *fs):
        """(type, f, error) of all completions, or of those of [fs]."""
        return [(e["type"], e["f"], e.get("error")) for e in self.events
                if isinstance(e["process"], int) and e["type"] != "invoke"
                and (not fs or e["f"] in fs)]


def unpaired(events):
    """What is wrong with the pairs of a history: one completion for each invoke, no two requests of
    a process at once, nothing from a process after an unknown outcome."""
    wrong, open_, retired = [], {}, set()
    for event in events:
        who = event["process"]
        if not isinstance(who, int):
            continue
        if event["type"] == "invoke":
            if who in open_ or who in retired:
                wrong.append(("may not ask", event))
            open_[who] = event["f"]
        else:
            if open_.pop(who, None) != event["f"]:
                wrong.append(("completes nothing", event))
            if event["type"] == "info":
                retired.add(who)
    return wrong + [("has no completion", item) for item in open_.items()]
