"""C5, I11: at one index one state. Hashes come from the dumps, from `observed` events and from the
status lines in the nodes' logs."""

import re

from verdict import Violation

STATUS = re.compile(r" index=(\d+) state_hash=([0-9a-f]{16})\b")


def check(history, dumps=(), logs=None):
    """[logs]: {node: lines}."""
    seen = {}
    for index, digest, source, event in _hashes(history, dumps, logs or {}):
        first = seen.setdefault(index, (digest, source))
        if first[0] != digest:
            yield Violation(
                "I11",
                "C5",
                f"at index {index} the state's hash is {first[0]} on {first[1]} "
                f"and {digest} on {source}",
                [] if event is None else [event["index"]],
                0 if event is None else event["time"],
                0 if event is None else event["time"],
            )


def _hashes(history, dumps, logs):
    for dump in dumps:
        for index, digest in dump.hashes.items():
            yield index, digest, dump.name, None
        if dump.end is not None:
            yield dump.end["index"], dump.end["hash"], dump.name, None
    for event in history.observed:
        value = event["value"]
        if value.get("event") == "state":
            yield value["index"], value["hash"], value["node"], event
    for node, lines in logs.items():
        for line in lines:
            found = STATUS.search(line)
            if found:
                yield int(found[1]), found[2], node, None
