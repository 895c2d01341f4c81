"""A peer that knows the secret and then misbehaves: the handshake of raftlog/hello.h in Python."""

import hashlib
import hmac
import os
import socket
import struct

MAGIC, VERSION, RAFT = 0x524C5031, 1, 1
VOTER = 2


def take(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError("closed")
        data += more
    return data


def connect(port, node_id, peer_id, ids, secret=b"a secret of the test", cluster=b"test"):
    """A connection for the library's messages, from node_id to peer_id, after the handshake."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.settimeout(5)
    ours = struct.pack(">IHBB", MAGIC, VERSION, RAFT, 0) + os.urandom(32)
    connection.sendall(ours)
    theirs = take(connection, 40)
    config = hashlib.sha256(cluster + b"\0" + b"".join(struct.pack(">Q", i) for i in ids)).digest()
    fields = struct.pack(">6Qq", node_id, peer_id, 1, 1, 1, 0, 0) + bytes([VOTER]) + config
    fields += struct.pack(">H", len(cluster)) + cluster + struct.pack(">H", 0)
    message = b"\0" + fields
    proof = hmac.new(secret, b"roster peer dialer\n" + ours + theirs + message, hashlib.sha256)
    message += proof.digest()
    connection.sendall(struct.pack(">I", len(message)) + message)
    answer = take(connection, struct.unpack(">I", take(connection, 4))[0])
    said = hmac.new(secret, b"roster peer acceptor\n" + ours + theirs +
                    struct.pack(">I", len(message)) + message + answer[:-32], hashlib.sha256)
    if answer[-32:] != said.digest() or answer[0] != 0:
        raise ConnectionError("not the peer that was wanted")
    return connection


def is_closed(connection):
    """Whether the other side has closed it, waiting for that as long as the connection's limit."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
