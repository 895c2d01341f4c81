"""Histories of a simulated server, correct or with one bug that fires once, from a seed.

members: an owner commits under the generation that it knows and reads back, a rival joins and so
begins generations, a zombie commits under the one before, others read. simple: commits without a
generation, deletions of offsets and of the group. Each request takes effect at one moment between
its begin and its end; one of unknown outcome perhaps later, perhaps never. At most WIDTH requests
are open at once.
"""

import random

WIDTH = 5
MEMBERS_BUGS = ("lost", "rollback", "stale", "nofence", "refused", "invented")
SIMPLE_BUGS = ("lost", "stale", "undeleted", "forgotten")
GROUP = "g"


class Server:
    def __init__(self, bug, chance, arm_at):
        self.bug, self.chance, self.arm_at = bug, chance, arm_at
        self.value, self.before = None, []  # (offset, op id), and what was there earlier
        self.generation, self.fired = 1, False
        self.changes = [(-1, 1)]  # (moment, generation)
        self.steps = 0

    def fires(self, bug):
        if self.bug == bug and not self.fired and self.steps >= self.arm_at:
            self.fired = True
            return True
        return False

    def generation_at(self, moment):
        return next(g for at, g in reversed(self.changes) if at <= moment)

    def put(self, value):
        self.before.append(self.value)
        self.value = value


def generate(seed, bug=None, operations=300, kind="members"):
    """(events, whether the bug fired)."""
    chance = random.Random(f"{seed}/{bug}/{kind}")
    requests = _requests(chance, operations)
    server = Server(bug, chance, operations // 3)
    act = _act_member if kind == "members" else _act_simple
    marks = []
    if kind == "members":
        marks += _marks(-2, -1, "J0", "join", _join_asked("rival"), "ok", _join_answer("rival", 1))
    for number, (process, call, moment, ret) in enumerate(requests):
        server.steps = number
        marks += act(server, chance, process, call, moment, ret, number)
    return _events(marks), server.fired


def _requests(chance, count):
    """[(process, call, moment, ret)] by moment."""
    free = [0] * WIDTH
    found = []
    for _ in range(count):
        process = free.index(min(free))
        call = free[process] + chance.randrange(1, 500)
        length = chance.randrange(200, 3000)
        found.append((process, call, call + 1 + chance.randrange(length - 2), call + length))
        free[process] = call + length + 1
    return sorted(found, key=lambda request: request[2])


def _marks(call, ret, process, f, asked, outcome, answered, error=None):
    base = {"process": process, "f": f, "node": "n1", "client": "model"}
    end = {**base, "type": outcome, "value": answered}
    if error is not None:
        end["error"] = error
    return [(call, {**base, "type": "invoke", "value": asked}), (ret, end)]


def _events(marks):
    events, retired = [], {}
    for time, event in sorted(marks, key=lambda mark: mark[0]):
        event = {"index": len(events), "time": (time + 10) * 1000, **event}
        who = event["process"]
        event["process"] = f"{who}.{retired.get(who, 0)}"
        if event["type"] == "info":
            retired[who] = retired.get(who, 0) + 1
        events.append(event)
    return events


def _join_asked(member):
    return {
        "group": GROUP,
        "member": member,
        "instance": None,
        "topics": ["t"],
        "session_ms": 10000,
        "rebalance_ms": 10000,
    }


def _join_answer(member, generation):
    return {
        "gen": generation,
        "protocol": "range",
        "leader": member,
        "member": member,
        "members": [],
    }


def _fetch(server, call, ret, process, bugs):
    value = server.value
    if (
        "stale" in bugs
        and len(server.before) > 2
        and server.before[-2] != value
        and server.fires("stale")
    ):
        value = server.before[-2]
    if "forgotten" in bugs and value is not None and server.fires("forgotten"):
        value = None
    offset, op = value or (-1, None)
    if "invented" in bugs and value is not None and server.fires("invented"):
        offset += 1
    return _marks(
        call,
        ret,
        process,
        "fetch",
        {"group": GROUP, "parts": [["t", 0]]},
        "ok",
        {"parts": [["t", 0, offset, -1, op, 0]]},
    )


def _commit_asked(number, generation, member):
    return {
        "group": GROUP,
        "gen": generation,
        "member": member,
        "instance": None,
        "parts": [["t", 0, number, -1, f"op-{number}"]],
    }


def _act_member(server, chance, process, call, moment, ret, number):
    if process == 0:
        if chance.random() < 0.3:
            return _fetch(server, call, ret, "P0", MEMBERS_BUGS)
        return _own_commit(server, chance, call, moment, ret, number)
    if process == 1:
        if chance.random() < 0.12:
            server.generation += 1
            server.changes.append((moment, server.generation))
            if len(server.before) > 3 and server.fires("rollback"):
                server.value = server.before[-2]
            return _marks(
                call,
                ret,
                "P1",
                "join",
                _join_asked("rival"),
                "ok",
                _join_answer("rival", server.generation),
            )
        return _zombie(server, call, moment, ret, number)
    return _fetch(server, call, ret, f"P{process}", MEMBERS_BUGS)


def _own_commit(server, chance, call, moment, ret, number):
    generation = server.generation_at(call)
    asked = _commit_asked(number, generation, "owner")
    if chance.random() < 0.03:
        if chance.random() < 0.5 and generation == server.generation:
            server.put((number, f"op-{number}"))
        return _marks(call, ret, "P0", "commit", asked, "info", {}, "timeout")
    if generation != server.generation:
        return _marks(call, ret, "P0", "commit", asked, "fail", {}, 22)
    if not server.fires("lost"):
        server.put((number, f"op-{number}"))
    return _marks(call, ret, "P0", "commit", asked, "ok", {"parts": [["t", 0, 0]]})


def _zombie(server, call, moment, ret, number):
    asked = _commit_asked(number, server.generation_at(call) - 1, "zombie")
    if server.fires("nofence"):
        server.put((number, f"op-{number}"))
        return _marks(call, ret, "P1", "commit", asked, "ok", {"parts": [["t", 0, 0]]})
    if server.fires("refused"):
        server.put((number, f"op-{number}"))
    return _marks(call, ret, "P1", "commit", asked, "fail", {}, 22)


def _act_simple(server, chance, process, call, moment, ret, number):
    """One or two write, the others read. Few deletions end unknown, since each excuses a loss."""
    name, draw = f"P{process}", chance.random()
    if process > 1 or draw < 0.3:
        return _fetch(server, call, ret, name, SIMPLE_BUGS)
    is_lost = chance.random() < (0.05 if draw < 0.9 else 0.01)
    if draw < (0.9 if process else 0.95):
        asked = _commit_asked(number, -1, "")
        f, value, answered = "commit", (number, f"op-{number}"), {"parts": [["t", 0, 0]]}
    elif draw < 0.97:
        asked = {"group": GROUP, "parts": [["t", 0]]}
        f, value, answered = "delete_offsets", None, {"parts": [["t", 0, 0]]}
    else:
        f, value, asked, answered = "delete_group", None, {"group": GROUP}, {}
    if is_lost:
        if chance.random() < 0.5:
            server.put(value)
        return _marks(call, ret, name, f, asked, "info", {}, "timeout")
    if not (server.value != value and server.fires("lost" if f == "commit" else "undeleted")):
        server.put(value)
    return _marks(call, ret, name, f, asked, "ok", answered)
