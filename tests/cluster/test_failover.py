"""The leader dies: what members, committers and those who look for the coordinator see (behaviours 1,
30, 32, 35, 36, 40; protocol row 37)."""

import datetime
import re
import threading
import time
import unittest

import base
import groups

ELECTION_MS = 300
# From the leader's death to another one's: two election timeouts, rounds of votes on a busy machine.
ELECTION_S = 2.0


class Beater(threading.Thread):
    """Keeps members alive, as their clients would: each beats every [every_s] at whoever leads.
    [wrong] holds what no member caused."""

    def __init__(self, cluster, members, every_s=0.3):
        super().__init__()
        self.cluster, self.members, self.every_s = cluster, members, every_s
        self.wrong = []
        self.stopping = threading.Event()

    def run(self):
        with groups.Coordinator(self.cluster) as coordinator:
            while not self.stopping.is_set():
                began = time.monotonic()
                for member in self.members:
                    error = coordinator.ask(member.beat)
                    if error != 0:
                        self.wrong.append((member.group, member.name, error))
                self.stopping.wait(max(0.0, self.every_s - (time.monotonic() - began)))


class Committer(threading.Thread):
    """Commits for one member, one after the other, as its client would: it repeats what fails until
    it is accepted. [slowest_s] is the longest that this took."""

    def __init__(self, cluster, member):
        super().__init__()
        self.cluster, self.member = cluster, member
        self.wrong, self.count, self.slowest_s = [], 0, 0.0
        self.stopping = threading.Event()

    def run(self):
        with groups.Coordinator(self.cluster) as coordinator:
            while not self.stopping.wait(0.01):
                began = time.monotonic()
                self.count += 1
                errors = coordinator.ask(
                    lambda c: self.member.commit({("jobs", 0): self.count}, c))
                self.slowest_s = max(self.slowest_s, time.monotonic() - began)
                if groups.error_of(errors) != 0:
                    self.wrong.append(errors)


def group_of(cluster, name, size, partitions, **join):
    """A stable group whose members' connections are closed again."""
    members = [groups.Member(cluster, name, f"{name}-{n}", **join).open() for n in range(size)]
    groups.rebalance(members, partitions)
    for member in members:
        member.close()
    return members


def form(cluster, count, size, partitions, **join):
    """Many groups at once, which share the initial delay: {name: members}"""
    crowd = {f"g{n}": [groups.Member(cluster, f"g{n}", f"g{n}-{k}", **join).open()
                       for k in range(size)] for n in range(count)}
    for members in crowd.values():
        for member in members:
            member.obtain_id()
    for members in crowd.values():
        for member in members:
            member.join_begin()
    for members in crowd.values():
        for member in members:
            error = member.join_end()
            assert error == 0, error
        groups.assign(members, partitions)
    for members in crowd.values():
        for member in members:
            member.close()
    return crowd


def describe(cluster, group):
    """(error, state, protocol, members) from whoever leads."""
    with groups.Coordinator(cluster) as coordinator:
        return coordinator.ask(lambda client: client.describe_group(group))


class Beating(base.ClusterTest):
    def test_nobody_is_evicted(self):
        """Behaviours 32, 33, row 37: members beat and commit through the death of the leader, twice.
        None is evicted, no generation changes, no error but those that send a client to the new
        leader, and no commit takes longer than clients retry (5 s)."""
        cluster = self.start(3)
        cluster.create_topic("jobs", 4)
        crowd = form(cluster, 30, 2, [("jobs", n) for n in range(4)], session_ms=3000)
        everybody = [member for members in crowd.values() for member in members]
        beater, committer = Beater(cluster, everybody), Committer(cluster, everybody[0])
        beater.start()
        committer.start()
        for _ in range(2):
            time.sleep(1.0)
            leader = cluster.wait_leader()
            cluster.kill(leader)
            cluster.wait_leader(other_than=leader)
            time.sleep(3.5)  # longer than a session: who was not re-armed is gone by now
            cluster.restart(leader)
        for thread in (beater, committer):
            thread.stopping.set()
            thread.join()
        print(f"\nslowest of {committer.count} commits {committer.slowest_s:.2f} s")
        self.assertEqual(beater.wrong + committer.wrong, [])
        self.assertLess(committer.slowest_s, 5.0)
        for name, members in crowd.items():
            error, state, _, found = describe(cluster, name)
            self.assertEqual((error, state), (0, "Stable"))
            self.assertEqual({m["member_id"] for m in found}, {m.id for m in members})
        with groups.Coordinator(cluster) as coordinator:  # the old generation is the current one
            for member in everybody[:10]:
                errors = coordinator.ask(lambda c, m=member: m.commit({("jobs", 0): 1}, c))
                self.assertEqual(errors, {("jobs", 0): 0})

    def test_who_is_silent_is_evicted_a_session_after_the_takeover(self):
        """Behaviours 1, row 37: the new leader grants one full session, and no more."""
        cluster = self.start(3)
        cluster.create_topic("jobs", 4)
        group_of(cluster, "g", 3, [("jobs", 0)], session_ms=2000)
        leader = cluster.leader()
        cluster.kill(leader)
        cluster.wait_leader(other_than=leader)
        taken_over = time.monotonic()
        self.assertEqual(describe(cluster, "g")[1], "Stable")
        self.wait(lambda: describe(cluster, "g")[1] == "Empty", 4.5, "the group is not Empty")
        self.assertGreater(time.monotonic() - taken_over, 1.0, "no full session was granted")

    def test_cut_sockets_empty_the_group(self):
        """Behaviours 1: all members vanish, from a stable group and in the middle of a rebalance;
        the group is Empty within the session or the rebalance timeout and a tick."""
        cluster = self.start(1)
        cluster.create_topic("jobs", 4)
        group_of(cluster, "stable", 3, [("jobs", 0)], session_ms=1500)
        began = time.monotonic()
        members = [self.member(cluster, "joining", name, session_ms=1500,
                                 rebalance_ms=2000) for name in "abc"]
        groups.rebalance(members, [("jobs", 0)])
        next(m for m in members if m.is_leader()).join_begin()
        self.wait(lambda: describe(cluster, "joining")[1] == "PreparingRebalance", 2, "no rebalance")
        for member in members:
            member.close()
        cut = time.monotonic()
        self.wait(lambda: describe(cluster, "stable")[1] == "Empty",
                  began + 2.5 - time.monotonic(), "the stable group is not Empty")
        # The one that rejoined is in the next generation, as its only member, for one session.
        self.wait(lambda: describe(cluster, "joining")[1] == "Empty",
                  cut + 2.0 + 1.5 + 1.0 - time.monotonic(), "the joining group is not Empty")


class Rounds(base.ClusterTest):
    """The leader dies in the middle of a rebalance."""

    def kill_leader(self, cluster):
        leader = cluster.leader()
        cluster.kill(leader)
        return cluster.wait_leader(other_than=leader)

    def test_an_id_that_was_handed_out_is_known_to_the_next_leader(self):
        """A JoinGroup whose MEMBER_ID_REQUIRED came from the old leader is accepted by the new."""
        cluster = self.start(3)
        cluster.create_topic("jobs", 1)
        member = self.member(cluster, "g", "m")
        member.obtain_id()
        member.open(self.kill_leader(cluster))
        self.assertEqual(groups.rebalance([member], [("jobs", 0)]), 1)

    def test_death_between_generation_and_assignment(self):
        """Joins answered, then the leader dies before it has the assignment: the generation is
        still one and the same, or there is one more."""
        cluster = self.start(3)
        cluster.create_topic("jobs", 2)
        members = [self.member(cluster, "g", name) for name in "ab"]
        for member in members:
            member.obtain_id()
        for member in members:
            member.join_begin()
        for member in members:
            self.assertEqual(member.join_end(), 0)
        self.assertEqual([m.generation for m in members], [1, 1])
        follower = next(m for m in members if not m.is_leader())
        follower.sync_begin()
        following = self.kill_leader(cluster)
        for member in members:
            member.open(following)
            member.sync_begin(groups.shares_of(members, [("jobs", 0), ("jobs", 1)])
                              if member.is_leader() else None)
        errors = [member.sync_end() for member in members]
        if errors != [0, 0]:
            self.assertLessEqual(set(errors), {0, groups.REBALANCE_IN_PROGRESS})
            groups.rebalance(members, [("jobs", 0), ("jobs", 1)])
        self.assertLessEqual(max(m.generation for m in members), 2)
        self.assertEqual(sorted(p for m in members for p in m.owned), [("jobs", 0), ("jobs", 1)])
        for member in members:
            self.assertEqual(member.beat(), 0)

    def test_death_while_members_join(self):
        """Joins parked when the leader dies are made again at the next one: at most one more
        generation than the round itself brings."""
        cluster = self.start(3)
        cluster.create_topic("jobs", 3)
        members = [self.member(cluster, "g", name) for name in "abc"]
        groups.rebalance(members, [("jobs", n) for n in range(3)])
        rejoining = next(m for m in members if m.is_leader())
        rejoining.join_begin()
        time.sleep(0.2)
        following = self.kill_leader(cluster)
        for member in members:
            member.open(following)
        # The facts do not know of the round that was on: the old generation is still good.
        for member in members:
            self.assertEqual(member.beat(), 0)
        self.assertLessEqual(groups.rebalance(members, [("jobs", n) for n in range(3)]), 3)

    def test_static_members_survive_exactly(self):
        """Behaviours 40: the map from instance to member, with a replacement in it, is the same at
        the next leader: the members go on, the replaced id is fenced."""
        cluster = self.start(3)
        cluster.create_topic("jobs", 3)
        members = [self.member(cluster, "g", f"m{n}", instance=f"i{n}") for n in range(3)]
        groups.rebalance(members, [("jobs", n) for n in range(3)])
        old = members[1].id
        members[1].id = ""  # restarted: comes without an id
        members[1].join_begin()
        self.assertEqual(members[1].join_end(), 0)
        self.assertNotEqual(members[1].id, old)
        before = describe(cluster, "g")
        self.kill_leader(cluster)
        with groups.Coordinator(cluster) as coordinator:
            for member in members:
                self.assertEqual(coordinator.ask(member.beat), 0)
            self.assertEqual(
                coordinator.ask(lambda c: c.heartbeat("g", members[1].generation, old, "i1")),
                groups.FENCED_INSTANCE_ID)
        self.assertEqual(describe(cluster, "g"), before)


class Discovery(base.ClusterTest):
    def test_who_coordinates(self):
        """Behaviours 35: from the leader's death on every surviving node answers FindCoordinator; none
        names the dead one for longer than an election, nor a node that then denies it."""
        cluster = self.start(3)
        leader = cluster.leader()
        cluster.kill(leader)
        died = time.monotonic()
        last_named, denied = {}, {}
        agreed = None
        while time.monotonic() - died < 3 * ELECTION_S:
            named = {}
            for i in cluster.alive():
                with cluster.connect(i, timeout_s=2.0) as connection:
                    error, named[i], _, _ = connection.find_coordinator("g")
                self.assertIn(error, (0, 15))
                if named[i] == leader:
                    last_named[i] = time.monotonic() - died
                elif named[i] > 0 and self.denies(cluster, named[i]):
                    denied[i] = time.monotonic() - died
            if agreed is None and len(set(named.values())) == 1 and leader not in named.values() \
                    and -1 not in named.values():
                agreed = time.monotonic() - died
            time.sleep(0.05)
        self.assertLess(max(last_named.values(), default=0), ELECTION_S)
        self.assertLess(max(denied.values(), default=0), ELECTION_S + 2 * ELECTION_MS / 1000)
        self.assertIsNotNone(agreed, "the survivors never agreed")

    @staticmethod
    def denies(cluster, node):
        with groups.connect(cluster, node) as client:
            return client.heartbeat("nobody", 1, "nobody") == groups.NOT_COORDINATOR

    def test_all_groups_are_served_without_a_minority(self):
        """Behaviours 36: two of three nodes, and three of five, serve all groups."""
        for n, deaths in ((3, 1), (5, 2)):
            with self.subTest(nodes=n):
                cluster = self.start(n)
                cluster.create_topic("jobs", 4)
                names = [f"g{k}" for k in range(20)]
                with groups.Coordinator(cluster) as coordinator:
                    for offset in range(deaths + 1):
                        for name in names:
                            commit = {("jobs", 0): 100 + offset}
                            errors = coordinator.ask(lambda c, g=name, o=commit: c.commit(g, o))
                            self.assertEqual(errors, {("jobs", 0): 0})
                            self.assertEqual(coordinator.ask(lambda c, g=name: c.fetch(g)),
                                             (0, commit))
                        if offset < deaths:
                            cluster.kill(cluster.wait_leader())
                error, listed = self.list_groups(cluster)
                self.assertEqual(error, 0)
                self.assertLessEqual(set(names), set(listed))
                cluster.stop()

    @staticmethod
    def list_groups(cluster):
        with groups.connect(cluster, cluster.wait_leader()) as client:
            return client.list_groups()


def times_of(cluster, node, event):
    """When the node logged [event], in seconds."""
    found = re.findall(rf"^(\S+)Z \w+ {event}\b", base.log_text(cluster, node), re.M)
    return [datetime.datetime.fromisoformat(text).timestamp() for text in found]


class Takeover(base.ClusterTest):
    GROUPS, PARTITIONS, COMMITS = 60, 1000, 2

    def test_ready_however_much_there_is(self):
        """Behaviours 30: a new leader serves as soon as its barrier has committed, with 60,000
        offsets (and as many overwritten ones in the log) as with none."""
        took = {}
        for load in (0, self.GROUPS):
            cluster = self.start(3)
            cluster.create_topic("jobs", self.PARTITIONS)
            with groups.Coordinator(cluster) as coordinator:
                for offset in range(self.COMMITS):
                    for n in range(load):
                        rows = {("jobs", p): offset for p in range(self.PARTITIONS)}
                        errors = coordinator.ask(lambda c, g=f"g{n}", o=rows: c.commit(g, o))
                        self.assertEqual(groups.error_of(errors), 0)
            base.settled(cluster)
            leader = cluster.leader()
            cluster.kill(leader)
            killed = time.monotonic()
            with groups.Coordinator(cluster) as coordinator:
                errors = coordinator.ask(lambda c: c.commit("after", {("jobs", 0): 1}))
                self.assertEqual(errors, {("jobs", 0): 0})
                following = cluster.leader()
            won = times_of(cluster, following, "raftlog_election_won")[-1]
            ready = times_of(cluster, following, "leading")[-1]
            took[load] = ready - won
            if load:
                self.assertEqual(int(base.status(cluster, following)["offsets"]),
                                 load * self.PARTITIONS + 1)
            print(f"\n{load * self.PARTITIONS} offsets: {1000 * took[load]:.0f} ms from election to "
                  f"service, {time.monotonic() - killed:.2f} s from the death to a commit")
            cluster.stop()
        self.assertLess(took[self.GROUPS], took[0] + 0.25)


if __name__ == "__main__":
    unittest.main()
