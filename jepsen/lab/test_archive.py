"""What is made of segments and snapshots that were removed."""

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
        (self.top / "data" / "format").write_text("f", encoding="ascii")
        (self.top / "kept").mkdir()
        self.removed = 8

    def current(self, *files):
        for file in files:
            (self.top / "data" / archive.LOG / file).write_text("now", encoding="ascii")

    def kept(self, file, text="old"):
        self.removed += 1  # from 9 to 10: an order of numbers, not of names
        (self.top / "kept" / f"{self.removed}.{file}").write_text(text)

    def snapshot(self, index):
        self.kept(f"snapshot-1-{index}-7")
        self.kept(f"snapshot-1-{index}-7.meta")

    def pieces(self):
        """{(start, end): {file: text}}"""
        found = {}
        for piece in archive.pieces(self.top / "data", self.top / "kept"):
            target = self.top / f"piece-{piece.start}-{piece.end}"
            piece.assemble(target)
            self.assertTrue((target / "format").exists())
            found[piece.start, piece.end] = {
                path.name: path.read_text() for path in (target / archive.LOG).iterdir()}
        return found

    def test_what_was_removed_comes_first_and_snapshots_are_left_out(self):
        self.kept(name(1, 5))
        self.kept(name(6, 9))
        self.current(name(10, 12), "open-1", "metadata1", "snapshot-1-9-7", "snapshot-1-9-7.meta")
        self.assertEqual(self.pieces(), {(0, 12): {
            name(1, 5): "old", name(6, 9): "old", name(10, 12): "now", "metadata1": "now"}})

    def test_of_two_the_one_that_was_removed_last(self):
        self.kept(name(1, 9), "never committed")
        self.kept(name(1, 9), "committed")
        self.current(name(10, 12))
        self.assertEqual(self.pieces()[0, 12][name(1, 9)], "committed")

    def test_a_truncated_segment_is_not_in_the_way(self):
        self.kept(name(1, 20))
        self.kept(name(1, 9), "what was left")
        self.current(name(10, 12))
        self.assertEqual(self.pieces()[0, 12],
                         {name(1, 9): "what was left", name(10, 12): "now"})

    def test_a_gap_where_a_snapshot_was_installed(self):
        self.kept(name(1, 8))
        self.snapshot(9)
        self.snapshot(11)
        self.current(name(10, 12), name(13, 14))
        self.assertEqual(set(self.pieces()), {(0, 8), (9, 14)})
        self.assertIn("snapshot-1-9-7.meta", self.pieces_of(9, 14))

    def pieces_of(self, start, end):
        place = self.top / f"piece-{start}-{end}" / archive.LOG
        return [path.name for path in place.iterdir()]

    def test_segments_without_a_snapshot_that_leads_to_them_say_nothing(self):
        self.snapshot(5)
        self.kept("snapshot-1-10-7")  # half of it
        self.current(name(10, 12))
        self.assertEqual(self.pieces(), {})

    def test_which_piece_leads_furthest_back(self):
        some = [archive.Piece(None, start, end, []) for start, end in
                ((5, 9), (0, 8), (3, 10), (10, 20), (9, 9))]
        self.assertEqual([piece.start for piece in archive.before(some, 9)], [3, 5])


if __name__ == "__main__":
    unittest.main()
