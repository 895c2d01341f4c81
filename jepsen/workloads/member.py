"""A member of a group as client libraries behave, which a workload may also stop, kill or copy.

run() keeps it in its group until it is told to leave. While it is settled, work(member) of its
workload runs beside the heartbeats; it ends itself when `member.is_settled` no longer holds, and
only then does the member join again, as a client commits before it gives its partitions back.
"""

import asyncio

import groups

from . import ops
from .link import Lost
from .standing import ANSWERS, Next, Standing
from .world import BACKOFF_S

WORK_END_S = 10.0
REST_S = 0.1


class Shape:
    """What the members of one group have in common. [topics]: {name: partitions}."""

    def __init__(self, group, topics, *, session_ms=6000, rebalance_ms=6000, beat_s=1.0,
                 request_s=1.5):
        self.group, self.topics = group, topics
        self.session_ms, self.rebalance_ms = session_ms, rebalance_ms
        self.beat_s, self.request_s = beat_s, request_s

    def partitions(self):
        return [(topic, index) for topic, count in sorted(self.topics.items())
                for index in range(count)]


def deal(ids, partitions):
    """The leader's assignor."""
    ids = sorted(ids)
    return {who: partitions[place::len(ids)] for place, who in enumerate(ids)}


class Member(Standing):
    def __init__(self, world, name, shape, place, instance=None, work=None):
        super().__init__(instance)
        self.world, self.name, self.shape, self.place = world, name, shape, place
        self.work = work
        self.link = None
        self.process = world.clerk.process()  # joins, syncs, beats, leaves
        self.committer = world.clerk.process()  # what work() asks
        self.task = self.working = None
        self.is_leaving = self.is_stopped = False
        self.last_id = ""
        self.awake = asyncio.Event()  # cleared while it is paused
        self.awake.set()
        self.nudged = asyncio.Event()  # do not wait for the next beat

    def start(self):
        self.world.members[self.name] = self
        self._life("start")
        self.task = self.world.spawn(self.run())
        return self

    def _life(self, what):
        self.world.clerk.life("witness", what, [self.last_id or self.name], name=self.name,
                              group=self.shape.group, instance=self.instance)

    # What others do to it

    def pause(self):
        if self.awake.is_set():
            self.awake.clear()
            self._life("pause")

    def resume(self):
        if not self.awake.is_set():
            self._life("resume")
            self.awake.set()
            self.nudge()

    async def kill(self):
        """Gone without a word."""
        if self.task is not None and not self.task.done():
            self._life("kill")
        await self._end()

    async def leave(self, timeout_s=5.0):
        """Leaves as a dynamic member does on close; a static one just goes."""
        self.is_leaving, self.is_settled = True, False
        self.awake.set()
        self.nudge()
        _, pending = await asyncio.wait([self.task], timeout=timeout_s)
        if not pending:
            self._life("close")
        await self.kill()

    async def _end(self):
        self.is_settled = False
        tasks = [task for task in (self.working, self.task) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.link is not None:
            self.link.drop()
        if self.world.members.pop(self.name, None) is not None:
            self.process.release()
            self.committer.release()

    def nudge(self):
        self.nudged.set()

    def rejoin(self):
        """Calls for a rebalance, which a leader's or a changed member's JoinGroup does."""
        self.is_settled = False
        self.nudge()

    # Its life

    async def run(self):
        try:
            while not self.is_leaving:
                await self.awake.wait()
                if self.link is None or self.link.is_lost:
                    self.link = await self.world.coordinator(self.place, self.name)
                action = await (self._stay() if self.is_settled else self._enter())
                if action is Next.STOP or self.is_stopped:
                    self._life("close")
                    return
                await self._recover(action)
            await self._work_ended()
            await self._say_goodbye()
        finally:
            self.is_settled = False
            if self.link is not None:
                self.link.drop()

    async def _recover(self, action):
        if action is Next.FIND:
            self.link.drop()
        if action in (Next.FIND, Next.RETRY):
            await asyncio.sleep(BACKOFF_S)

    async def _stay(self):
        """One beat's time, then a heartbeat."""
        try:
            await asyncio.wait_for(self.nudged.wait(), self.shape.beat_s)
            self.nudged.clear()
        except asyncio.TimeoutError:
            pass
        await self.awake.wait()
        if self.is_leaving or not self.is_settled:
            return Next.GO_ON
        if self.link.is_lost:  # its work has noticed
            return Next.FIND
        found = await ops.heartbeat(self.process, self.link, self.shape.group, self.identity(),
                                    self.shape.request_s)
        return self.hear(found.error or 0)

    async def _enter(self):
        await self._work_ended()
        shape = self.shape
        found = await ops.join(
            self.process, self.link, shape.group, self.id, self.instance,
            topics=sorted(shape.topics), session_ms=shape.session_ms,
            rebalance_ms=shape.rebalance_ms,
            timeout_s=shape.rebalance_ms / 1000 + shape.request_s)
        if found.type != "ok":
            if found.error == groups.MEMBER_ID_REQUIRED:
                self.named(found.value["member"])
            return self.hear(found.error)
        self.joined(found.value["gen"], found.value["member"])
        self.last_id = self.id
        shares = {}
        if found.value["leader"] == self.id and found.value["members"]:
            shares = deal([who for who, _ in found.value["members"]], shape.partitions())
        found = await ops.sync(self.process, self.link, shape.group, self.identity(), shares,
                               shape.rebalance_ms / 1000 + shape.request_s)
        if found.type != "ok":
            return self.hear(found.error)
        self.synced(found.value)
        if self.work is not None:
            self.working = self.world.spawn(self.work(self))
        return Next.GO_ON

    async def _work_ended(self):
        if self.working is None:
            return
        task, self.working = self.working, None
        _, pending = await asyncio.wait([task], timeout=WORK_END_S)
        for late in pending:
            late.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _say_goodbye(self):
        if self.instance is None and self.id and not self.link.is_lost:
            try:
                await ops.leave(self.process, self.link, self.shape.group, self.id, None,
                                self.shape.request_s)
            except Lost:
                pass

    # What work() uses

    async def rest(self, seconds):
        """Sleeps, but no longer than it is settled: whoever rebalances waits for it."""
        until = asyncio.get_running_loop().time() + seconds
        while self.is_settled and (left := until - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(min(left, REST_S))

    async def commit(self, rows):
        """[rows]: as ops.commit takes them. Tells the member what the answer means for it."""
        await self.awake.wait()
        if self.link is None or self.link.is_lost:
            return ops.Outcome("unsent", "refused", {})
        found = await ops.commit(self.committer, self.link, self.shape.group, self.identity(),
                                 rows, self.shape.request_s)
        self._heard(found)
        return found

    async def fetch(self, partitions):
        await self.awake.wait()
        if self.link is None or self.link.is_lost:
            return ops.Outcome("unsent", "refused", {})
        found = await ops.fetch(self.committer, self.link, self.shape.group, partitions,
                                self.shape.request_s)
        self._heard(found)
        return found

    def _heard(self, found):
        if found.error not in ANSWERS or self.is_leaving:
            return
        action = self.hear(found.error)
        self.is_stopped = action is Next.STOP
        if action is Next.FIND and self.link is not None:
            self.link.drop()
        if action is not Next.GO_ON:
            self.nudge()

    def rows(self, partitions, kind, chance):
        """Rows to commit for some of its partitions: the feed's next offset of each."""
        return [(topic, index, self.world.offset(self.shape.group, topic, index),
                 chance.choice((-1, 0, 3)), self.world.clerk.op_id(kind))
                for topic, index in partitions]
