"""The tables of planted bugs and of rules in docs/TESTING.md, from results.json and rules.json.

    table.py            exits with 1 where the document does not say what the results say, or where
                        a bug or a rule's absence was never noticed
    table.py --write    makes the tables anew

Whoever runs a suite notes what came of it: note() and write(); jepsen/run does so for real nodes.
One result per bug and suite, the last.
"""

import collections
import json
import pathlib
import sys

import rules
from bugs import BUGS, ROOT, SUITES

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = ROOT / "docs" / "TESTING.md"
WORDS_MAX = 90

# [results]: the file; [begin] and [end]: what the document has around the table.
Table = collections.namedtuple("Table", "results begin end")
OF_BUGS = Table(HERE / "results.json", "<!-- planted bugs: made by tests/planted/table.py -->",
                "<!-- end of planted bugs -->")
OF_RULES = Table(HERE / "rules.json", "<!-- rules taken out: made by tests/planted/table.py -->",
                 "<!-- end of rules taken out -->")

HEAD = """| bug | what | suite | seeds | seconds | what it said |
|---|---|---|---|---|---|
"""
RULES_HEAD = """| rule | build | without it | test | seconds | what it said |
|---|---|---|---|---|---|
"""


def load(table=OF_BUGS):
    path = table.results
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def note(result, table=OF_BUGS):
    """[result]: bug, suite ("chaos: ..." for runs of real nodes; for a rule the test), seeds (or
    runs; not for a rule), seconds, words."""
    rest = [r for r in load(table) if (r["bug"], r["suite"]) != (result["bug"], result["suite"])]
    found = sorted([*rest, result], key=lambda r: (r["bug"], r["suite"]))
    table.results.write_text("[\n" + ",\n".join(json.dumps(r) for r in found) + "\n]\n",
                             encoding="utf-8")


def cell(words):
    text = words.replace("|", "\\|")
    return text if len(text) <= WORDS_MAX else text[:WORDS_MAX - 1].rstrip() + "…"


def order(result):
    names = list(SUITES)
    return names.index(result["suite"]) if result["suite"] in names else len(names)


def made(results):
    lines = []
    for bug, about in BUGS.items():
        found = sorted((r for r in results if r["bug"] == bug), key=order)
        for i, r in enumerate(found):
            what = (bug, about.what) if i == 0 else ("", "")
            lines.append(f"| {what[0]} | {what[1]} | {r['suite']} | {r['seeds']} | {r['seconds']} |"
                         f" {cell(r['words'])} |\n")
        if not found:
            lines.append(f"| {bug} | {about.what} | not noticed | | | |\n")
    return HEAD + "".join(lines)


def made_of_rules(results):
    lines = []
    last = None
    for bug, part in rules.RULES.items():
        found = {r["suite"]: r for r in results if r["bug"] == bug}
        for i, check in enumerate(part.checks):
            head = (part.rule if part.rule != last else "", bug, part.what) if i == 0 else ("",) * 3
            r = found.get(check, {"seconds": "", "words": "not noticed"})
            lines.append(f"| {head[0]} | {head[1]} | {head[2]} | {check} | {r['seconds']} |"
                         f" {cell(r['words'])} |\n")
            last = part.rule
    lines.append(f"| {', '.join(rules.LATER)} | | their code comes later | | | |\n")
    return RULES_HEAD + "".join(lines)


MADE = {OF_BUGS: made, OF_RULES: made_of_rules}


def parts(text, table=OF_BUGS):
    """What stands before, in and behind the table."""
    before, _, rest = text.partition(table.begin + "\n")
    inside, mark, behind = rest.partition(table.end)
    if not mark:
        raise ValueError(f"{DOCUMENT.name} has no lines {table.begin} and {table.end}")
    return before, inside, behind


def write():
    text = DOCUMENT.read_text(encoding="utf-8")
    for table, rows in MADE.items():
        before, _, behind = parts(text, table)
        text = f"{before}{table.begin}\n{rows(load(table))}{table.end}{behind}"
    DOCUMENT.write_text(text, encoding="utf-8")


def unnoticed():
    """Numbers of bugs, and of rules with the tests that have to notice, which are in no result."""
    bugs = {r["bug"] for r in load()}
    checks = {(r["bug"], r["suite"]) for r in load(OF_RULES)}
    return [bug for bug in BUGS if bug not in bugs] + [
        f"{bug} {check}" for bug, part in rules.RULES.items() for check in part.checks
        if (bug, check) not in checks]


def main(*options):
    if "--write" in options:
        write()
        return 0
    missing = unnoticed()
    if missing:
        print(f"never noticed: {missing}")
    text = DOCUMENT.read_text(encoding="utf-8")
    is_current = all(parts(text, table)[1] == rows(load(table)) for table, rows in MADE.items())
    if not is_current:
        print(f"{DOCUMENT.name} does not say what the results say; tests/planted/table.py --write")
    return 0 if is_current and not missing else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
