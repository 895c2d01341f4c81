"""A cluster whose nodes live in network namespaces of their own, so that one can be cut off from its
peers while its clients still reach it.

    lab.enter()                          # first thing in main(): re-executes in a private namespace
    with lab.Lab(3, binary) as cluster:
        cluster.isolate(leader)
        cluster.heal(leader)

Each node has two cables, one into the clients' bridge, where this process sits as well, and one
into the peers' bridge; isolating pulls the latter. What the kernel then does is what it does with
a broken switch: packets vanish, connections stay. Nothing outside this process's own network
namespace is touched, and all of it vanishes with the process. Needs root.
"""

import os
import shutil
import subprocess
import sys

from cluster import Cluster
from wire import Connection

ENTERED = "ROSTER_LAB"
CLIENT_PORT = 9092
PEER_PORT = 9093


def enter():
    if os.environ.get(ENTERED):
        return
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        sys.exit("network namespaces need root, unshare and ip")
    os.environ[ENTERED] = "1"
    os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv])


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True)


class Lab(Cluster):
    def __init__(self, n, binary, **more):
        self.holders = {}  # processes that keep the nodes' namespaces
        where = {i: (self.client_address(i), CLIENT_PORT) for i in range(1, n + 1)}
        super().__init__(n, binary, base_port=0, advertised=where, **more)
        self.ports = {i: CLIENT_PORT for i in self.ids}
        ip("link", "set", "lo", "up")
        for bridge in ("clients", "peers"):
            ip("link", "add", bridge, "type", "bridge")
            ip("link", "set", bridge, "up")
        ip("address", "add", "10.99.1.254/24", "dev", "clients")
        for i in self.ids:
            self._add_node(i)

    @staticmethod
    def client_address(i):
        return f"10.99.1.{i}"

    @staticmethod
    def peer_address(i):
        return f"10.99.2.{i}"

    def _add_node(self, i):
        holder = subprocess.Popen(["unshare", "-n", "sleep", "infinity"])
        self.holders[i] = holder
        self._wait(lambda: self._has_namespace(holder.pid), 5, "no network namespace")
        self._in(i, "ip", "link", "set", "lo", "up")
        for bridge, address in (("clients", self.client_address(i)), ("peers", self.peer_address(i))):
            cable = f"{bridge}{i}"
            ip("link", "add", cable, "type", "veth", "peer", "name", bridge, "netns", holder.pid)
            ip("link", "set", cable, "master", bridge, "up")
            self._in(i, "ip", "address", "add", f"{address}/24", "dev", bridge)
            self._in(i, "ip", "link", "set", bridge, "up")

    @staticmethod
    def _has_namespace(pid):
        return os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")

    def _prefix(self, i):
        return ["nsenter", "-t", str(self.holders[i].pid), "-n"]

    def _in(self, i, *words):
        subprocess.run([*self._prefix(i), *words], check=True)

    def _configure(self, i):
        super()._configure(i)
        own = {
            "cluster.nodes": ",".join(f"{j}@{self.peer_address(j)}:{PEER_PORT}" for j in self.ids),
            "peer.listen": self.peer_address(i),
            "listeners": f"PLAINTEXT://{self.client_address(i)}:{CLIENT_PORT}",
        }
        lines = [line for line in self.config(i).read_text().splitlines()
                 if line.split("=", 1)[0] not in own]
        lines += [f"{name}={value}" for name, value in own.items()]
        self.config(i).write_text("\n".join(lines) + "\n")

    def spawn(self, i):
        if self.is_alive(i):
            return
        with open(self.log(i), "ab") as log:
            self.processes[i] = subprocess.Popen(
                [*self._prefix(i), self.binary, "--config", str(self.config(i))],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def connect(self, i, timeout_s=5.0):
        return Connection(self.client_address(i), CLIENT_PORT, timeout_s)

    def isolate(self, i):
        ip("link", "set", f"peers{i}", "down")

    def heal(self, i):
        ip("link", "set", f"peers{i}", "up")

    def stop(self):
        codes = super().stop()
        for holder in self.holders.values():
            holder.kill()
            holder.wait()
        return codes
