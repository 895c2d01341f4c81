"""Takes each rule out and expects its tests to fail; tests/planted/run --rules.

That the same tests pass where nothing is missing is looked at first. The budget is of one core, for
each test.
"""

import os
import re
import subprocess

import table
from bugs import ROOT
from build import BUILD, build, cpu_s
from rules import RULES, SHORT, WHOLE, program_of

# What says what is wrong, by the kind of test; the first that is there.
SAID = tuple(re.compile(pattern, re.M) for pattern in (
    r"(\w+\.c:\d+: )Assertion Failed\n\[----\] *\n\[----\] +(.+)$",   # a unit test
    r"(\w+\.c:\d+: Unexpected signal)",
    r"^\S*?(\w+\.txt:\d+: .+)$",                                       # a transcript
    r"^([\w.]*(?:Error|Exception|Expired): .+)$",                         # a test of real nodes
    r"^(?:FAILED )?(seed[ =]\d+.*)$",                                    # a simulation
    r"^.*?(broken_invariant .*)$",
    r"^.*(Subprocess aborted)",
))


def first_difference(output):
    """What a transcript shows first that it should not, or lacks."""
    found = re.search(r"^\S*?(\w+\.txt:\d+): not as expected\nexpected:\n(.*?)^got:\n(.*?)\n\n",
                      output + "\n\n", re.M | re.S)
    if found is None:
        return None
    place, expected, got = found.group(1), found.group(2).split("\n"), found.group(3).split("\n")
    for said, due in zip(got + [""] * len(expected), expected):
        if said != due:
            return f"{place}: {said.strip() or 'nothing'!r} for {due.strip() or 'nothing'!r}"
    return f"{place}: {got[len(expected)]!r} for 'nothing'"


def words_of(output):
    words = first_difference(output)
    for pattern in SAID:
        found = None if words else pattern.search(output)
        words = "".join(found.groups()) if found else words
    return " ".join((words or "fails").replace(str(ROOT) + "/", "").split())


def command_of(check):
    """(command, folder) that runs it."""
    name, _, one = check.partition(" ")
    if not one:
        return ["ctest", "--output-on-failure", "-R", f"^{re.escape(name)}$"], BUILD
    area, _, file = name.partition(".")
    folder, python = ROOT / "tests" / area, ["/usr/bin/python3", "-W", "ignore"]
    if area == "raftlog":
        return [*python, f"test_{file}.py", BUILD / "tests/raftlog/raftlog_node", one], folder
    return [*python, "-m", "unittest", f"test_{file}.{one}"], folder


def run(check, timeout_s):
    """None: it passes; else what it says."""
    command, folder = command_of(check)
    environment = {**os.environ, "ROSTERD": str(BUILD / "server/rosterd")}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                              errors="replace", timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return "does not end"
    output = done.stdout + "\n" + done.stderr
    if any(words in output for words in ("No tests were found", "Not Run", "ModuleNotFoundError",
                                         "unittest.loader._FailedTest", "has no attribute 'test_")):
        raise SystemExit(f"{check}: there is no such test\n{output}")
    return None if done.returncode == 0 else words_of(output)


def try_part(bug, budget_s):
    """(results, checks that did not notice)"""
    results, missed = [], []
    build(bug, {program_of(check) for check in RULES[bug].checks})
    for check in RULES[bug].checks:
        began = cpu_s()
        words = run(check, 4 * budget_s)
        seconds = round(cpu_s() - began, 1)
        is_found = words is not None and seconds <= budget_s
        print(f"{'ok' if is_found else 'FAILED':7}{RULES[bug].rule:4}{bug} {check}: "
              f"{words[:100] if is_found else 'not noticed'}", flush=True)
        if is_found:
            results.append({"bug": bug, "suite": check, "seconds": seconds, "words": words})
        else:
            missed.append(check)
    return results, missed


def failing_without(checks, budget_s):
    """The checks that fail though nothing is missing."""
    build(WHOLE, {program_of(check) for check in checks})
    return [check for check in sorted(checks) if run(check, 4 * budget_s) is not None]


def main(options):
    bugs = list(SHORT) if options.short else list(RULES)
    if options.bugs:
        bugs = [bug for bug in bugs if str(bug) in options.bugs.split(",")]
    bad = failing_without({check for bug in bugs for check in RULES[bug].checks}, options.budget)
    for check in bad:
        print(f"FAILED without a bug: {check}")
    missed = 0
    for bug in bugs:
        results, unnoticed = try_part(bug, options.budget)
        missed += len(unnoticed)
        for result in results if options.write else []:
            table.note(result, table.OF_RULES)
    if options.write:
        table.write()
    print(f"{len(bugs)} parts of {len({RULES[bug].rule for bug in bugs})} rules taken out, "
          f"{missed} tests did not notice; {len(bad)} tests fail without a bug")
    return 1 if missed or bad else 0
