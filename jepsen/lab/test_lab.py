"""The lab: what it believes of a cluster, and that nothing outlives it."""

import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from lab import health, room

JEPSEN = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = """
import pathlib, subprocess, sys, time
sys.path.insert(0, {jepsen!r})
from lab import room
from lab.cgroup import Cgroup
room.enter()
sleeper = subprocess.Popen([*Cgroup("n1").joining(), "sleep", "987654"])
time.sleep(0.3)
print(room.name(), flush=True)
time.sleep(60)
"""


class Health(unittest.TestCase):
    def core(self, n, sick=(), cuts=()):
        cuts = {frozenset(cut) for cut in cuts}
        return health.core(range(1, n + 1), lambda i: i not in sick,
                           lambda a, b: frozenset((a, b)) not in cuts)

    def test_cores(self):
        self.assertEqual(self.core(3), [1, 2, 3])
        self.assertEqual(self.core(3, sick=[2]), [1, 3])
        self.assertEqual(self.core(3, sick=[2, 3]), [])
        self.assertEqual(self.core(3, cuts=[(1, 2), (1, 3)]), [2, 3])
        self.assertEqual(self.core(3, sick=[2], cuts=[(1, 3)]), [])
        self.assertEqual(self.core(5, sick=[1, 2]), [3, 4, 5])

    def test_a_ring_has_none(self):
        ring = [(1, 3), (1, 4), (2, 4), (2, 5), (3, 5)]
        self.assertEqual(self.core(5, cuts=ring), [])

    def test_a_bridge_has_one_where_a_side_and_it_are_a_majority(self):
        self.assertEqual(self.core(3, cuts=[(1, 3)]), [1, 2])
        self.assertEqual(self.core(5, cuts=[(1, 4), (1, 5), (2, 4), (2, 5)]), [1, 2, 3])


class Rooms(unittest.TestCase):
    """Rooms within this room are rooms like any other."""

    def start(self):
        variables = {key: value for key, value in os.environ.items() if key != room.ENTERED}
        path = room.scratch() / "program"
        path.write_text(PROGRAM.format(jepsen=str(JEPSEN)), encoding="utf-8")
        process = subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, text=True,
                                   env=variables)
        name = process.stdout.readline().strip()
        self.addCleanup(process.stdout.close)
        self.assertTrue(self.sleeps())
        return process, name

    @staticmethod
    def sleeps():
        """Whether the program's child runs anywhere."""
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if path.read_bytes() == b"sleep\x00987654\x00":
                    return True
            except OSError:
                pass
        return False

    def assert_gone(self, name, has_rests=False):
        deadline = time.monotonic() + 5
        while self.sleeps() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertFalse(self.sleeps())
        groups = [room.CGROUPS / controller / name for controller in room.CONTROLLERS]
        for path in (room.SCRATCH / name, *groups):
            self.assertEqual(path.exists(), has_rests, path)

    def test_the_orderly_end(self):
        process, name = self.start()
        process.send_signal(signal.SIGTERM)
        process.wait(10)
        self.assert_gone(name)

    def test_a_controller_that_is_killed(self):
        process, name = self.start()
        process.kill()
        process.wait(10)
        self.assert_gone(name, has_rests=True)
        self.assertIn(name, room.clean())
        self.assert_gone(name)

    def test_cleaning_leaves_rooms_in_use_alone(self):
        process, name = self.start()
        self.assertNotIn(name, room.clean())
        self.assertTrue(self.sleeps())
        self.assertTrue((room.SCRATCH / name).exists())
        process.send_signal(signal.SIGTERM)
        process.wait(10)
        self.assert_gone(name)


if __name__ == "__main__":
    unittest.main()
