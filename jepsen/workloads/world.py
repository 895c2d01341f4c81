"""What all workloads of a run share: the nodes, the places clients stand in, the clerk, chance, and
the feeds whose positions are committed.

One thread runs one asyncio loop; everything here belongs to that loop.
"""

import asyncio
import collections
import random
import socket

from . import link as links
from .clerk import Clerk

CONNECT_S = 1.0
BACKOFF_S = 0.1  # Kafka's retry.backoff.ms
LOOKUP_S = 0.4  # of patience with one node; there are others to ask
LOOKUP_AGE_S = 0.1  # a lookup that is younger than this serves all who ask


class World:
    """[nodes]: {"n1": (host, port)}, numbered as the nodes are. [places]: names of network
    namespaces, or [None]. [settings]: Settings."""

    def __init__(self, nodes, places, writer, seed, settings):
        self.nodes = {name: (socket.gethostbyname(host), port)
                      for name, (host, port) in nodes.items()}
        self.seed, self.settings = seed, settings
        self.clerk = Clerk(writer)
        self.places = [links.Place(name) for name in places] or [links.Place()]
        self.feeds = collections.Counter()  # (group, topic, partition) -> offsets handed out
        self.members = {}  # name -> Member: whom a nemesis may pause or kill
        self.is_calm = False  # no more churn, no more lies
        self.faults = asyncio.Event()  # set for an instant when a fault began or ended
        self.failures = []  # exceptions of tasks: faults of the witness itself
        self._lookups = {}  # place -> Lookup
        self._names = collections.Counter()

    def spawn(self, coroutine):
        """A task whose exception is kept, so that a fault of ours fails the run."""
        task = asyncio.create_task(coroutine)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task):
        if not task.cancelled() and task.exception() is not None:
            self.failures.append(task.exception())

    def chance(self, name):
        """A source of chance of its own for [name]: what one does never shifts another's draws."""
        return random.Random(f"{self.seed}/{name}")

    def place(self, index):
        return self.places[index % len(self.places)]

    def offset(self, group, topic, partition):
        """The next offset to commit: rises for ever, whoever the owner is."""
        self.feeds[group, topic, partition] += 1
        return self.feeds[group, topic, partition]

    def name(self, kind):
        self._names[kind] += 1
        return f"{kind}-{self._names[kind]}"

    def fault(self):
        """A fault has begun or ended: those who wait for it read at once."""
        self.faults.set()
        self.faults = asyncio.Event()

    async def fault_or(self, seconds):
        """Waits; True: a fault came before the time was up."""
        try:
            await asyncio.wait_for(self.faults.wait(), seconds)
            return True
        except asyncio.TimeoutError:
            return False

    async def coordinator(self, place, client_id="witness"):
        """A link of one's own to the node that coordinates groups, as some node says; waits until
        there is one."""
        while True:
            try:
                node = await self._lookup(place).find()
                return await links.connect(place, node, self.nodes[node], CONNECT_S, client_id)
            except links.Lost:
                await asyncio.sleep(BACKOFF_S)

    def _lookup(self, place):
        if place not in self._lookups:
            self._lookups[place] = Lookup(self, place)
        return self._lookups[place]

    def close(self):
        for place in self.places:
            place.close()


class Lookup:
    """FindCoordinator from one place, one at a time however many ask: all groups have one
    coordinator."""

    def __init__(self, world, place):
        self.world, self.place = world, place
        self.chance = world.chance(f"lookup/{place.name}")
        self.task, self.began = None, 0.0

    async def find(self):
        """The node's name; Lost where no node names one."""
        loop = asyncio.get_running_loop()
        if self.task is None or self.task.done() and loop.time() - self.began > LOOKUP_AGE_S:
            self.began = loop.time()
            self.task = loop.create_task(self._ask_all())
        found = await asyncio.shield(self.task)
        if found is None:
            raise links.Lost("refused")
        return found

    async def _ask_all(self):
        nodes = list(self.world.nodes)
        self.chance.shuffle(nodes)
        for node in nodes:
            found = await ask(self.world, self.place, node, LOOKUP_S)
            if found is not None:
                return found
        return None


async def ask(world, place, node, timeout_s):
    """The coordinator's name as [node] tells it, or None."""
    try:
        link = await links.connect(place, node, world.nodes[node], timeout_s)
    except links.Lost:
        return None
    try:
        error, number, _, _ = await link.call("find_coordinator", "g", timeout_s=timeout_s)
        found = f"n{number}"
        return found if error == 0 and found in world.nodes else None
    except links.Lost:
        return None
    finally:
        link.drop()
