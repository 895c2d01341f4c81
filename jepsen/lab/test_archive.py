"""Whose removed segments belong before those that are left."""

import pathlib
import tempfile
import unittest

from lab import archive


def name(begin, end):
    return f"{begin:016d}-{end:016d}"


class Archive(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.top = pathlib.Path(self.directory.name)
        (self.top / "data" / archive.LOG).mkdir(parents=True)
        (self.top / "kept").mkdir()
        self.removed = 8

    def current(self, *segments):
        for segment in segments:
            (self.top / "data" / archive.LOG / segment).write_text("now", encoding="ascii")

    def kept(self, begin, end, text="old"):
        self.removed += 1  # from 9 to 10: an order of numbers, not of names
        (self.top / "kept" / f"{self.removed}.{name(begin, end)}").write_text(text)

    def assemble(self):
        target = self.top / "target"
        if not archive.assemble(self.top / "data", self.top / "kept", target):
            return None
        return {path.name: path.read_text() for path in (target / archive.LOG).iterdir()}

    def test_what_was_removed_comes_first_and_snapshots_are_left_out(self):
        self.kept(1, 5)
        self.kept(6, 9)
        self.current(name(10, 12), "open-1", "metadata1", "snapshot-1-9-7", "snapshot-1-9-7.meta")
        self.assertEqual(sorted(self.assemble()), sorted(
            [name(1, 5), name(6, 9), name(10, 12), "open-1", "metadata1"]))

    def test_of_two_the_one_that_was_removed_last(self):
        self.kept(1, 9, "never committed")
        self.kept(1, 9, "committed")
        self.current(name(10, 12))
        self.assertEqual(self.assemble()[name(1, 9)], "committed")

    def test_a_truncated_segment_is_not_in_the_way(self):
        self.kept(1, 20)
        self.kept(1, 9, "what was left")
        self.current(name(10, 12))
        self.assertEqual(self.assemble(), {name(1, 9): "what was left", name(10, 12): "now"})

    def test_a_gap(self):
        self.kept(1, 8)
        self.current(name(10, 12))
        self.assertIsNone(self.assemble())

    def test_nothing_was_removed_and_nothing_is_there(self):
        self.assertIsNone(self.assemble())
        self.current(name(1, 12))
        self.assertEqual(self.assemble(), {name(1, 12): "now"})


if __name__ == "__main__":
    unittest.main()
