"""I13: was it a test? A run in which nothing happened proves nothing and is invalid.

Each number of `count()` may have a floor: those of DEFAULTS, and those in the run's options under
`floors`, which may also lower them. `calm` in the options stands for a run without faults.
"""

import re

from verdict import MS, S

DEFAULTS = {"ok_per_s_calm": 50, "faults": 1, "final_reads": 1, "history_events": 1}
CALM = {"ok_per_s_calm": 50, "faults": 0, "final_reads": 0, "history_events": 1}
INSTALLED = re.compile(r"snapshots_installed=(\d+)")
SETTLE = 2 * S


def count(history, logs=None):
    leaders = [node for _, node, _ in history.leaders()]
    started = {}
    for event in history.observed:
        if event["value"].get("event") == "started":
            node = event["value"].get("node")
            started[node] = started.get(node, 0) + 1
    commits = history.by_f["commit"]
    return {
        "history_events": history.count,
        "faults": len(history.faults),
        "leader_changes": max(0, len(leaders) - 1),
        "rebalances_in_faults": _rebalances(history),
        "unknown": sum(op.is_unknown for op in commits),
        "fenced": sum(
            op.kind == "fail" and bool(_codes(op) & {22, 25, 82, 110, 113}) for op in commits
        ),
        "snapshot_installs": _installs(history, logs or {}),
        "restarts": sum(n - 1 for n in started.values()),
        "ok_per_s_calm": round(_calm_rate(history), 1),
        "ok": sum(op.kind == "ok" for op in history.ops),
        "acknowledged": sum(op.kind == "ok" for op in commits),
        "final_reads": _final_reads(history),
    }


def floors(options):
    base = dict(CALM if options.get("calm") else DEFAULTS)
    base.update(options.get("floors") or {})
    return base


def check(history, logs=None):
    """[text], each a reason why the run is invalid."""
    counts = count(history, logs)
    reasons = []
    for name, floor in sorted(floors(history.options).items()):
        if name not in counts:
            reasons.append(f"there is a floor for {name}, which nobody counts")
        elif counts[name] < floor:
            reasons.append(f"{name} is {counts[name]}, at least {floor} are wanted")
    return reasons


def _codes(op):
    return {op.error} | {part[-1] for part in op.answer.get("parts") or []}


def _rebalances(history):
    first = {}
    for op in history.by_f["join"]:
        if op.kind == "ok":
            key = (op.group, op.answer["gen"])
            first[key] = min(first.get(key, op.ret), op.ret)
    return sum(history.in_fault(time) for time in first.values())


def _installs(history, logs):
    total = sum(e["value"].get("event") == "snapshot_installed" for e in history.observed)
    for lines in logs.values():
        best = 0
        for line in lines:
            found = INSTALLED.search(line)
            if found:  # a counter of one life of the process
                total += best if int(found[1]) < best else 0
                best = int(found[1])
        total += best
    return total


def _calm_rate(history):
    """Operations that ended ok per second outside of faults and of what follows them, before the
    last phase."""
    final = next(
        (e["time"] for e in history.phases if e["value"].get("phase") in ("final", "end")),
        history.end,
    )
    calm, reached = 0, history.begin
    spans = []
    for fault in sorted(history.faults, key=lambda f: f.begin):
        if fault.begin > reached:
            spans.append((reached, min(fault.begin, final)))
        reached = max(reached, fault.end + SETTLE)
    spans.append((reached, final))
    spans = [(a, b) for a, b in spans if b - a >= 10 * MS]
    calm = sum(b - a for a, b in spans)
    if not calm:
        return 0.0
    ends = sorted(op.ret for op in history.ops if op.kind == "ok")
    at, total = 0, 0
    for begin, end in spans:
        while at < len(ends) and ends[at] <= begin:
            at += 1
        while at < len(ends) and ends[at] <= end:
            at, total = at + 1, total + 1
    return total * S / calm


def _final_reads(history):
    final = next((e["time"] for e in history.phases if e["value"].get("phase") == "final"), None)
    if final is None:
        return 0
    return sum(op.kind == "ok" and op.call >= final for op in history.by_f["fetch"])
