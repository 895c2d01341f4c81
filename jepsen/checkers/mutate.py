"""Breaks a valid history in one place, in ways that a broken server would show. Each mutation takes
(events, chance) and returns new events, or None where it finds no place; NEUTRAL ones must not
change the verdict: they only take knowledge away.
"""

import copy
import random


class View:
    """Invokes and completions by position, and what was committed where."""

    def __init__(self, events):
        self.events = events
        self.pairs, open_ = {}, {}
        for n, event in enumerate(events):
            if event["type"] == "invoke":
                open_[event["process"]] = n
            elif event["process"] in open_:
                self.pairs[n] = open_.pop(event["process"])

    def completions(self, f, outcome="ok"):
        return [
            n for n in self.pairs if self.events[n]["f"] == f and self.events[n]["type"] == outcome
        ]

    def asked(self, n):
        return self.events[self.pairs[n]]["value"]

    def began(self, n):
        return self.events[self.pairs[n]]["time"]


def _pick(chance, places):
    return chance.choice(places) if places else None


def _edit(events, n, change):
    edited = list(events)
    edited[n] = copy.deepcopy(events[n])
    change(edited[n])
    return edited


def _reads(view):
    """[(event, place in its parts, group)] of what was read and is not none."""
    return [
        (n, k, view.asked(n)["group"])
        for n in view.completions("fetch")
        for k, part in enumerate(view.events[n]["value"].get("parts") or [])
        if part[5] == 0 and part[2] >= 0
    ]


def _commits(view):
    """{(group, topic, partition): [(invoke time, end, part)]}, accepted ones in order of their
    end."""
    found = {}
    for n in view.completions("commit"):
        asked = view.asked(n)
        errors = {(t, p): error for t, p, error in view.events[n]["value"].get("parts") or []}
        for part in asked["parts"]:
            if errors.get((part[0], part[1]), 0) == 0:
                found.setdefault((asked["group"], part[0], part[1]), []).append(
                    (view.began(n), view.events[n]["time"], part)
                )
    return {key: sorted(those, key=lambda c: c[1]) for key, those in found.items()}


def stale_read(events, chance):
    """A fetch returns what had surely been overwritten when it was sent."""
    view = View(events)
    commits, places = _commits(view), []
    for n, k, group in _reads(view):
        part = events[n]["value"]["parts"][k]
        done = [c for c in commits.get((group, part[0], part[1]), []) if c[1] < view.began(n)]
        for old in done[:-1]:
            if any(old[1] < newer[0] for newer in done) and old[2][4] != part[4]:
                places.append((n, k, old[2]))
    place = _pick(chance, places)
    if place is None:
        return None
    n, k, old = place

    def change(event):
        event["value"]["parts"][k][2:5] = [old[2], old[3], old[4]]

    return _edit(events, n, change)


def none_read(events, chance):
    """A fetch finds nothing where something was."""
    view = View(events)
    commits = _commits(view)
    places = [
        (n, k)
        for n, k, group in _reads(view)
        if any(
            c[1] < view.began(n)
            for c in commits.get((group, *events[n]["value"]["parts"][k][:2]), [])
        )
    ]
    place = _pick(chance, places)
    if place is None:
        return None

    def change(event):
        event["value"]["parts"][place[1]][2:5] = [-1, -1, None]

    return _edit(events, place[0], change)


def other_offset(events, chance):
    """A fetch returns an offset that nobody committed, with somebody's metadata."""
    place = _pick(chance, _reads(View(events)))
    if place is None:
        return None

    def change(event):
        event["value"]["parts"][place[1]][2] += 1

    return _edit(events, place[0], change)


def refused_but_read(events, chance):
    """A commit whose value was read had been refused."""
    view = View(events)
    read = {part[4] for n, k, _ in _reads(view) for part in [events[n]["value"]["parts"][k]]}
    places = [
        n
        for n in view.completions("commit")
        if any(part[4] in read for part in view.asked(n)["parts"])
    ]
    n = _pick(chance, places)
    if n is None:
        return None

    def change(event):
        event.update(type="fail", error=22, value={})

    return _edit(events, n, change)


def older_generation(events, chance):
    """A commit under a generation that was over had been accepted."""
    view = View(events)
    seen = {}
    for n in view.completions("join"):
        key = (view.asked(n)["group"], events[n]["value"]["gen"])
        seen[key] = min(seen.get(key, events[n]["time"]), events[n]["time"])
    places = [
        n
        for n in view.completions("commit")
        if view.asked(n)["gen"] > 1
        and seen.get((view.asked(n)["group"], view.asked(n)["gen"]), view.began(n)) < view.began(n)
    ]
    n = _pick(chance, places)
    if n is None:
        return None

    def change(event):
        event["value"]["gen"] -= 1

    return _edit(events, view.pairs[n], change)


def generation_falls(events, chance):
    """A join is told a generation below one that was told before it was sent."""
    view = View(events)
    joins = view.completions("join")
    places = [
        n
        for n in joins
        for m in joins
        if view.asked(n)["group"] == view.asked(m)["group"]
        and events[m]["time"] < view.began(n)
        and events[m]["value"]["gen"] > 1
    ]
    n = _pick(chance, places)
    if n is None:
        return None

    def change(event):
        event["value"]["gen"] = 1
        event["value"]["members"] = []

    return _edit(events, n, change)


def other_assignment(events, chance):
    """A member gets a partition that its leader did not send it."""
    view = View(events)
    sent = {
        (view.asked(n)["group"], view.asked(n)["gen"])
        for n in view.completions("sync")
        if view.asked(n)["assignments"]
    }
    places = [
        n
        for n in view.completions("sync")
        if (view.asked(n)["group"], view.asked(n)["gen"]) in sent
    ]
    n = _pick(chance, places)
    if n is None:
        return None

    def change(event):
        event["value"]["assignment"] = [*event["value"]["assignment"], ["other", [0]]]

    return _edit(events, n, change)


def evicted(events, chance):
    """A heartbeat within the session is answered with 25."""
    view = View(events)
    last, places = {}, []
    for n in sorted(view.completions("heartbeat")):
        asked = view.asked(n)
        key = (asked["group"], asked["member"])
        if (
            key in last
            and view.began(n) > events[last[key]]["time"]
            and events[n]["time"] - view.began(last[key]) < 1_500_000_000
        ):
            places.append(n)
        last[key] = n
    n = _pick(chance, places)
    if n is None:
        return None

    def change(event):
        event.update(type="fail", error=25, value={})

    return _edit(events, n, change)


def unknown_error(events, chance):
    """An answer holds an error that no server of this kind gives."""
    view = View(events)
    n = _pick(chance, list(view.pairs))

    def change(event):
        event.update(type="info", error=999, value={})

    return None if n is None else _edit(events, n, change)


def lost_answer(events, chance):
    """Neutral: the answer to a commit never came."""
    view = View(events)
    n = _pick(chance, view.completions("commit"))
    if n is None:
        return None
    process = events[n]["process"]
    edited = [
        event if m <= n or event["process"] != process else {**event, "process": f"{process}+"}
        for m, event in enumerate(events)
    ]
    return _edit(edited, n, lambda event: event.update(type="info", error="timeout", value={}))


def unseen_read(events, chance):
    """Neutral: a fetch failed."""
    n = _pick(chance, View(events).completions("fetch"))
    if n is None:
        return None
    return _edit(events, n, lambda event: event.update(type="fail", error=16, value={}))


BREAKING = (
    stale_read,
    none_read,
    other_offset,
    refused_but_read,
    older_generation,
    generation_falls,
    other_assignment,
    evicted,
    unknown_error,
)
NEUTRAL = (lost_answer, unseen_read)


def mutate(events, mutation, seed):
    return mutation(events, random.Random(f"{seed}/{mutation.__name__}"))
