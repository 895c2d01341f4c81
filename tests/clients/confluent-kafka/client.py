"""A member of a group by confluent-kafka (librdkafka); the same program for 1.7 and 2.x."""

import pathlib
import sys

import confluent_kafka
from confluent_kafka import Consumer, KafkaException, TopicPartition

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from program import arguments, emit, failure, names, run  # noqa: E402

CALL_TIMEOUT_S = 10


class Client:
    def __init__(self, args):
        config = {
            "bootstrap.servers": args["bootstrap"],
            "group.id": args["group"],
            "client.id": args["client"],
            "session.timeout.ms": int(args["session_ms"]),
            "heartbeat.interval.ms": int(args["heartbeat_ms"]),
            "enable.auto.commit": False,
        }
        if "instance" in args:
            config["group.instance.id"] = args["instance"]
        if "metadata_ms" in args:
            config["topic.metadata.refresh.interval.ms"] = int(args["metadata_ms"])
        self.consumer = Consumer(config)
        # A topic that begins with ^ is a pattern to librdkafka.
        topics = [args["pattern"]] if "pattern" in args else args["topics"].split(",")
        self.consumer.subscribe(topics, on_assign=self.reporter("assigned"),
                                on_revoke=self.reporter("revoked"),
                                on_lost=self.reporter("lost"))

    def reporter(self, event):
        return lambda _, partitions: emit(event, partitions=names(partitions))

    def poll(self, timeout_s):
        message = self.consumer.poll(timeout_s)
        if message is None:
            return 0
        if message.error():
            raise KafkaException(message.error())
        return 1

    def commit(self, offsets):
        wanted = [TopicPartition(t, p, offset) for (t, p), offset in offsets.items()]
        for done in self.consumer.commit(offsets=wanted, asynchronous=False):
            if done.error:
                raise KafkaException(done.error)

    def fetch(self, partitions):
        wanted = [TopicPartition(t, p) for t, p in partitions]
        found = self.consumer.committed(wanted, timeout=CALL_TIMEOUT_S)
        for partition in found:
            if partition.error:
                raise KafkaException(partition.error)
        return {f"{p.topic}:{p.partition}": max(p.offset, -1) for p in found}

    def owned(self):
        return names(self.consumer.assignment())

    def identity(self):
        """1.7 does not tell the member id."""
        has_id = hasattr(self.consumer, "memberid")
        return {"member_id": self.consumer.memberid()} if has_id else {}

    def failure(self, error):
        known = isinstance(error, KafkaException) and hasattr(error.args[0], "code")
        return failure(error, error.args[0].code() if known else None)

    def close(self):
        self.consumer.close()


if __name__ == "__main__":
    client = Client(arguments())
    emit("ready", library=f"confluent-kafka {confluent_kafka.version()[0]},"
         f" librdkafka {confluent_kafka.libversion()[0]}")
    run(client)
