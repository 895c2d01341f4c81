"""The demonstration behind deploy/demo: three nodes, a consumer group, the death of the leader.

    demo.py PATH-OF-ROSTERD

The members are ordinary Kafka consumers (kafka-python), each a process of its own: this program
started again with --member. They own shards of the topic "jobs", read nothing (there is no data in
Roster) and commit how far they are. Exit status 0: the group went through the leader's death
without a change; 1: it did not, and the lines above say what differs.
"""

import json
import pathlib
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "lib"))

TOPIC, PARTITIONS, GROUP, MEMBERS = "jobs", 6, "crawlers", 3
SETTLE_S = 30
AFTER_S = 5  # how long the members are watched after the leader's death


# ---- A member: what a worker of yours would look like

def member(bootstrap, client_id):
    from kafka import ConsumerRebalanceListener, KafkaConsumer
    from kafka.errors import KafkaError
    from kafka.structs import OffsetAndMetadata

    seen = {"assigned": 0, "revoked": 0, "commits": 0, "commit_errors": 0}

    class Watcher(ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned):
            seen["assigned"] += 1

        def on_partitions_revoked(self, revoked):
            seen["revoked"] += 1

    consumer = KafkaConsumer(bootstrap_servers=bootstrap.split(","), group_id=GROUP,
                             client_id=client_id, enable_auto_commit=False,
                             session_timeout_ms=10000, heartbeat_interval_ms=500)
    consumer.subscribe([TOPIC], listener=Watcher())
    done = 0
    while True:
        consumer.poll(timeout_ms=200)
        mine = sorted(p.partition for p in consumer.assignment())
        if mine:
            done += 1
            try:  # "I have worked through my shards up to here"
                consumer.commit({p: OffsetAndMetadata(done, "") for p in consumer.assignment()})
                seen["commits"] += 1
            except KafkaError:
                seen["commit_errors"] += 1
        generation = consumer._coordinator.generation()
        print(json.dumps({"partitions": mine, **seen,
                          "generation": generation.generation_id if generation else None,
                          "member_id": generation.member_id if generation else None}), flush=True)


class Member:
    """A member's process and the last line it printed."""

    def __init__(self, bootstrap, client_id):
        self.client_id = client_id
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--member", bootstrap, client_id],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def report(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the member {self.client_id} ended by itself")
        return json.loads(line)

    def stop(self):
        self.process.kill()
        self.process.wait()


# ---- The group's table, as Kafka's users know it

def table(bootstrap, generation):
    from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

    admin = KafkaAdminClient(bootstrap_servers=bootstrap.split(","))
    (group,) = admin.describe_consumer_groups([GROUP])
    offsets = admin.list_consumer_group_offsets(GROUP)
    admin.close()
    ends_of = KafkaConsumer(bootstrap_servers=bootstrap.split(","))
    ends = ends_of.end_offsets([TopicPartition(TOPIC, p) for p in range(PARTITIONS)])
    ends_of.close()
    rows = []
    for m in group.members:
        for topic, partitions in m.member_assignment.assignment:
            for p in partitions:
                tp = TopicPartition(topic, p)
                committed = offsets[tp].offset if tp in offsets else None
                lag = "-" if committed is None else max(0, ends[tp] - committed)
                rows.append((topic, p, "-" if committed is None else committed, ends[tp], lag,
                             m.member_id, m.client_host, m.client_id))
    rows.sort(key=lambda row: (row[0], row[1]))
    head = ("TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST",
            "CLIENT-ID")
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    print(f"GROUP {GROUP}  STATE {group.state}  GENERATION {generation}")
    for row in [head, *rows]:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
    print(flush=True)
    return {(row[0], row[1]): row[5] for row in rows}


def settled(members):
    """The members' reports once every partition is owned and all agree on the generation."""
    until = time.monotonic() + SETTLE_S
    while time.monotonic() < until:
        reports = [m.report() for m in members]
        owned = sorted(p for r in reports for p in r["partitions"])
        if owned == list(range(PARTITIONS)) and len({r["generation"] for r in reports}) == 1 \
                and all(r["partitions"] and r["commits"] > 0 for r in reports):
            return reports
    raise SystemExit(f"the group did not settle in {SETTLE_S} s: {reports}")


def differences(before, after, owners_before, owners_after):
    for m, (a, b) in enumerate(zip(before, after), 1):
        for what in ("member_id", "generation", "partitions", "assigned", "revoked"):
            if a[what] != b[what]:
                yield f"member {m}: {what} was {a[what]}, is {b[what]}"
        if b["commits"] <= a["commits"]:
            yield f"member {m}: no commit since the leader's death"
    if owners_before != owners_after:
        yield f"owners were {owners_before}, are {owners_after}"


def free_base_port():
    """A base for Cluster's ports (base + 1..3 and base + 51..53) with nobody on them."""
    for base in range(19092, 29000, 100):
        taken = False
        for port in [base + i for i in (1, 2, 3, 51, 52, 53)]:
            with socket.socket() as probe:
                taken = taken or probe.connect_ex(("127.0.0.1", port)) == 0
        if not taken:
            return base
    raise SystemExit("no free ports between 19092 and 29000 on 127.0.0.1")


def main(binary):
    from cluster import Cluster

    with Cluster(3, binary, free_base_port()) as cluster:
        bootstrap = ",".join(f"127.0.0.1:{port}" for port in cluster.ports.values())
        print(f"Three nodes run on {bootstrap}; node {cluster.leader()} leads.")
        cluster.create_topic(TOPIC, PARTITIONS)
        print(f"Topic {TOPIC} has {PARTITIONS} partitions; {MEMBERS} consumers join group {GROUP}.")
        print(flush=True)
        members = [Member(bootstrap, f"worker-{i + 1}") for i in range(MEMBERS)]
        try:
            before = settled(members)
            owners_before = table(bootstrap, before[0]["generation"])
            leader = cluster.leader()
            cluster.kill(leader)
            print(f"Node {leader}, the leader, was killed (SIGKILL). ", end="", flush=True)
            killed = time.monotonic()
            now = cluster.wait_leader(other_than=leader)
            print(f"Node {now} leads after {time.monotonic() - killed:.2f} s.")
            print(flush=True)
            while time.monotonic() < killed + AFTER_S:
                after = [m.report() for m in members]
            after = settled(members)
            owners_after = table(bootstrap, after[0]["generation"])
        finally:
            for m in members:
                m.stop()
    wrong = list(differences(before, after, owners_before, owners_after))
    for line in wrong:
        print(line)
    if wrong:
        return 1
    print("Same members, same generation, no partition moved; no member saw a rebalance.")
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--member":
        member(sys.argv[2], sys.argv[3])
    else:
        sys.exit(main(sys.argv[1]))
