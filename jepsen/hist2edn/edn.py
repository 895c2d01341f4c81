"""Histories as Jepsen's EDN, so that Elle and Knossos can judge them, too.

    hist2edn [--knossos] DIR|HISTORY.jsonl [OUT]    writes OUT, by default history.edn
    hist2edn --check FILE.edn                        is it well-formed? exit status 1 if not

For Elle's rw-register each commit and each fetch is one transaction, so that strict serializability
over several partitions can be checked: [[:w ["g1" "t" 3] 17]], where 17 is the commit's own number.
With --knossos each partition is an operation of its own on a key of its own, for
jepsen.independent: [["g1" "t" 3] 17]. Groups whose offsets or that themselves were deleted are left
out: a deletion writes no unique value.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import history  # noqa: E402
from reader import Malformed, Symbol, read_forms  # noqa: E402

SPREAD = 64  # partitions of one request, with --knossos


def text(value):
    """A value as EDN."""
    if value is None:
        return "nil"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, Symbol):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{text(Symbol(':' + key))} {text(v)}" for key, v in value.items())
            + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + " ".join(text(v) for v in value) + "]"
    return str(value)


class Converter:
    """convert() yields lines."""

    def __init__(self, events, is_knossos=False):
        self.events, self.is_knossos = list(events), is_knossos
        self.index = 0
        self.numbers = {}  # (group, topic, partition, metadata or offset) -> number of the write
        self.processes = {}  # names of processes that are no numbers
        self.open = {}  # process -> invoke
        self.left_out = {
            e["value"].get("group")
            for e in self.events
            if e["f"] in ("delete_offsets", "delete_group") and e["type"] == "invoke"
        }

    def convert(self):
        for event in self.events:
            if event["f"] == "nemesis":
                yield self._line(
                    event,
                    Symbol(":nemesis"),
                    event["value"].get("fault") or "fault",
                    event["value"],
                )
            elif event["f"] in ("commit", "fetch"):
                yield from self._operation(event)

    def _line(self, event, process, f, value):
        fields = {
            "index": self.index,
            "time": event["time"],
            "process": process,
            "type": Symbol(":" + event["type"]),
            "f": Symbol(":" + f),
            "value": value,
        }
        if event.get("error") is not None and event["type"] != "invoke":
            fields["error"] = event["error"]
        self.index += 1
        return text(fields)

    def _process(self, name):
        if isinstance(name, int):
            return name
        return self.processes.setdefault(name, 1_000_000_000 + len(self.processes))

    def _operation(self, event):
        if event["type"] == "invoke":
            if event["value"]["group"] in self.left_out:
                return
            self.open[event["process"]] = event
            asked, answered = event, None
        else:
            asked, answered = self.open.pop(event["process"], None), event
            if asked is None:
                return
        steps = (
            self._writes(asked, answered)
            if event["f"] == "commit"
            else self._reads(asked, answered)
        )
        process = self._process(event["process"])
        if not self.is_knossos:
            yield self._line(event, process, "txn", [[Symbol(f), key, v] for f, key, v in steps])
            return
        for n, (f, key, value) in enumerate(steps):
            yield self._line(
                event, process * SPREAD + n, {":w": "write", ":r": "read"}[f], [key, value]
            )

    def _writes(self, asked, answered):
        group = asked["value"]["group"]
        errors = {}
        if answered is not None and answered["type"] == "ok":
            errors = {(t, p): e for t, p, e in answered["value"].get("parts") or []}
        steps = []
        for topic, partition, offset, _, metadata in asked["value"]["parts"]:
            number = self.numbers.setdefault(
                (group, topic, partition, metadata or offset), len(self.numbers) + 1
            )
            if self.is_knossos or errors.get((topic, partition), 0) == 0:
                steps.append((":w", [group, topic, partition], number))
        return steps

    def _reads(self, asked, answered):
        group = asked["value"]["group"]
        known = {}
        if answered is not None and answered["type"] == "ok":
            known = {
                (t, p): self.numbers.get((group, t, p, m or o), -1) if o >= 0 else None
                for t, p, o, _, m, e in answered["value"].get("parts") or []
                if e == 0
            }
        wanted = asked["value"].get("parts")
        if wanted is None:  # all: what is listed, known from the answer alone
            wanted = [] if self.is_knossos else [list(pair) for pair in known]
        return [(":r", [group, t, p], known.get((t, p))) for t, p in wanted]


# ---- Is it well-formed? ----

KEYS = (":index", ":time", ":process", ":type", ":f", ":value")


def complaints(content):
    """What is wrong with a history in EDN: forms that do not close, keys that are missing, an index
    or a time that falls, a process with two operations at once."""
    try:
        forms = list(read_forms(content))
    except Malformed as wrong:
        return [str(wrong)]
    found, open_, last, time = [], set(), -1, -1
    for n, form in enumerate(forms):
        if not isinstance(form, dict) or any(key not in form for key in KEYS):
            found.append(f"form {n} is no operation: {form}")
            continue
        if form[":index"] <= last:
            found.append(f"index {form[':index']} follows {last}")
        if form[":time"] < time:
            found.append(f"index {form[':index']}: time falls")
        last, time = form[":index"], form[":time"]
        if form[":process"] != ":nemesis":
            found += _pair(form, open_)
    return found


def _pair(form, open_):
    process, kind = form[":process"], form[":type"]
    if kind == ":invoke":
        if process in open_:
            yield f"index {form[':index']}: process {process} has an open operation"
        open_.add(process)
    elif kind in (":ok", ":fail", ":info"):
        if process not in open_:
            yield f"index {form[':index']}: process {process} completes nothing"
        open_.discard(process)
    else:
        yield f"index {form[':index']}: type {kind}"


def main(arguments):
    parser = argparse.ArgumentParser(prog="hist2edn", description="A history as Jepsen's EDN.")
    parser.add_argument("--knossos", action="store_true", help="an operation per partition")
    parser.add_argument("--check", action="store_true", help="check an EDN file")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path, nargs="?")
    options = parser.parse_args(arguments)
    if options.check:
        found = complaints(options.source.read_text(encoding="utf-8"))
        for complaint in found[:20]:
            print(complaint)
        return 1 if found else 0
    source = options.source / "history.jsonl" if options.source.is_dir() else options.source
    out = options.out or source.with_name("history.edn")
    converter = Converter(history.read(source), options.knossos)
    with open(out, "w", encoding="utf-8") as file:
        for line in converter.convert():
            file.write(line + "\n")
    left = sorted(group for group in converter.left_out if group)
    print(
        f"{out}: {converter.index} operations"
        + (f"; left out, since deleted from: {', '.join(left)}" if left else "")
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
