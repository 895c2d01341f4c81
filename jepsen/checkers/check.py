"""Judges a run from its directory: check.py DIR [--no-porcupine]. README.md says what it reads.
check.py --prepare builds what needs a network.

Exit status 0: valid; 1: a violation; 2: not a run that proves anything.
"""

import argparse
import json
import pathlib
import sys
import time

import atomic
import dumps as dumps_module
import health
import log as log_module
import porcupine
import regress
import replicas
import search
import vacuity
import zones
from generations import Generations
from liveness import Liveness
from ops import History, form
from ownership import Ownership
from registers import Registers
from sessions import Sessions
from verdict import MS, S, Violation

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "report"))

import report  # noqa: E402

VALID, VIOLATION, INVALID = 0, 1, 2
VERDICTS = {VALID: "valid", VIOLATION: "violation", INVALID: "invalid"}
DISK_WORDS = (
    "disk",
    "power",
    "torn",
    "lost",
    "flip",
    "corrupt",
    "truncate",
    "eio",
    "enospc",
    "full",
    "write",
    "restore",
)
LOG_SHARE = 0.9  # of the acknowledged commits, that C2 has to cover
TOLD_MAX = 50  # violations of one checker and invariant


class Judgement:
    def __init__(self, history):
        self.history = history
        self.violations, self.invalid = [], []
        self.checkers = {}
        self.counts, self.unavailability, self.coverage, self.porcupine = {}, [], {}, {}

    def run(self, name, what):
        """Collects what a checker yields, and how long it took."""
        begin = time.monotonic()
        found, told = list(what()), {}
        for violation in found:
            told[violation.invariant] = told.get(violation.invariant, 0) + 1
            if told[violation.invariant] <= TOLD_MAX:
                self.violations.append(violation)
        entry = self.checkers.setdefault(name, {"seconds": 0, "violations": 0})
        entry["seconds"] = round(entry["seconds"] + time.monotonic() - begin, 3)
        entry["violations"] += len(found)

    @property
    def status(self):
        return VIOLATION if self.violations else INVALID if self.invalid else VALID

    def as_dict(self):
        return {
            "verdict": VERDICTS[self.status],
            "seconds": round((self.history.end - self.history.begin) / S, 1),
            "options": self.history.options,
            "violations": [v.as_dict() for v in self.violations],
            "invalid": self.invalid,
            "counts": self.counts,
            "unavailability": self.unavailability,
            "log": self.coverage,
            "porcupine": self.porcupine,
            "checkers": self.checkers,
            "invariants": {
                v.invariant: sum(w.invariant == v.invariant for w in self.violations)
                for v in self.violations
            },
        }


def check_registers(history, registers):
    """C1: I1 and I2."""
    origin = history.begin
    retention = history.options.get("retention_ms")
    retention = None if retention is None else retention * MS
    by_group = {}
    for register in registers.registers.values():
        if register.is_ambiguous or retention is not None:
            found = search.check_register(register, retention, origin)
        else:
            found = zones.check_register(register, origin)
            by_group.setdefault(register.key[0], []).append(register)
        if found:
            yield found
        yield from regress.check_register(register, retention is not None, origin)
    for those in by_group.values():
        yield from atomic.check_group(those, origin)


def judge(history, dumps=(), logs=None, path=None, earlier=()):
    """All checkers; [path]: history.jsonl for Porcupine, None: without it. [earlier]: dumps.Log."""
    result = Judgement(history)
    result.run("C0 form", lambda: history.problems)
    generations = Generations(history)
    registers = Registers(history, generations)
    result.run("C1 registers", lambda: registers.violations)
    result.run("C1 registers", lambda: check_registers(history, registers))
    result.run("C4 generations", generations.check)
    result.run("C4 ownership", Ownership(history, generations).check)
    result.run("C4 sessions", Sessions(history, generations).check)
    liveness = Liveness(history)
    result.run("C4 liveness", liveness.check)
    result.unavailability = liveness.table()
    if dumps:
        count = len(history.options.get("nodes") or dumps)
        log = dumps_module.Log(list(dumps), count, earlier)
        checker = log_module.LogCheck(history, log)
        result.run("C2 log", checker.check)
        result.coverage = checker.coverage
        result.invalid += [f"the dump of {name} has no end" for name in log.incomplete]
        least = history.options.get("log_share", LOG_SHARE)
        if result.coverage["share"] < least:
            result.invalid.append(
                f"the nodes' logs cover {result.coverage['share']:.0%} of the acknowledged "
                f"commits, at least {least:.0%} are wanted"
            )
    if path is not None:
        try:
            result.run("C3 porcupine", lambda: porcupine.check(path, history, result.porcupine))
        except porcupine.Unavailable as reason:
            result.invalid.append(f"Porcupine could not judge: {reason}")
    result.run("C5 replicas", lambda: replicas.check(history, dumps, logs))
    result.run("C6 health", lambda: health.check(history, logs))
    result.violations += list(durability(history, result.violations))
    result.violations.sort(key=lambda v: (v.begin, v.invariant))
    result.counts = vacuity.count(history, logs)
    result.invalid += vacuity.check(history, logs)
    return result


def durability(history, violations):
    """I10: what was lost or invented while disks were hurt."""
    faults = [f for f in history.faults if any(word in (f.name or "") for word in DISK_WORDS)]
    for violation in violations:
        if violation.invariant not in ("I1", "I2", "I3"):
            continue
        for fault in faults:
            if not violation.end or (fault.begin <= violation.end and fault.end >= violation.begin):
                yield Violation(
                    "I10",
                    violation.checker,
                    f"{fault.name} of "
                    f"{', '.join(map(str, fault.targets))}, and: {violation.text}",
                    fault.events + violation.events,
                    violation.begin,
                    violation.end,
                )
                break


def read_dumps(directory):
    found = []
    for path in sorted((directory / "logdump").glob("*.jsonl")):
        found.append(dumps_module.read_dump(path))
    return found


def read_earlier(directory):
    paths = (directory / "logdump/earlier").glob("*.jsonl")
    return [dumps_module.read_dump(p) for p in sorted(paths, key=lambda path: int(path.stem))]


def read_logs(directory):
    """{node: lines}: all files below nodes/NODE whose name begins with "log"."""
    logs = {}
    for folder in sorted((directory / "nodes").glob("*")):
        lines = []
        for path in sorted(folder.glob("log*")):
            if path.is_file():
                lines += path.read_text(encoding="utf-8", errors="replace").splitlines()
        logs[folder.name] = lines
    return logs


def check_directory(directory, with_porcupine=True):
    options = {}
    if (directory / "options.json").exists():
        options = json.loads((directory / "options.json").read_text())
    path = directory / "history.jsonl"
    history = History(form.read(path), options)
    dumps, logs = read_dumps(directory), read_logs(directory)
    result = judge(history, dumps, logs, path if with_porcupine else None,
                   read_earlier(directory))
    (directory / "results.json").write_text(json.dumps(result.as_dict(), indent=1) + "\n")
    (directory / "report.html").write_text(report.render(history, result), encoding="utf-8")
    return result


def print_result(result, directory):
    for violation in result.violations[:20]:
        print(f"{violation.invariant} {violation.checker}: {violation.text}")
    if len(result.violations) > 20:
        print(f"and {len(result.violations) - 20} more: results.json")
    for reason in result.invalid:
        print(f"I13: {reason}")
    print(
        f"{directory}: {VERDICTS[result.status]}; {result.history.count} events, "
        f"{result.counts['ok']} ok, {result.counts['faults']} faults"
    )


def prepare():
    try:
        porcupine.build()
    except porcupine.Unavailable as reason:
        print(f"Porcupine: {reason}", file=sys.stderr)
        return INVALID
    return VALID


def main(arguments):
    parser = argparse.ArgumentParser(description="Judges a run: its history, logs and dumps.")
    parser.add_argument("directory", type=pathlib.Path, nargs="?")
    parser.add_argument(
        "--prepare", action="store_true", help="build Porcupine, which needs a network"
    )
    parser.add_argument("--no-porcupine", action="store_true", help="leave C3 out: needs no Go")
    parsed = parser.parse_args([str(a) for a in arguments])
    if parsed.prepare:
        return prepare()
    if parsed.directory is None or not (parsed.directory / "history.jsonl").exists():
        print(f"{parsed.directory}: no history.jsonl", file=sys.stderr)
        return INVALID
    result = check_directory(parsed.directory, not parsed.no_porcupine)
    print_result(result, parsed.directory)
    return result.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
