"""P, the probe: for how long nobody can commit. A simple consumer in every place, with a short
patience, that asks all nodes at once who leads. The other workloads wait as real clients do, and so
see an outage longer than it is."""

import asyncio

from . import link as links
from . import ops
from .world import ask

PATIENCE_S, EVERY_S = 0.2, 0.02


class Probe:
    topics = {"probe": 1}

    def __init__(self, world):
        self.world = world

    def groups(self):
        return {f"probe-{i}": [("probe", 0)] for i in range(len(self.world.places))}

    def start(self):
        for i, group in enumerate(sorted(self.groups())):
            self.world.spawn(self._commit(self.world.place(i), group))

    async def _commit(self, place, group):
        process, link = self.world.clerk.process(), None
        while True:
            if link is None or link.is_lost:
                link = await self._find(place, link.node if link else None)
                continue
            row = ("probe", 0, self.world.offset(group, "probe", 0), -1,
                   self.world.clerk.op_id("p"))
            found = await ops.commit(process, link, group, (-1, "", None), [row], PATIENCE_S)
            if found.type != "ok":
                link.drop()
            await asyncio.sleep(EVERY_S)

    async def _find(self, place, failed):
        """A link to a node that some node names, one that has not just failed where there is a
        choice; None."""
        answers = await asyncio.gather(*(ask(self.world, place, node, PATIENCE_S)
                                         for node in sorted(self.world.nodes)))
        named = [node for node in answers if node is not None]
        named.sort(key=lambda node: node == failed)
        try:
            if not named:
                raise links.Lost("refused")
            return await links.connect(place, named[0], self.world.nodes[named[0]], PATIENCE_S)
        except links.Lost:
            await asyncio.sleep(EVERY_S)
            return None
