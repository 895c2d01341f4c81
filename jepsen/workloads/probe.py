"""P, the probe: for how long nobody is answered. In every place a simple consumer per node that
asks this node again and again, whatever the others do and whoever leads: a commit where the last
request was answered well, else a fetch, which changes nothing. So the first answer of the cluster
ends an outage; the other workloads wait as real clients do, and see one longer than it is."""

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
                self.world.spawn(self._ask(self.world.place(i), f"probe-{i}", node,
                                           EVERY_S * i / places))

    async def _ask(self, place, group, node, offset_s):
        """One node, for ever; a beat that is missed is left out."""
        process, link, leads = self.world.clerk.process(), None, False
        loop = asyncio.get_running_loop()
        await asyncio.sleep(offset_s)
        due = loop.time()
        while True:
            if link is None or link.is_lost:
                link = await self._connect(place, node)
            if link is not None:
                found = await self._request(process, link, group, leads)
                leads = found.type == "ok"
            due = max(due + EVERY_S, loop.time())
            await asyncio.sleep(due - loop.time())

    async def _connect(self, place, node):
        try:
            return await links.connect(place, node, self.world.nodes[node], PATIENCE_S)
        except links.Lost:
            return None

    async def _request(self, process, link, group, leads):
        if not leads:
            return await ops.fetch(process, link, group, [("probe", 0)], PATIENCE_S)
        row = ("probe", 0, self.world.offset(group, "probe", 0), -1, self.world.clerk.op_id("p"))
        return await ops.commit(process, link, group, (-1, "", None), [row], PATIENCE_S)
