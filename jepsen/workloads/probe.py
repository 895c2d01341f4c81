"""P, the probe: for how long nobody is answered. In every place, for each node, a simple consumer
that reads from this node again and again, whatever the others do and whoever leads, and one that
commits to it for as long as reads are answered. So the first answer of the cluster ends an outage;
the other workloads wait as real clients do, and see one longer than it is. And who still answers
reads after another has begun to lead is found out."""

import asyncio

from . import link as links
from . import ops

PATIENCE_S = 0.2  # of a connection: it is given up, and the next attempt has another
EVERY_S = 0.06  # per node and place; the places take turns


class Probe:
    topics = {"probe": 1}

    def __init__(self, world):
        self.world = world

    def groups(self):
        return {f"probe-{i}": [("probe", 0)] for i in range(len(self.world.places))}

    def start(self):
        places = len(self.world.places)
        for i in range(places):
            for node in sorted(self.world.nodes):
                asked = Asked(self.world, self.world.place(i), f"probe-{i}", node)
                self.world.spawn(asked.read(EVERY_S * i / places))
                self.world.spawn(asked.commit())


class Asked:
    """One node, from one place, for ever."""

    def __init__(self, world, place, group, node):
        self.world, self.place, self.group, self.node = world, place, group, node
        self.answers = asyncio.Event()  # set while it answers reads

    async def read(self, offset_s):
        """A beat that is missed is left out."""
        process, link, loop = self.world.clerk.process(), None, asyncio.get_running_loop()
        await asyncio.sleep(offset_s)
        due = loop.time()
        while True:
            link = await self._link(link)
            found = link and await ops.fetch(process, link, self.group, [("probe", 0)], PATIENCE_S)
            if found and found.type == "ok":
                self.answers.set()
            else:
                self.answers.clear()
            due = max(due + EVERY_S, loop.time())
            await asyncio.sleep(due - loop.time())

    async def commit(self):
        process, link = self.world.clerk.process(), None
        while True:
            await self.answers.wait()
            link = await self._link(link)
            if link is not None:
                row = ("probe", 0, self.world.offset(self.group, "probe", 0), -1,
                       self.world.clerk.op_id("p"))
                await ops.commit(process, link, self.group, (-1, "", None), [row], PATIENCE_S)
            await asyncio.sleep(EVERY_S)

    async def _link(self, link):
        """[link], or where it is lost another; None."""
        if link is not None and not link.is_lost:
            return link
        try:
            return await links.connect(self.place, self.node, self.world.nodes[self.node],
                                       PATIENCE_S)
        except links.Lost:
            return None
