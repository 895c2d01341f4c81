"""A few Kafka requests in plain Python: just enough to run and watch a cluster under test.

Only non-flexible versions are used (no compact strings, no tagged fields), so that a request is a
handful of lines. One Connection is one socket; call() waits for its reply, send() and receive() do
halves of that. A broken socket or a reply that does not parse raises WireError (an OSError, so
callers that retry catch one thing).
"""

import collections
import socket
import struct

METADATA, FIND_COORDINATOR, DESCRIBE_GROUPS, CREATE_TOPICS = 3, 10, 15, 19
FETCH = 1


class WireError(OSError):
    """The peer closed the connection or sent bytes that are not a reply to the request."""


def int16(value):
    return struct.pack(">h", value)


def int32(value):
    return struct.pack(">i", value)


def string(text):
    if text is None:
        return int16(-1)
    data = text.encode()
    return int16(len(data)) + data


def array(items):
    items = list(items)
    return int32(len(items)) + b"".join(items)


class Reader:
    """Reads the fields of one reply in order."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def _take(self, count):
        if count < 0 or self.at + count > len(self.data):
            raise WireError("reply is shorter than its fields")
        self.at += count
        return self.data[self.at - count:self.at]

    def int8(self):
        return struct.unpack(">b", self._take(1))[0]

    def int16(self):
        return struct.unpack(">h", self._take(2))[0]

    def int32(self):
        return struct.unpack(">i", self._take(4))[0]

    def int64(self):
        return struct.unpack(">q", self._take(8))[0]

    def string(self):
        length = self.int16()
        return None if length < 0 else self._take(length).decode()

    def bytes(self):
        length = self.int32()
        return None if length < 0 else self._take(length)

    def array(self, element):
        return [element() for _ in range(self.int32())]


class Connection:
    """One connection to a node; a context manager."""

    def __init__(self, host, port, timeout_s=5.0, client_id="test"):
        self.socket = socket.create_connection((host, port), timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client_id, self.correlation_id = client_id, 0
        self.awaited = collections.deque()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _read(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise WireError("connection closed by the node")
            data += part
        return data

    def frame(self, api_key, version, body):
        """The bytes of one request (header v1), whose reply is now awaited."""
        self.correlation_id += 1
        frame = int16(api_key) + int16(version) + int32(self.correlation_id)
        frame += string(self.client_id) + body
        self.awaited.append(self.correlation_id)
        return int32(len(frame)) + frame

    def send(self, api_key, version, body):
        """Sends one request; its reply comes with receive()."""
        self.socket.sendall(self.frame(api_key, version, body))

    def receive(self):
        """A Reader of the body (header v0) of the next reply, in the order of the requests."""
        return self.body(self._read(struct.unpack(">i", self._read(4))[0]))

    def body(self, content):
        """A Reader of the body of a reply, past its header."""
        reply = Reader(content)
        if reply.int32() != self.awaited.popleft():
            raise WireError("reply to another request")
        return reply

    def call(self, api_key, version, body):
        """Sends one request and returns a Reader of its reply's body."""
        self.send(api_key, version, body)
        return self.receive()

    def find_coordinator_begin(self, group):
        self.send(FIND_COORDINATOR, 1, string(group) + b"\0")

    def find_coordinator_end(self):
        """(error, node id, host, port) of a group's coordinator as this node names it."""
        reply = self.receive()
        reply.int32()
        error, _ = reply.int16(), reply.string()
        return error, reply.int32(), reply.string(), reply.int32()

    def find_coordinator(self, group):
        self.find_coordinator_begin(group)
        return self.find_coordinator_end()

    def metadata(self, topics=None):
        """{'brokers': {id: (host, port)}, 'controller': id, 'topics': {name: (error, leaders)}},
        where leaders maps partition to leader id. topics=None asks for all of them."""
        names = int32(-1) if topics is None else array(map(string, topics))
        reply = self.call(METADATA, 1, names)

        def broker():
            entry = reply.int32(), reply.string(), reply.int32()
            reply.string()
            return entry

        def partition():
            _, index, leader = reply.int16(), reply.int32(), reply.int32()
            reply.array(reply.int32)
            reply.array(reply.int32)
            return index, leader

        def topic():
            error, name, _ = reply.int16(), reply.string(), reply.int8()
            return name, (error, dict(reply.array(partition)))

        brokers = {node: (host, port) for node, host, port in reply.array(broker)}
        controller = reply.int32()
        return {"brokers": brokers, "controller": controller, "topics": dict(reply.array(topic))}

    def create_topic_begin(self, name, partitions, timeout_ms=10_000):
        topic = string(name) + int32(partitions) + int16(-1) + array([]) + array([])
        self.send(CREATE_TOPICS, 4, array([topic]) + int32(timeout_ms) + b"\0")

    def create_topic_end(self):
        """Its Kafka error code (0 created, 36 exists already)."""
        reply = self.receive()
        reply.int32()
        results = reply.array(lambda: (reply.string(), reply.int16(), reply.string()))
        return results[0][1]

    def create_topic(self, *args, **kwargs):
        self.create_topic_begin(*args, **kwargs)
        return self.create_topic_end()

    def describe_group_begin(self, group):
        self.send(DESCRIBE_GROUPS, 4, array([string(group)]) + b"\0")

    def describe_group_end(self):
        """(error, state, protocol, members) with one dict per member."""
        reply = self.receive()
        reply.int32()

        def member():
            return {"member_id": reply.string(), "instance_id": reply.string(),
                    "client_id": reply.string(), "host": reply.string(),
                    "metadata": reply.bytes(), "assignment": reply.bytes()}

        reply.int32()
        error, _, state = reply.int16(), reply.string(), reply.string()
        _, protocol = reply.string(), reply.string()
        return error, state, protocol, reply.array(member)

    def describe_group(self, group):
        self.describe_group_begin(group)
        return self.describe_group_end()
