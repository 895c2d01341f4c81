"""W1, the commit register: every partition has one owner that commits rising offsets and reads them
back; operators read beside it; a zombie of a past generation goes on committing."""

import asyncio

from .admin import Admin, read_for_ever, read_from_everyone
from .crowd import Crowd

GROUPS, MEMBERS, PARTITIONS = 8, 3, 6
READERS = 3
ZOMBIE_S = (4.0, 12.0)  # how long one goes on
CHURN_S = (8.0, 20.0)  # between two rebalances that we ask for


async def haunt(world, place, shape, identity, owned, chance):
    """A zombie: what it commits under a past generation must be refused."""
    admin = Admin(world, place)
    loop = asyncio.get_running_loop()
    until = loop.time() + chance.uniform(*ZOMBIE_S)
    try:
        while loop.time() < until and not world.is_calm:
            topic, index = chance.choice(sorted(owned))
            row = (topic, index, world.offset(shape.group, topic, index), -1,
                   world.clerk.op_id("z"))
            await admin.commit(shape.group, [row], identity)
            await asyncio.sleep(chance.uniform(0.1, 0.5))
    finally:
        admin.close()


class Commits(Crowd):
    name, topics = "W1", {"w1": PARTITIONS}

    def start(self):
        self.pace_s = GROUPS * MEMBERS / self.world.settings.commits_per_s
        for number in range(GROUPS):
            shape = self.shape(f"w1-{number}", request_s=self.chance.choice((1.0, 1.5, 3.0)))
            for i in range(MEMBERS):
                self.join(shape, number + i, pace_s=self.pace_s)
        for i in range(READERS):
            self.world.spawn(read_for_ever(self.world, self.world.place(i), self.groups(),
                                           self.world.chance(f"W1/reader{i}"), 0.05))
        self.world.spawn(read_from_everyone(self.world, self.world.place(READERS), self.groups(),
                                            self.world.chance("W1/everyone"), 0.1))
        self.world.spawn(self._disturb())

    async def _disturb(self):
        """Now and then a rebalance, and a zombie of the generation before it."""
        while True:
            await asyncio.sleep(self.chance.uniform(*CHURN_S))
            member = self.chance.choice(self.members)
            if self.world.is_calm or not member.is_settled or not member.owned:
                continue
            identity, owned, shape = member.identity(), member.owned, member.shape
            if self.chance.random() < 0.5:  # still a member, of a past generation
                self._ask_for_a_rebalance(shape)
            else:  # gone, and another in its place
                await self.depart(member, politely=True)
                self.join(shape, pace_s=self.pace_s)
            self.world.spawn(haunt(self.world, member.place, shape, identity, owned,
                                   self.world.chance(self.world.name("zombie"))))

    def _ask_for_a_rebalance(self, shape):
        """The leader's JoinGroup; the others join too, since we do not know who leads."""
        for member in self.of(shape):
            member.rejoin()
