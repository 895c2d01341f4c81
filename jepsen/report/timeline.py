"""The timeline of a run as one SVG: faults and leaders by node, answers per second, what was not
available, generations by group, and where violations lie. All rows share one axis of time.
"""

import collections
import html

WIDTH, LEFT, RIGHT = 1160, 150, 20
ROW, GAP = 22, 14
RATE_HEIGHT = 90
GROUPS_MAX = 16
TICKS = 12
S = 1_000_000_000
PALETTE = (
    "#4e79a7",
    "#f28e2b",
    "#76b7b2",
    "#b07aa1",
    "#59a14f",
    "#9c755f",
    "#edc948",
    "#ff9da7",
    "#6b6ecf",
    "#8ca252",
    "#ce6dbd",
    "#17becf",
)


def text(x, y, what, style="", anchor="start"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}">'
        f"{html.escape(str(what))}</text>"
    )


class Timeline:
    def __init__(self, history, violations, gaps):
        self.history, self.violations, self.gaps = history, violations, gaps
        self.span = max(history.end - history.begin, 1)
        self.y = 20
        self.parts = []
        names = sorted({fault.name for fault in history.faults if fault.name})
        self.colours = {name: PALETTE[n % len(PALETTE)] for n, name in enumerate(names)}

    def x(self, time):
        time = min(max(time, self.history.begin), self.history.end)
        return LEFT + (time - self.history.begin) / self.span * (WIDTH - LEFT - RIGHT)

    def bar(self, begin, end, y, height, style, title, fill=None):
        width = max(self.x(end) - self.x(begin), 1.5)
        colour = f' fill="{fill}"' if fill else ""
        self.parts.append(
            f'<rect x="{self.x(begin):.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'class="{style}"{colour}><title>{html.escape(title)}</title></rect>'
        )

    def at(self, time):
        return f"{(time - self.history.begin) / S:.3f} s"

    def draw(self):
        self.phases()
        self.nodes()
        self.rate()
        self.unavailable()
        self.generations()
        self.axis()
        height = self.y + 10
        self.marks(height)
        return (
            f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="Timeline">'
            + "\n".join(self.parts)
            + "</svg>"
        )

    def heading(self, what):
        self.y += GAP
        self.parts.append(text(0, self.y, what, "head"))
        self.y += 6

    def label(self, what, y):
        self.parts.append(text(LEFT - 8, y, what, "label", "end"))

    # ---- Rows ----

    def phases(self):
        phases = self.history.phases
        for n, event in enumerate(phases):
            end = phases[n + 1]["time"] if n + 1 < len(phases) else self.history.end
            self.bar(event["time"], end, self.y, 12, f"phase p{n % 2}", event["value"]["phase"])
            if self.x(end) - self.x(event["time"]) > 30:
                self.parts.append(
                    text(self.x(event["time"]) + 3, self.y + 10, event["value"]["phase"], "small")
                )
        self.label("phase", self.y + 10)
        self.y += 16

    def nodes(self):
        """A row for each node, and for each other target of a fault."""
        targets = list(self.history.options.get("nodes") or [])
        seen = [n for _, n, _ in self.history.leaders()]
        for fault in self.history.faults:
            seen += [str(target) for target in fault.targets] or ["all"]
        targets += sorted(set(seen) - set(targets), key=str)
        self.heading("Faults and leaders, by node")
        for target in targets[:40]:
            self.node(target)

    def node(self, target):
        self.parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{self.y + ROW}" '
            f'y2="{self.y + ROW}" class="rule"/>'
        )
        self.label(target, self.y + 14)
        leaders = self.history.leaders()
        for n, (time, node, term) in enumerate(leaders):
            if node == target:
                end = leaders[n + 1][0] if n + 1 < len(leaders) else self.history.end
                self.bar(
                    time,
                    end,
                    self.y + ROW - 6,
                    5,
                    "leads",
                    f"{node} leads from {self.at(time)}, term {term}",
                )
        for fault in self.history.faults:
            if target in map(str, fault.targets) or (not fault.targets and target == "all"):
                self.bar(
                    fault.begin,
                    fault.end,
                    self.y + 2,
                    ROW - 9,
                    "fault",
                    f"{fault.name}, {self.at(fault.begin)} to {self.at(fault.end)}: {fault.value}",
                    self.colours.get(fault.name),
                )
        for event in self.history.observed:
            if event["value"].get("node") == target and event["value"].get("event") in (
                "started",
                "exited",
                "refused",
                "snapshot_installed",
            ):
                self.point(event)
        self.y += ROW

    def point(self, event):
        x, value = self.x(event["time"]), event["value"]
        self.parts.append(
            f'<circle cx="{x:.1f}" cy="{self.y + 8}" r="2.5" class="{value["event"]}">'
            f'<title>{html.escape(value["event"])} at {self.at(event["time"])}'
            f"</title></circle>"
        )

    def rate(self):
        self.heading("Operations answered ok, per second")
        width = max(self.span // 400, S // 10)
        counts = collections.Counter(
            (op.ret - self.history.begin) // width for op in self.history.ops if op.kind == "ok"
        )
        top = max(counts.values(), default=1)
        base = self.y + RATE_HEIGHT
        points = [f"{LEFT},{base}"]
        for n in range(int(self.span // width) + 1):
            height = counts.get(n, 0) / top * (RATE_HEIGHT - 6)
            points.append(f"{self.x(self.history.begin + n * width):.1f},{base - height:.1f}")
            points.append(f"{self.x(self.history.begin + (n + 1) * width):.1f},{base - height:.1f}")
        points.append(f"{self.x(self.history.end):.1f},{base}")
        self.parts.append(f'<polygon points="{" ".join(points)}" class="rate"/>')
        self.label(f"{top * S / width:,.0f}", self.y + 12)
        self.label("0", base)
        self.y = base + 4

    def unavailable(self):
        self.heading("Nothing answered, for longer than an election timeout")
        for begin, end in self.gaps:
            self.bar(
                begin, end, self.y, 10, "gap", f"{(end - begin) / 1e6:.0f} ms from {self.at(begin)}"
            )
        self.label("no answers", self.y + 9)
        self.y += 14

    def generations(self):
        first = collections.defaultdict(dict)
        for op in self.history.by_f["join"]:
            if op.kind == "ok":
                known = first[op.group]
                known[op.answer["gen"]] = min(known.get(op.answer["gen"], op.ret), op.ret)
        if not first:
            return
        self.heading(
            "Generations, by group"
            + (f" ({GROUPS_MAX} of {len(first)})" if len(first) > GROUPS_MAX else "")
        )
        for group, those in sorted(first.items(), key=lambda item: (-len(item[1]), item[0]))[
            :GROUPS_MAX
        ]:
            self.label(group, self.y + 12)
            reached = 0
            for gen, time in sorted(those.items(), key=lambda item: item[1]):
                x = self.x(time)
                self.parts.append(
                    f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self.y + 2}" y2="{self.y + 15}" '
                    f'class="gen"><title>{html.escape(group)} generation {gen} at '
                    f"{self.at(time)}</title></line>"
                )
                if x > reached:
                    self.parts.append(text(x + 2, self.y + 12, gen, "small"))
                    reached = x + 8 + 6 * len(str(gen))
            self.y += 18

    def axis(self):
        self.y += 8
        seconds = self.span / S
        step = next(
            (
                s
                for s in (0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800)
                if seconds / s <= TICKS
            ),
            3600,
        )
        tick = 0.0
        while tick <= seconds:
            x = self.x(self.history.begin + int(tick * S))
            self.parts.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="16" y2="{self.y}" class="grid"/>'
            )
            self.parts.append(text(x, self.y + 12, f"{tick:g} s", "small", "middle"))
            tick += step
        self.y += 16

    def marks(self, height):
        for n, violation in enumerate(self.violations, 1):
            if not violation.end:
                continue
            x = self.x(violation.end)
            self.parts.append(
                f'<a href="#v{n}"><line x1="{x:.1f}" x2="{x:.1f}" y1="12" y2="{height - 26:.1f}" '
                f'class="mark"><title>{n}: {html.escape(violation.text)}</title></line>'
                f'{text(x, 10, n, "number", "middle")}</a>'
            )

    def legend(self):
        return " ".join(
            f'<span class="key"><i style="background:{colour}"></i>{html.escape(name)}</span>'
            for name, colour in self.colours.items()
        )
