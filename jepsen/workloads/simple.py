"""W7, the simple consumer: commits without a generation to groups without members, and deletes what
it has committed: single offsets, and whole groups."""

import asyncio

from . import ops
from .admin import Admin, read_for_ever

GROUPS, PARTITIONS, WRITERS = 4, 4, 2
PACE_S = 0.06


class Simple:
    topics = {"w7": PARTITIONS}

    def __init__(self, world):
        self.world = world

    def groups(self):
        pairs = [("w7", index) for index in range(PARTITIONS)]
        return {f"w7-{i}": pairs for i in range(GROUPS)}

    def start(self):
        for number, group in enumerate(sorted(self.groups())):
            for i in range(WRITERS):
                self.world.spawn(self._consume(group, number + i,
                                               self.world.chance(f"W7/{group}/{i}")))
        self.world.spawn(read_for_ever(self.world, self.world.place(1), self.groups(),
                                       self.world.chance("W7/reader"), 0.1))

    async def _consume(self, group, place, chance):
        admin = Admin(self.world, self.world.place(place))
        pairs = self.groups()[group]
        try:
            while True:
                some = sorted(chance.sample(pairs, chance.randint(1, 2)))
                draw = chance.random()
                if draw < 0.03 and not self.world.is_calm:
                    await admin.ask(ops.delete_group, group)
                elif draw < 0.10 and not self.world.is_calm:
                    await admin.ask(ops.delete_offsets, group, some)
                elif draw < 0.40:
                    await admin.fetch(group, some)
                else:
                    await admin.commit(group, [
                        (topic, index, self.world.offset(group, topic, index), -1,
                         self.world.clerk.op_id("s")) for topic, index in some])
                await asyncio.sleep(PACE_S * chance.uniform(0.5, 1.5))
        finally:
            admin.close()
