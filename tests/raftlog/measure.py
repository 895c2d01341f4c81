"""Throughput and failover of three nodes on this machine: measure.py BINARY [failovers]. Prints
figures; it judges nothing. Ports 22900 to 22903."""

import statistics
import sys
import time

from nodes import Nodes

PORT = 22900
SECONDS = 4


def rates(leader, outstanding, size):
    leader.send(f"load {outstanding} {size}")
    time.sleep(1)
    before, start = leader.status(), time.monotonic()
    time.sleep(SECONDS)
    after, seconds = leader.status(), time.monotonic() - start
    leader.send(f"load 0 {size}")
    time.sleep(0.5)
    return [(after[name] - before[name]) / seconds for name in ("batches", "own")]


def throughput(binary):
    with Nodes(binary, 3, PORT) as nodes:
        nodes.start()
        leader = nodes.wait_leader()
        for outstanding, size in ((1, 100), (64, 100), (256, 100), (1024, 100), (256, 1024)):
            batches, proposals = rates(leader, outstanding, size)
            print(f"outstanding={outstanding} bytes={size} batches_per_s={batches:.0f} "
                  f"proposals_per_s={proposals:.0f}", flush=True)
        nodes.wait_equal(count=3)


def failovers(binary, count):
    """From SIGKILL of the leader to the next leader's barrier and first own proposal applied."""
    elected, applied = [], []
    with Nodes(binary, 3, PORT, "acks=1", "load=4", "size=100") as nodes:
        nodes.start()
        for _ in range(count):
            leader = nodes.wait_leader()
            time.sleep(1.5)
            marks = {node.number: (len(node.lines), len(node.acks)) for node in nodes.alive()}
            killed_ms = time.time() * 1000
            leader.kill()
            found = None
            while found is None:
                for node in nodes.alive():
                    lines = node.lines[marks[node.number][0]:]
                    if any(text.startswith("elected") for _, text in lines) and \
                            len(node.acks) > marks[node.number][1]:
                        found = node
                time.sleep(0.005)
            lines = found.lines[marks[found.number][0]:]
            elected.append(next(s for s, text in lines if text.startswith("elected")) - killed_ms)
            applied.append(found.acks[marks[found.number][1]][0] - killed_ms)
            leader.start()
    for name, values in (("elected", elected), ("first_applied", applied)):
        values.sort()
        print(f"failover {name}_ms n={len(values)} min={values[0]:.0f} "
              f"median={statistics.median(values):.0f} "
              f"p95={values[int(len(values) * 0.95) - 1]:.0f} max={values[-1]:.0f}")


def main():
    binary = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    throughput(binary)
    failovers(binary, count)


if __name__ == "__main__":
    main()
