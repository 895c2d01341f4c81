"""The group requests in plain Python, on top of wire.py: what a member of a group, a committer and an
operator send. Only non-flexible versions.

    with groups.connect(cluster, cluster.leader()) as client:
        client.commit("g", {("jobs", 0): 17})

A call that a node parks (join, sync, commit) comes in two halves, NAME_begin() and NAME_end(), so
that one thread can have many of them under way, each on a connection of its own. Coordinator finds
the leader, and finds it again when a node dies or says that it is not the one.
"""

import collections
import threading
import time

from wire import Connection, Reader, WireError, array, int16, int32, string

LIST_OFFSETS, OFFSET_COMMIT, OFFSET_FETCH = 2, 8, 9
JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 11, 12, 13, 14
LIST_GROUPS, API_VERSIONS, DELETE_TOPICS, DELETE_GROUPS, OFFSET_DELETE = 16, 18, 20, 42, 47

NONE = 0
COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR = 15, 16
ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS = 22, 25, 27
MEMBER_ID_REQUIRED, FENCED_INSTANCE_ID = 79, 82
RETRIABLE = (COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR)


def int64(value):
    return value.to_bytes(8, "big", signed=True)


def data(content):
    """Nullable bytes."""
    return int32(-1) if content is None else int32(len(content)) + content


def by_topic(partitions):
    """(topic, partition) pairs as a request lists them: a row per topic."""
    found = collections.defaultdict(list)
    for topic, partition in sorted(partitions):
        found[topic].append(partition)
    return [string(topic) + array(map(int32, indexes)) for topic, indexes in found.items()]


def subscription(topics):
    """A subscription of the consumer protocol, v0."""
    return int16(0) + array(map(string, topics)) + data(None)


def assignment(partitions):
    """An assignment of the consumer protocol, v0: of (topic, partition) pairs."""
    return int16(0) + array(by_topic(partitions)) + data(None)


def assigned(content):
    """The set of (topic, partition) pairs of such an assignment; empty bytes: none."""
    if not content:
        return set()
    reader = Reader(content)
    reader.int16()
    rows = reader.array(lambda: (reader.string(), reader.array(reader.int32)))
    return {(topic, partition) for topic, found in rows for partition in found}


Joined = collections.namedtuple("Joined", "error generation protocol leader member members")


class Client(Connection):
    """A connection that speaks for members and operators."""

    def join_begin(self, group, member="", *, instance=None, session_ms=10_000, rebalance_ms=10_000,
                   protocols=(("range", subscription(["jobs"])),), version=5):
        body = string(group) + int32(session_ms)
        body += int32(rebalance_ms) if version >= 1 else b""
        body += string(member) + (string(instance) if version >= 5 else b"") + string("consumer")
        body += array(string(name) + data(metadata) for name, metadata in protocols)
        self.join_version = version
        self.send(JOIN_GROUP, version, body)

    def join_end(self):
        """Joined; its members are {member id: (instance id, metadata)}, for the leader alone."""
        reply, version = self.receive(), self.join_version
        if version >= 2:
            reply.int32()
        error, generation, protocol = reply.int16(), reply.int32(), reply.string()
        leader, member = reply.string(), reply.string()

        def entry():
            return reply.string(), (reply.string() if version >= 5 else None, reply.bytes())

        return Joined(error, generation, protocol, leader, member, dict(reply.array(entry)))

    def join(self, *args, **kwargs):
        self.join_begin(*args, **kwargs)
        return self.join_end()

    def sync_begin(self, group, generation, member, assignments=None, instance=None):
        body = string(group) + int32(generation) + string(member) + string(instance)
        rows = (assignments or {}).items()
        self.send(SYNC_GROUP, 3, body + array(string(who) + data(what) for who, what in rows))

    def sync_end(self):
        """(error, assignment bytes)"""
        reply = self.receive()
        reply.int32()
        return reply.int16(), reply.bytes()

    def sync(self, *args, **kwargs):
        self.sync_begin(*args, **kwargs)
        return self.sync_end()

    def heartbeat_begin(self, group, generation, member, instance=None):
        self.send(HEARTBEAT, 3,
                  string(group) + int32(generation) + string(member) + string(instance))

    def heartbeat_end(self):
        reply = self.receive()
        reply.int32()
        return reply.int16()

    def heartbeat(self, *args, **kwargs):
        self.heartbeat_begin(*args, **kwargs)
        return self.heartbeat_end()

    def leave_begin(self, group, members):
        """[members]: (member id, instance id) pairs."""
        self.send(LEAVE_GROUP, 3,
                  string(group) + array(string(who) + string(place) for who, place in members))

    def leave_end(self):
        """(error, [each one's error])"""
        reply = self.receive()
        reply.int32()
        error = reply.int16()
        return error, reply.array(lambda: (reply.string(), reply.string(), reply.int16())[2])

    def leave(self, *args, **kwargs):
        self.leave_begin(*args, **kwargs)
        return self.leave_end()

    def commit_begin(self, group, offsets, generation=-1, member="", instance=None):
        """[offsets]: {(topic, partition): offset, or (offset, leader epoch, metadata)}"""
        places = collections.defaultdict(list)
        for (topic, partition), row in offsets.items():
            offset, epoch, metadata = row if isinstance(row, tuple) else (row, -1, "")
            places[topic].append(int32(partition) + int64(offset) + int32(epoch) +
                                 string(metadata))
        rows = [string(topic) + array(found) for topic, found in places.items()]
        self.send(OFFSET_COMMIT, 7, string(group) + int32(generation) + string(member) +
                  string(instance) + array(rows))

    def commit_end(self):
        """{(topic, partition): error}"""
        reply = self.receive()
        reply.int32()
        errors = {}

        def topic():
            name = reply.string()
            for partition, error in reply.array(lambda: (reply.int32(), reply.int16())):
                errors[name, partition] = error

        reply.array(topic)
        return errors

    def commit(self, *args, **kwargs):
        self.commit_begin(*args, **kwargs)
        return self.commit_end()

    def fetch_begin(self, group, partitions=None):
        """[partitions]: (topic, partition) pairs; None: all that is committed."""
        wanted = int32(-1) if partitions is None else array(by_topic(partitions))
        self.send(OFFSET_FETCH, 5, string(group) + wanted)

    def fetch_end(self):
        """(error, [(topic, partition, offset, leader epoch, metadata, error)...])"""
        reply = self.receive()
        reply.int32()
        rows = []

        def topic():
            name = reply.string()
            rows.extend(reply.array(lambda: (name, reply.int32(), reply.int64(), reply.int32(),
                                             reply.string(), reply.int16())))

        reply.array(topic)
        return reply.int16(), rows

    def fetch(self, group):
        """(error, {(topic, partition): offset}) of all that is committed."""
        self.fetch_begin(group)
        error, rows = self.fetch_end()
        return error, {(topic, index): offset for topic, index, offset, _, _, fault in rows
                       if fault == 0 and offset >= 0}

    def delete_offsets_begin(self, group, partitions):
        self.send(OFFSET_DELETE, 0, string(group) + array(by_topic(partitions)))

    def delete_offsets_end(self):
        """(error, [(topic, partition, error)...])"""
        reply = self.receive()
        error, _ = reply.int16(), reply.int32()
        rows = []

        def topic():
            name = reply.string()
            rows.extend(reply.array(lambda: (name, reply.int32(), reply.int16())))

        reply.array(topic)
        return error, rows

    def list_groups(self):
        """(error, {group: protocol type})"""
        self.send(LIST_GROUPS, 2, b"")
        reply = self.receive()
        reply.int32()
        return reply.int16(), dict(reply.array(lambda: (reply.string(), reply.string())))

    def delete_groups_begin(self, names):
        self.send(DELETE_GROUPS, 1, array(map(string, names)))

    def delete_groups_end(self):
        """{group: error}"""
        reply = self.receive()
        reply.int32()
        return dict(reply.array(lambda: (reply.string(), reply.int16())))

    def delete_groups(self, names):
        self.delete_groups_begin(names)
        return self.delete_groups_end()

    def delete_topics(self, names, timeout_ms=10_000):
        """{topic: error}"""
        self.send(DELETE_TOPICS, 3, array(map(string, names)) + int32(timeout_ms))
        reply = self.receive()
        reply.int32()
        return dict(reply.array(lambda: (reply.string(), reply.int16())))

    def latest(self, topic, partition):
        """(error, offset) that ListOffsets gives for the end of a partition."""
        row = int32(partition) + int32(-1) + int64(-1)
        self.send(LIST_OFFSETS, 5, int32(-1) + b"\0" + array([string(topic) + array([row])]))
        reply = self.receive()
        reply.int32()

        def entry():
            _, error, _ = reply.int32(), reply.int16(), reply.int64()
            return error, (reply.int64(), reply.int32())[0]

        return reply.array(lambda: (reply.string(), reply.array(entry))[1])[0][0]

    def api_versions(self):
        """(error, {key: (first, last)})"""
        self.send(API_VERSIONS, 0, b"")
        reply = self.receive()
        error = reply.int16()
        rows = reply.array(lambda: (reply.int16(), reply.int16(), reply.int16()))
        return error, {key: (first, last) for key, first, last in rows}

    def is_closed_by_node(self, timeout_s):
        """Whether the node closes the connection within that time, without another byte."""
        self.socket.settimeout(timeout_s)
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False


def connect(cluster, node, timeout_s=10.0, client_id="test"):
    return Client("127.0.0.1", cluster.ports[node], timeout_s, client_id)


def error_of(result):
    """The error of what a call returned, whichever shape it has."""
    if isinstance(result, dict):
        return next((error for error in result.values() if error), 0)
    return result if isinstance(result, int) else result[0]


class Coordinator:
    """A client of whichever node leads, as a client library behaves: where a call fails on its
    connection, or the node answers 15 or 16, it asks any living node who coordinates and repeats the
    call. Each error seen on the way is kept in [seen]."""

    def __init__(self, cluster, client_id="test"):
        self.cluster, self.client_id = cluster, client_id
        self.client = None
        self.seen = collections.Counter()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.client is not None:
            self.client.socket.close()
            self.client = None

    def find(self):
        """Connects to the node that some living node names; False: none did."""
        self.close()
        for node in self.cluster.alive():
            try:
                with self.cluster.connect(node, timeout_s=1.0) as connection:
                    error, leader, _, _ = connection.find_coordinator("g")
                if error == 0 and self.cluster.is_alive(leader):
                    self.client = connect(self.cluster, leader, client_id=self.client_id)
                    return True
            except OSError:
                continue
        return False

    def ask(self, call, timeout_s=15.0, again=RETRIABLE):
        """call(client), repeated until it succeeds or fails for good; returns its result."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                if self.client is not None or self.find():
                    result = call(self.client)
                    error = error_of(result)
                    self.seen[error] += 1
                    if error not in again:
                        return result
            except OSError:
                self.seen["broken"] += 1
            self.close()
            if time.monotonic() >= deadline:
                raise WireError(f"no answer within {timeout_s} s; seen: {dict(self.seen)}")
            time.sleep(0.02)


class Refused(AssertionError):
    """A call that must succeed was answered with [error]."""

    def __init__(self, what, error):
        super().__init__(f"{what} answered {error}")
        self.error = error


class Member:
    """One member: its id and generation, and a connection of its own for calls that are parked."""

    def __init__(self, cluster, group, name, topics=("jobs",), instance=None, **join):
        self.cluster, self.group, self.name, self.instance = cluster, group, name, instance
        self.topics = list(topics)
        self.join_options = {"instance": instance,
                             "protocols": [("range", subscription(self.topics))], **join}
        self.id, self.generation, self.owned = "", -1, set()
        self.joined = None
        self.client = None

    def open(self, node=None):
        """A fresh connection to [node], the leader by default."""
        self.close()
        node = node or self.cluster.wait_leader()
        self.client = connect(self.cluster, node, timeout_s=20.0, client_id=self.name)
        return self

    def close(self):
        if self.client is not None:
            self.client.socket.close()
            self.client = None

    def obtain_id(self):
        """The first JoinGroup of a dynamic member without an id; the answer is 79 and the id."""
        reply = self.client.join(self.group, "", **self.join_options)
        if reply.error != MEMBER_ID_REQUIRED:
            raise Refused(f"{self.name}: first JoinGroup", reply.error)
        self.id = reply.member

    def join_begin(self):
        if not self.id and self.instance is None:
            self.obtain_id()
        self.client.join_begin(self.group, self.id, **self.join_options)

    def join_end(self):
        self.joined = self.client.join_end()
        if self.joined.error == 0:
            self.id, self.generation = self.joined.member, self.joined.generation
        return self.joined.error

    def is_leader(self):
        return self.joined.leader == self.id

    def sync_begin(self, shares=None):
        """[shares]: of the group's leader, {member id: partitions}"""
        rows = {who: assignment(what) for who, what in (shares or {}).items()}
        self.client.sync_begin(self.group, self.generation, self.id, rows, self.instance)

    def sync_end(self):
        error, content = self.client.sync_end()
        if error == 0:
            self.owned = assigned(content)
        return error

    def beat(self, client=None):
        return (client or self.client).heartbeat(self.group, self.generation, self.id,
                                                 self.instance)

    def commit(self, offsets, client=None):
        return (client or self.client).commit(self.group, offsets, self.generation, self.id,
                                              self.instance)

    def leave(self, client=None):
        return (client or self.client).leave(self.group, [(self.id, self.instance)])


def shares_of(members, partitions):
    """The partitions dealt to the members as they stand."""
    ids = [member.id for member in members]
    return {who: partitions[i::len(ids)] for i, who in enumerate(ids)}


def rebalance(members, partitions):
    """All members (re)join and sync, the group's leader dealing out the partitions; they must have
    connections. Returns the generation. Fails on any error."""
    for member in members:
        if not member.id and member.instance is None:
            member.obtain_id()
    rejoin(members)
    for member in members:
        error = member.join_end()
        if error != 0:
            raise Refused(f"{member.name}: JoinGroup", error)
    return assign(members, partitions)


def rejoin(members, timeout_s=5.0):
    """Sends all JoinGroups. Where some are in the group already its leader begins, which calls for a
    rebalance, and the others follow when they have heard of it, as clients do: an unchanged follower
    that comes earlier is answered at once and not waited for."""
    first = [m for m in members if m.joined is not None and m.is_leader()]
    for member in first:
        member.join_begin()
    for member in members:
        deadline = time.monotonic() + timeout_s
        while first and member.joined is not None and member not in first:
            if member.beat() == REBALANCE_IN_PROGRESS:
                break
            assert time.monotonic() < deadline, f"{member.name}: heard of no rebalance"
            time.sleep(0.01)
        if member not in first:
            member.join_begin()


def assign(members, partitions):
    """The SyncGroups of members that have joined."""
    for member in members:
        member.sync_begin(shares_of(members, partitions) if member.is_leader() else None)
    for member in members:
        error = member.sync_end()
        if error != 0:
            raise Refused(f"{member.name}: SyncGroup", error)
    generations = {member.generation for member in members}
    assert len(generations) == 1, f"several generations: {generations}"
    return generations.pop()


class Worker(threading.Thread):
    """A member that behaves as a client library does: joins, syncs, beats, rejoins when it is told
    to, begins anew when it is unknown, goes to the new leader when there is one. The group's leader
    deals out [partitions]. [errors] counts what it was told beside 0."""

    def __init__(self, member, partitions, every_s=0.5):
        super().__init__(daemon=True)
        self.member, self.partitions, self.every_s = member, partitions, every_s
        self.errors = collections.Counter()
        self.generations = set()
        self.is_settled = False  # has an assignment and has heard nothing else since
        self.is_to_return = False  # set: leaves the group and comes back at once
        self.leaving = threading.Event()

    def run(self):
        while not self.leaving.is_set():
            try:
                if self.member.client is None:
                    self.member.open()
                error = self._turn()
            except Refused as refused:
                error = refused.error
            except OSError:
                error = "broken"
            if error != 0:
                self._recover(error)

    def _turn(self):
        if not self.is_settled:
            error = self._enter()
            if error != 0:
                return error
            self.generations.add(self.member.generation)
            self.is_settled = True
        self.leaving.wait(self.every_s)
        if self.is_to_return:
            self.is_to_return = self.is_settled = False
            self.member.leave()
            self.member.id, self.member.joined = "", None
            return 0
        return self.member.beat()

    def _enter(self):
        member = self.member
        member.join_begin()
        error = member.join_end()
        if error != 0:
            return error
        ids = sorted(member.joined.members)
        member.sync_begin({who: self.partitions[i::len(ids)] for i, who in enumerate(ids)}
                          if member.is_leader() else None)
        return member.sync_end()

    def _recover(self, error):
        self.errors[error] += 1
        if error in (UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID):
            self.member.id, self.member.joined = "", None
        if error == "broken" or error in RETRIABLE:
            self.member.close()
            time.sleep(0.05)
        else:
            self.is_settled = False

    def stop(self, leave=False):
        self.leaving.set()
        self.join(30)
        if leave:
            self.member.leave()
        self.member.close()
