"""Groups of members, as most workloads have them, and what an owner of partitions does."""

from .member import Member, Shape

READBACK = 3  # every so many commits


def owner_work(world, chance, pace_s):
    """What an owner does while it is settled: commits some or all of its partitions at a time."""

    async def work(member):
        count = 0
        while member.is_settled:
            owned = sorted(member.owned)
            if not owned:
                await member.rest(1.0)
                continue
            some = sorted(chance.sample(owned, chance.randint(1, len(owned))))
            found = await member.commit(member.rows(some, "c", chance))
            count += 1
            if found.type == "ok" and count % READBACK == 0 and member.is_settled:
                await member.fetch(some)
            await member.rest(pace_s * chance.uniform(0.5, 1.5) if found.type == "ok" else 0.1)

    return work


class Crowd:
    """A workload of members that are started, replaced and stopped. `members`: those that should
    be there."""

    name, topics = "", {}

    def __init__(self, world):
        self.world, self.chance = world, world.chance(self.name)
        self.members, self.shapes = [], []

    def shape(self, group, **more):
        shape = Shape(group, self.topics, session_ms=self.world.settings.session_ms,
                      rebalance_ms=self.world.settings.session_ms, **more)
        self.shapes.append(shape)
        return shape

    def groups(self):
        return {shape.group: shape.partitions() for shape in self.shapes}

    def join(self, shape, place=None, instance=None, pace_s=None):
        name = self.world.name(shape.group)
        work = pace_s and owner_work(self.world, self.world.chance(name), pace_s)
        place = self.world.place(self.chance.randrange(8) if place is None else place)
        member = Member(self.world, name, shape, place, instance, work)
        member.pace_s = pace_s
        self.members.append(member.start())
        return member

    def of(self, shape):
        return [member for member in self.members if member.shape is shape]

    async def depart(self, member, politely):
        self.members.remove(member)
        await (member.leave() if politely else member.kill())

    def replace(self, member):
        """[member] was killed by somebody else; another takes its seat."""
        self.members.remove(member)
        self.join(member.shape, instance=member.instance, pace_s=member.pace_s)
