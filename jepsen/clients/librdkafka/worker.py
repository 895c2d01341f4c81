"""A member of a group by librdkafka (confluent-kafka), and its application, which processes a fake
feed of each partition that it owns (../README.md)."""

import itertools
import json
import os
import queue
import random
import sys
import threading
import time

import confluent_kafka
from confluent_kafka import Consumer, KafkaException, TopicPartition

CALL_S = 10
POLL_S = 0.02
METADATA_MAGIC = b"CGMDv2:"


class Driver:
    """The talk with whoever started the program."""

    def __init__(self, name):
        self.name, self.numbers = name, itertools.count(1)
        self.acks = queue.Queue()
        self.is_closing = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in sys.stdin:
            if line.startswith("ack"):
                self.acks.put(line)
            else:
                self.is_closing = True
        os._exit(0)

    def tell(self, event, **fields):
        print(json.dumps({"event": event, "who": self.name, **fields}), flush=True)

    def ask(self, event, **fields):
        """Reports an event and waits until it stands in the history. One thread asks."""
        self.tell(event, ack=next(self.numbers), **fields)
        self.acks.get()


def by_topic(places):
    topics = {}
    for topic, partition in sorted(places):
        topics.setdefault(topic, []).append(partition)
    return [[topic, found] for topic, found in topics.items()]


def failure(error):
    """What the history calls it."""
    known = isinstance(error, KafkaException) and hasattr(error.args[0], "code")
    code = error.args[0].code() if known else None
    if code == confluent_kafka.KafkaError._TIMED_OUT:
        return "timeout"
    return code if code is not None and code > 0 else "exception"


def on_the_wire(metadata):
    """What a commit of that text stores: confluent-kafka sends a zero byte behind it, the others
    don't. Where it reads it looks for that zero byte, and beyond the text of another client finds
    what lies behind it in memory; so each text says where it ends."""
    text, end, _ = metadata.partition(";")
    return text + end + ("\0" if text.startswith("librdkafka-") else "")


class Worker:
    def __init__(self, args):
        self.driver = Driver(args["clients"])
        self.chance = random.Random(int(args["seed"]))
        self.pace_s = int(args["pace_ms"]) / 1000
        self.at = {}  # (topic, partition) -> next record, None: not known yet
        self.ops = itertools.count(1)
        config = {
            "bootstrap.servers": args["bootstrap"],
            "group.id": args["group"],
            "client.id": args["clients"],
            "session.timeout.ms": int(args["session_ms"]),
            "max.poll.interval.ms": int(args["rebalance_ms"]),
            "heartbeat.interval.ms": int(args["heartbeat_ms"]),
            "enable.auto.commit": False,
        }
        if args.get("assignor") == "range":
            config["partition.assignment.strategy"] = "range"
        self.consumer = Consumer(config)
        self.consumer.subscribe(args["topics"].split(","), on_assign=self.assigned,
                                on_revoke=self.revoked, on_lost=self.lost)

    def _identity(self):
        """Member id and generation; the latter stands in what a transaction would be given."""
        metadata = self.consumer.consumer_group_metadata()
        assert metadata.startswith(METADATA_MAGIC), metadata
        start = len(METADATA_MAGIC)
        generation = int.from_bytes(metadata[start:start + 4], sys.byteorder, signed=True)
        return {"member": self.consumer.memberid() or "", "gen": generation}

    def _hold(self, event, partitions):
        self.driver.ask(event, parts=by_topic((p.topic, p.partition) for p in partitions),
                        **self._identity())

    def assigned(self, _, partitions):
        self._hold("assigned", partitions)
        self.at.update({(p.topic, p.partition): None for p in partitions})

    def revoked(self, _, partitions):
        self.commit([(p.topic, p.partition) for p in partitions])
        self._forget("revoked", partitions)

    def lost(self, _, partitions):
        self._forget("lost", partitions)

    def _forget(self, event, partitions):
        for partition in partitions:
            self.at.pop((partition.topic, partition.partition), None)
        self._hold(event, partitions)

    def work(self):
        unknown = [place for place, at in self.at.items() if at is None]
        if unknown:
            self.find(unknown)
        places = sorted(place for place, at in self.at.items() if at is not None)
        if not places:
            return
        for place in places:
            self.at[place] += self.chance.randint(1, 5)
        self.driver.ask("processed", rows=[[*place, self.at[place]] for place in places])
        self.commit(places)

    def find(self, places):
        op = self._begin("fetch", parts=[list(place) for place in places])
        try:
            found = self.consumer.committed([TopicPartition(*place) for place in places],
                                            timeout=CALL_S)
            if any(p.offset >= 0 and not p.metadata for p in found):
                raise ValueError("metadata that could not be read")
        except Exception as error:
            self._failed(op, error)
            return
        rows = []
        for p in found:
            code = p.error.code() if p.error else 0
            epoch = -1 if p.leader_epoch is None else p.leader_epoch
            rows.append([p.topic, p.partition, max(p.offset, -1), epoch,
                         on_the_wire(p.metadata or ""), code])
            if code == 0:
                self.at[p.topic, p.partition] = max(p.offset, 0)
        self.driver.tell("done", op=op, error=None, parts=rows)

    def commit(self, places):
        rows, offsets = [], []
        for place in places:
            if self.at.get(place) is not None:
                text = f"{self.driver.name}/{next(self.ops)};"
                rows.append([*place, self.at[place], -1, on_the_wire(text)])
                offsets.append(TopicPartition(*place, self.at[place], text))
        if not rows:
            return
        op = self._begin("commit", parts=rows, **self._identity())
        try:
            done = self.consumer.commit(offsets=offsets, asynchronous=False)
        except Exception as error:
            self._failed(op, error)
            return
        self.driver.tell("done", op=op, error=None, parts=[
            [p.topic, p.partition, p.error.code() if p.error else 0] for p in done])

    def _begin(self, f, **fields):
        op = next(self.ops)
        self.driver.ask("invoke", op=op, f=f, **fields)
        return op

    def _failed(self, op, error):
        self.driver.tell("done", op=op, error=failure(error), parts=None, text=str(error))

    def run(self):
        self.driver.tell("ready", library=f"confluent-kafka {confluent_kafka.version()[0]},"
                         f" librdkafka {confluent_kafka.libversion()[0]}")
        due = time.monotonic() + self.pace_s
        while not self.driver.is_closing:
            message = self.consumer.poll(POLL_S)
            if message is not None and message.error():
                self.driver.tell("error", text=str(message.error()))
            if time.monotonic() >= due:
                due = time.monotonic() + self.pace_s
                self.work()
        self.consumer.close()
        self.driver.tell("closed")


if __name__ == "__main__":
    Worker(dict(argument.split("=", 1) for argument in sys.argv[1:])).run()
