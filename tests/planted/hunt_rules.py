"""Takes each rule out and expects its tests to fail; tests/planted/run --rules.

The same tests pass without a bug: that is looked at first. The budget is of one core, for each test.
"""

import re
import subprocess

import table
from bugs import ROOT
from build import BUILD, build, cpu_s
from rules import RULES, SHORT, program_of

# The line that says what is wrong, by the kind of test; the first that is there.
SAID = tuple(re.compile(pattern, re.M) for pattern in (
    r"^.*?(?:Assertion failed|Unexpected signal|\[CRASH).*$",      # a unit test
    r"^(?:FAIL|ERROR): .*$",                                       # a test of real nodes
    r"^seed \d+(?: at \d+ ms: | t=[\d.]+ |: ).*$",                 # a simulation
    r"^.*(?:broken_invariant|failed its check|: not as expected).*$",
    r"^.*(?:is shown|not shown|SHOWS|FAILED|Subprocess aborted).*$",
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
        words = found.group(0) if found else words
    return " ".join((words or "fails").replace(str(ROOT) + "/", "").split())


def run(check, timeout_s):
    """None: it passes; else what it says."""
    try:
        done = subprocess.run(["ctest", "--test-dir", BUILD, "--output-on-failure",
                               "-R", f"^{re.escape(check)}$"],
                              capture_output=True, text=True, errors="replace", timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return "does not end"
    if "No tests were found" in done.stdout + done.stderr or "Not Run" in done.stdout:
        raise SystemExit(f"{check}: there is no such test\n{done.stdout}{done.stderr}")
    return None if done.returncode == 0 else words_of(done.stdout)


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
    """The checks that fail though there is no bug."""
    build(0, {program_of(check) for check in checks})
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
