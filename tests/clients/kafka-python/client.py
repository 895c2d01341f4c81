"""A member of a group by kafka-python; the same program for 2.0.2 and 3.x."""

import logging
import pathlib
import sys

import kafka
from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from program import POLL_S, arguments, emit, failure, names, run  # noqa: E402

# kafka-python 3.0.12 forgets a join round that new metadata began if poll() times out within it, so
# with a pattern it is polled for longer than a round takes.
PATTERN_POLL_S = 4.0


class Listener(ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned):
        emit("assigned", partitions=names(assigned))

    def on_partitions_revoked(self, revoked):
        emit("revoked", partitions=names(revoked))

    def on_partitions_lost(self, lost):
        emit("lost", partitions=names(lost))


class Client:
    def __init__(self, args):
        config = {
            "bootstrap_servers": args["bootstrap"].split(","),
            "group_id": args["group"],
            "client_id": args["client"],
            "session_timeout_ms": int(args["session_ms"]),
            "heartbeat_interval_ms": int(args["heartbeat_ms"]),
            "enable_auto_commit": False,
        }
        if "instance" in args:
            config["group_instance_id"] = args["instance"]
        if "metadata_ms" in args:
            config["metadata_max_age_ms"] = int(args["metadata_ms"])
        self.consumer = KafkaConsumer(**config)
        if "pattern" in args:
            self.consumer.subscribe(pattern=args["pattern"], listener=Listener())
        else:
            self.consumer.subscribe(args["topics"].split(","), listener=Listener())

    def poll(self, timeout_s):
        batches = self.consumer.poll(timeout_ms=int(timeout_s * 1000))
        return sum(map(len, batches.values()))

    def commit(self, offsets):
        fields = len(OffsetAndMetadata._fields)  # 3 since the leader epoch is among them
        self.consumer.commit({TopicPartition(t, p): OffsetAndMetadata(*(offset, "", -1)[:fields])
                              for (t, p), offset in offsets.items()})

    def fetch(self, partitions):
        found = {(t, p): self.consumer.committed(TopicPartition(t, p)) for t, p in partitions}
        return {f"{t}:{p}": -1 if offset is None else offset for (t, p), offset in found.items()}

    def owned(self):
        return names(self.consumer.assignment())

    def identity(self):
        """2.0.2 does not tell."""
        if not hasattr(self.consumer, "group_metadata"):
            return {}
        metadata = self.consumer.group_metadata()
        return {"member_id": metadata.member_id, "generation": metadata.generation_id}

    def failure(self, error):
        return failure(error, getattr(error, "errno", None))

    def close(self):
        self.consumer.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)  # to stderr, kept as the member's log
    args = arguments()
    client = Client(args)
    emit("ready", library=f"kafka-python {kafka.__version__}")
    run(client, PATTERN_POLL_S if "pattern" in args else POLL_S)
