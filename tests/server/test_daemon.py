"""rosterd as a process: its command line, its data directory, its signals, its end."""

import os
import pathlib
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

from node import ROSTERD, Client, NodeTest
from groups import subscription  # found by way of node
from test_protocol import fetch_v4, heartbeat_v1


def rosterd(*arguments, environment=None):
    done = subprocess.run([ROSTERD, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=20, check=False,
                          env={**os.environ, **(environment or {})})
    return done.returncode, done.stdout


class CommandLine(NodeTest):
    def config(self, text, mode=0o600):
        path = pathlib.Path(self.directory) / "roster.properties"
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    def test_version_and_help(self):
        status, text = rosterd("--version")
        self.assertEqual(status, 0)
        self.assertRegex(text, r"^rosterd \d+\.\d+\.\d+\n$")
        status, text = rosterd("--help")
        self.assertEqual(status, 0)
        for word in ("--check-config", "group.min.session.timeout.ms", "Exit status"):
            self.assertIn(word, text)

    def test_docs(self):
        status, text = rosterd("--docs")
        self.assertEqual(status, 0)
        self.assertIn("| `max.connections` | 10000 | 1–1000000 |", text)

    def test_wrong_command_line(self):
        for arguments in (["start"], ["--node.id"], ["-x"]):
            status, text = rosterd(*arguments)
            self.assertEqual(status, 64, text)
            self.assertIn("rosterd --help", text)

    def test_check_config(self):
        path = self.config("node.id=1\n")
        self.assertEqual(rosterd("--config", path, "--check-config"), (0, "configuration ok\n"))
        path = self.config("node.id=x\nlisteners=PLAINTEXT\nclusterid=7\n")
        status, text = rosterd("--config", path, "--check-config")
        self.assertEqual(status, 78)
        self.assertIn(f"{path}:1: node.id=x: not a whole number", text)
        self.assertIn(f"{path}:3: unknown key \"clusterid\"; did you mean cluster.id?", text)
        self.assertIn("listeners: \"PLAINTEXT\": write NAME://host:port", text)

    def test_wrong_configuration_does_not_start(self):
        node = self.make(node_id=2)
        status, text = node.run()
        self.assertEqual(status, 78)
        self.assertIn("node.id: 2 is not among cluster.nodes", text)
        self.assertFalse((node.directory / "data").exists())

    def test_environment(self):
        status, text = rosterd("--check-config", environment={"ROSTER_NODE_ID": "0"})
        self.assertEqual(status, 78)
        self.assertIn("environment: ROSTER_NODE_ID: node.id=0: must be from 1", text)

    def test_secret(self):
        secret = pathlib.Path(self.directory) / "secret"
        secret.write_text("0123456789abcdef")
        lines = (f"cluster.nodes=1@127.0.0.1:23801,2@127.0.0.1:23802\n"
                 f"peer.secret.file={secret}\n")
        secret.chmod(0o600)
        self.assertEqual(rosterd("--config", self.config(lines), "--check-config")[0], 0)
        secret.chmod(0o644)
        status, text = rosterd("--config", self.config(lines), "--check-config")
        self.assertEqual(status, 78)
        self.assertIn(f"run: chmod 600 {secret}", text)
        secret.unlink()
        status, text = rosterd("--config", self.config(lines), "--check-config")
        self.assertEqual(status, 78)
        self.assertIn(f"peer.secret.file: {secret} cannot be opened", text)


class DataDirectory(NodeTest):
    def test_of_one_process(self):
        node = self.start()
        second = self.make()
        second.settings["listeners"] = f"PLAINTEXT://127.0.0.1:{self.port + 2}"
        status, text = second.run()
        self.assertEqual(status, 1)
        self.assertIn(f"data.dir {node.directory}/data: in use by another rosterd; end that one",
                      text)

    def test_newer_format(self):
        node = self.start()
        self.assertEqual(node.end(), 0)
        (node.directory / "data/format").write_text("roster-data 2\n")
        status, text = node.run()
        self.assertEqual(status, 1)
        self.assertIn("written by a newer rosterd (format 2, this one knows 1)", text)

    def test_of_another_node(self):
        node = self.start()
        self.assertEqual(node.end(), 0)
        node.settings["cluster.id"] = "other"
        status, text = node.run()
        self.assertEqual(status, 1)
        self.assertIn("belongs to another node or cluster", text)

    def test_port_in_use(self):
        self.start()
        second = self.make()
        second.settings["data.dir"] = pathlib.Path(self.directory) / "data2"
        second.settings["cluster.nodes"] = f"1@127.0.0.1:{self.port + 3}"
        status, text = second.run()
        self.assertEqual(status, 1)
        self.assertIn(f"listener PLAINTEXT://127.0.0.1:{self.port}: address already in use; another "
                      "process has the port", text)

    def test_commits_survive_the_process(self):
        node = self.start()
        with node.client() as client:
            self.assertEqual(client.create_topic("jobs", 2), 0)
            self.assertEqual(set(client.commit("g", {("jobs", 1): 17}).values()), {0})
        node.process.kill()
        node.process.wait()
        node.start()
        node.wait_for("leading term=", 2)
        with node.client() as client:
            self.assertEqual(client.fetch("g")[1][("jobs", 1)], 17)


class Listeners(NodeTest):
    def dial(self, host, port):
        return Client(host, port, 5.0)

    def test_each_tells_its_own_addresses(self):
        node = self.make()
        node.settings["listeners"] = (f"INTERNAL://127.0.0.1:{self.port},"
                                      f"EXTERNAL://[::1]:{self.port + 5}")
        node.settings["advertised.listeners"] = "EXTERNAL://roster.example:19094"
        node.start()
        with self.dial("127.0.0.1", self.port) as client:
            self.assertEqual(client.metadata()["brokers"], {1: ("127.0.0.1", self.port)})
            self.assertEqual(client.find_coordinator("g")[1:], (1, "127.0.0.1", self.port))
        with self.dial("::1", self.port + 5) as client:
            self.assertEqual(client.metadata()["brokers"], {1: ("roster.example", 19094)})
            self.assertEqual(client.find_coordinator("g")[1:], (1, "roster.example", 19094))
            joined = client.join("g", version=0, protocols=(("range", subscription(["jobs"])),))
            self.assertEqual(joined.error, 0)
            members = client.describe_group("g")[3]
            self.assertEqual([member["host"] for member in members], ["/::1"])

    def test_an_empty_host_is_every_address(self):
        node = self.make()
        node.settings["listeners"] = f"PLAINTEXT://:{self.port}"
        node.start()
        for host in ("127.0.0.1", "::1"):
            with self.dial(host, self.port) as client:
                self.assertEqual(client.api_versions()[0], 0)
        self.assertIn(f"advertised={socket.gethostname()}:{self.port}", node.text())

    def test_an_address_that_is_not_ours(self):
        node = self.make(listeners=f"PLAINTEXT://192.0.2.1:{self.port}")
        status, text = node.run()
        self.assertEqual(status, 1)
        self.assertIn("the machine does not have this address", text)


class Signals(NodeTest):
    def test_term_answers_what_is_parked_and_held(self):
        node = self.start(group_initial_rebalance_delay_ms=60000)
        with node.client() as client:
            self.assertEqual(client.create_topic("jobs", 1), 0)
        with node.client() as client, node.dial() as raw:
            client.join_begin("g", version=0)
            raw.put(fetch_v4(1, "jobs", 60000))
            node.wait(lambda: node.figure("parked") == 1, "the join is parked")
            began = time.monotonic()
            node.process.send_signal(signal.SIGTERM)
            self.assertEqual(client.join_end().error, 16)
            self.assertEqual(raw.frame()[:4], b"\0\0\0\1")
            self.assertTrue(raw.is_closed())
            self.assertEqual(node.process.wait(10), 0)
            self.assertLess(time.monotonic() - began, 5)
        self.assertIn("stopping connections=2 parked=1", node.text())
        self.assertIn("stopped", node.text())

    def test_term_while_a_client_does_not_read(self):
        """The end does not wait for ever."""
        node = self.start(shutdown_timeout_ms=2000)
        with node.client() as client:
            self.assertEqual(client.create_topic("jobs", 10000), 0)
        with node.dial() as raw:
            topics = struct.pack(">i", -1)
            frame = struct.pack(">hhih", 3, 1, 1, -1) + topics
            for _ in range(60):
                raw.put(struct.pack(">i", len(frame)) + frame)
            time.sleep(0.5)
            began = time.monotonic()
            node.process.send_signal(signal.SIGTERM)
            self.assertEqual(node.process.wait(10), 0)
            self.assertLess(time.monotonic() - began, 4)

    def test_a_second_term_ends_it_at_once(self):
        node = self.start(group_initial_rebalance_delay_ms=60000)
        node.ends_badly = True
        with node.client() as client:
            self.assertEqual(client.create_topic("jobs", 10000), 0)
        with node.dial() as raw:
            frame = struct.pack(">hhihi", 3, 1, 1, -1, -1)
            for _ in range(60):
                raw.put(struct.pack(">i", len(frame)) + frame)
            time.sleep(0.5)
            began = time.monotonic()
            node.process.send_signal(signal.SIGTERM)
            node.wait_for("stopping connections=")
            node.process.send_signal(signal.SIGTERM)
            self.assertEqual(node.process.wait(10), 1)
            self.assertLess(time.monotonic() - began, 1)

    @unittest.skipUnless(os.access("/dev/shm", os.W_OK), "needs a file system in memory")
    def test_term_on_a_disk_that_costs_nothing(self):
        """The log's last segment is finalized sooner than its handles are closed."""
        with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            for turn in range(12):
                node = self.make(data_dir=f"{memory}/{turn}")
                node.log_path = pathlib.Path(f"{memory}/{turn}.log")
                node.start()
                with node.client() as client:
                    self.assertEqual(client.create_topic("jobs", 1), 0)
                self.assertEqual(node.end(), 0, node.text()[-3000:])

    def test_hangup_and_broken_pipe_change_nothing(self):
        node = self.start()
        node.process.send_signal(signal.SIGHUP)
        node.process.send_signal(signal.SIGPIPE)
        node.wait_for("ignored signal=HUP")
        with node.dial() as raw:
            raw.put(heartbeat_v1(1))
            self.assertEqual(len(raw.frame()), 10)

    def test_questions_for_figures_while_it_ends(self):
        node = self.make()
        for turn in range(10):
            process = node.start().process
            node.wait_for("INFO leading term=", turn + 1)
            process.send_signal(signal.SIGTERM)
            while process.poll() is None:
                process.send_signal(signal.SIGUSR1)
                time.sleep(0.001)
            self.assertEqual(process.returncode, 0)

    def test_a_log_that_nobody_reads(self):
        """A pipe that is full loses lines; the node does not wait for its reader."""
        node = self.make()
        reader, writer = os.pipe()
        with open(reader, "rb", buffering=0) as log, subprocess.Popen(
                node.arguments(), stdin=subprocess.DEVNULL, stderr=writer) as process:
            os.close(writer)
            node.process = process
            got = b""
            while b" leading term=" not in got:
                got += log.read(4096)
            with node.dial() as raw:
                for i in range(100):  # 2 to 3 KB each, and a pipe holds 64
                    process.send_signal(signal.SIGUSR1)
                    raw.put(heartbeat_v1(i))
                    self.assertEqual(len(raw.frame()), 10)
                os.set_blocking(reader, False)
                while log.read(65536):
                    pass
                os.set_blocking(reader, True)
                process.send_signal(signal.SIGHUP)
                raw.put(heartbeat_v1(1))
                self.assertEqual(len(raw.frame()), 10)
            process.send_signal(signal.SIGTERM)
            got = log.read(65536)
            while more := log.read(65536):
                got += more
            self.assertEqual(process.wait(10), 0)
        self.assertRegex(got, rb"ignored signal=HUP .* lost=[0-9]+\n")
        self.assertIn(b"INFO stopped\n", got)

    def test_term_while_it_waits_for_its_peers(self):
        """The first start of a node whose peers cannot be found: it answers, and ends when told to."""
        secret = pathlib.Path(self.directory) / "secret"
        secret.write_text("x" * 32, encoding="ascii")
        secret.chmod(0o600)
        node = self.make(peer_secret_file=secret)
        node.settings["cluster.nodes"] += ",2@no-such-host.invalid:9093,3@127.0.0.1:1"
        with open(node.log_path, "ab") as log:
            node.process = subprocess.Popen(node.arguments(), stdin=subprocess.DEVNULL, stderr=log)
        node.wait_for("raftlog_peer_unreachable node=2 host=no-such-host.invalid")
        node.wait_for("raftlog_peer_unreachable node=3 host=127.0.0.1")
        with node.dial() as raw:
            raw.put(heartbeat_v1(1))
            self.assertEqual(raw.frame()[-2:], struct.pack(">h", 15))
            node.process.send_signal(signal.SIGTERM)
            self.assertTrue(raw.is_closed())
        self.assertEqual(node.process.wait(10), 0)
        self.assertLess(node.text().count("raftlog_peer_unreachable"), 10)

    def test_standing_still(self):
        """R9: a node that was stopped serves again only behind a new barrier."""
        node = self.start()
        before = node.status()
        with node.dial() as raw:
            node.process.send_signal(signal.SIGSTOP)
            time.sleep(0.8)
            raw.put(heartbeat_v1(1))
            node.process.send_signal(signal.SIGCONT)
            self.assertEqual(len(raw.frame()), 10)
        status = node.status()
        self.assertRegex(node.text(), "stood_still ms=[0-9]{3,4} ")
        self.assertEqual(status["core_suspensions"], "1")
        barriers = [int(x["core_takeovers"]) + int(x["log_applied_index"]) for x in (before, status)]
        self.assertGreater(barriers[1], barriers[0])

    def test_status(self):
        node = self.start()
        status = node.status()
        self.assertEqual(status["role"], "leading")
        self.assertEqual(status["leader"], "1")
        self.assertRegex(status["state_hash"], "^[0-9a-f]{16}$")
        for name in ("term", "index", "groups", "members", "offsets", "parked", "connections",
                     "longest_turn_ms", "core_heartbeats", "conn_accepted"):
            self.assertGreaterEqual(int(status[name]), 0)


if __name__ == "__main__":
    unittest.main()
