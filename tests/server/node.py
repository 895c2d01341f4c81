"""What the tests of one live node share: a directory and ports of their own, starting and ending
rosterd, its log, its figures, and a socket for bytes that no client would send.

ROSTERD is the daemon's path (default: the tests' build).
"""

import fcntl
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

from groups import Client  # noqa: E402

ROSTERD = os.environ.get("ROSTERD", str(HERE.parents[1] / ".build/dev/server/rosterd"))
PORTS = range(23000, 24000, 20)
DAMAGE = re.compile(r"ERROR: \w+Sanitizer|runtime error:|broken_invariant")
SECONDS = 20  # for anything that a test waits for


class Node:
    """One rosterd that is a cluster of its own."""

    def __init__(self, directory, port, settings):
        self.directory, self.port, self.process = pathlib.Path(directory), port, None
        self.settings = {
            "data.dir": self.directory / "data",
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "cluster.nodes": f"1@127.0.0.1:{port + 1}",
            "group.initial.rebalance.delay.ms": 200,
            "group.min.session.timeout.ms": 1200,
            **settings,
        }
        self.log_path = self.directory / "log"
        self.raws = []

    def arguments(self, **more):
        settings = {**self.settings, **more}
        return [ROSTERD, *(f"--{name}={value}" for name, value in settings.items())]

    def run(self, *arguments, **options):
        """Runs rosterd to its end; (exit status, output)."""
        done = subprocess.run([*self.arguments(), *arguments], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, timeout=SECONDS, check=False, **options)
        return done.returncode, done.stdout

    def start(self, **options):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.arguments(), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, **options)
        self.wait_for("leading term=")
        return self

    def text(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def wait_for(self, text, count=1):
        """Waits until the log holds [text] that often."""
        self.wait(lambda: self.text().count(text) >= count, f"no {text!r} in the log")

    def wait(self, probe, complaint):
        deadline = time.monotonic() + SECONDS
        while not probe():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise AssertionError(f"{complaint}; the log ends with\n{self.text()[-3000:]}")
            time.sleep(0.02)

    def status(self):
        """The figures of SIGUSR1: {name: text}."""
        before = self.text().count(" status role=")
        self.process.send_signal(signal.SIGUSR1)
        self.wait_for(" status role=", before + 1)
        line = [x for x in self.text().splitlines() if " status role=" in x][-1]
        return dict(pair.split("=", 1) for pair in line.split() if "=" in pair)

    def figure(self, name):
        return int(self.status()[name])

    def end(self):
        """SIGTERM; the exit status."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def resident_bytes(self):
        pages = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2]
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def client(self, timeout_s=5.0, client_id="test"):
        return Client("127.0.0.1", self.port, timeout_s, client_id)

    def dial(self, timeout_s=5.0):
        self.raws.append(Raw(self.port, timeout_s))
        return self.raws[-1]


class Raw:
    """A socket and the frames on it, well-formed or not."""

    def __init__(self, port, timeout_s=5.0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def put(self, data):
        self.socket.sendall(data)

    def get(self, count):
        """[count] bytes, or fewer where the node ends the connection."""
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                break
            data += part
        return data

    def frame(self):
        """The content of the next frame; b"" at the end of the connection."""
        head = self.get(4)
        return self.get(struct.unpack(">i", head)[0]) if len(head) == 4 else b""

    def is_closed(self, within_s=SECONDS):
        """Whether the node ends the connection, without a byte, within that time."""
        self.socket.settimeout(within_s)
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False


def request(api_key, version, correlation_id, body=b"", client_id=b"t"):
    """A frame with request header v1."""
    head = struct.pack(">hhih", api_key, version, correlation_id, len(client_id)) + client_id
    return struct.pack(">i", len(head + body)) + head + body


def compact(text):
    """A compact string shorter than 127 bytes."""
    return bytes([len(text) + 1]) + text.encode()


class NodeTest(unittest.TestCase):
    """make() and start() give nodes that tearDown() ends: with status 0 and a clean log."""

    @classmethod
    def setUpClass(cls):
        for port in PORTS:
            cls.lock = open(f"/tmp/roster-test-ports-{port}.lock", "w", encoding="ascii")
            try:
                fcntl.flock(cls.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                cls.lock.close()
                continue
            cls.port = port
            return
        raise unittest.SkipTest("all test ports are in use")

    @classmethod
    def tearDownClass(cls):
        cls.lock.close()

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="roster-node-")
        self.nodes = []

    def tearDown(self):
        for raw in (raw for node in self.nodes for raw in node.raws):
            raw.socket.close()
        statuses = [node.end() for node in self.nodes]
        texts = [node.text() for node in self.nodes]
        shutil.rmtree(self.directory)
        for node, status, text in zip(self.nodes, statuses, texts):
            if node.process is not None and not getattr(node, "ends_badly", False):
                self.assertEqual(status, 0, text[-3000:])
            self.assertIsNone(DAMAGE.search(text), text[-6000:])

    def make(self, **settings):
        """A node that is not started; '_' in a name stands for '.'."""
        node = Node(self.directory, self.port,
                    {name.replace("_", "."): value for name, value in settings.items()})
        self.nodes.append(node)
        return node

    def start(self, **settings):
        return self.make(**settings).start()
