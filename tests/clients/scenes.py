"""What is done to the members of one client's groups. Each scene is one group with its own topics.

Scenes only act, wait and write into the record; check.py judges it afterwards. A group that does not
settle in time ends its scene: the record shows what was there, and the check fails.
"""

import asyncio
import contextlib

from member import Member, Record, until

SESSION_MS = 10_000
STATIC_SESSION_MS = 30_000
HEARTBEAT_MS = 1_000
METADATA_MS = 3_000
STEADY_S = 1.5             # how long a state must last to count as settled
SETTLE_S = 40.0            # a JVM's start on a busy machine, a join round and room to spare
SETTLE_EVICTED_S = 50.0    # the same, after a session that has to run out first
SETTLE_CUT_S = 120.0       # until the retries of kafkajs have run out and it has joined again
CALM_AFTER_RESTART_S = 4.0
CALM_AFTER_FAILOVER_S = 2.5 * SESSION_MS / 1000
COMMIT_PAUSE_S = 1.5


class Unsettled(Exception):
    """A group did not come to rest as it should; its scene is over."""


class Scene:
    def __init__(self, name, client, cluster, directory):
        self.name, self.client, self.cluster = name, client, cluster
        self.group = f"{client.name}-{name}"
        self.directory = directory
        self.record = Record(name, client.can)
        self.members, self.topics = {}, {}
        self.offset, self.is_over = 0, False

    def can(self, what):
        return what in self.client.can

    def live(self):
        return [m for m in self.members.values() if m.is_alive()]

    async def topic(self, suffix, partitions, is_subscribed=True):
        """Creates a topic of this group's own; by default the group shares it."""
        name = f"{self.group}-{suffix}"
        await asyncio.to_thread(self.cluster.create_topic, name, partitions)
        if is_subscribed:
            self.topics[name] = partitions
        return name

    async def start(self, name, **more):
        """Starts a member that subscribes to the scene's topics, or to `pattern`."""
        words = {"bootstrap": self.cluster.bootstrap(), "group": self.group,
                 "client": f"{self.group}-{name}", "session_ms": SESSION_MS,
                 "heartbeat_ms": HEARTBEAT_MS, "topics": ",".join(self.topics), **more}
        if "pattern" in words:
            del words["topics"]
        command = [*self.client.command, *(f"{key}={value}" for key, value in words.items())]
        member = Member(name, self.record, command, self.client.environment,
                        self.directory / f"{self.group}-{name}.log")
        self.members[name] = member
        await member.start()
        return member

    async def settle(self, after, timeout_s=SETTLE_S):
        """Waits until the live members share all partitions steadily; notes it in any case."""
        names = [m.name for m in self.live()]

        def lacks():
            return self.record.owners.complaints(names, self.topics)

        async def is_steady():
            seen = len(self.record.events)
            await asyncio.sleep(STEADY_S)
            return len(self.record.events) == seen and not lacks()

        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while loop.time() < deadline:
            await until(lambda: not lacks(), deadline - loop.time())
            if await is_steady():
                break
        self.record.add("settled", after=after, members=names, topics=dict(self.topics))
        if lacks():
            raise Unsettled(f"{self.group}: {after}")
        await self.status()

    async def status(self):
        """Asks every live member what it thinks it is."""
        await asyncio.gather(*(m.ask("status") for m in self.live()))

    def owned(self, member):
        return sorted(self.record.owners.owned.get(member.name, ()))

    async def commit(self):
        """Every live member commits all that it owns, at offsets above any before."""
        if not self.can("commit"):
            return
        self.offset += 10
        calls = [m.ask("commit", offsets={name: self.offset for name in self.owned(m)})
                 for m in self.live() if self.owned(m)]
        await asyncio.gather(*calls)

    async def fetch(self, member):
        """Has one member fetch what is committed for all partitions; tries again on an error."""
        if not self.can("commit"):
            return
        names = [f"{t}:{p}" for t, count in self.topics.items() for p in range(count)]
        for _ in range(5):
            found = await member.ask("fetch", partitions=names)
            if found and "error" not in found:
                return
            await asyncio.sleep(COMMIT_PAUSE_S)

    @contextlib.asynccontextmanager
    async def calm(self, members):
        """Nothing may happen to these members meanwhile."""
        self.record.add("calm", members=[m.name for m in members])
        await self.status()
        yield
        await self.status()
        self.record.add("calm-over")

    async def play(self, acts):
        """Awaits what is done to this group, unless its scene is over or that ends it."""
        if self.is_over:
            acts.close()
            return
        try:
            await acts
        except Unsettled:
            self.close()

    def close(self):
        """Ends the record and whatever still runs."""
        if self.is_over:
            return
        self.is_over = True
        self.record.add("end")
        self.record.save(self.directory / f"{self.group}.jsonl")
        for member in self.members.values():
            member.is_expected_to_end = True
            member.signal(9)


async def churn(scene):
    """Members join, commit, leave, are killed, come back, and one sleeps through its eviction."""
    await scene.topic("jobs", 6)
    await scene.topic("sites", 6)
    for name in "abc":
        await scene.start(name)
    await scene.settle("three members joined")
    await scene.commit()
    await scene.start("d")
    await scene.settle("one more joined")
    await scene.commit()
    await scene.members["b"].leave()
    await scene.settle("one left")
    await scene.commit()
    await scene.members["c"].kill()
    await scene.settle("one was killed", SETTLE_EVICTED_S)
    restarted = await scene.start("e")
    await scene.settle("it was started again")
    await scene.fetch(restarted)
    await zombie(scene, scene.members["a"], restarted)


async def zombie(scene, sleeper, witness):
    """Stops a member until the others have taken over, then lets it commit what it once owned."""
    once_owned = scene.owned(sleeper)
    sleeper.stop()
    sleeper.is_expected_to_end = True  # so that it does not count as live
    await scene.settle("one was stopped", SETTLE_EVICTED_S)
    scene.offset += 10
    # The command waits in the program's input, so it is obeyed before the library has learned much.
    call = None
    if scene.can("commit") and once_owned:
        call = sleeper.tell("commit", offsets={name: scene.offset for name in once_owned})
    sleeper.resume()
    sleeper.is_expected_to_end = False
    if call:
        await sleeper.reply(call)
    await scene.settle("it was continued")
    await scene.fetch(witness)
    await scene.commit()


async def pattern(scene):
    """A subscription by pattern, with a topic that appears later and one that does not match."""
    await scene.topic("shards-1", 4)
    await scene.topic("other", 4, is_subscribed=False)
    for name in "pq":
        await scene.start(name, pattern=f"^{scene.group}-shards-.*", metadata_ms=METADATA_MS)
    await scene.settle("two members joined by pattern")
    if scene.can("pattern-late"):
        await scene.topic("shards-2", 4)
        await scene.settle("a matching topic was created")
    await scene.commit()


async def static(scene):
    """Static members restart, once closed and once killed; the others notice nothing."""
    await scene.topic("jobs", 6)
    members = {}
    for i in (1, 2, 3):
        members[i] = await scene.start(f"s{i}", instance=f"i{i}", session_ms=STATIC_SESSION_MS)
    await scene.settle("three static members joined")
    await scene.commit()
    for i in (1, 2):
        before, old = scene.owned(members[i]), members[i]
        async with scene.calm([m for m in members.values() if m is not old]):
            await (old.leave() if i == 1 else old.kill())
            members[i] = await scene.start(f"s{i}-again", instance=f"i{i}",
                                           session_ms=STATIC_SESSION_MS)
            scene.record.add("restarted", member=members[i].name, replaces=old.name,
                             partitions=before)
            await scene.settle(f"static member {i} restarted")
            await asyncio.sleep(CALM_AFTER_RESTART_S)
    await scene.fetch(members[1])


async def idle(scenes, seconds, proxies):
    """Leaves all groups alone and counts what their connections carry."""
    async with contextlib.AsyncExitStack() as stack:
        for scene in scenes:
            await stack.enter_async_context(scene.calm(scene.live()))
        since = asyncio.get_running_loop().time()
        await asyncio.sleep(seconds)
        counts = [count for proxy in proxies.values() for count in proxy.counts(since)]
        for scene in scenes:
            own = [count for count in counts if count["client"].startswith(f"{scene.group}-")]
            scene.record.add("idle", seconds=seconds, connections=own)


async def failover(scenes, cluster, proxies):
    """Kills the leader under all groups at once, and brings the node back at the end."""
    for scene in scenes:
        await scene.commit()
    leader = await asyncio.to_thread(cluster.wait_leader)
    followers = [scene for scene in scenes if scene.can("failover")]
    others = [scene for scene in scenes if not scene.can("failover")]
    async with contextlib.AsyncExitStack() as stack:
        for scene in followers:
            await stack.enter_async_context(scene.calm(scene.live()))
        for scene in scenes:
            note_failover(scene, leader)
        await proxies[leader].close()
        await asyncio.to_thread(cluster.kill, leader)
        recovery = asyncio.gather(*(scene.play(join_anew(scene)) for scene in others))
        await asyncio.gather(*(keep_committing(scene) for scene in followers))
        for scene in followers:
            await scene.fetch(scene.live()[0])
    await asyncio.gather(*(scene.play(lose_one(scene)) for scene in followers
                           if scene.name == "churn"))
    await recovery
    await proxies[leader].open()
    await asyncio.to_thread(cluster.restart, leader)


def note_failover(scene, leader):
    committers = scene.live() if scene.can("commit") and scene.can("failover") else []
    scene.record.add("failover", node=leader, committers=[m.name for m in committers])
    if not scene.can("failover"):
        for member in scene.live():
            scene.record.add("cut", member=member.name)


async def join_anew(scene):
    """Waits until members that cannot follow the coordinator have joined again."""
    await scene.settle("the leader was killed", SETTLE_CUT_S)
    await scene.fetch(scene.live()[0])
    await scene.commit()


async def keep_committing(scene):
    """Commits again and again until the calm has lasted long enough."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + CALM_AFTER_FAILOVER_S
    while loop.time() < deadline:
        await scene.commit()
        await asyncio.sleep(COMMIT_PAUSE_S)


async def lose_one(scene):
    """Kills a member, to see that the new leader has a timer for it."""
    await scene.live()[0].kill()
    await scene.settle("one was killed after the failover", SETTLE_EVICTED_S)
    await scene.commit()
    await scene.fetch(scene.live()[0])


SCENES = {"churn": churn, "pattern": pattern, "static": static}
