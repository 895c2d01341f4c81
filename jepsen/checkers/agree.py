"""The exact check and Porcupine on generated histories: agree.py [COUNT].

Prints a table by bug: of how many histories each said that they are not linearizable, and how long
it took; and of how many Porcupine says so when it sees them in small windows, and no more than
NARROW operations at once. Exit status 1 if they differ on any, or if either finds fault with a
correct server.
"""

import collections
import json
import pathlib
import shutil
import sys
import tempfile
import time

import check
import generate
import porcupine
from generations import Generations
from ops import History
from registers import Registers

OPERATIONS = 2000
WINDOW, NARROW = 200, 3


def exact(events):
    """Does C1, with the fences of I4, find a violation?"""
    history = History(events)
    generations = Generations(history)
    registers = Registers(history, generations)
    found = (
        history.problems + registers.violations + list(check.check_registers(history, registers))
    )
    return bool(found) or any(v.invariant == "I4" for v in generations.check())


def plan(count):
    """[(kind, bug, seed)], the correct servers as often as each bug."""
    cases = [("members", bug) for bug in (None, *generate.MEMBERS_BUGS)]
    cases += [("simple", bug) for bug in (None, *generate.SIMPLE_BUGS)]
    return [(*cases[n % len(cases)], n // len(cases)) for n in range(count)]


def main(count, operations=OPERATIONS):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="roster-agree-"))
    try:
        return compare(plan(count), operations, folder)
    finally:
        shutil.rmtree(folder)


def compare(cases, operations, folder):
    rows, differ, paths = collections.defaultdict(collections.Counter), 0, []
    said, spent = [], 0.0
    for number, (kind, bug, seed) in enumerate(cases):
        events, _ = generate.generate(seed, bug, operations, kind)
        begin = time.monotonic()
        said.append(exact(events))
        spent += time.monotonic() - begin
        paths.append(folder / f"{number}.jsonl")
        paths[-1].write_text("".join(json.dumps(event) + "\n" for event in events))
    begin = time.monotonic()
    results = porcupine.run(paths)
    other = time.monotonic() - begin
    in_windows = porcupine.run(paths, length=WINDOW, width=NARROW)
    for (kind, bug, seed), one, result, less in zip(cases, said, results, in_windows):
        row = rows[kind, bug or "none"]
        row["histories"] += 1
        row["exact"] += one
        row["porcupine"] += bool(result["illegal"])
        row["undecided"] += bool(result["unknown"])
        row["windows"] += bool(less["illegal"])
        if less["illegal"] and not one or less["unknown"]:
            differ += 1
            print(f"in windows, {kind} {bug} seed {seed}: exact {one}, Porcupine {less}")
        if one != bool(result["illegal"]) or result["unknown"]:
            differ += 1
            print(f"they differ on {kind} {bug} seed {seed}: exact {one}, Porcupine {result}")
    print(f"{'server':10}{'bug':12}{'histories':>10}{'exact':>8}{'Porcupine':>11}{'windows':>9}"
          f"{'undecided':>11}")
    for (kind, bug), row in rows.items():
        print(
            f"{kind:10}{bug:12}{row['histories']:10}{row['exact']:8}{row['porcupine']:11}"
            f"{row['windows']:9}{row['undecided']:11}"
        )
    print(
        f"{len(cases)} histories of {operations} operations: {differ} differ; exact "
        f"{spent / len(cases) * 1000:.1f} ms each, Porcupine {other / len(cases) * 1000:.1f} ms"
    )
    false = sum(row["exact"] for (_, bug), row in rows.items() if bug == "none")
    return 1 if differ or false else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
