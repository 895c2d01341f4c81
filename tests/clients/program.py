"""What the Python client programs share: arguments in, commands in, events out (README.md)."""

import json
import os
import queue
import sys
import threading
import time

POLL_S = 0.1


def arguments():
    """name=value arguments as a dict."""
    return dict(argument.split("=", 1) for argument in sys.argv[1:])


def emit(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def commands():
    """A queue of the command lines on stdin, split into words. The program ends with its stdin."""
    lines = queue.Queue()

    def read():
        for line in sys.stdin:
            lines.put(line.split())
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return lines


def parse_partitions(words):
    """["t:0", "t:1"] -> [("t", 0), ("t", 1)]"""
    pairs = [word.rsplit(":", 1) for word in words]
    return [(topic, int(partition)) for topic, partition in pairs]


def parse_offsets(words):
    """["t:0=5"] -> {("t", 0): 5}"""
    pairs = [word.split("=") for word in words]
    return {parse_partitions([where])[0]: int(offset) for where, offset in pairs}


def names(partitions):
    """Partition objects of either library -> ["t:0", ...]"""
    return sorted(f"{p.topic}:{p.partition}" for p in partitions)


def failure(error, code=None):
    """How an exception is reported: Kafka's code where the library tells it, and its text."""
    return {"code": code, "text": f"{type(error).__name__}: {error}"}


def run(client, poll_s=POLL_S):
    """Polls the client and carries out commands until it is told to leave."""
    lines = commands()
    polls = records = 0
    while True:
        try:
            records += client.poll(poll_s)
        except Exception as error:  # whatever reaches an application is reported
            emit("error", **client.failure(error))
            time.sleep(POLL_S)
        polls += 1
        while not lines.empty():
            command, *words = lines.get()
            if command == "leave":
                client.close()
                emit("left")
                return
            reply(client, command, words, polls, records)


def reply(client, command, words, polls, records):
    call_id, *words = words
    result = {"id": int(call_id)}
    try:
        if command == "commit":
            result["offsets"] = dict(word.split("=") for word in words)
            result["offsets"] = {name: int(o) for name, o in result["offsets"].items()}
            client.commit(parse_offsets(words))
            result.update(client.identity())
        elif command == "fetch":
            result["offsets"] = client.fetch(parse_partitions(words))
        elif command == "status":
            result.update(polls=polls, records=records, owned=client.owned(), **client.identity())
    except Exception as error:
        result["error"] = client.failure(error)
    event = {"commit": "committed", "fetch": "fetched", "status": "status"}[command]
    emit(event, **result)
