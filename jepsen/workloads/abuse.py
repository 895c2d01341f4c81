"""W9, abuse of the protocol beside a group that works: what is refused must change nothing, and
what is refused in part must say in which part."""

import asyncio

from . import link as links
from . import ops
from .admin import Admin, read_for_ever
from .crowd import Crowd

METADATA_BYTES_MAX = 4096  # offset.metadata.max.bytes
EVERY_S = (0.05, 0.3)


class Abuse(Crowd):
    name, topics = "W9", {"w9": 4}
    MEMBERS, PACE_S = 2, 0.1

    def start(self):
        self.shape("w9-0")
        for place in range(self.MEMBERS):
            self.join(self.shapes[0], place, pace_s=self.PACE_S)
        self.world.spawn(self._abuse())
        self.world.spawn(self._throw())
        self.world.spawn(read_for_ever(self.world, self.world.place(2), self.groups(),
                                       self.world.chance("W9/reader"), 0.2))

    async def _abuse(self):
        admin, shape = Admin(self.world, self.world.place(0)), self.shapes[0]
        tricks = [self._false_generation, self._no_member, self._no_generation, self._long_text,
                  self._no_such_partition, self._false_beat, self._false_sync, self._false_leave,
                  self._bad_join, self._delete_the_living]
        while True:
            await asyncio.sleep(self.chance.uniform(*EVERY_S))
            if self.world.is_calm:
                continue
            settled = [member for member in self.of(shape) if member.is_settled and member.owned]
            if settled:
                await self.chance.choice(tricks)(admin, self.chance.choice(settled))

    def _row(self, op="a", partition=None):
        partition = self.chance.randrange(4) if partition is None else partition
        return ("w9", partition, self.world.offset("w9-0", "w9", partition), -1,
                self.world.clerk.op_id(op))

    async def _false_generation(self, admin, member):
        wrong = member.generation + self.chance.choice((-1, 1, 1000))
        await admin.commit("w9-0", [self._row()], (wrong, member.id, None))

    async def _no_member(self, admin, member):
        await admin.commit("w9-0", [self._row()], (member.generation, "nobody", None))

    async def _no_generation(self, admin, _):
        """The simple consumer's commit, to a group that has members."""
        await admin.commit("w9-0", [self._row()])

    async def _long_text(self, admin, member):
        """One byte too many, beside the most that is allowed. The two bound for one partition are
        told apart by the answer alone, so each has a partition of its own."""
        length = METADATA_BYTES_MAX + self.chance.choice((0, 1))
        row = self._row(partition=self.chance.choice(sorted(member.owned))[1])
        long = row[:4] + (row[4].ljust(length, "."),)
        rows = [long]
        if length > METADATA_BYTES_MAX and len(member.owned) > 1:
            other = self.chance.choice([p for _, p in member.owned if p != row[1]])
            rows.append(self._row("c", other))
        await admin.commit("w9-0", rows, member.identity())

    async def _no_such_partition(self, admin, member):
        good = self._row("c", self.chance.choice(sorted(member.owned))[1])
        bad = self.chance.choice((("w9", 99), ("no-such-topic", 0)))
        await admin.commit("w9-0", [good, (*bad, 1, -1, self.world.clerk.op_id("a"))],
                           member.identity())

    async def _false_beat(self, admin, member):
        wrong = self.chance.choice(((member.generation + 7, member.id, None),
                                    (member.generation, "nobody", None),
                                    (member.generation, "nobody", "no-such-instance")))
        await admin.ask(ops.heartbeat, "w9-0", wrong)

    async def _false_sync(self, admin, member):
        await admin.ask(ops.sync, "w9-0", (member.generation + 3, member.id, None),
                        {member.id: self.shapes[0].partitions()})

    async def _false_leave(self, admin, _):
        await admin.ask(ops.leave, "w9-0", "nobody", None)

    async def _bad_join(self, admin, _):
        """A session out of bounds; a protocol that no other member has; an id nobody has given."""
        session_ms, protocol, who = self.chance.choice(
            ((1, "range", ""), (self.world.settings.session_ms, "no-such-protocol", ""),
             (self.world.settings.session_ms, "range", "nobody")))

        async def join(process, link, timeout_s):
            return await ops.join(process, link, "w9-0", who, None, topics=["w9"],
                                  session_ms=session_ms, rebalance_ms=5000, timeout_s=timeout_s,
                                  protocol=protocol)

        await admin.ask(join)

    async def _delete_the_living(self, admin, _):
        await admin.ask(ops.delete_group, "w9-0")

    async def _throw(self):
        """Bytes that are no request, on connections of their own, which a node may close."""
        while True:
            await asyncio.sleep(self.chance.uniform(0.5, 2.0))
            node = self.chance.choice(sorted(self.world.nodes))
            try:
                link = await links.connect(self.world.place(0), node, self.world.nodes[node], 1.0)
            except links.Lost:
                continue
            link.throw(self.chance.choice((
                b"GET / HTTP/1.1\r\n\r\n", self.chance.randbytes(64), b"\xff" * 8,
                b"\0\0\0\x0a" + self.chance.randbytes(10))))
            await asyncio.sleep(0.2)
            link.drop()
