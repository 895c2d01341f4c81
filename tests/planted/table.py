"""The table of planted bugs in docs/TESTING.md, from results.json.

    table.py            exits with 1 where the document does not say what the results say, or where a
                        bug was never noticed
    table.py --write    makes the table anew

Whoever runs a suite notes what came of it: note() and write(); jepsen/run does so for real nodes. One
result per bug and suite, the last.
"""

import json
import pathlib
import sys

from bugs import BUGS, ROOT, SUITES

RESULTS = pathlib.Path(__file__).resolve().parent / "results.json"
DOCUMENT = ROOT / "docs" / "TESTING.md"
BEGIN, END = "<!-- planted bugs: made by tests/planted/table.py -->", "<!-- end of planted bugs -->"
WORDS_MAX = 90

HEAD = """| bug | what | suite | seeds | seconds | what it said |
|---|---|---|---|---|---|
"""


def load():
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []


def note(result):
    """[result]: bug, suite ("chaos: ..." for runs of real nodes), seeds (or runs), seconds, words."""
    rest = [r for r in load() if (r["bug"], r["suite"]) != (result["bug"], result["suite"])]
    found = sorted([*rest, result], key=lambda r: (r["bug"], r["suite"]))
    RESULTS.write_text("[\n" + ",\n".join(json.dumps(r) for r in found) + "\n]\n",
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


def parts(text):
    """What stands before, in and behind the table."""
    before, _, rest = text.partition(BEGIN + "\n")
    inside, mark, behind = rest.partition(END)
    if not mark:
        raise ValueError(f"{DOCUMENT.name} has no lines {BEGIN} and {END}")
    return before, inside, behind


def write():
    before, _, behind = parts(DOCUMENT.read_text(encoding="utf-8"))
    DOCUMENT.write_text(f"{before}{BEGIN}\n{made(load())}{END}{behind}", encoding="utf-8")


def main(*options):
    if "--write" in options:
        write()
        return 0
    results = load()
    unnoticed = [bug for bug in BUGS if not any(r["bug"] == bug for r in results)]
    if unnoticed:
        print(f"never noticed: {unnoticed}")
    is_current = parts(DOCUMENT.read_text(encoding="utf-8"))[1] == made(results)
    if not is_current:
        print(f"{DOCUMENT.name} does not say what results.json says; tests/planted/table.py --write")
    return 0 if is_current and not unnoticed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
