"""The rules that close known holes, each taken out by a build of its own (-DROSTER_BUG=2rrp: rule
rr, part p), and the tests that fail without it: by their names for ctest, or one of Python's tests
behind the name of its file, "server.daemon Signals.test_standing_still"."""

import collections

# A build that lacks nothing, but says that it does: some tests look at that.
WHOLE = 2000

# What a build is without, and the tests that must notice, the ones that say most first.
Part = collections.namedtuple("Part", "rule what checks")

SCENARIO = "scenario_"


def part(rule, what, *checks):
    return Part(rule, what, checks)


RULES = {
    2011: part("R1", "a new leader looks at no group that nobody calls for",
               "scenario_failover_stable",
               "scenario_failover_joins"),
    2012: part("R1", "a rebalance that began under the last leader is not gone on with",
               "scenario_failover_joins"),
    2013: part("R1", "after a takeover a generation without assignment waits for ever",
               "scenario_failover_joins"),
    2021: part("R2", "the record holds the first protocol alone", "scenario_failover_rejoin"),
    2022: part("R2", "the record holds one timeout", "scenario_failover_rejoin"),
    2023: part("R2", "the record holds neither client id nor host", "scenario_failover_rejoin"),
    2024: part("R2", "the record holds no instance id", "scenario_failover_rejoin",
               "scenario_failover_stable"),
    2031: part("R3", "a join without an id outlives its connection",
               "scenario_classic_initial_delay"),
    2032: part("R3", "a new leader waits for members that may not know their ids",
               "scenario_failover_unheard"),
    2033: part("R3", "a member whose connection closed before it learned its id stays",
               "scenario_failover_unheard"),
    2041: part("R4", "apply does not ask whether the group is there", "scenario_offsets_fencing",
               "core.facts"),
    2042: part("R4", "apply does not ask whether the member is there", "scenario_offsets_replaced",
               "core.facts"),
    2043: part("R4", "apply does not ask for the generation",
               "scenario_offsets_fencing", "core.facts"),
    2044: part("R4", "apply does not ask whether the topic is there", "scenario_offsets_fencing",
               "core.facts"),
    2051: part("R5", "offsets expire though the group has changed", "scenario_expiry_races"),
    2052: part("R5", "offsets expire though they were written anew", "scenario_expiry_races"),
    2053: part("R5", "a group is deleted though it is in use again",
               "scenario_admin_delete_groups"),
    2061: part("R6", "whoever is being removed is served meanwhile", "scenario_classic_gate",
               "scenario_classic_leave_refused"),
    2062: part("R6", "whoever is being removed joins meanwhile",
               "scenario_classic_leave_refused"),
    2071: part("R7", "ids of what is gone are used again", "core.facts"),
    2072: part("R7", "a record makes a dead id a member again", "core.facts"),
    2081: part("R8", "a generation is one record, however large", "scenario_classic_chunks"),
    2082: part("R8", "chunks of an older term stay", "scenario_classic_chunks",
               "core.facts"),
    2083: part("R8", "chunks are not part of the hash", "core.facts"),
    2084: part("R8", "chunks are not part of the snapshot", "scenario_classic_chunks",
               "core.facts"),
    2091: part("R9", "the loop does not notice that it stood still",
               "server.daemon Signals.test_standing_still"),
    2092: part("R9", "a leader that stood still serves without a new barrier",
               "scenario_failover_suspended"),
    2093: part("R9", "sessions end because the leader stood still", "scenario_failover_suspended"),
    2101: part("R10", "an entry of an older term completes the call whose turn it is",
               "scenario_failover_inflight"),
    2111: part("R11", "what is proposed has no deadline", "scenario_classic_timeouts",
               "scenario_offsets_fencing"),
    2112: part("R11", "what waits for a leader to settle has no deadline",
               "scenario_roles_settling"),
    2113: part("R11", "what waits for a decision has no deadline", "scenario_classic_timeouts"),
    2114: part("R11", "proposals in the queue have no limit", "raftlog.unit"),
    2115: part("R11", "members are sent away while a leader settles", "scenario_roles_settling"),
    2121: part("R12", "calls of a connection do not wait for those before",
               "server.protocol Protocol.test_row_6_pipelined_commits"),
    2122: part("R12", "replies leave as they are ready",
               "server.protocol Protocol.test_row_6_pipelined_commits"),
    2123: part("R12", "any number of calls is read ahead",
               "server.limits Limits.test_pipelined_requests"),
    2161: part("R16", "the index is the library's", "sim.lives"),
    2162: part("R16", "the index is not in the snapshot", "sim.lives"),
    2171: part("R17", "groups change under the snapshot",
               "scenario_offsets_snapshot", "core.facts"),
    2172: part("R17", "topics change under the snapshot",
               "scenario_offsets_snapshot", "core.facts"),
    2173: part("R17", "the snapshot does not say which ids are used", "core.facts"),
    2181: part("R18", "a node that lost its disk votes", "raftlog.fault.G8"),
    2182: part("R18", "a node that lost its disk founds a cluster", "raftlog.unit",
               "cluster.rejoin Rejoin.test_an_emptied_node_does_not_vote_a_stale_one_in"),
    2183: part("R18", "readable batches behind a bad one are a torn tail", "raftlog.unit"),
    2184: part("R18", "what a peer remembers of a lost log is not believed",
               "raftlog.nodes NodesTest.test_lost_end_is_noticed"),
    2191: part("R19", "a leader stamps as its own clock says", "raftlog.unit"),
    2192: part("R19", "the clock is trusted, whatever the others' say", "raftlog.unit"),
    2201: part("R20", "each node names itself as the leader of all partitions", "local.unit"),
    2202: part("R20", "followers list offsets", "local.unit"),
    2203: part("R20", "ListGroups says \"none\" while there is no leader",
               "scenario_roles_follower"),
    2204: part("R20", "ListGroups on a follower is an error", "scenario_roles_follower"),
    2205: part("R20", "topic calls on a follower are not told to look for the controller",
               "scenario_roles_follower"),
    2206: part("R20", "followers do not answer Fetch", "local.unit"),
    2207: part("R20", "group calls are not told that there is no leader",
               "scenario_roles_follower"),
    2221: part("R22", "the node whose state is odd goes on", "raftlog.unit",
               "raftlog.nodes NodesTest.test_diverged_node_stops"),
}

# One of each layer.
SHORT = (2012, 2042, 2084, 2092, 2123, 2183, 2201, 2221)

# Rules whose code is not there yet.
LATER = ("R13", "R14", "R15", "R21")

# The program of each test, by the beginning of its name; the longest that fits.
PROGRAMS = {
    SCENARIO: "run_scenarios",
    "core.facts": "test_facts",
    "core.facts.freeze": "check_freeze",
    "core.random": "sim_random",
    "local.unit": "test_local",
    "raftlog.unit": "test_raftlog",
    "raftlog.sim": "raftlog_sim",
    "raftlog.fault": "raftlog_sim",
    "raftlog.nodes": "raftlog_node",
    "sim.lives": "sim",
    "server.unit": "test_shell",
    "server": "rosterd",
    "cluster": "rosterd",
}


def program_of(check):
    """The target that ctest's test [check] runs."""
    return PROGRAMS[max((start for start in PROGRAMS if check.startswith(start)), key=len)]
