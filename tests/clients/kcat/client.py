"""A member of a group by kcat: runs `kcat -G` and reports what it says of its assignment.

kcat commits only what it has consumed, so it can neither commit nor fetch on command here."""

import pathlib
import re
import signal
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from program import arguments, commands, emit  # noqa: E402

# % Group g rebalanced (memberid m): assigned: t [0], t [1]
REBALANCED = re.compile(r"% Group \S+ rebalanced \(memberid (\S*)\): (assigned|revoked):?(.*)")
# kcat prints each lost connection, which librdkafka passes on for information only: it connects again.
CONNECTION_LOST = "Local: Broker transport failure"
PARTITION = re.compile(r"(\S+) \[(\d+)\]")


class Kcat:
    def __init__(self, args):
        settings = {"client.id": args["client"], "session.timeout.ms": args["session_ms"],
                    "heartbeat.interval.ms": args["heartbeat_ms"]}
        if "instance" in args:
            settings["group.instance.id"] = args["instance"]
        if "metadata_ms" in args:
            settings["topic.metadata.refresh.interval.ms"] = args["metadata_ms"]
        options = [word for name, value in settings.items() for word in ("-X", f"{name}={value}")]
        topics = [args["pattern"]] if "pattern" in args else args["topics"].split(",")
        self.owned, self.lines = [], 0
        self.process = subprocess.Popen(
            ["kcat", "-b", args["bootstrap"], "-G", args["group"], *options, *topics],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stderr:
            self.lines += 1
            print(line, end="", file=sys.stderr, flush=True)
            found = REBALANCED.match(line)
            if found:
                member, event, rest = found.groups()
                partitions = sorted(f"{topic}:{p}" for topic, p in PARTITION.findall(rest))
                self.owned = partitions if event == "assigned" else []
                emit(event, partitions=partitions, member_id=member)
            elif "ERROR" in line and CONNECTION_LOST not in line:
                emit("error", code=None, text=line.strip())

    def leave(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def main():
    kcat = Kcat(arguments())
    version = subprocess.run(["kcat", "-V"], capture_output=True, text=True, check=True).stdout
    emit("ready", library=re.search(r"Version (\S+)", version)[0].replace("Version", "kcat"))
    lines = commands()
    while True:
        command, *words = lines.get()
        if command == "leave":
            kcat.leave()
            emit("left")
            return
        emit("status", id=int(words[0]), owned=kcat.owned, polls=kcat.lines, records=0)


main()
