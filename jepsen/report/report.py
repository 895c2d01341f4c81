"""report.html: one file without any outside resource. The verdict on top, the timeline, then what
was violated in words with the events that show it, how long each fault was felt, and what was
counted.
"""

import html
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from timeline import S, Timeline  # noqa: E402

EVENTS_MAX = 12
MS = 1_000_000

STYLE = """
:root { --ink: #1d2430; --paper: #fff; --soft: #5b6573; --line: #d9dee6; --box: #f5f7fa;
  --good: #1a7f4b; --bad: #b3261e; --odd: #8a5a00; --rate: #9db8d9; --gap: #d1493f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --paper: #14181e; --soft: #9aa5b4;
  --line: #333b47; --box: #1c222b; --good: #5fd39a; --bad: #ff8a80; --odd: #f0b95a; --rate: #3f5f86;
  --gap: #ff6f61; } }
* { box-sizing: border-box }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 0 auto; padding: 24px; max-width: 1240px }
h1 { font-size: 26px; margin: 0 } h2 { font-size: 18px; margin: 32px 0 8px }
.verdict { border-left: 6px solid; padding: 12px 16px; background: var(--box); margin-bottom: 16px }
.valid { border-color: var(--good) } .valid h1 { color: var(--good) }
.violation { border-color: var(--bad) } .violation h1 { color: var(--bad) }
.invalid { border-color: var(--odd) } .invalid h1 { color: var(--odd) }
p { margin: 4px 0; max-width: 90ch } .soft { color: var(--soft) }
.scroll { overflow-x: auto } svg { width: 100%; min-width: 900px; height: auto; display: block }
svg text { fill: var(--ink); font: 11px system-ui, sans-serif }
svg .head { font-weight: 600; font-size: 12px } svg .small { font-size: 9px; fill: var(--soft) }
svg .label { fill: var(--soft) } svg .number { fill: var(--bad); font-weight: 700 }
.rule { stroke: var(--line) } .grid { stroke: var(--line); stroke-dasharray: 2 4 }
.phase { fill: var(--box); stroke: var(--line) } .fault { opacity: .85 }
.leads { fill: var(--good) }
.rate { fill: var(--rate) } .gap { fill: var(--gap) } .gen { stroke: var(--ink) }
.mark { stroke: var(--bad); stroke-width: 1.5 } .started { fill: var(--good) }
.exited, .refused { fill: var(--bad) } .snapshot_installed { fill: var(--odd) }
.key { margin-right: 14px; white-space: nowrap } .key i { display: inline-block; width: 11px;
  height: 11px; margin-right: 5px; border-radius: 2px }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; min-width: 320px }
th, td { text-align: left; padding: 3px 16px 3px 0; border-bottom: 1px solid var(--line) }
td.n, th.n { text-align: right } li { margin-bottom: 12px }
pre { background: var(--box); padding: 8px 12px; overflow-x: auto; font-size: 12px; margin: 6px 0 }
.low { color: var(--bad); font-weight: 600 }
"""

SAID = {
    "valid": "Valid: nothing that was promised was broken",
    "violation": "Violation: a promise was broken",
    "invalid": "Invalid: too little happened to prove anything",
}


def render(history, result):
    summary = result.as_dict()
    timeline = Timeline(history, result.violations, gaps(history))
    body = [
        verdict(history, summary),
        f'<h2>Timeline</h2><div class="scroll">{timeline.draw()}</div><p>{timeline.legend()} '
        '<span class="key"><i style="background:var(--good)"></i>leader</span></p>',
        violations(history, result.violations),
        unavailability(summary["unavailability"]),
        counts(summary["counts"], history.options),
        checkers(summary),
        f"<h2>Options</h2><pre>{html.escape(json.dumps(history.options, indent=1))}</pre>",
    ]
    title = html.escape(f"{history.options.get('suite', 'run')}: {summary['verdict']}")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style>"
        f'</head><body>{"".join(body)}</body></html>\n'
    )


def gaps(history):
    """Times longer than an election timeout in which no commit or fetch was answered ok."""
    timeout = history.options.get("election_timeout_ms", 300) * MS
    times = sorted(op.ret for f in ("commit", "fetch") for op in history.by_f[f] if op.kind == "ok")
    return [(a, b) for a, b in zip(times, times[1:]) if b - a > timeout]


def verdict(history, summary):
    options, numbers = history.options, summary["counts"]
    said = [
        f"suite {options.get('suite', '–')}",
        f"seed {options.get('seed', '–')}",
        f"{options.get('git', '–')}",
        f"{(history.end - history.begin) / S:.0f} s",
        f"{numbers['history_events']:,} events",
        f"{numbers['ok']:,} answered ok",
        f"{numbers['acknowledged']:,} commits acknowledged",
        f"{numbers['faults']} faults",
        f"{numbers['leader_changes']} leader changes",
    ]
    reasons = "".join(f"<p>{html.escape(reason)}</p>" for reason in summary["invalid"])
    return (
        f'<div class="verdict {summary["verdict"]}"><h1>{SAID[summary["verdict"]]}</h1>'
        f'<p class="soft">{html.escape(" · ".join(said))}</p>{reasons}</div>'
    )


def violations(history, found):
    if not found:
        return "<h2>Violations</h2><p>None.</p>"
    operations = {index: op for op in history.ops for index in (op.index, op.end_index)}
    others = {
        event["index"]: event
        for event in history.nemeses + history.observed + history.callbacks + history.life
    }
    items = []
    for n, violation in enumerate(found, 1):
        lines = []
        for index in list(dict.fromkeys(violation.events))[:EVENTS_MAX]:
            line = event_line(history, operations.get(index), others.get(index), index)
            if line not in lines:
                lines.append(line)
        when = (
            f" <span class='soft'>{(violation.begin - history.begin) / S:.3f} s to "
            f"{(violation.end - history.begin) / S:.3f} s</span>"
            if violation.end
            else ""
        )
        shown = f"<pre>{html.escape(chr(10).join(lines))}</pre>" if lines else ""
        items.append(
            f'<li id="v{n}"><b>{violation.invariant}</b> ({violation.checker}){when}<br>'
            f"{html.escape(violation.text)}{shown}</li>"
        )
    return f"<h2>Violations</h2><ol>{''.join(items)}</ol>"


def event_line(history, op, other, index):
    if op is None:
        return f"{index}: {json.dumps(other['value']) if other else '?'}"
    end = f"{(op.ended - history.begin) / S:.3f}" if op.ended <= history.end else "…"
    error = "" if op.error is None else f" error {op.error}"
    return (
        f"{op.index}-{op.end_index}: {(op.call - history.begin) / S:.3f} to {end} s, process "
        f"{op.process} on {op.node}: {op.f} {json.dumps(op.value)} -> {op.kind}{error} "
        f"{json.dumps(op.answer) if op.answer else ''}"
    )


def table(heads, rows):
    head = "".join(
        f'<th{"" if n == 0 else " class=n"}>{html.escape(h)}</th>' for n, h in enumerate(heads)
    )
    lines = []
    for row in rows:
        cells = "".join(
            f'<td{"" if n == 0 else " class=n"}>{cell}</td>' for n, cell in enumerate(row)
        )
        lines.append(f"<tr>{cells}</tr>")
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(lines)}</table></div>'


def unavailability(rows):
    if not rows:
        return ""

    def number(row, key, digits):
        return "–" if row.get(key) is None else f"{row[key]:.{digits}f}"

    cells = [
        [
            html.escape(str(row["fault"])),
            row["count"],
            row["judged"],
            number(row, "median_ms", 0),
            number(row, "worst_ms", 0),
            number(row, "median_timeouts", 2),
            number(row, "worst_timeouts", 2),
        ]
        for row in rows
    ]
    return (
        "<h2>Unavailability by fault</h2><p class='soft'>The longest time without an "
        "answer around each fault. Judged are faults that leave a healthy majority connected, in "
        "election timeouts.</p>"
        + table(["fault", "times", "judged", "median ms", "worst ms", "median", "worst"], cells)
    )


def counts(numbers, options):
    from vacuity import floors  # the checkers' folder is where this is called from

    wanted = floors(options)
    rows = []
    for name, value in numbers.items():
        floor = wanted.get(name)
        low = floor is not None and value < floor
        rows.append(
            [
                html.escape(name),
                f'<span class="low">{value:,}</span>' if low else f"{value:,}",
                "–" if floor is None else floor,
            ]
        )
    return "<h2>What happened</h2>" + table(["what", "count", "at least"], rows)


def checkers(summary):
    rows = [
        [html.escape(name), entry["violations"], f"{entry['seconds']:.2f}"]
        for name, entry in summary["checkers"].items()
    ]
    covered = summary.get("log")
    note = (
        f"<p class='soft'>Log: batches {covered['first']} to {covered['last']}, "
        f"{covered['commits']:,} commits and {covered['fetches']:,} fetches placed, "
        f"{covered['resolved']:,} unknown outcomes resolved.</p>"
        if covered
        else ""
    )
    return "<h2>Checkers</h2>" + table(["checker", "violations", "seconds"], rows) + note
