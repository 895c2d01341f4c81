"""W2 churn, W3 idle groups, W4 many groups, W5 static members: who is in a group, who owns what."""

import asyncio

from . import ops
from .admin import Admin
from .crowd import Crowd


class Churn(Crowd):
    """W2: 3 to 12 members, of which one comes, leaves or dies every 2 to 5 s. One in ten that come
    joins and says no more."""

    name, topics = "W2", {"w2-a": 8, "w2-b": 8}
    GROUPS, FEWEST, MOST = 2, 3, 12
    EVERY_S, PACE_S, MUTE = (2.0, 5.0), 0.3, 0.1

    def start(self):
        for shape in [self.shape(f"w2-{i}") for i in range(self.GROUPS)]:
            for _ in range(self.FEWEST + 1):
                self.join(shape, pace_s=self.PACE_S)
            self.world.spawn(self._churn(shape))

    async def _churn(self, shape):
        while True:
            await asyncio.sleep(self.chance.uniform(*self.EVERY_S))
            if self.world.is_calm:
                continue
            if self.chance.random() < self.MUTE:
                await self._mute(shape)
            else:
                await self.churn(shape)

    async def _mute(self, shape):
        """Joins and says no more: the others' SyncGroups wait for it, but not for ever."""
        admin = Admin(self.world, self.world.place(self.chance.randrange(8)),
                      shape.rebalance_ms / 1000 + 2)
        member = ""
        for _ in range(2):
            found = await admin.ask(self._join, shape, member)
            member = found.value.get("member", "")
        if found.type == "ok":
            self.world.clerk.life("witness", "kill", [member], group=shape.group)
        admin.close()

    async def _join(self, process, link, shape, member, timeout_s):
        return await ops.join(process, link, shape.group, member, None,
                              topics=sorted(shape.topics), session_ms=shape.session_ms,
                              rebalance_ms=shape.rebalance_ms, timeout_s=timeout_s)

    async def churn(self, shape=None):
        shape = shape or self.chance.choice(self.shapes)
        present = self.of(shape)
        grow = len(present) <= self.FEWEST or \
            len(present) < self.MOST and self.chance.random() < 0.5
        if grow:
            self.join(shape, pace_s=self.PACE_S)
        else:
            await self.depart(self.chance.choice(present), self.chance.random() < 0.7)


class Idle(Crowd):
    """W3: groups whose members only beat. Nothing but their own death may move them."""

    name, topics = "W3", {"w3": 4}
    GROUPS, MEMBERS = 3, 3

    def start(self):
        for i in range(self.GROUPS):
            shape = self.shape(f"w3-{i}", beat_s=self.chance.uniform(0.5, 1.5),
                               request_s=1.0 + i / 2)
            for place in range(self.MEMBERS):
                self.join(shape, place)


class Many(Crowd):
    """W4: 200 groups of two."""

    name, topics = "W4", {"w4": 2}
    GROUPS, MEMBERS = 200, 2
    STARTS_PER_S, BEAT_S, PACE_S = 25, 2.0, 8.0

    def start(self):
        for i in range(self.GROUPS):
            self.shape(f"w4-{i}", beat_s=self.BEAT_S)
        self.world.spawn(self._arrive())

    async def _arrive(self):
        for number, shape in enumerate(self.shapes):
            for i in range(self.MEMBERS):
                self.join(shape, number + i, pace_s=self.PACE_S)
            await asyncio.sleep(1 / self.STARTS_PER_S)


class Static(Crowd):
    """W5: members with instance ids, which are swapped for others within their session, and two at
    a time with one id, of which the later must win."""

    name, topics = "W5", {"w5": 8}
    GROUPS, MEMBERS = 2, 4
    EVERY_S, PACE_S = (3.0, 6.0), 0.3

    def start(self):
        for shape in [self.shape(f"w5-{i}") for i in range(self.GROUPS)]:
            for i in range(self.MEMBERS):
                self.join(shape, i, f"{shape.group}-instance-{i}", self.PACE_S)
            self.world.spawn(self._swap(shape))

    async def _swap(self, shape):
        while True:
            await asyncio.sleep(self.chance.uniform(*self.EVERY_S))
            self._replace_the_fenced(shape)
            if not self.world.is_calm:
                await self.churn(shape)

    def _replace_the_fenced(self, shape):
        """Every instance id has at least one member."""
        for member in self.of(shape):
            if member.task.done():
                self.members.remove(member)
                self.world.spawn(member.kill())
        present = {member.instance for member in self.of(shape)}
        for i in range(self.MEMBERS):
            instance = f"{shape.group}-instance-{i}"
            if instance not in present:
                self.join(shape, i, instance, self.PACE_S)

    async def churn(self, shape=None):
        shape = shape or self.chance.choice(self.shapes)
        member = self.chance.choice(self.of(shape))
        if self.chance.random() < 0.5:  # killed, and its successor comes back a little later
            await self.depart(member, politely=False)
            await asyncio.sleep(self.chance.uniform(0.0, 1.0))
        self.join(shape, instance=member.instance, pace_s=self.PACE_S)
