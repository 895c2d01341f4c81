"""Many runs together: total.py DIR...

Each DIR is a run's (with results.json) or holds such. Prints what they did in all, and the
unavailability by fault over all of them. Exit status 1 if any found a violation, 2 if any was
invalid.
"""

import argparse
import collections
import json
import pathlib
import statistics
import sys

SUMMED = (
    "faults",
    "leader_changes",
    "rebalances_in_faults",
    "restarts",
    "snapshot_installs",
    "ok",
    "acknowledged",
    "unknown",
    "fenced",
)


def find(directories):
    for directory in directories:
        direct = directory / "results.json"
        paths = [direct] if direct.exists() else sorted(directory.glob("*/results.json"))
        for path in paths:
            result = json.loads(path.read_text(encoding="utf-8"))
            add_lab(path.with_name("lab.json"), result)
            yield path.parent, result


def add_lab(path, result):
    """What the lab complained about, and how many processes wanted to run (the machine's load)."""
    if not path.exists():
        return
    lab = json.loads(path.read_text(encoding="utf-8"))
    result["load"] = lab.get("load", [])
    for problem in lab["problems"]:
        result["verdict"] = "violation"
        result["violations"].append({"invariant": "lab", "text": problem})


def add_up(runs):
    total = collections.Counter()
    by_fault = collections.defaultdict(lambda: [0, []])
    verdicts = collections.Counter()
    for _, result in runs:
        verdicts[result["verdict"]] += 1
        total["seconds"] += result.get("seconds", 0)
        for name in SUMMED:
            total[name] += result["counts"].get(name, 0)
        for row in result["unavailability"]:
            entry = by_fault[row["fault"]]
            entry[0] += row["count"]
            timeout = result["options"].get("election_timeout_ms", 300)
            entry[1] += [ms / timeout for ms in row.get("judged_ms", [])]
    return total, by_fault, verdicts


def report(runs):
    total, by_fault, verdicts = add_up(runs)
    yield f"{len(runs)} runs, {total['seconds'] / 3600:.2f} hours: " + ", ".join(
        f"{n} {verdict}" for verdict, n in sorted(verdicts.items())
    )
    yield ", ".join(f"{total[name]:,} {name.replace('_', ' ')}" for name in SUMMED)
    loads = [load for _, result in runs for load in result.get("load", [])]
    if loads:
        yield f"the machine's load: median {statistics.median(loads):.1f}, worst {max(loads):.1f}"
    shares = [result["log"]["share"] for _, result in runs if "share" in result.get("log", {})]
    if shares:
        yield (f"acknowledged commits that the nodes' logs cover: {statistics.mean(shares):.1%}, "
               f"least {min(shares):.1%}")
    for directory, result in runs:
        for violation in result["violations"][:3]:
            yield f"{directory}: {violation['invariant']} {violation['text']}"
        for reason in result["invalid"][:3]:
            yield f"{directory}: I13 {reason}"
    yield ""
    yield "| fault | times | judged | median | worst |"
    yield "|---|---|---|---|---|"
    for fault, (count, gaps) in sorted(by_fault.items()):
        median = f"{statistics.median(gaps):.2f}" if gaps else "–"
        worst = f"{max(gaps):.2f}" if gaps else "–"
        yield f"| {fault} | {count} | {len(gaps)} | {median} | {worst} |"
    every = [gap for _, gaps in by_fault.values() for gap in gaps]
    if every:
        yield f"| all | | {len(every)} | {statistics.median(every):.2f} | {max(every):.2f} |"
    yield "\nUnavailability in election timeouts, where a healthy majority stayed connected."


def main(arguments):
    parser = argparse.ArgumentParser(description="Many runs together.")
    parser.add_argument("directories", type=pathlib.Path, nargs="+")
    parsed = parser.parse_args(arguments)
    runs = list(find(parsed.directories))
    for line in report(runs):
        print(line)
    verdicts = {result["verdict"] for _, result in runs}
    return 1 if "violation" in verdicts else 2 if "invalid" in verdicts or not runs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
