"""Hand-written histories, short enough to read. A case is a line that begins with + (valid) or - (a
violation of the file's invariant) and says why, then lines of operations, several in a line
separated by " | ". Times are milliseconds.

    WHO CALL-RET WHAT [words] [OUTCOME]   an operation of process WHO; RET "...": it has no end
    WHO TIME WHAT [words]                 a single event

OUTCOME: nothing: ok; ? unknown (a timeout; ?7, ?closed: by that); !22 refused with 22. A process
that goes on after an unknown outcome gets a new name by itself.

commit a            to group g, topic t/0, with op id a; the offset is 10 times the letter's place
                    in the alphabet (a1 is 1 beyond a). Words: `1:b` another partition, `a=77`
                    another offset, `0:a!3` a partition's own error, @2 the generation (default 1,
                    @-1 none), by=m2 (default m1), inst=i, in=h another group, client=java a real
                    client, whose library may send it several times
fetch a             t/0 has a's offset and metadata; `-` none, `1:b`, `0:-`, `a=77` with that
                    offset, `all` asks for all and lists what is written
delete 0 1          delete_offsets of these partitions; drop: delete_group
join m1 @1          words: leader=m1 (default itself), members=m1,m2/i (default m1 for the leader,
                    none for others; /i an instance), inst= session=10000 rebalance=20000
                    proto=range topics=t in=; new: the member id was empty in the request
sync m1 @1          words: send=m1:0,1/m2:2 (the leader's), got=0,1
beat m1 @1, leave m1
describe Stable m1:0,1 m2:2
assigned 0,1        words: gen=1 by=m1; as well: revoked 0,1, lost 0,1, processed 0=30,
                    life pause m1
nemesis kill n1     with CALL-RET: begin and end; words: leader=n1 majority=no refuse explains=TEXT
observed leader n1  words: term=2 index=5 hash=ff status=1 signal=6 rss_kb= fds=
phase heal
option key=value    (no WHO, no time) an option of the run, JSON
entry 3 commit a @1 by=m1
                    batch 3 of all nodes' logs; what stands in it: commit (as above; !22: it was
                    refused there), generation 2 m1,m2, delete 0, expire 0=3 (what batch 3 wrote),
                    drop, read (a marker). `entry n2 3 ...`: on n2 alone. Several records of one
                    batch are several lines
log n1 TEXT         (the rest of the line) a line of a node's log
raw JSON            an event as it is, the index filled in
"""

import json
import re

from dumps import Dump
from ops import History

MS = 1_000_000
SINGLE = ("assigned", "revoked", "lost", "processed", "life", "observed", "phase")


class Case:
    def __init__(self, is_valid, why):
        self.is_valid, self.why = is_valid, why
        self.lines, self.options, self.logs, self.raw = [], {}, {}, []
        self.entries = []  # (node or None, index, words)

    def events(self):
        marks = []
        for line in self.lines:
            marks += _parse(line)
        for event in self.raw:
            marks.append((event.get("time", 0), 1, 1 << 30, {**event}))
        marks.sort(key=lambda mark: mark[:3])
        events, retired = [], {}
        for time, _, _, event in marks:
            who = event.get("process", "")
            if who in retired:
                event["process"] = who + "'" * retired.get(who, 0)
            if event.get("type") == "info" and event.get("f") in ANSWERED:
                retired[who] = retired.get(who, 0) + 1
            events.append({"index": len(events), **event, "time": time * MS})
        return events

    def history(self):
        return History(self.events(), self.options)

    def dumps(self):
        """Of three nodes; [] if nothing is said about their logs."""
        return (
            [Dump(node, _dump_lines(node, self.entries)) for node in ("n1", "n2", "n3")]
            if self.entries
            else []
        )


def read(path):
    cases = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(("+ ", "- ")):
            cases.append(Case(line[0] == "+", line[2:]))
        elif line.startswith("  "):
            _add(cases[-1], line.strip())
    return cases


def parse(text):
    """One valid case from lines of operations."""
    case = Case(True, "")
    for line in text.strip().splitlines():
        _add(case, line.strip())
    return case


def _add(case, line):
    if line.startswith("option "):
        for word in line.split()[1:]:
            name, _, value = word.partition("=")
            case.options[name] = json.loads(value)
    elif line.startswith("log "):
        _, node, text = line.split(" ", 2)
        case.logs.setdefault(node, []).append(text)
    elif line.startswith("entry "):
        _, *words = line.split()
        node = words.pop(0) if words[0].startswith("n") else None
        case.entries.append((node, int(words[0]), words[1:]))
    elif line.startswith("raw "):
        case.raw.append(json.loads(line[4:]))
    else:
        case.lines += [part.strip() for part in line.split(" | ")]


# ---- Lines ----

_counter = [0]


def _parse(line):
    """[(time, order, n, event)]: at one time invokes stand before completions."""
    who, times, what, *words = line.split()
    _counter[0] += 1
    n = _counter[0]
    begin, _, end = times.partition("-")
    begin = float(begin) if "." in begin else int(begin)
    words = Words(words)
    if what == "nemesis":
        return _nemesis(begin, end, words, n)
    if what in SINGLE:
        kind = "info" if what in ("observed", "phase") else "ok"
        return [
            (begin, 1, n, {"process": who, "type": kind, "f": what, "value": _single(what, words)})
        ]
    f, asked, answered = OPERATIONS[what](words)
    client = words.named.get("client", "witness")
    node = words.named.get("node", "n1") if client == "witness" else None
    base = {"process": who, "node": node, "client": client}
    marks = [(begin, 0, n, {**base, "type": "invoke", "f": f, "value": asked})]
    if end in ("", "..."):
        return marks
    end = float(end) if "." in end else int(end)
    completion = {**base, "type": "ok", "f": f, "value": answered}
    if words.unknown:
        completion.update(type="info", error=words.error or "timeout", value={})
    elif words.error is not None:
        completion.update(type="fail", error=words.error, value={})
        if f == "join" and words.error == 79:
            completion["value"] = {"member": words.plain[0]}
    return marks + [(end, 1, n, {k: v for k, v in completion.items() if v is not None})]


class Words:
    """plain words, named ones (a=b), the generation, the outcome."""

    def __init__(self, words):
        self.plain, self.named, self.gen, self.unknown, self.error = [], {}, 1, False, None
        for word in words:
            if word.startswith("@"):
                self.gen = int(word[1:])
            elif word == "?":
                self.unknown = True
            elif word.startswith("?"):
                self.unknown, self.error = True, _number(word[1:])
            elif word.startswith("!"):
                self.error = _number(word[1:])
            elif re.match(
                r"(by|client|inst|in|leader|members|session|rebalance|proto|topics|send|got|node|"
                r"majority|explains|term|index|hash|status|signal|rss_kb|fds|id|gen)=",
                word,
            ):
                name, _, value = word.partition("=")
                self.named[name] = value
            else:
                self.plain.append(word)

    @property
    def group(self):
        return self.named.get("in", "g")

    def request(self, member=None):
        return {
            "group": self.group,
            "gen": self.gen,
            "member": member or self.named.get("by", "" if self.gen < 0 else "m1"),
            "instance": self.named.get("inst"),
        }


def _number(text):
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def offset_of(name):
    return (ord(name[0]) - ord("a") + 1) * 10 + int(name[1:] or 0)


def _part(word):
    """p:name=offset!error -> (partition, name or None, offset, error)"""
    word, _, error = word.partition("!")
    place, _, name = word.rpartition(":")
    name, _, offset = name.partition("=")
    if name == "-":
        return int(place or 0), None, -1, int(error or 0)
    return int(place or 0), name, int(offset) if offset else offset_of(name), int(error or 0)


def _commit(words):
    parts = [_part(word) for word in words.plain]
    asked = {
        **words.request(),
        "parts": [["t", p, offset, -1, name] for p, name, offset, _ in parts],
    }
    return "commit", asked, {"parts": [["t", p, error] for p, _, _, error in parts]}


def _fetch(words):
    is_all = "all" in words.plain
    parts = [_part(word) for word in words.plain if word != "all"]
    asked = None if is_all else [["t", p] for p, _, _, _ in parts]
    return (
        "fetch",
        {"group": words.group, "parts": asked},
        {"parts": [["t", p, offset, -1, name, error] for p, name, offset, error in parts]},
    )


def _delete(words):
    parts = [["t", int(word)] for word in words.plain]
    return (
        "delete_offsets",
        {"group": words.group, "parts": parts},
        {"parts": [[*part, 0] for part in parts]},
    )


def _drop(words):
    return "delete_group", {"group": words.group}, {}


def _join(words):
    member, named = words.plain[0], words.named
    leader = named.get("leader", member)
    members = [
        pair for pair in named.get("members", member if leader == member else "").split(",") if pair
    ]
    asked = {
        "group": words.group,
        "member": "" if "new" in words.plain else member,
        "instance": named.get("inst"),
        "topics": named.get("topics", "t").split(","),
        "session_ms": int(named.get("session", 10000)),
        "rebalance_ms": int(named.get("rebalance", 20000)),
    }
    answered = {
        "gen": words.gen,
        "protocol": named.get("proto", "range"),
        "leader": leader,
        "member": member,
        "members": [[m.partition("/")[0], m.partition("/")[2] or None] for m in members],
    }
    return "join", asked, answered


def _partitions(text):
    return [["t", [int(p) for p in text.split(",")]]] if text else []


def _sync(words):
    sent = {}
    for pair in words.named.get("send", "").split("/"):
        if pair:
            member, _, partitions = pair.partition(":")
            sent[member] = _partitions(partitions)
    asked = {**words.request(words.plain[0]), "assignments": sent}
    return "sync", asked, {"assignment": _partitions(words.named.get("got", ""))}


def _beat(words):
    return "heartbeat", words.request(words.plain[0]), {}


def _leave(words):
    return (
        "leave",
        {"group": words.group, "member": words.plain[0], "instance": words.named.get("inst")},
        {},
    )


def _describe(words):
    members = [word.partition(":") for word in words.plain[1:]]
    return (
        "describe",
        {"group": words.group},
        {
            "state": words.plain[0],
            "protocol": "range",
            "members": [[name, None, _partitions(partitions)] for name, _, partitions in members],
        },
    )


ANSWERED = (
    "commit",
    "fetch",
    "delete_offsets",
    "delete_group",
    "join",
    "sync",
    "heartbeat",
    "leave",
    "describe",
)
OPERATIONS = {
    "commit": _commit,
    "fetch": _fetch,
    "delete": _delete,
    "drop": _drop,
    "join": _join,
    "sync": _sync,
    "beat": _beat,
    "leave": _leave,
    "describe": _describe,
}


# ---- Single events ----


def _single(what, words):
    if what == "life":
        return {"what": words.plain[0], "members": words.plain[1:]}
    if what == "phase":
        return {"phase": words.plain[0]}
    if what == "observed":
        value = {"event": words.plain[0], "node": words.plain[1]}
        for name, given in words.named.items():
            value[name] = given if name == "hash" else int(given)
        return value
    if what == "processed":
        partition, _, offset = words.plain[0].partition("=")
        return {
            "group": words.group,
            "topic": "t",
            "partition": int(partition),
            "offset": int(offset),
        }
    gen = words.named.get("gen")
    return {
        "group": words.group,
        "member": words.named.get("by"),
        "gen": int(gen) if gen else None,
        "parts": _partitions(words.plain[0]),
    }


def _nemesis(begin, end, words, n):
    value = {
        "fault": words.plain[0],
        "targets": [w for w in words.plain[1:] if w != "refuse"],
        "leader": words.named.get("leader"),
    }
    if "majority" in words.named:
        value["majority"] = words.named["majority"] == "yes"
    if "refuse" in words.plain:
        value["must_refuse"] = True
    if "explains" in words.named:
        value["explains"] = [words.named["explains"]]
    event = {"process": "nemesis", "type": "info", "f": "nemesis"}
    marks = [(begin, 1, n, {**event, "value": {**value, "phase": "begin"}})]
    if end and end != "...":
        marks.append((int(end), 1, n, {**event, "value": {**value, "phase": "end"}}))
    return marks


# ---- Logs ----


def _dump_lines(node, entries):
    """What logdump says of a node, as far as the checkers look at it."""
    own = {index for where, index, _ in entries if where == node}
    lines, last = [], 0
    for where, index, words in entries:
        if where not in (None, node) or (where is None and index in own):
            continue
        if index != last:
            term = 1 if where is None else 2
            lines.append(
                {
                    "kind": "entry",
                    "raft_index": index,
                    "raft_term": term,
                    "type": "command",
                    "replayed": True,
                    "index": index,
                    "hash": f"{index:016x}",
                }
            )
            last = index
        lines.append(
            {"kind": "proposal", "raft_index": index, "index": index, "records": _records(words)}
        )
    return lines + [{"kind": "end", "raft_index": last, "index": last, "hash": f"{last:016x}"}]


def _records(words):
    what, words = words[0], Words(words[1:])
    verdict = {"error": words.error or 0}
    body = {"group": 5, "group_name": words.group}
    if what == "read":
        return []
    if what == "commit":
        member = words.named.get("by", None if words.gen < 0 else "m1")
        parts = [_part(word) for word in words.plain]
        body.update(
            member=7 if member else 0,
            member_name=member,
            generation=words.gen,
            topic=9,
            topic_name="t",
            offsets=[
                {"partition": p, "offset": offset, "leader_epoch": -1, "metadata": name}
                for p, name, offset, _ in parts
            ],
        )
        return [{"record": "offsets", "body": body, "verdict": verdict}]
    if what == "generation":
        members = words.plain[1].split(",")
        body.update(
            generation=int(words.plain[0]),
            protocol_name=words.named.get("proto", "range"),
            leader=members[0],
            members=[{"member_id": m, "is_kept": False} for m in members],
        )
        return [{"record": "generation", "body": body, "verdict": verdict}]
    if what == "delete":
        body.update(topic_name="t", partitions=[int(word) for word in words.plain])
        return [{"record": "offsets_deleted", "body": body, "verdict": verdict}]
    if what == "expire":
        rows = [word.split("=") for word in words.plain]
        body.update(
            offsets=[
                {"topic": 9, "topic_name": "t", "partition": int(p), "version": int(version)}
                for p, version in rows
            ]
        )
        return [{"record": "offsets_expired", "body": body, "verdict": verdict}]
    return [{"record": "group_deleted", "body": body, "verdict": verdict}]
