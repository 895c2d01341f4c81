"""The history of a run: what each client asked, and what it was told. The checkers know nothing else.

A history is a file of JSON lines, one per event, in the order in which they were written down:

    {"index": 17, "time": 1203948201, "process": 4, "type": "invoke", "f": "commit", ...}

index    counts from 0, without gaps
time     nanoseconds of CLOCK_MONOTONIC of the machine that all clients run on. An invoke is written
         before the request's first byte is sent, its completion after the last byte of the answer was
         read, so that what happened lies between the two.
process  one logical thread of one client: it has at most one request open. After an "info" its number
         is retired: the client goes on as that number + PROCESS_STEP. Nemeses and callbacks have names.
type     invoke, then exactly one of
           ok    the answer came, and says so (for a commit or fetch of several partitions: see below)
           fail  certainly without effect: a definite error, or a request that was never sent
           info  not known: no answer, a broken connection, an indefinite error
         Callbacks and nemeses have no invoke: a callback is one "ok", a nemesis one "info".
f        the operation, see OPERATIONS
node     who was asked ("n2"), null: a real client's library chose, and may have asked several times, so
         that a commit stands in the log as often; client: which program ("witness", "franz-go", ...)
error    on fail and info: Kafka's number, or "timeout", "closed", "refused" (could not connect)
value    the operation's own, as described in OPERATIONS; a completion repeats nothing of the invoke
         but what it names

Kafka's errors are of two kinds. DEFINITE ones say that the request has not had and will not have an
effect; all others leave it open (7, 14, 15, 16, 27 among them: the entry may still be committed).
"""

import json
import threading
import time

PROCESS_STEP = 100_000

# Certainly without effect. 12 OFFSET_METADATA_TOO_LARGE, 86 GROUP_SUBSCRIBED_TO_TOPIC and the like
# are refusals of the request.
DEFINITE = frozenset({3, 12, 22, 23, 24, 25, 26, 28, 42, 68, 69, 79, 81, 82, 86, 110, 111, 113})

OPERATIONS = {
    # One request; its partitions are one atomic write.
    # invoke  {"group", "gen", "member", "instance"|null, "parts": [[topic, partition, offset,
    #          leader_epoch, op id]...]}: the op id is the commit's metadata, unique in the whole run
    # ok      {"parts": [[topic, partition, error]...]}, at least one of them 0
    # fail    the same, if there was an answer: all of them definite
    "commit",
    # invoke  {"group", "parts": [[topic, partition]...] | null for all}
    # ok      {"parts": [[topic, partition, offset, leader_epoch, metadata|null, error]...]}; offset -1:
    #         none. With null in the invoke, a partition that is not listed has none.
    "fetch",
    # invoke  {"group", "parts": [[topic, partition]...]}; ok {"parts": [[topic, partition, error]...]}
    "delete_offsets",
    # invoke  {"group"}
    "delete_group",
    # invoke  {"group", "member" (may be ""), "instance"|null, "topics": [...], "session_ms",
    #          "rebalance_ms"}
    # ok      {"gen", "protocol", "leader", "member", "members": [[id, instance|null]...] (the leader's
    #          answer only, else [])}
    # fail with error 79 (MEMBER_ID_REQUIRED) has {"member"}
    "join",
    # invoke  {"group", "gen", "member", "instance"|null, "assignments": {member: [[topic, [p...]]...]}
    #          (the leader's request only, else {})}
    # ok      {"assignment": [[topic, [p...]]...]}
    "sync",
    # invoke  {"group", "gen", "member", "instance"|null}; fail 27 (rebalance in progress) is a sign of
    #         life that was heard, too
    "heartbeat",
    # invoke  {"group", "member", "instance"|null}
    "leave",
    # invoke  {"group"}; ok {"state", "protocol", "members": [[id, instance|null, assignment]...]}
    "describe",
    # Callbacks of real clients: {"group", "member"|null, "gen"|null, "parts": [[topic, [p...]]...]}
    "assigned", "revoked", "lost",
    # A real client has processed a feed's records up to (excluding) an offset, before it commits it:
    # {"group", "topic", "partition", "offset"}
    "processed",
    # A process of a client starts, stops working for a while (SIGSTOP), goes on, ends ("killed" or
    # "closed"): {"what": "start"|"pause"|"resume"|"kill"|"close", "members": [...]}
    "life",
    # Nemeses: process "nemesis", type info, value = all parameters. Every "begin" has an "end".
    # {"fault": name, "phase": "begin"|"end", "targets": [...], "leader": node|null, ...}
    "nemesis",
    # What the harness saw of a node: {"node", "event": "started"|"exited"|"leader"|..., ...}
    "observed",
    # Phases of the run: {"phase": "steady"|"faults"|"heal"|"final"|"end"}
    "phase",
}


class Writer:
    """Appends events; may be used by many threads. Each event is flushed to the system at once, so a
    harness that is killed leaves a history that ends early, not one that is wrong."""

    def __init__(self, path):
        self._file = open(path, "w", encoding="utf-8")
        self._lock = threading.Lock()
        self._count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._file.close()

    def write(self, process, type_, f, value, **more):
        """One event, now. [more]: node, client, error."""
        assert f in OPERATIONS, f
        with self._lock:
            event = {"index": self._count, "time": time.monotonic_ns(), "process": process,
                     "type": type_, "f": f, "value": value, **more}
            self._file.write(json.dumps(event, separators=(",", ":")) + "\n")
            self._file.flush()
            self._count += 1
            return event


def read(path):
    """The events of a file, as dicts. A last line that is cut off is left out."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.endswith("\n"):
                return
            yield json.loads(line)
