"""The named suites: which faults, which workloads, which clients, how large a cluster."""

import dataclasses

WITNESS = ("P", "W1", "W2", "W3", "W5", "W7")


@dataclasses.dataclass(frozen=True)
class Suite:
    name: str
    about: str
    faults: tuple  # names of families or faults (nemesis/)
    workloads: tuple = WITNESS  # of workloads.WORKLOADS
    clients: tuple = ()  # of clients.CLIENTS, for W8
    nodes: int = 3
    places: int = 4  # namespaces for clients
    commits_per_s: int = 400  # that W1's members try to make
    settings: dict = dataclasses.field(default_factory=dict)  # of the nodes
    floors: dict = dataclasses.field(default_factory=dict)  # checkers/vacuity.py
    seconds: int = 180  # of the phase with faults


REAL = ("franz-go", "sarama", "librdkafka", "java")

SUITES = {suite.name: suite for suite in (
    Suite("calm", "no faults: the run must be busy and valid", (), seconds=60),
    Suite("partition", "the network falls apart", ("partition",), nodes=5),
    Suite("flaky", "the network works badly", ("flaky", "connections")),
    Suite("crash", "processes are killed, power goes", ("crash",),
          floors={"restarts": 3, "leader_changes": 1}),
    Suite("pause", "processes stand still or starve", ("pause", "cpu"),
          floors={"leader_changes": 1}),
    Suite("disk", "disks fail, fill up, lie, and flip bits on a minority of nodes",
          ("disks", "corruption", "power-one"), floors={"restarts": 2}),
    Suite("clock", "wall clocks are wrong", ("clocks", "kill-leader")),
    Suite("churn", "members come and go while nodes fail",
          ("clients", "kill-leader", "isolate-leader", "kill-in-rebalance", "rolling-restart"),
          workloads=("P", "W1", "W2", "W3", "W4", "W5", "W7", "W9")),
    Suite("clients", "real clients of four languages under kills, partitions and pauses",
          ("kill-leader", "isolate-leader", "pause-leader", "rolling-restart", "clients"),
          workloads=("P", "W1", "W8"), clients=REAL),
    Suite("everything", "all of it, one or two at a time",
          ("partition", "flaky", "connections", "crash", "pause", "cpu", "disks", "corruption",
           "clocks", "clients", "restart"), nodes=5, seconds=600),
    Suite("operator", "what operators are told not to do", ("operator",)),
    Suite("smoke", "one of each family, for every change",
          ("isolate-leader", "partition-with-clients", "flaky-mixed", "reset-once", "kill-leader",
           "power-all", "pause-leader", "disk-write-error", "clock-step", "client-churn"),
          seconds=100, floors={"leader_changes": 1, "restarts": 1}),
)}
