"""Judges what the members of one group reported. The only place where anything is judged.

A record is a list of events, dicts in order of time. Each has "t" (seconds, the harness's clock) and
"event"; those about one client program have "member", its name.

A program reports (README.md): ready, assigned, revoked, lost, committed, fetched, status, error,
left. The harness adds, about a member: started, killed, stopped, continued, asked (a command sent to
it), exited (ended without being told), restarted (it has the instance id of an earlier one, which
owned `partitions`), cut (its coordinator is gone and its library cannot follow to another: what it
thinks it owns counts for nothing until it is assigned anew); about the group: begin, settled (by now exactly `members` live, and `topics` are
all there is to own), calm and calm-over (in between nothing may happen to `members`), idle (what the
proxies counted), failover, end.

Each rule is a function from the record to complaints; check() applies them all.
"""

TOLERANCE_S = 0.3  # two programs' events reach the harness through two pipes

# Errors that say that a member was thrown out or overtaken. None may reach a member in calm; any
# other failure of a commit (a timeout, a lost connection) is one to try again.
FENCING_CODES = {22, 25, 27, 79, 82}
FENCING_TEXTS = ("CommitFailed", "IllegalGeneration", "ILLEGAL_GENERATION", "UnknownMember",
                 "UNKNOWN_MEMBER", "RebalanceInProgress", "REBALANCE_IN_PROGRESS", "Fenced", "FENCED")

# What an error says when a library gave up on its own because a node refused its connections.
REFUSED_TEXTS = ("connection refused", "ECONNREFUSED")

GONE = ("killed", "left", "exited", "stopped", "cut")


class Owners:
    """Which partitions each live member holds, by its own word, after the events seen so far."""

    def __init__(self):
        self.owned = {}

    def see(self, event):
        member, kind = event.get("member"), event["event"]
        if kind == "started":
            self.owned[member] = set()
        elif kind in GONE:
            self.owned.pop(member, None)
        elif kind == "assigned" and event.get("full"):
            self.owned[member] = set(event["partitions"])
        elif kind == "assigned":
            self.owned.setdefault(member, set()).update(event["partitions"])
        elif kind in ("revoked", "lost") and member in self.owned:
            self.owned[member] -= set(event["partitions"])

    def complaints(self, members, topics):
        """What is missing for these members to share these topics (name -> partition count)."""
        wanted = {f"{topic}:{p}" for topic, count in topics.items() for p in range(count)}
        found = []
        for name in sorted(wanted.union(*self.owned.values())):
            holders = sorted(m for m, partitions in self.owned.items() if name in partitions)
            if name not in wanted:
                found.append(f"{name}, which is not theirs, is owned by {holders}")
            elif len(holders) != 1:
                found.append(f"{name} is owned by {holders or 'nobody'}")
        strangers = sorted(m for m, own in self.owned.items() if own and m not in members)
        if strangers:
            found.append(f"{strangers} own partitions but should be gone")
        shares = {m: len(self.owned.get(m, ())) for m in members}
        least, most = min(shares.values(), default=0), max(shares.values(), default=0)
        if least == 0 or most - least > len(topics):
            found.append(f"unfair shares: {shares}")
        return found


def is_fencing(error):
    return error.get("code") in FENCING_CODES or any(t in error["text"] for t in FENCING_TEXTS)


def is_refused(error):
    return error.get("code") is None and any(t in error["text"] for t in REFUSED_TEXTS)


def rule_settled(record):
    """Where the harness says settled, the live members share all partitions, each owned once."""
    owners = Owners()
    for event in record:
        owners.see(event)
        if event["event"] == "settled":
            for complaint in owners.complaints(event["members"], event["topics"]):
                yield f"at {event['t']:.1f} s, {event['after']}: {complaint}"


def rule_exclusive(record):
    """At no time do two live members own the same partition."""
    for name, holdings in sorted(_holdings(record).items()):
        holdings.sort(key=lambda holding: holding[1])
        for i, (member, start, end) in enumerate(holdings):
            for other, other_start, other_end in holdings[i + 1:]:
                if other_start > end:
                    break
                overlap = min(end, other_end) - max(start, other_start)
                if other != member and overlap > TOLERANCE_S:
                    yield (f"{name} is owned by {member} and {other} at once"
                           f" from {max(start, other_start):.1f} s for {overlap:.1f} s")


def _holdings(record):
    """{partition: [(member, from, until)]}"""
    owners, since, holdings = Owners(), {}, {}
    for event in record:
        before = {(m, p) for m, own in owners.owned.items() for p in own}
        owners.see(event)
        after = {(m, p) for m, own in owners.owned.items() for p in own}
        for gained in after - before:
            since[gained] = event["t"]
        for member, name in before - after:
            holdings.setdefault(name, []).append((member, since.pop((member, name)), event["t"]))
    for (member, name), start in since.items():
        holdings.setdefault(name, []).append((member, start, record[-1]["t"]))
    return holdings


def rule_status(record):
    """The library's own idea of what it owns is what it told its listener, and it read nothing."""
    owners = Owners()
    for event in record:
        owners.see(event)
        if event["event"] != "status":
            continue
        member = event["member"]
        heard = owners.owned.get(member, set())
        if set(event["owned"]) != heard:
            yield f"{member} was told {sorted(heard)} but says it owns {event['owned']}"
        if event["records"]:
            yield f"{member} read {event['records']} records from topics that have none"


def rule_generations(record):
    """A generation has one assignment: at most one owner per partition, one set per member; and a
    member's generation never goes back. Judged where the library tells its generation. A static
    member that restarts is the same member to its generation."""
    seen, latest, names = {}, {}, {}
    for event in record:
        generation = event.get("generation")
        if event["event"] == "restarted":
            names[event["member"]] = names.get(event["replaces"], event["replaces"])
        if event["event"] not in ("status", "assigned") or generation is None or generation < 0:
            continue
        identity = event["member"], event["member_id"]
        if generation < latest.get(identity, generation):
            yield f"{event['member']} went back from generation {latest[identity]} to {generation}"
        latest[identity] = generation
        if event["event"] != "status":
            continue
        own, name = set(event["owned"]), names.get(event["member"], event["member"])
        shares = seen.setdefault(generation, {})
        if shares.setdefault(name, own) != own:
            yield f"{event['member']} has two assignments in generation {generation}"
        for other, theirs in shares.items():
            if other != name and own & theirs:
                yield f"generation {generation} gives {sorted(own & theirs)} to {other} and {name}"


def rule_offsets(record):
    """A fetch finds the last acknowledged commit or a later one: never less, never a refused one,
    never an invented one. Commits of a partition rise, so that values can be compared."""
    acknowledged, refused, tried, floors = {}, set(), set(), {}
    for event in record:
        kind = event["event"]
        if kind == "asked" and event["command"] == "commit":
            tried.update(event["offsets"].items())
        elif kind == "asked" and event["command"] == "fetch":
            floors[event["member"], event["id"]] = dict(acknowledged)
        elif kind == "committed" and "error" not in event:
            for name, offset in event["offsets"].items():
                acknowledged[name] = max(offset, acknowledged.get(name, -1))
        elif kind == "committed" and is_fencing(event["error"]):
            refused.update(event["offsets"].items())
        elif kind == "fetched" and "error" not in event:
            floor = floors[event["member"], event["id"]]
            yield from _judge_fetch(event, floor, tried, refused)


def _judge_fetch(event, floor, tried, refused):
    for name, offset in event["offsets"].items():
        where = f"{event['member']} at {event['t']:.1f} s fetched {offset} for {name}"
        if offset < floor.get(name, -1):
            yield f"{where}, but {floor[name]} had been acknowledged"
        elif (name, offset) in refused:
            yield f"{where}, the commit of which was refused"
        elif offset != -1 and (name, offset) not in tried:
            yield f"{where}, which nobody committed"


def rule_calm(record):
    """In calm a member sees no rebalance, no error but a commit to try again, keeps its identity.

    One excuse: after the leader's death franz-go sometimes asks the dead node alone who leads now,
    reports that it was refused, and joins again. Its group then has a rebalance that no server could
    have prevented; but each member must still be the same member."""
    for window in _calm_windows(record):
        members, identities = set(window[0]["members"]), {}
        has_given_up = _has_given_up(window)
        for event in window:
            kind, member = event["event"], event.get("member")
            if member not in members:
                continue
            where = f"{member} at {event['t']:.1f} s"
            if kind in ("assigned", "revoked", "lost") and not has_given_up:
                yield f"{where}: {kind} {event['partitions']} in calm"
            elif kind == "left" or kind == "error" and not (has_given_up and is_refused(event)):
                yield f"{where}: {kind} {event.get('text', '')} in calm"
            elif kind in ("committed", "fetched") and "error" in event:
                if is_fencing(event["error"]) and not has_given_up:
                    yield f"{where}: {kind} with {event['error']['text']} in calm"
            elif kind == "status":
                generation = None if has_given_up else event.get("generation")
                identity = event.get("member_id"), generation
                if identities.setdefault(member, identity) != identity:
                    yield f"{where}: {identities[member]} has become {identity} in calm"


def _calm_windows(record):
    """The events from each calm to its calm-over (or to the end)."""
    starts = [i for i, event in enumerate(record) if event["event"] == "calm"]
    for start in starts:
        ends = [i for i, event in enumerate(record) if event["event"] == "calm-over" and i > start]
        yield record[start:min(ends, default=len(record))]


def _has_given_up(window):
    deaths = [i for i, event in enumerate(window) if event["event"] == "failover"]
    return bool(deaths) and any(event["event"] == "error" and is_refused(event)
                                for event in window[deaths[0]:])


def rule_static(record):
    """A static member that restarts gets back the partitions it had."""
    owners, waiting = Owners(), []
    for event in record:
        owners.see(event)
        if event["event"] == "restarted":
            waiting.append(event)
        elif event["event"] == "settled":
            for restart in waiting:
                own = owners.owned.get(restart["member"], set())
                if own != set(restart["partitions"]):
                    yield (f"{restart['member']} had {restart['partitions']} before its restart,"
                           f" has {sorted(own)} after it")
            waiting = []


def rule_zombie(record):
    """A member that was stopped until it was evicted cannot commit before it has joined again.

    A library may join again while a commit waits, and say so only later. So where it tells its
    member id after the commit, that must still be the old one or none; where it does not, only a
    commit that is answered before it speaks of lost or revoked partitions counts."""
    ids, zombies = {}, {}
    for event in record:
        kind, member = event["event"], event.get("member")
        if kind in ("assigned", "status") and event.get("member_id"):
            ids[member] = event["member_id"]
        if kind == "stopped":
            zombies[member] = ids.get(member)
        elif kind == "assigned":
            zombies.pop(member, None)
        elif kind in ("revoked", "lost") and zombies.get(member, "") is None:
            zombies.pop(member)
        elif kind == "committed" and member in zombies and "error" not in event:
            if event.get("member_id") in (None, "", zombies[member]):
                yield (f"{member} at {event['t']:.1f} s: a commit of {event['offsets']} under a"
                       " generation that it is no member of was acknowledged")


def rule_answered(record):
    """Every command to a member that lives on is answered, and the last fetch succeeded."""
    open_calls, last_fetch = {}, None
    for event in record:
        kind, member = event["event"], event.get("member")
        if kind == "asked":
            open_calls[member, event["id"]] = event
        elif kind in ("committed", "fetched", "status"):
            open_calls.pop((member, event["id"]), None)
            last_fetch = event if kind == "fetched" else last_fetch
        elif kind == "killed":
            open_calls = {key: asked for key, asked in open_calls.items() if key[0] != member}
        elif kind == "exited":
            yield f"{member} ended by itself with status {event['status']}"
    for (member, _), asked in open_calls.items():
        yield f"{member} never answered the {asked['command']} of {asked['t']:.1f} s"
    if last_fetch and "error" in last_fetch:
        yield f"the last fetch failed: {last_fetch['error']['text']}"


def rule_failover(record):
    """After the leader's death, and before calm is over, every member that can commit has had a
    commit acknowledged."""
    waiting = None
    for event in record:
        if event["event"] == "failover":
            waiting = set(event["committers"])
        elif waiting is None:
            continue
        elif event["event"] == "committed" and "error" not in event:
            waiting.discard(event["member"])
        elif event["event"] == "calm-over":
            if waiting:
                yield f"no commit of {sorted(waiting)} was acknowledged after the leader's death"
            waiting = None


def rule_idle(record):
    """Idle, a connection carries at most one Fetch per max-wait. A node may answer a held Fetch
    early when another request waits behind it (docs/PROTOCOL.md), so each of those allows one."""
    for event in record:
        if event["event"] != "idle":
            continue
        if not any(connection["fetches"] for connection in event["connections"]):
            yield "nobody fetched anything in the idle window"
        for connection in event["connections"]:
            fetches, wait_ms = connection["fetches"], connection["max_wait_ms"]
            if not fetches:
                continue
            allowed = event["seconds"] * 1000 / max(wait_ms, 1) + 1 + connection["others"]
            if fetches > allowed:
                yield (f"{connection['client']} sent {fetches} Fetches on one connection in"
                       f" {event['seconds']:.0f} s with a max-wait of {wait_ms} ms")


# What a record must contain to have tested anything, by scene, if the client can.
NEEDED = {
    "churn": {"settled": 7, "killed": 1, "left": 1, "continued": 1, "zombie tried": 1,
              "committed": 6, "fetched something": 1},
    "pattern": {"settled": 1},
    "static": {"settled": 3, "restarted": 2},
}


def rule_lively(record):
    """The record is whole: the scene came to its end and did what it was to do."""
    begin = record[0]
    if begin["event"] != "begin" or record[-1]["event"] != "end":
        yield "the scene did not come to its end"
        return
    counts, stopped, asked_of_stopped = {}, set(), set()
    for event in record:
        kind = event["event"]
        if kind == "stopped":
            stopped.add(event["member"])
        elif kind == "continued":
            stopped.discard(event["member"])
        elif kind == "asked" and event["member"] in stopped:
            asked_of_stopped.add((event["member"], event["id"]))
        elif kind == "committed" and (event["member"], event["id"]) in asked_of_stopped:
            kind = "zombie tried"
        elif kind == "committed" and "error" in event:
            kind = "not committed"
        elif kind == "fetched" and max(event.get("offsets", {"": -1}).values()) >= 0:
            kind = "fetched something"
        counts[kind] = counts.get(kind, 0) + 1
    for kind, minimum in NEEDED[begin["scene"]].items():
        is_about_commits = kind in ("zombie tried", "committed", "fetched something")
        if is_about_commits and "commit" not in begin["can"]:
            continue
        if counts.get(kind, 0) < minimum:
            yield f"only {counts.get(kind, 0)} times {kind!r}, needed {minimum}"


RULES = (rule_settled, rule_exclusive, rule_status, rule_generations, rule_offsets, rule_calm,
         rule_static, rule_zombie, rule_answered, rule_failover, rule_idle, rule_lively)


def check(record):
    """[(rule, complaint)], empty for a good record."""
    return [(rule.__name__.removeprefix("rule_"), complaint)
            for rule in RULES for complaint in rule(record)]
