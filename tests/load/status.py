"""What nodes say of themselves when SIGUSR1 asks: the `status` line of their log."""

import re
import signal
import time

from cluster import ClusterError


def ask(cluster, i, timeout_s=10.0):
    """The status line of node i as a dict, with 'role'; numbers are int."""
    log = cluster.log(i)
    start = log.stat().st_size
    cluster.processes[i].send_signal(signal.SIGUSR1)
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with open(log, "rb") as file:
            file.seek(start)
            text = file.read().decode(errors="replace")
        for line in text.splitlines():
            if " status role=" in line and line.endswith(tuple("0123456789")) and "\n" in text:
                fields = dict(re.findall(r"(\w+)=(\S+)", line))
                return {k: int(v) if v.isdigit() else v for k, v in fields.items()}
        time.sleep(0.02)
    raise ClusterError(f"node {i} says nothing of itself\n" + cluster.tails())


def wait_equal(cluster, timeout_s=60.0):
    """Waits until all running nodes have applied the same batch; their states must then be equal.
    Returns the common index."""
    deadline = time.monotonic() + timeout_s
    while True:
        said = {i: ask(cluster, i) for i in cluster.alive()}
        if len({s["index"] for s in said.values()}) == 1:
            if len({s["state_hash"] for s in said.values()}) != 1:
                raise ClusterError(f"states differ at one index: {said}")
            return next(iter(said.values()))["index"]
        if time.monotonic() > deadline:
            raise ClusterError(f"nodes do not reach the same index: {said}\n" + cluster.tails())
        time.sleep(0.1)
