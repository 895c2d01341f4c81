"""The network of a lab: a namespace for each name, all joined by chaosnet.

Names are n1..n9 (nodes), c1.. (clients) and "lab", this process itself, which no rule ever hits
unless it is named. Each has an address in 10.77.0.0/24 and an entry in /etc/hosts.
"""

import ctypes
import contextlib
import os
import pathlib
import subprocess
import threading

from lab import control

SELF = "lab"
NETWORK = "10.77.0"
CLONE_NEWNET = 0x40000000
HARMLESS = frozenset({"reorder", "reorder_us", "duplicate"})
DELAY_US_MAX = 40_000  # in one direction, that an election timeout takes no notice of


def address(name):
    if name == SELF:
        return f"{NETWORK}.254"
    return f"{NETWORK}.{int(name[1:]) + (100 if name[0] == 'c' else 0)}"


def is_harmless(rule):
    delay_us = rule.get("delay_us", 0) + rule.get("jitter_us", 0)
    others = {key for key, value in rule.items() if value} - {"delay_us", "jitter_us"}
    return others <= HARMLESS and delay_us <= DELAY_US_MAX


def ip(*words, name=None, text=None):
    inside = [] if name is None else ["nsenter", f"--net=/run/netns/{name}"]
    subprocess.run([*inside, "ip", *map(str, words)], check=True, input=text, text=True)


class Net:
    def __init__(self, binary, names, socket, hosts, seed):
        """[hosts]: a file to write /etc/hosts to, seen by all processes of the room."""
        self.names = [*names, SELF]
        self.socket = pathlib.Path(socket)
        self.rules = {}  # (from, to) -> {key: number}
        self.lock = threading.Lock()
        self._original = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.process = subprocess.Popen([str(binary), str(socket), str(seed), *self.names],
                                        stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("chaosnet does not start")
        for name in self.names:
            self._connect(name)
        self._write_hosts(pathlib.Path(hosts))

    def _connect(self, name):
        inside = None if name == SELF else name
        if inside:
            ip("netns", "add", name)
            ip("link", "set", name, "netns", name)
        # A partition is a partition of packets: who has which address is known to all for ever.
        neighbours = "".join(
            f"neighbour replace {address(other)} lladdr 02:00:00:00:00:{number:02x} dev {name} "
            "nud permanent\n" for number, other in enumerate(self.names, 1) if other != name)
        ip("-batch", "-", name=inside, text=(
            f"link set lo up\nlink set {name} addrgenmode none\n"
            f"address add {address(name)}/24 dev {name}\nlink set {name} up\n{neighbours}"))

    def _write_hosts(self, path):
        lines = ["127.0.0.1 localhost", *(f"{address(name)} {name}" for name in self.names)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        subprocess.run(["mount", "--bind", str(path), "/etc/hosts"], check=True)

    @staticmethod
    def inside(name):
        """The words before a command that run it in the namespace; no process comes in between."""
        return [] if name == SELF else ["nsenter", f"--net=/run/netns/{name}"]

    @contextlib.contextmanager
    def entered(self, name):
        """This thread's new sockets are [name]'s."""
        libc = ctypes.CDLL(None, use_errno=True)
        target = os.open(f"/run/netns/{name}", os.O_RDONLY)
        try:
            if libc.setns(target, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            try:
                yield
            finally:
                if libc.setns(self._original, CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns back")
        finally:
            os.close(target)

    # Rules

    def set(self, sources, targets, **rule):
        """Adds to the rules of each direction (keys: link.h)."""
        words = " ".join(f"{key}={int(value)}" for key, value in rule.items())
        with self.lock:
            control.ask(self.socket, f"set {','.join(sources)} {','.join(targets)} {words}")
            for source in sources:
                for target in targets:
                    if source != target:
                        self.rules.setdefault((source, target), {}).update(rule)

    def both(self, some, others, **rule):
        self.set(some, others, **rule)
        self.set(others, some, **rule)

    def clear(self):
        """No rules; what was held or delayed arrives now."""
        with self.lock:
            control.ask(self.socket, "clear * *")
            self.rules.clear()

    def counters(self):
        """{(from, to): {counter: number}}"""
        lines = control.ask(self.socket, "stat * *").splitlines()
        return {tuple(line.split()[:2]): control.numbers(line) for line in lines if "=" in line}

    def is_clear(self, a, b):
        """Whether nothing is lost, held or throttled between two, in either direction."""
        with self.lock:
            return all(is_harmless(self.rules.get(pair, {})) for pair in ((a, b), (b, a)))

    def reset_connections(self, name):
        """Kills every TCP connection of [name]; its peers get a RST. Returns how many there
        were."""
        done = subprocess.run([*self.inside(name), "ss", "-K", "-H", "-t", "-n", "dst",
                               f"{NETWORK}.0/24"], capture_output=True, text=True, check=True)
        return len(done.stdout.splitlines())

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        subprocess.run(["umount", "/etc/hosts"], check=False)
