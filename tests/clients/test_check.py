"""Tests of check.py with hand-written records: python3 -m unittest test_check (in this folder).

Each rule has good records, which must pass, and bad ones, which exactly that rule must catch.
"""

import unittest

import check

T = {"t": 2}  # the topics of most records: one of two partitions


def at(t, event, member=None, **fields):
    entry = {"t": float(t), "event": event, **fields}
    return entry if member is None else {**entry, "member": member}


def own(t, member, *partitions, **more):
    return at(t, "assigned", member, partitions=list(partitions), **more)


def give(t, member, *partitions, event="revoked"):
    return at(t, event, member, partitions=list(partitions))


def settled(t, *members, topics=None):
    return at(t, "settled", after="a step", members=list(members), topics=topics or T)


def status(t, member, *partitions, records=0, **more):
    return at(t, "status", member, id=int(t), owned=list(partitions), records=records, **more)


def ask_commit(t, member, number, **offsets):
    return at(t, "asked", member, command="commit", id=number, offsets=colons(offsets))


def commit(t, member, number, error=None, **offsets):
    fields = {"error": error} if error else {}
    return at(t, "committed", member, id=number, offsets=colons(offsets), **fields)


def ask_fetch(t, member, number):
    return at(t, "asked", member, command="fetch", id=number, partitions=["t:0"])


def fetched(t, member, number, **offsets):
    return at(t, "fetched", member, id=number, offsets=colons(offsets))


def colons(offsets):
    """t_0=5 -> {"t:0": 5}"""
    return {name.replace("_", ":"): offset for name, offset in offsets.items()}


def pair(*more):
    """Two members that share the topic from the first second on, then more."""
    return [at(0, "started", "a"), at(0, "started", "b"), own(1, "a", "t:0"), own(1, "b", "t:1"),
            *more]


ILLEGAL = {"code": 22, "text": "ILLEGAL_GENERATION"}
TIMED_OUT = {"code": -185, "text": "timed out"}
DISCONNECTED = {"code": None, "text": "Error: socket closed"}


class RuleTest(unittest.TestCase):
    rule = None

    def good(self, record):
        self.assertEqual(list(self.rule(record)), [])

    def bad(self, record, *words):
        complaints = list(self.rule(record))
        self.assertTrue(complaints, "nothing found")
        for word in words:
            self.assertIn(word, " ".join(complaints))


class Settled(RuleTest):
    rule = staticmethod(check.rule_settled)

    def test_shared(self):
        self.good(pair(settled(2, "a", "b")))

    def test_full_assignment_replaces_the_one_before(self):
        self.good(pair(own(2, "b", "t:0", "t:1", full=True), at(2, "left", "a"), settled(3, "b")))

    def test_increments_add_up(self):
        self.good(pair(at(2, "killed", "b"), own(9, "a", "t:1"), settled(10, "a")))

    def test_nobody_owns_one(self):
        self.bad(pair(give(2, "a", "t:0"), settled(3, "a", "b")), "t:0 is owned by nobody")

    def test_two_own_one(self):
        self.bad(pair(own(2, "a", "t:1"), settled(3, "a", "b")), "t:1 is owned by ['a', 'b']")

    def test_dead_members_partition_is_not_taken_over(self):
        self.bad(pair(at(2, "killed", "b"), settled(20, "a")), "t:1 is owned by nobody")

    def test_partition_of_a_foreign_topic(self):
        self.bad(pair(own(2, "a", "x:0"), settled(3, "a", "b")), "x:0")

    def test_member_without_a_share(self):
        record = [at(0, "started", "a"), at(0, "started", "b"), own(1, "a", "t:0", "t:1"),
                  settled(2, "a", "b")]
        self.bad(record, "unfair")

    def test_uneven_shares(self):
        record = [at(0, "started", "a"), at(0, "started", "b"), own(1, "a", "t:0", "t:1", "t:2"),
                  own(1, "b", "t:3"), settled(2, "a", "b", topics={"t": 4})]
        self.bad(record, "unfair")

    def test_late_matching_topic_is_not_picked_up(self):
        self.bad(pair(settled(9, "a", "b", topics={"t": 2, "late": 2})), "late:0")

    def test_nobody_lives(self):
        self.bad([settled(1)], "t:0")


class Exclusive(RuleTest):
    rule = staticmethod(check.rule_exclusive)

    def test_handed_over(self):
        self.good(pair(give(2, "a", "t:0"), own(3, "b", "t:0"), settled(9, "a", "b")))

    def test_pipes_may_differ_a_little(self):
        self.good(pair(own(2, "b", "t:0"), give(2.1, "a", "t:0"), settled(9, "a", "b")))

    def test_a_killed_member_owns_nothing(self):
        self.good(pair(at(2, "killed", "a"), own(9, "b", "t:0"), settled(19, "b")))

    def test_a_stopped_member_owns_nothing_until_it_is_assigned_again(self):
        self.good(pair(at(2, "stopped", "a"), own(12, "b", "t:0"), at(20, "continued", "a"),
                       give(21, "a", "t:0", event="lost"), settled(30, "b")))

    def test_a_member_without_coordinator_owns_nothing_until_it_is_assigned_again(self):
        self.good(pair(at(2, "cut", "a"), at(2, "cut", "b"), own(30, "b", "t:0", "t:1", full=True),
                       own(40, "b", "t:1", full=True), own(40, "a", "t:0", full=True)))

    def test_two_owners_at_once(self):
        self.bad(pair(own(2, "b", "t:0"), give(4, "a", "t:0")), "t:0", "a and b")

    def test_two_owners_to_the_end(self):
        self.bad(pair(own(2, "b", "t:0"), settled(9, "a", "b")), "t:0")


class Status(RuleTest):
    rule = staticmethod(check.rule_status)

    def test_library_agrees_with_its_listener(self):
        self.good(pair(status(2, "a", "t:0")))

    def test_library_owns_what_it_did_not_announce(self):
        self.bad(pair(status(2, "a", "t:0", "t:1")), "t:1")

    def test_records_out_of_nowhere(self):
        self.bad(pair(status(2, "a", "t:0", records=3)), "3 records")


class Generations(RuleTest):
    rule = staticmethod(check.rule_generations)

    def told(self, t, member, generation, *partitions):
        return status(t, member, *partitions, member_id=member, generation=generation)

    def test_one_assignment_per_generation(self):
        self.good([self.told(1, "a", 1, "t:0"), self.told(1, "b", 1, "t:1"),
                   self.told(2, "a", 2, "t:0", "t:1"), self.told(3, "a", 2, "t:0", "t:1")])

    def test_clients_that_do_not_tell(self):
        self.good([status(1, "a", "t:0"), status(1, "b", "t:0")])

    def test_restarted_static_member_is_the_same_member(self):
        self.good([self.told(1, "a", 1, "t:0"), at(2, "restarted", "a2", replaces="a"),
                   self.told(3, "a2", 1, "t:0")])

    def test_one_partition_twice_in_a_generation(self):
        self.bad([self.told(1, "a", 1, "t:0"), self.told(1, "b", 1, "t:0")], "generation 1")

    def test_two_assignments_of_one_member(self):
        self.bad([self.told(1, "a", 1, "t:0"), self.told(2, "a", 1, "t:1")], "two assignments")

    def test_generation_goes_back(self):
        self.bad([self.told(1, "a", 5, "t:0"), self.told(2, "a", 4, "t:0")], "went back")


class Offsets(RuleTest):
    rule = staticmethod(check.rule_offsets)

    def committed(self, *more, error=None):
        return [ask_commit(1, "a", 1, t_0=5), commit(2, "a", 1, t_0=5),
                ask_commit(3, "a", 2, t_0=9), commit(4, "a", 2, error=error, t_0=9), *more]

    def test_last_commit_is_found(self):
        self.good(self.committed(ask_fetch(5, "b", 1), fetched(6, "b", 1, t_0=9)))

    def test_unknown_outcome_may_be_found_or_not(self):
        for offset in (5, 9):
            self.good(self.committed(ask_fetch(5, "b", 1), fetched(6, "b", 1, t_0=offset),
                                     error=TIMED_OUT))

    def test_commit_during_the_fetch_may_be_missed(self):
        self.good([ask_commit(1, "a", 1, t_0=5), ask_fetch(2, "b", 1), commit(3, "a", 1, t_0=5),
                   fetched(4, "b", 1, t_0=-1)])

    def test_lower_than_acknowledged(self):
        self.bad(self.committed(ask_fetch(5, "b", 1), fetched(6, "b", 1, t_0=5)), "9 had been")

    def test_lost(self):
        self.bad(self.committed(ask_fetch(5, "b", 1), fetched(6, "b", 1, t_0=-1)), "9 had been")

    def test_refused_and_yet_there(self):
        self.bad(self.committed(ask_fetch(5, "b", 1), fetched(6, "b", 1, t_0=9), error=ILLEGAL),
                 "refused")

    def test_invented(self):
        self.bad(self.committed(ask_fetch(5, "b", 1), fetched(6, "b", 1, t_0=77)), "nobody")


class Calm(RuleTest):
    rule = staticmethod(check.rule_calm)

    def calm(self, *events):
        return [at(10, "calm", members=["a", "b"]), *events, at(99, "calm-over")]

    def test_nothing_happens(self):
        self.good(self.calm(status(11, "a", "t:0", member_id="x", generation=3),
                            status(90, "a", "t:0", member_id="x", generation=3)))

    def test_commit_to_try_again(self):
        self.good(self.calm(commit(20, "a", 1, error=TIMED_OUT, t_0=5),
                            commit(20, "b", 1, error=DISCONNECTED, t_0=5)))

    def test_others_and_other_times_do_not_matter(self):
        self.good([give(5, "a", "t:0"), *self.calm(own(20, "c", "t:5")), own(100, "a", "t:0")])

    def test_revocation(self):
        self.bad(self.calm(give(20, "a", "t:0")), "a at 20.0 s", "revoked")

    def test_empty_callbacks_are_a_rebalance_too(self):
        self.bad(self.calm(own(20, "b")), "assigned")

    def test_lost_partitions(self):
        self.bad(self.calm(give(20, "a", "t:0", event="lost")), "lost")

    def test_error(self):
        self.bad(self.calm(at(20, "error", "a", code=None, text="no longer a member")), "error")

    def test_fenced_commit(self):
        self.bad(self.calm(commit(20, "a", 1, error=ILLEGAL, t_0=5)), "ILLEGAL_GENERATION")

    def test_fenced_commit_known_by_its_text(self):
        error = {"code": None, "text": "CommitFailedException: the group has rebalanced"}
        self.bad(self.calm(commit(20, "a", 1, error=error, t_0=5)), "CommitFailed")

    def test_new_member_id(self):
        self.bad(self.calm(status(11, "a", member_id="x", generation=3),
                           status(90, "a", member_id="y", generation=3)), "has become")

    def test_new_generation(self):
        self.bad(self.calm(status(11, "a", member_id="x", generation=3),
                           status(90, "a", member_id="x", generation=4)), "has become")

    def gives_up(self, *events, text="unable to dial: connection refused", failover=True):
        death = [at(12, "failover", node=1, committers=[])] if failover else []
        return self.calm(status(11, "a", member_id="x", generation=3), *death,
                         give(20, "a", "t:0", event="lost"),
                         at(20, "error", "a", code=None, text=text), own(21, "a", "t:0"),
                         give(21, "b", "t:1"), own(22, "b", "t:1"), *events)

    def test_library_gives_up_after_the_leaders_death(self):
        self.good(self.gives_up(status(90, "a", member_id="x", generation=4)))

    def test_library_gives_up_without_a_leaders_death(self):
        self.bad(self.gives_up(failover=False), "lost")

    def test_giving_up_for_another_reason(self):
        self.bad(self.gives_up(text="UNKNOWN_MEMBER_ID"), "lost", "UNKNOWN_MEMBER_ID")

    def test_evicted_member_is_not_excused(self):
        self.bad(self.gives_up(status(90, "a", member_id="y", generation=4)), "has become")


class Static(RuleTest):
    rule = staticmethod(check.rule_static)

    def restart(self, *partitions):
        return pair(at(2, "killed", "a"), at(3, "started", "a2"),
                    at(3, "restarted", "a2", replaces="a", partitions=["t:0"]),
                    own(4, "a2", *partitions), settled(5, "a2", "b"))

    def test_same_partitions(self):
        self.good(self.restart("t:0"))

    def test_other_partitions(self):
        self.bad(self.restart("t:1"), "a2 had ['t:0']")

    def test_none(self):
        self.bad(self.restart(), "a2 had ['t:0']")


class Zombie(RuleTest):
    rule = staticmethod(check.rule_zombie)

    def sleep(self, *events, member_id=None):
        told = {"member_id": member_id} if member_id else {}
        return pair(status(1, "a", "t:0", **told), at(2, "stopped", "a"), at(20, "continued", "a"),
                    *events)

    def done(self, t, member_id=None):
        return {**commit(t, "a", 1, t_0=5), **({"member_id": member_id} if member_id else {})}

    def test_refused(self):
        self.good(self.sleep(commit(21, "a", 1, error=ILLEGAL, t_0=5)))

    def test_commit_after_joining_again(self):
        self.good(self.sleep(own(25, "a", "t:0"), self.done(26)))

    def test_joined_again_unseen_and_committed(self):
        self.good(self.sleep(give(21, "a", "t:0", event="lost"), self.done(22)))
        self.good(self.sleep(give(21, "a", "t:0", event="lost"), self.done(22, "new"),
                             member_id="old"))

    def test_accepted(self):
        self.bad(self.sleep(self.done(21)), "acknowledged")

    def test_accepted_under_the_old_member_id(self):
        lost = give(21, "a", "t:0", event="lost")
        self.bad(self.sleep(lost, self.done(22, "old"), member_id="old"), "acknowledged")

    def test_accepted_under_no_member_id(self):
        lost = give(21, "a", "t:0", event="lost")
        self.bad(self.sleep(lost, self.done(22), member_id="old"), "acknowledged")


class Answered(RuleTest):
    rule = staticmethod(check.rule_answered)

    def test_all_answered(self):
        self.good([ask_commit(1, "a", 1, t_0=5), commit(2, "a", 1, t_0=5)])

    def test_the_dead_need_not_answer(self):
        self.good([ask_commit(1, "a", 1, t_0=5), at(2, "killed", "a")])

    def test_no_answer(self):
        self.bad([ask_commit(1, "a", 1, t_0=5)], "never answered the commit")

    def test_answer_of_another(self):
        self.bad([ask_commit(1, "a", 1, t_0=5), commit(2, "b", 1, t_0=5)], "a never answered")

    def test_program_ended_by_itself(self):
        self.bad([at(3, "exited", "a", status=1)], "status 1")

    def test_fetch_never_succeeds(self):
        self.bad([ask_fetch(1, "a", 1), at(2, "fetched", "a", id=1, error=TIMED_OUT)], "last fetch")


class Failover(RuleTest):
    rule = staticmethod(check.rule_failover)

    def death(self, *events):
        return [at(10, "failover", node=1, committers=["a", "b"]), *events, at(40, "calm-over")]

    def test_all_commit_again(self):
        self.good(self.death(commit(11, "a", 1, error=TIMED_OUT, t_0=5), commit(13, "a", 2, t_0=6),
                             commit(13, "b", 1, t_1=6)))

    def test_one_does_not(self):
        self.bad(self.death(commit(13, "a", 2, t_0=6),
                            commit(13, "b", 1, error=TIMED_OUT, t_1=6)), "['b']")


class Idle(RuleTest):
    rule = staticmethod(check.rule_idle)

    def window(self, fetches, others=0, max_wait_ms=500):
        return [at(70, "idle", seconds=60, connections=[
            {"client": "a", "fetches": fetches, "others": others, "max_wait_ms": max_wait_ms},
            {"client": "a", "fetches": 0, "others": 60, "max_wait_ms": 0}])]

    def test_one_per_max_wait(self):
        self.good(self.window(121))
        self.good(self.window(13, max_wait_ms=5000))

    def test_other_requests_may_cut_a_wait_short(self):
        self.good(self.window(140, others=20))

    def test_one_too_many(self):
        self.bad(self.window(122), "122 Fetches")

    def test_spinning(self):
        self.bad(self.window(20000, others=60), "20000 Fetches")

    def test_no_fetch_at_all(self):
        self.bad(self.window(0), "nobody fetched")


class Lively(RuleTest):
    rule = staticmethod(check.rule_lively)

    def scene(self, *events, name="static", can=("commit", "static")):
        return [at(0, "begin", scene=name, can=list(can)), *events, at(99, "end")]

    def whole(self):
        return [settled(1), settled(2), settled(3), at(2, "restarted", "a2"),
                at(3, "restarted", "b2")]

    def churn(self):
        return [*(settled(i) for i in range(7)), at(3, "left", "b"), at(4, "killed", "c"),
                at(5, "stopped", "a"), at(6, "continued", "a")]

    def test_whole_scene(self):
        self.good(self.scene(*self.whole()))

    def test_client_that_cannot_commit(self):
        self.good(self.scene(*self.churn(), name="churn", can=["pattern"]))

    def test_nothing_restarted(self):
        self.bad(self.scene(settled(1), settled(2), settled(3)), "restarted")

    def test_broken_off(self):
        self.bad(self.scene(*self.whole())[:-1], "end")

    def test_zombie_tried(self):
        events = [*(settled(i) for i in range(7)), at(3, "left", "b"), at(4, "killed", "c"),
                  *(commit(4, "d", i, t_0=i) for i in range(6)), at(5, "stopped", "a"),
                  ask_commit(6, "a", 1, t_0=5), at(7, "continued", "a"),
                  commit(8, "a", 1, error=ILLEGAL, t_0=5), fetched(9, "d", 7, t_0=5)]
        self.good(self.scene(*events, name="churn"))

    def test_nothing_committed(self):
        self.bad(self.scene(*self.churn(), name="churn"), "committed", "zombie tried",
                 "fetched something")


class Together(unittest.TestCase):
    def test_every_rule_is_tested(self):
        tested = {cls.rule for cls in RuleTest.__subclasses__()}
        self.assertEqual(tested, set(check.RULES))

    def test_check_names_the_rule(self):
        record = [at(0, "begin", scene="pattern", can=[]), *pair(own(2, "a", "t:1"),
                  settled(3, "a", "b")), at(9, "end")]
        self.assertEqual({rule for rule, _ in check.check(record)}, {"settled", "exclusive"})


if __name__ == "__main__":
    unittest.main()
