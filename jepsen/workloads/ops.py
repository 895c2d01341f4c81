"""The operations of a history, each as one request: invoke, send, judge the answer, complete.

Every function takes the process that asks and the link it asks on, and returns an Outcome. Where
the link is lost before the request could be sent there is no event at all, and the type is
"unsent".
"""

import asyncio
import collections

import groups
from history import DEFINITE

from .link import Lost

class Options(dict):
    """The keyword arguments of a call, as its last argument."""


Outcome = collections.namedtuple("Outcome", "type error value")


def outcome(error, value, alive=()):
    """[error]: Kafka's. [alive]: errors that say no, although they are no refusals in general."""
    if error == 0:
        return Outcome("ok", None, value)
    kind = "fail" if error in DEFINITE or error in alive else "info"
    return Outcome(kind, error, value)


async def perform(process, link, f, value, call, judge, timeout_s):
    """[call]: (name, arguments..., Options) of Link.call; [judge]: its result -> Outcome."""
    name, *args = call
    options = args.pop() if args and isinstance(args[-1], Options) else {}
    try:
        result = await link.call(name, *args, **options, timeout_s=timeout_s,
                                 before_send=lambda: process.invoke(f, value, link.node))
        found = judge(result)
    except Lost as lost:
        if process.open is None:
            return Outcome("unsent", lost.reason, {})
        found = Outcome("info", lost.reason, {})
    except asyncio.CancelledError:
        if process.open is not None:
            process.complete("info", {}, link.node, "closed")
        raise
    process.complete(found.type, found.value, link.node, found.error)
    return found


# Offsets


def judge_parts(errors):
    """[errors]: [(topic, partition, error)...] of a write that is one as a whole."""
    value = {"parts": [list(row) for row in errors]}
    codes = [row[2] for row in errors]
    if 0 in codes:
        return Outcome("ok", None, value)
    open_ones = [code for code in codes if code not in DEFINITE]
    if not codes or open_ones:
        return Outcome("info", open_ones[0] if open_ones else "garbled", value)
    return Outcome("fail", codes[0], value)


async def commit(process, link, group, identity, rows, timeout_s):
    """[identity]: (generation, member id, instance id). [rows]: (topic, partition, offset, leader
    epoch, op id)."""
    generation, member, instance = identity
    value = {"group": group, "gen": generation, "member": member, "instance": instance,
             "parts": [list(row) for row in rows]}
    offsets = {(topic, partition): (offset, epoch, op)
               for topic, partition, offset, epoch, op in rows}
    call = "commit", group, offsets, generation, member, instance
    return await perform(process, link, "commit", value, call, lambda errors: judge_parts(
        [(topic, partition, error) for (topic, partition), error in errors.items()]), timeout_s)


async def fetch(process, link, group, partitions, timeout_s):
    """[partitions]: pairs, or None for all."""
    value = {"group": group, "parts": partitions and [list(pair) for pair in partitions]}

    def judge(result):
        error, rows = result
        parts = {"parts": [list(row) for row in rows]}
        codes = [row[5] for row in rows]
        if error == 0 and codes and 0 not in codes:
            error = codes[0]
        return outcome(error, parts if error == 0 else {})

    return await perform(process, link, "fetch", value, ("fetch", group, partitions), judge,
                         timeout_s)


async def delete_offsets(process, link, group, partitions, timeout_s):
    value = {"group": group, "parts": [list(pair) for pair in partitions]}

    def judge(result):
        error, rows = result
        return outcome(error, {}) if error else judge_parts(rows)

    return await perform(process, link, "delete_offsets", value,
                         ("delete_offsets", group, partitions), judge, timeout_s)


async def delete_group(process, link, group, timeout_s):
    def judge(errors):
        return outcome(errors.get(group, "garbled"), {})

    return await perform(process, link, "delete_group", {"group": group},
                         ("delete_groups", [group]), judge, timeout_s)


# Membership


async def join(process, link, group, member, instance, *, topics, session_ms, rebalance_ms,
               timeout_s, protocol="range"):
    value = {"group": group, "member": member, "instance": instance, "topics": topics,
             "session_ms": session_ms, "rebalance_ms": rebalance_ms}

    def judge(joined):
        if joined.error == 0:
            return Outcome("ok", None, {
                "gen": joined.generation, "protocol": joined.protocol, "leader": joined.leader,
                "member": joined.member,
                "members": [[who, place] for who, (place, _) in joined.members.items()]})
        named = joined.error == groups.MEMBER_ID_REQUIRED
        return outcome(joined.error, {"member": joined.member} if named else {})

    options = Options(instance=instance, session_ms=session_ms, rebalance_ms=rebalance_ms,
                      protocols=[(protocol, groups.subscription(topics))])
    return await perform(process, link, "join", value, ("join", group, member, options), judge,
                         timeout_s)


def plan_rows(pairs):
    """(topic, partition) pairs -> [[topic, [p...]]...]"""
    by_topic = collections.defaultdict(list)
    for topic, partition in sorted(pairs):
        by_topic[topic].append(partition)
    return [[topic, found] for topic, found in by_topic.items()]


async def sync(process, link, group, identity, shares, timeout_s):
    """[shares]: the leader's, {member id: pairs}, else {}. The outcome's value is the set of pairs
    where it is ok."""
    generation, member, instance = identity
    value = {"group": group, "gen": generation, "member": member, "instance": instance,
             "assignments": {who: plan_rows(pairs) for who, pairs in shares.items()}}
    encoded = {who: groups.assignment(pairs) for who, pairs in shares.items()}
    owned = set()

    def judge(result):
        error, content = result
        if error == 0:
            owned.update(groups.assigned(content))
        return outcome(error, {"assignment": plan_rows(owned)} if error == 0 else {})

    found = await perform(process, link, "sync", value,
                          ("sync", group, generation, member, encoded, instance), judge, timeout_s)
    return found._replace(value=owned)


async def heartbeat(process, link, group, identity, timeout_s):
    generation, member, instance = identity
    value = {"group": group, "gen": generation, "member": member, "instance": instance}
    return await perform(process, link, "heartbeat", value,
                         ("heartbeat", group, generation, member, instance),
                         lambda error: outcome(error, {}, alive=(groups.REBALANCE_IN_PROGRESS,)),
                         timeout_s)


async def leave(process, link, group, member, instance, timeout_s):
    def judge(result):
        error, errors = result
        return outcome(error or next((code for code in errors if code), 0), {})

    return await perform(process, link, "leave",
                         {"group": group, "member": member, "instance": instance},
                         ("leave", group, [(member, instance)]), judge, timeout_s)


async def describe(process, link, group, timeout_s):
    def judge(result):
        error, state, protocol, members = result
        rows = [[m["member_id"], m["instance_id"],
                 plan_rows(groups.assigned(m["assignment"]))] for m in members]
        return outcome(error, {"state": state, "protocol": protocol, "members": rows}
                       if error == 0 else {})

    return await perform(process, link, "describe", {"group": group}, ("describe_group", group),
                         judge, timeout_s)
