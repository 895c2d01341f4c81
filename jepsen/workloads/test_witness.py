"""The witness: its state machine, its events, and both against a node that answers by a script."""

import asyncio
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import workloads  # noqa: E402, F401  (the paths)
import groups  # noqa: E402
from history import DEFINITE, PROCESS_STEP  # noqa: E402
from workloads import link as links, ops  # noqa: E402
from workloads.clerk import Clerk  # noqa: E402
from workloads.crowd import Crowd  # noqa: E402
from workloads.fake import (HANG_UP, NOISE, SILENCE, Book, Node, beaten, committed,  # noqa: E402
                            joined, left, synced, unpaired)
from workloads.member import Member, Shape, deal  # noqa: E402
from workloads.probe import EVERY_S, Probe  # noqa: E402
from workloads.standing import ANSWERS, Next, Standing  # noqa: E402
from workloads.world import World  # noqa: E402
from wire import array, int16, int32  # noqa: E402

COMMIT, JOIN, BEAT, LEAVE, SYNC = (groups.OFFSET_COMMIT, groups.JOIN_GROUP, groups.HEARTBEAT,
                                   groups.LEAVE_GROUP, groups.SYNC_GROUP)
ROW = ("t", 0, 7, -1, "c-1")
IDENTITY = (3, "m", None)


class StandingTest(unittest.TestCase):
    def settled(self):
        standing = Standing()
        standing.joined(4, "m")
        standing.synced({("t", 0)})
        return standing

    def test_what_each_answer_leads_to(self):
        for error, (action, is_settled, member) in {
                0: (Next.GO_ON, True, "m"), 27: (Next.JOIN, False, "m"),
                22: (Next.JOIN, False, "m"), 25: (Next.JOIN, False, ""),
                82: (Next.STOP, False, ""), 14: (Next.RETRY, True, "m"),
                7: (Next.RETRY, True, "m"), 15: (Next.FIND, True, "m"),
                16: (Next.FIND, True, "m"), "timeout": (Next.FIND, True, "m"),
                "closed": (Next.FIND, True, "m"), "refused": (Next.FIND, True, "m"),
                "garbled": (Next.FIND, True, "m"), 26: (Next.STOP, False, "m")}.items():
            with self.subTest(error=error):
                standing = self.settled()
                self.assertEqual(standing.hear(error), action)
                self.assertEqual((standing.is_settled, standing.id), (is_settled, member))

    def test_unknown_member_forgets_generation_and_partitions(self):
        standing = self.settled()
        standing.hear(25)
        self.assertEqual(standing.identity(), (-1, "", None))
        self.assertEqual(standing.owned, frozenset())

    def test_keeps_its_instance(self):
        standing = Standing("i")
        standing.joined(4, "m")
        standing.hear(25)
        self.assertEqual(standing.identity(), (-1, "", "i"))

    def test_given_id(self):
        standing = Standing()
        self.assertEqual(standing.hear(79), Next.JOIN)
        standing.named("m")
        self.assertEqual(standing.identity(), (-1, "m", None))

    def test_knows_all_errors_of_a_lost_link(self):
        for reason in ("timeout", "closed", "refused", "garbled"):
            self.assertIn(reason, ANSWERS)


class ClerkTest(unittest.TestCase):
    def setUp(self):
        self.book = Book()
        self.clerk = Clerk(self.book)

    def test_a_number_is_retired_after_info_alone(self):
        process = self.clerk.process()
        for type_ in ("ok", "fail", "info", "ok"):
            process.invoke("fetch", {}, "n1")
            process.complete(type_, {}, "n1")
        numbers = [event["process"] for event in self.book.events if event["type"] == "invoke"]
        self.assertEqual(numbers, [0, 0, 0, PROCESS_STEP])
        self.assertEqual(unpaired(self.book.events), [])

    def test_one_request_at_a_time(self):
        process = self.clerk.process()
        process.invoke("fetch", {}, "n1")
        with self.assertRaises(AssertionError):
            process.invoke("fetch", {}, "n1")
        with self.assertRaises(AssertionError):
            process.release()
        process.complete("ok", {}, "n1")
        with self.assertRaises(AssertionError):
            process.complete("ok", {}, "n1")

    def test_a_released_number_is_used_again_but_no_retired_one(self):
        process = self.clerk.process()
        process.invoke("fetch", {}, "n1")
        process.complete("info", {}, "n1")
        process.release()
        self.assertEqual(self.clerk.process().number, PROCESS_STEP)
        self.assertEqual(self.clerk.process().number, 1)

    def test_op_ids_differ(self):
        self.assertEqual(len({self.clerk.op_id("c") for _ in range(100)}), 100)

    def test_unpaired_sees_what_is_wrong(self):
        def event(process, type_):
            return {"process": process, "type": type_, "f": "fetch"}
        good = [event(1, "invoke"), event(1, "ok")]
        self.assertEqual(unpaired(good), [])
        for bad in (good[:1], good[1:], good + good[1:], [good[0], good[0], good[1]],
                    [good[0], event(1, "info"), *good]):
            self.assertNotEqual(unpaired(bad), [])


class PartsTest(unittest.TestCase):
    def test_one_good_part_makes_it_ok(self):
        self.assertEqual(ops.judge_parts([("t", 0, 3), ("t", 1, 0)]).type, "ok")

    def test_all_definite_is_fail(self):
        for code in DEFINITE:
            found = ops.judge_parts([("t", 0, code), ("t", 1, 3)])
            self.assertEqual((found.type, found.error), ("fail", code))

    def test_one_open_part_leaves_all_open(self):
        found = ops.judge_parts([("t", 0, 3), ("t", 1, 16)])
        self.assertEqual((found.type, found.error), ("info", 16))

    def test_no_parts_is_no_answer(self):
        self.assertEqual(ops.judge_parts([]).type, "info")

    def test_deal(self):
        pairs = [("t", index) for index in range(5)]
        shares = deal(["b", "a"], pairs)
        self.assertEqual(sorted(sum(shares.values(), [])), pairs)
        self.assertEqual(shares["a"], [("t", 0), ("t", 2), ("t", 4)])


class Scripted(unittest.IsolatedAsyncioTestCase):
    """With a node that answers by a script."""

    async def begin(self, script):
        self.node = await Node(script).start()
        self.addAsyncCleanup(self.node.stop)
        self.book = Book()
        self.world = World({"n1": self.node.address}, [None], self.book, 1,
                           workloads.Settings())
        self.link = await links.connect(self.world.place(0), "n1", self.node.address, 1.0)
        self.addCleanup(self.link.drop)
        self.process = self.world.clerk.process()


class LinkTest(Scripted):
    async def commit(self):
        return await ops.commit(self.process, self.link, "g", IDENTITY, [ROW], 0.3)

    async def test_commit_that_succeeds(self):
        await self.begin({COMMIT: [committed({("t", 0): 0})]})
        found = await self.commit()
        self.assertEqual(found.type, "ok")
        invoke, ok = self.book.events
        self.assertEqual(invoke["value"], {"group": "g", "gen": 3, "member": "m",
                                           "instance": None, "parts": [["t", 0, 7, -1, "c-1"]]})
        self.assertEqual((ok["type"], ok["value"]), ("ok", {"parts": [["t", 0, 0]]}))

    async def test_how_a_commit_ends(self):
        for reply, wanted in ((committed({("t", 0): 22}), ("fail", 22)),
                              (committed({("t", 0): 16}), ("info", 16)),
                              (SILENCE, ("info", "timeout")), (HANG_UP, ("info", "closed")),
                              (NOISE, ("info", "garbled"))):
            with self.subTest(wanted=wanted):
                await self.begin({COMMIT: [reply]})
                found = await self.commit()
                self.assertEqual((found.type, found.error), wanted)
                self.assertEqual(self.book.told(), [(wanted[0], "commit", wanted[1])])
                self.assertEqual(unpaired(self.book.events), [])

    async def test_what_was_never_sent_is_no_event(self):
        await self.begin({COMMIT: [SILENCE]})
        await self.commit()
        self.assertTrue(self.link.is_lost)
        self.assertEqual((await self.commit()).type, "unsent")
        self.assertEqual(len(self.book.events), 2)

    async def test_nobody_listens(self):
        await self.begin({})
        await self.node.stop()
        with self.assertRaises(links.Lost):
            await links.connect(self.world.place(0), "n1", self.node.address, 0.5)

    async def test_cancelled_in_the_middle(self):
        await self.begin({COMMIT: [SILENCE]})
        task = asyncio.create_task(self.commit())
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self.assertEqual(self.book.told(), [("info", "commit", "closed")])

    async def test_answers_find_their_requests(self):
        """Two in flight on one link, the first given up by its caller."""
        await self.begin({COMMIT: [committed({("t", 0): 22}), committed({("t", 0): 0})]})
        other = self.world.clerk.process()
        first = asyncio.create_task(self.commit())
        second = asyncio.create_task(ops.commit(other, self.link, "g", IDENTITY, [ROW], 0.3))
        await asyncio.sleep(0)
        first.cancel()
        self.assertEqual((await second).type, "ok")
        self.assertEqual(unpaired(self.book.events), [])

    async def test_pipelined(self):
        codes = [0, 22, 0, 25, 0]
        await self.begin({COMMIT: [committed({("t", 0): code}) for code in codes]})
        processes = [self.world.clerk.process() for _ in codes]
        found = await asyncio.gather(*(ops.commit(process, self.link, "g", IDENTITY, [ROW], 0.3)
                                       for process in processes))
        self.assertEqual([f.error or 0 for f in found], codes)


class MemberTest(Scripted):
    async def live(self, script, instance=None, until=None, work=None, **shape):
        """A member with that node until [until] holds; then it leaves."""
        script.setdefault(LEAVE, [left(0)])
        await self.begin(script)
        shape = Shape("g", {"t": 2}, session_ms=400, rebalance_ms=400, beat_s=0.02, request_s=0.3,
                      **shape)
        self.member = Member(self.world, "w", shape, self.world.place(0), instance, work).start()
        for _ in range(200):
            await asyncio.sleep(0.01)
            if until():
                break
        else:
            self.fail(f"did not happen; the node saw {self.node.keys()}")
        await self.member.leave()
        self.assertEqual(unpaired(self.book.events), [])
        self.assertEqual(self.world.failures, [])

    def joins(self):
        """The member ids of the JoinGroups that came."""
        ids = []
        for key, body in self.node.seen:
            if key == JOIN:
                reader = groups.Reader(body)
                reader.string(), reader.int32(), reader.int32()
                ids.append(reader.string())
        return ids

    ENTER = {JOIN: [joined(79, member="m"), joined(0, 1, "m", "m", ["m"])],
             SYNC: [synced(0, [("t", 0)])]}

    async def test_enters_beats_and_leaves(self):
        await self.live({**self.ENTER, BEAT: [beaten(0)]},
                        until=lambda: self.node.keys().count(BEAT) > 2)
        self.assertEqual(self.node.keys()[:3], [JOIN, JOIN, SYNC])
        self.assertEqual(self.joins(), ["", "m"])
        self.assertEqual(self.node.keys()[-1], LEAVE)
        self.assertEqual(self.book.told("join"), [("fail", "join", 79), ("ok", "join", None)])
        syncs = [e for e in self.book.events if e["f"] == "sync" and e["type"] == "invoke"]
        self.assertEqual(syncs[0]["value"]["assignments"], {"m": [["t", [0, 1]]]})

    async def test_joins_again_under_its_id(self):
        for error in (27, 22):
            with self.subTest(error=error):
                await self.live({**self.ENTER, BEAT: [beaten(0), beaten(error), beaten(0)]},
                                until=lambda: len(self.joins()) > 2)
                self.assertEqual(self.joins()[2], "m")
                self.assertIn(("fail", "heartbeat", error), self.book.told())

    async def test_begins_anew_when_unknown(self):
        await self.live({**self.ENTER, BEAT: [beaten(25), beaten(0)]},
                        until=lambda: len(self.joins()) > 2)
        self.assertEqual(self.joins()[2], "")

    async def test_goes_on_after_another_coordinator(self):
        """Found again, and its group has noticed nothing."""
        for reply in (beaten(16), beaten(15), HANG_UP, SILENCE):
            with self.subTest(reply=reply):
                await self.live({**self.ENTER, BEAT: [reply, beaten(0)]},
                                until=lambda: self.node.keys().count(BEAT) > 3)
                self.assertEqual(len(self.joins()), 2)

    async def test_stops_when_fenced(self):
        await self.live({JOIN: [joined(0, 1, "m", "m", ["m"])], SYNC: [synced(0)],
                         BEAT: [beaten(82)]}, instance="i",
                        until=lambda: self.member.task.done())
        self.assertEqual(self.joins(), [""])
        self.assertNotIn(LEAVE, self.node.keys())

    async def test_stops_when_its_commit_is_fenced(self):
        async def work(member):
            while member.is_settled:
                await member.commit([ROW])
        await self.live({JOIN: [joined(0, 1, "m", "m", ["m"])], SYNC: [synced(0)],
                         BEAT: [beaten(0)], COMMIT: [committed({("t", 0): 82})]}, instance="i",
                        work=work, until=lambda: self.member.task.done())
        self.assertEqual(self.joins(), [""])
        self.assertEqual(self.node.keys().count(COMMIT), 1)

    async def test_joins_only_after_its_work_has_ended(self):
        order = []

        async def work(member):
            while member.is_settled:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            order.append(len(self.joins()))
        await self.live({**self.ENTER, BEAT: [beaten(27), beaten(0)]}, work=work,
                        until=lambda: len(self.joins()) > 2)
        self.assertEqual(order[0], 2)

    async def test_static_members_say_no_goodbye(self):
        await self.live({JOIN: [joined(0, 1, "m", "m", ["m"])], SYNC: [synced(0)],
                         BEAT: [beaten(0)]}, instance="i",
                        until=lambda: self.node.keys().count(BEAT) > 1)
        self.assertNotIn(LEAVE, self.node.keys())

    async def test_paused_it_asks_nothing(self):
        await self.live({**self.ENTER, BEAT: [beaten(0)]},
                        until=lambda: self.node.keys().count(BEAT) > 1)
        lives = [e["value"]["what"] for e in self.book.events if e["f"] == "life"]
        self.assertEqual(lives, ["start", "close"])
        await self.begin({**self.ENTER, BEAT: [beaten(0)]})
        member = Member(self.world, "w", self.member.shape, self.world.place(0)).start()
        await asyncio.sleep(0.2)
        member.pause()
        await asyncio.sleep(0.1)
        count = len(self.node.seen)
        await asyncio.sleep(0.2)
        self.assertEqual(len(self.node.seen), count)
        member.resume()
        await asyncio.sleep(0.1)
        self.assertGreater(len(self.node.seen), count)
        await member.kill()
        self.assertNotIn(LEAVE, self.node.keys())
        self.assertEqual(unpaired(self.book.events), [])

    async def test_killed_in_a_join(self):
        await self.begin({JOIN: [SILENCE]})
        member = Member(self.world, "w", Shape("g", {"t": 1}), self.world.place(0)).start()
        await asyncio.sleep(0.1)
        await member.kill()
        self.assertEqual(self.book.told("join"), [("info", "join", "closed")])
        self.assertEqual(unpaired(self.book.events), [])
        self.assertEqual(self.world.members, {})


class ProbeTest(Scripted):
    async def test_a_node_that_is_silent_delays_nobody(self):
        fetched = int32(0) + array([]) + int16(0)
        await self.begin({groups.OFFSET_FETCH: [fetched],
                          COMMIT: [committed({("probe", 0): 0})]})
        silent = await Node({groups.OFFSET_FETCH: [SILENCE]}).start()
        self.addAsyncCleanup(silent.stop)
        self.world.nodes["n2"] = silent.address
        Probe(self.world).start()
        await asyncio.sleep(10 * EVERY_S)
        self.assertGreater(sum(event["type"] == "ok" for event in self.book.events), 6)
        self.assertEqual(set(self.node.keys()), {groups.OFFSET_FETCH, COMMIT})
        self.assertEqual(set(silent.keys()), {groups.OFFSET_FETCH})
        self.assertIn(("info", "fetch", "timeout"), self.book.told("fetch"))
        self.assertEqual(self.world.failures, [])


class ChanceTest(unittest.TestCase):
    def draws(self, seed):
        world = World({"n1": ("127.0.0.1", 1)}, [None], Book(), seed, workloads.Settings())
        return [world.chance("a").random(), world.chance("b").random()]

    def test_the_seed_decides(self):
        self.assertEqual(self.draws(1), self.draws(1))
        self.assertNotEqual(self.draws(1), self.draws(2))
        self.assertEqual(len(set(self.draws(1))), 2)

    def test_offsets_rise_whoever_asks(self):
        world = World({"n1": ("127.0.0.1", 1)}, [None], Book(), 1, workloads.Settings())
        self.assertEqual([world.offset("g", "t", 0) for _ in range(3)], [1, 2, 3])
        self.assertEqual(world.offset("g", "t", 1), 1)

    def test_every_workload_can_be_made(self):
        world = World({"n1": ("127.0.0.1", 1)}, [None], Book(), 1, workloads.Settings())
        for name, load in workloads.WORKLOADS.items():
            if load is not None:
                made = load(world)
                self.assertTrue(made.topics, name)
                if isinstance(made, Crowd):
                    self.assertEqual(made.name, name)


if __name__ == "__main__":
    unittest.main()
