"""Rows 1 to 6 of the protocol's behaviours, on a live node."""

import struct
import unittest

from node import NodeTest, compact, request
from groups import subscription  # found by way of node

PRODUCE, FETCH, METADATA, HEARTBEAT, JOIN_GROUP, API_VERSIONS = 0, 1, 3, 12, 11, 18
UNSUPPORTED_VERSION, INVALID_REQUEST, REBOOTSTRAP_REQUIRED = 35, 42, 129


def api_versions_v3(correlation_id, name, version, api_version=3):
    return request(API_VERSIONS, api_version, correlation_id,
                   b"\0" + compact(name) + compact(version) + b"\0")


def ranges_v0(content):
    """(error, {key: (min, max)}) of a reply in version 0, header included."""
    _, error, count = struct.unpack(">ihi", content[:10])
    rows = [struct.unpack(">hhh", content[10 + 6 * i:16 + 6 * i]) for i in range(count)]
    assert len(content) == 10 + 6 * count
    return error, {key: (low, high) for key, low, high in rows}


def fetch_v4(correlation_id, topic, wait_ms):
    body = struct.pack(">iiiib", -1, wait_ms, 1, 1 << 20, 0)
    body += struct.pack(">ih", 1, len(topic)) + topic.encode()
    body += struct.pack(">iiqi", 1, 0, 0, 1 << 20)
    return request(FETCH, 4, correlation_id, body)


def heartbeat_v1(correlation_id, group="g", generation=1, member="m"):
    body = b"".join(struct.pack(">h", len(x)) + x.encode() for x in (group,))
    body += struct.pack(">i", generation) + struct.pack(">h", len(member)) + member.encode()
    return request(HEARTBEAT, 1, correlation_id, body)


class Protocol(NodeTest):
    def test_row_1_api_versions_in_an_unknown_version(self):
        node = self.start()
        with node.dial() as raw:
            raw.put(request(API_VERSIONS, 127, 7, b"\xff\xff\xff whatever"))
            error, ranges = ranges_v0(raw.frame())
            self.assertEqual(error, UNSUPPORTED_VERSION)
            self.assertEqual(ranges, {API_VERSIONS: (0, 5)})
            raw.put(request(API_VERSIONS, 0, 8))
            error, ranges = ranges_v0(raw.frame())
            self.assertEqual(error, 0, "the connection stays usable")
            self.assertGreater(len(ranges), 20)

    def test_row_2_software_name_and_version(self):
        node = self.start()
        with node.dial() as raw:
            for name, version in (("", "1"), ("a b", "1"), ("a", ""), ("a", "1 "), ("-a", "1")):
                raw.put(api_versions_v3(1, name, version))
                content = raw.frame()
                self.assertEqual(struct.unpack(">h", content[4:6])[0], INVALID_REQUEST)
                self.assertEqual(content[6], 1, "an empty compact array")
            raw.put(api_versions_v3(2, "apache-kafka-java", "4.4.0"))
            self.assertEqual(struct.unpack(">h", raw.frame()[4:6])[0], 0)

    def test_row_3_response_header_is_v0_in_every_version(self):
        node = self.start()
        with node.dial() as raw:
            raw.put(request(API_VERSIONS, 0, 0x01020304))
            self.assertEqual(raw.frame()[:6], b"\x01\x02\x03\x04\0\0")
            raw.put(api_versions_v3(0x0a0b0c0d, "x", "1"))
            content = raw.frame()
            # Correlation id, error, then at once the array: no tagged fields of a header v1.
            self.assertEqual(content[:6], b"\x0a\x0b\x0c\x0d\0\0")
            count = content[6] - 1
            self.assertGreater(count, 20)
            self.assertEqual(len(content), 7 + 7 * count + 4 + 1)

    def test_row_4_version_5_names_whom_the_client_believes_to_talk_to(self):
        node = self.start()
        with node.dial() as raw:
            for cluster, number, error in (("roster", 1, 0), (None, -1, 0),
                                           ("another", 1, REBOOTSTRAP_REQUIRED),
                                           ("roster", 2, REBOOTSTRAP_REQUIRED),
                                           ("roster", -1, INVALID_REQUEST),
                                           (None, 1, INVALID_REQUEST)):
                with self.subTest(cluster=cluster, node=number):
                    name = b"\0" if cluster is None else compact(cluster)
                    raw.put(request(API_VERSIONS, 5, 1, b"\0" + compact("x") + compact("1") + name
                                    + struct.pack(">i", number) + b"\0"))
                    self.assertEqual(struct.unpack(">h", raw.frame()[4:6])[0], error)

    def test_row_5_what_is_not_served_closes_without_a_byte(self):
        node = self.start()
        bad = {
            "unknown key": request(999, 0, 1),
            "negative key": request(-1, 0, 1),
            "a gap in the keys": request(4, 0, 1),
            "version too high": request(HEARTBEAT, 5, 1),
            "version too low": request(HEARTBEAT, -1, 1),
            "truncated body": request(HEARTBEAT, 1, 1, b"\0\5ab"),
            "null where none may be": request(HEARTBEAT, 1, 1, b"\xff\xff\0\0\0\1\0\1m"),
            "a count beyond the bytes": request(METADATA, 1, 1, b"\x7f\xff\xff\xff"),
            "no whole header": struct.pack(">ih", 2, HEARTBEAT),
            "a frame of nothing": struct.pack(">i", 0),
            "a negative size": struct.pack(">i", -1),
        }
        for name, data in bad.items():
            with self.subTest(name), node.dial() as raw:
                raw.put(data)
                self.assertTrue(raw.is_closed())
        self.assertGreaterEqual(node.figure("conn_bad_requests"), 9)
        self.assertIn("bad_request effect=closed client=/127.0.0.1", node.text())

    def test_row_5_bytes_behind_a_body_are_ignored(self):
        node = self.start()
        with node.dial() as raw:
            raw.put(heartbeat_v1(1)[4:].join([struct.pack(">i", len(heartbeat_v1(1)) - 4 + 3),
                                              b"xyz"]))
            self.assertEqual(len(raw.frame()), 10)

    def test_row_5_earlier_replies_leave_first(self):
        node = self.start()
        with node.dial() as raw:
            raw.put(heartbeat_v1(1) + heartbeat_v1(2) + request(999, 0, 3) + heartbeat_v1(4))
            self.assertEqual(raw.frame()[:4], b"\0\0\0\1")
            self.assertEqual(raw.frame()[:4], b"\0\0\0\2")
            self.assertTrue(raw.is_closed())

    def test_row_6_a_held_fetch_then_a_heartbeat(self):
        node = self.start()
        with node.client() as client:
            self.assertEqual(client.create_topic("jobs", 1), 0)
        with node.dial() as raw:
            raw.put(fetch_v4(1, "jobs", 60000) + heartbeat_v1(2))
            self.assertEqual(raw.frame()[:4], b"\0\0\0\1")
            self.assertEqual(raw.frame()[:4], b"\0\0\0\2")
            raw.put(fetch_v4(3, "jobs", 60000))
            raw.put(heartbeat_v1(4))
            self.assertEqual(raw.frame()[:4], b"\0\0\0\3", "the held one leaves when another waits")
            self.assertEqual(raw.frame()[:4], b"\0\0\0\4")

    def test_row_6_a_parked_join_holds_back_what_follows(self):
        node = self.start(group_initial_rebalance_delay_ms=600)
        with node.client() as client:
            client.join_begin("g", version=0, protocols=(("range", subscription(["jobs"])),))
            client.send(HEARTBEAT, 1, b"\0\1g\0\0\0\1\0\1m")
            joined = client.join_end()  # raises unless the replies come in order
            self.assertEqual((joined.error, joined.generation), (0, 1))
            client.receive()

    def test_row_6_pipelined_commits(self):
        """R12: commits are in flight together, their replies leave in order, and what stands behind a
        call sees what that did."""
        node = self.start()
        with node.client() as client:
            self.assertEqual(client.create_topic("jobs", 1), 0)
            pipelined = []
            client.send = lambda *asked: pipelined.append(client.frame(*asked))
            client.commit_begin("g", {("jobs", 0): 5})
            client.commit_begin("g", {("none", 0): 6})  # refused at once, the first takes a disk write
            client.create_topic_begin("later", 1)
            client.commit_begin("g", {("later", 0): 7})
            client.socket.sendall(b"".join(pipelined))
            self.assertEqual(client.commit_end(), {("jobs", 0): 0})
            self.assertEqual(client.commit_end(), {("none", 0): 3})
            self.assertEqual(client.create_topic_end(), 0)
            self.assertEqual(client.commit_end(), {("later", 0): 0})


if __name__ == "__main__":
    unittest.main()
