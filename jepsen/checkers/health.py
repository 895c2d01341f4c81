"""C6: I12, nodes are healthy processes, and the part of I10 that nodes refuse damaged disks.

A line of a node's log that tells of a crash, a sanitizer's report or a fatal end must be explained
by a fault that had that node as a target: by the patterns that the fault brings along (`explains`),
or by those of its kind here. A broken invariant or a sanitizer's report is explained by nothing.
"""

import re

from ops import FOREVER
from verdict import S, Violation, seconds

NEVER = re.compile(
    r"Assertion|assertion failed|ensure failed|broken_invariant|raftlog_states_differ"
    r"|ERROR: \w*Sanitizer|AddressSanitizer|runtime error:"
    r"|LeakSanitizer|Segmentation fault|stack smashing|double free|core dumped"
    r"|free\(\): invalid"
)
FATAL = re.compile(r" fatal |\bfatal message=|\bAborted\b|\babort\(\)|terminated by signal")

# By words in a fault's name: what a target may say when it stops, and later when it comes back.
EXPLAINED = {
    (
        "disk",
        "eio",
        "enospc",
        "full",
        "write",
        "torn",
        "lost",
    ): r"fatal message=.*(disk|space|write|append|I/O|IO|raftlog_)",
    (
        "flip",
        "corrupt",
        "truncate",
        "copy",
        "restore",
        "damage",
    ): r"fatal message=.*(corrupt|checksum|damage|raftlog_|start_failed)",
    ("power",): r"fatal message=.*raftlog_start_failed",
}

RSS_FACTOR = 4  # beyond what the first reading says, and
RSS_SLACK_KB = 512 * 1024
FDS_MAX = 4096


def explained_by(fault):
    patterns = list(fault.value.get("explains") or [])
    for words, pattern in EXPLAINED.items():
        if any(word in (fault.name or "") for word in words):
            patterns.append(pattern)
    return patterns


def check(history, logs=None):
    """[logs]: {node: lines}."""
    allowed = [re.compile(p) for p in history.options.get("allow") or []]
    for node, lines in (logs or {}).items():
        patterns = [
            re.compile(p)
            for fault in history.faults
            if _hits(fault, node)
            for p in explained_by(fault)
        ]
        for line in lines:
            if any(p.search(line) for p in allowed):
                continue
            if NEVER.search(line):
                yield Violation("I12", "C6", f"{node} says: {line.strip()[:300]}")
            elif FATAL.search(line) and not any(p.search(line) for p in patterns):
                yield Violation(
                    "I12", "C6", f"{node} ended, and no fault explains it: " f"{line.strip()[:300]}"
                )
    yield from _exits(history)
    yield from _resources(history)
    yield from _refusals(history)


def _hits(fault, node):
    return not fault.targets or node in fault.targets or "all" in fault.targets


def _exits(history):
    """A node that ends although nobody ended it."""
    for event in history.observed:
        value = event["value"]
        if value.get("event") != "exited":
            continue
        signal, status = value.get("signal"), value.get("status")
        if value.get("core") or signal in (4, 6, 7, 8, 11):
            yield _event(event, "I12", f"{value['node']} crashed with signal {signal}")
        elif value.get("expected") or status in (0, None) and signal in (None, 0):
            continue
        elif not any(
            _hits(f, value["node"]) and f.begin <= event["time"] <= f.end + 30 * S
            for f in history.faults
        ):
            yield _event(
                event,
                "I12",
                f"{value['node']} ended with status {status}, signal {signal} at "
                f"{seconds(event['time'], history.begin)}, and no fault had hit it",
            )


def _resources(history):
    first = {}
    for event in history.observed:
        value = event["value"]
        if value.get("event") in ("started", "exited"):
            first.pop(value.get("node"), None)
        if value.get("event") != "resources":
            continue
        node, rss, fds = value["node"], value.get("rss_kb", 0), value.get("fds", 0)
        base = first.setdefault(node, rss)
        if rss > base * RSS_FACTOR + RSS_SLACK_KB:
            yield _event(event, "I12", f"{node} grew from {base} to {rss} kB")
        if fds > FDS_MAX:
            yield _event(event, "I12", f"{node} holds {fds} descriptors")


def _refusals(history):
    """A node whose disk was damaged does not serve before it was repaired."""
    for fault in history.faults:
        if not fault.value.get("must_refuse"):
            continue
        for event in history.observed:
            value = event["value"]
            if (
                value.get("event") in ("ready", "leader")
                and value.get("node") in fault.targets
                and fault.begin < event["time"] < min(fault.end, FOREVER)
            ):
                yield _event(
                    event,
                    "I10",
                    f"{value['node']} serves at "
                    f"{seconds(event['time'], history.begin)} from a disk that {fault.name} had "
                    f"damaged",
                )


def _event(event, invariant, text):
    return Violation(invariant, "C6", text, [event["index"]], event["time"], event["time"])
