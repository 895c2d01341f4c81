"""C1 across registers: a request's partitions are one atomic write, a fetch's one atomic read.

Each register alone may be linearizable while a fetch sees half of a commit. Here the operations of
a group are nodes of a graph, with an edge wherever one certainly took effect before another: in
real time; a write before its reads; and all that touched one value before the write of the next,
where the zones say which came first. A cycle is a violation. Where two values' zones say nothing
about their order no edge is drawn, so this finds no false violations, but not all true ones: the
log does (C2).
"""

import bisect
import collections

import zones
from ops import FOREVER
from registers import describe
from verdict import Violation


def check_group(registers, origin=0):
    """Violations of one group's registers without ambiguous values; at most one cycle."""
    many = collections.Counter(id(a.op) for r in registers for a in r.accesses())
    if all(count == 1 for count in many.values()):
        return
    for register in _promote(registers):
        found = zones.check_register(register, origin)
        if found:
            found.text += " (it was one request with a commit that was read)"
            yield found
            return
    graph = _Graph()
    for register in registers:
        graph.add_register(register)
    graph.add_real_time()
    cycle = graph.find_cycle()
    if cycle:
        yield _violation(cycle)


def _promote(registers):
    """A commit of unknown outcome one of whose values was read took effect, with all its
    partitions. Yields the registers in which this makes a difference."""
    reads = {}
    for register in registers:
        for read in register.reads:
            write = register.writes.get(read.value)
            if write is not None and not write.is_sure:
                reads[write.op] = min(reads.get(write.op, FOREVER), read.hi)
    for register in registers:
        is_real = any(w.is_sure for w in register.writes.values())
        touched = False
        for write in register.writes.values():
            if is_real and not write.is_sure and write.op in reads:
                write.is_sure, write.hi, touched = True, min(write.hi, reads[write.op]), True
        if touched:
            yield register


class _Graph:
    """Nodes are numbers; ops (by id) have one each, and chains have one per link, so that the edges
    of an order of intervals stay linear in number."""

    def __init__(self):
        self.edges, self.accesses, self.by_op = [], {}, {}
        self.times = {}  # op's node -> [lo, hi]

    def _node(self):
        self.edges.append([])
        return len(self.edges) - 1

    def _op(self, access):
        key = id(access.op)
        if key not in self.by_op:
            self.by_op[key] = self._node()
            self.accesses[self.by_op[key]] = access
            self.times[self.by_op[key]] = [access.lo, access.hi]
        node = self.by_op[key]
        time = self.times[node]
        time[0], time[1] = max(time[0], access.lo), min(time[1], access.hi)
        return node

    def _chain(self, entries):
        """entries: [(time, node)]. Returns a function: the link that all nodes with an earlier time
        lead to, or None."""
        ordered = sorted(entries)
        times, links = [time for time, _ in ordered], []
        for _, node in ordered:
            link = self._node()
            self.edges[node].append(link)
            if links:
                self.edges[links[-1]].append(link)
            links.append(link)

        def before(time):
            at = bisect.bisect_left(times, time)
            return links[at - 1] if at else None

        return before

    def add_register(self, register):
        found, _ = zones.find_zones(register)
        reads = collections.defaultdict(list)
        for read in register.reads:
            reads[read.value].append(self._op(read))
        ends = []
        for zone in found:
            end = self._node()
            ends.append((zone.f, end))
            for node in reads[zone.value]:
                self.edges[node].append(end)
            if zone.write is not None:
                write = self._op(zone.write)
                self.edges[write].append(end)
                self.edges[write].extend(n for n in reads[zone.value] if n != write)
        before = self._chain(ends)
        ends_by_time = sorted(ends)
        times = [time for time, _ in ends_by_time]
        own = dict(zip((z.value for z in found), (end for _, end in ends)))
        for zone in found:
            if zone.write is None:
                continue
            write = self._op(zone.write)
            link = before(min(zone.f, zone.s))
            if link is not None:
                self.edges[link].append(write)
            if zone.is_forward:  # those that straddle its begin
                for _, end in ends_by_time[
                    bisect.bisect_left(times, zone.f) : bisect.bisect_left(times, zone.s)
                ]:
                    if end != own[zone.value]:
                        self.edges[end].append(write)

    def add_real_time(self):
        before = self._chain([(hi, node) for node, (_, hi) in self.times.items() if hi < FOREVER])
        for node, (lo, _) in self.times.items():
            link = before(lo)
            if link is not None:
                self.edges[link].append(node)

    def find_cycle(self):
        """The accesses of a cycle's operations in order, or None."""
        incoming = [0] * len(self.edges)
        for targets in self.edges:
            for target in targets:
                incoming[target] += 1
        ready = [n for n, count in enumerate(incoming) if count == 0]
        left = len(self.edges)
        while ready:
            node = ready.pop()
            left -= 1
            for target in self.edges[node]:
                incoming[target] -= 1
                if incoming[target] == 0:
                    ready.append(target)
        if not left:
            return None
        return self._walk({n for n, count in enumerate(incoming) if count > 0})

    def _walk(self, rest):
        """A shortest cycle through the first operation that has one."""
        for start in sorted(n for n in rest if n in self.accesses):
            came, queue = {start: None}, collections.deque([start])
            while queue:
                node = queue.popleft()
                for target in self.edges[node]:
                    if target == start:
                        path = []
                        while node is not None:
                            path.append(node)
                            node = came[node]
                        return [self.accesses[n] for n in reversed(path) if n in self.accesses]
                    if target in rest and target not in came:
                        came[target] = node
                        queue.append(target)
        return []


def _violation(cycle):
    names = " < ".join(describe(access) for access in cycle + cycle[:1])
    events = sorted({index for access in cycle for index in access.op.events()})
    ends = [access.op.ended for access in cycle if access.op.ended < FOREVER]
    return Violation(
        "I1",
        "C1",
        f"{cycle[0].op.group}: each must have taken effect before the next, round a circle: "
        f"{names}",
        events,
        min(a.op.call for a in cycle),
        max(ends, default=0),
    )
