"""Readers that belong to no group: they ask for offsets, and for what a group looks like."""

import asyncio

from . import link as links
from . import ops
from .standing import ANSWERS, Next
from .world import BACKOFF_S

REQUEST_S = 2.0


class Admin:
    """One reader with a link of its own to the coordinator; also the simple consumer, which commits
    without a generation."""

    def __init__(self, world, place, request_s=REQUEST_S):
        self.world, self.place, self.request_s = world, place, request_s
        self.process = world.clerk.process()
        self.link = None

    async def ask(self, operation, *args):
        """[operation](process, link, *args, timeout) of ops, once; waits for a coordinator."""
        if self.link is None or self.link.is_lost:
            self.link = await self.world.coordinator(self.place)
        found = await operation(self.process, self.link, *args, self.request_s)
        if found.error in ANSWERS and ANSWERS[found.error] in (Next.FIND, Next.RETRY):
            if ANSWERS[found.error] is Next.FIND:
                self.link.drop()
            await asyncio.sleep(BACKOFF_S)
        return found

    async def commit(self, group, rows, identity=(-1, "", None)):
        return await self.ask(ops.commit, group, identity, rows)

    async def fetch(self, group, partitions=None):
        return await self.ask(ops.fetch, group, partitions)

    def close(self):
        if self.link is not None:
            self.link.drop()


async def read_for_ever(world, place, groups, chance, every_s):
    """An operator who looks at one group after the other, at all or some of its offsets, and at all
    groups as soon as a fault begins or ends. [groups]: {group: [(topic, partition)...]}"""
    admin, names = Admin(world, place), sorted(groups)
    try:
        while True:
            if await world.fault_or(every_s * chance.uniform(0.5, 1.5)):
                for group in names:
                    await admin.fetch(group)
                continue
            group = chance.choice(names)
            some = None if chance.random() < 0.5 else \
                sorted(chance.sample(groups[group], min(2, len(groups[group]))))
            await admin.fetch(group, some)
            if chance.random() < 0.05:
                await admin.ask(ops.describe, group)
    finally:
        admin.close()


async def read_from_everyone(world, place, groups, chance, every_s):
    """An operator who asks each node in turn, whoever leads: one that was deposed and does not know
    it must not answer with what it had."""
    process, kept = world.clerk.process(), {}
    try:
        while True:
            for node in sorted(world.nodes):
                await asyncio.sleep(every_s)
                if node not in kept or kept[node].is_lost:
                    try:
                        kept[node] = await links.connect(place, node, world.nodes[node], 0.5)
                    except links.Lost:
                        continue
                await ops.fetch(process, kept[node], chance.choice(sorted(groups)), None, REQUEST_S)
    finally:
        for link in kept.values():
            link.drop()
