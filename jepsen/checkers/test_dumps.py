"""The order that was committed, put together from dumps and from what the logs held earlier."""

import unittest

from dumps import Dump, Log


def snapshot(index):
    return {"kind": "snapshot", "raft_index": index + 100, "index": index, "hash": f"h{index}"}


def entries(first, last, hashes="h"):
    for index in range(first, last + 1):
        yield {"kind": "entry", "raft_index": index + 100, "raft_term": 1, "type": "command",
               "replayed": True, "index": index, "hash": f"{hashes}{index}"}
        yield {"kind": "proposal", "raft_index": index + 100, "index": index,
               "records": [f"{hashes}{index}"]}


def dump(name, *lines):
    return Dump(name, [*lines, {"kind": "end"}])


class Earlier(unittest.TestCase):
    def setUp(self):
        self.dumps = [dump(f"n{i}", snapshot(20 + i), *entries(21 + i, 30)) for i in (1, 2, 3)]

    def log(self, *earlier):
        log = Log(self.dumps, 3, earlier)
        self.assertEqual([index for index, _, _ in log.records()],
                         list(range(log.first, 31)))
        self.assertEqual({record[0] for _, _, record in log.records()}, {"h"})
        return log

    def test_without_any(self):
        self.assertEqual(self.log().first, 22)

    def test_back_to_the_first_entry(self):
        """What follows the state that was looked for may not have been committed."""
        log = self.log(dump("1", snapshot(9), *entries(10, 21), *entries(22, 23, "x")),
                       dump("2", *entries(1, 9), *entries(10, 12, "x")))
        self.assertEqual(log.first, 1)

    def test_another_state(self):
        self.assertEqual(self.log(dump("1", *entries(1, 21, "x"))).first, 22)

    def test_as_far_as_it_leads(self):
        log = self.log(dump("1", snapshot(9), *entries(10, 21)), dump("2", *entries(1, 8)))
        self.assertEqual(log.first, 10)


if __name__ == "__main__":
    unittest.main()
