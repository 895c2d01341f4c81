"""Histories as EDN: what is written is well-formed and says what the history says; what is not
well-formed is refused."""

import pathlib
import sys
import unittest

import generate
import notation
from test_mutations import recorded

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hist2edn"))

import edn  # noqa: E402
from reader import read_forms  # noqa: E402


def convert(events, **options):
    return "\n".join(edn.Converter(events, **options).convert()) + "\n"


class Edn(unittest.TestCase):
    def test_words(self):
        events = notation.parse("""
            A 0-10 commit a 1:b in=g1
            B 20-30 fetch a 2:-
            A 40-50 commit 1:c in=g1 ?
            * 60-70 nemesis kill n1""").events()
        lines = convert(events).splitlines()
        self.assertIn(':f :txn, :value [[:w ["g1" "t" 0] 1] [:w ["g1" "t" 1] 2]]', lines[0])
        self.assertIn(":type :ok", lines[1])
        self.assertIn(':value [[:r ["g" "t" 0] nil] [:r ["g" "t" 2] nil]]', lines[2])
        self.assertIn(
            ':type :info, :f :txn, :value [[:w ["g1" "t" 1] 3]], :error "timeout"', lines[5]
        )
        self.assertIn(":process :nemesis, :type :info, :f :kill", lines[6])

    def test_reads_name_their_writes(self):
        events = notation.parse("A 0-10 commit a | B 20-30 fetch a").events()
        forms = list(read_forms(convert(events)))
        self.assertEqual(forms[0][":value"][0][2], forms[3][":value"][0][2])

    def test_deleted_groups_are_left_out(self):
        events = notation.parse(
            "A 0-10 commit a @-1 | A 20-30 drop | B 40-50 commit b in=h"
        ).events()
        self.assertEqual(len(convert(events).splitlines()), 2)

    def test_knossos(self):
        events = notation.parse("A 0-10 commit a 1:b").events()
        forms = list(read_forms(convert(events, is_knossos=True)))
        self.assertEqual([form[":f"] for form in forms], [":write"] * 4)
        self.assertEqual(len({form[":process"] for form in forms}), 2)

    def test_well_formed(self):
        for options in ({}, {"is_knossos": True}):
            for events in (recorded(), generate.generate(1)[0]):
                self.assertEqual(edn.complaints(convert(events, **options)), [])

    def test_malformed(self):
        good = convert(notation.parse("A 0-10 commit a | A 20-30 commit b").events()).splitlines()
        bad = {
            "does not close": good[0][:-1],
            "closes nothing": good[0] + "}",
            "a string without an end": good[0].replace('"t"', '"t'),
            "a key without a value": "{:index}",
            "no operation": "[1 2]",
            "no index": good[0].replace(":index 0, ", ""),
            "falling index": "\n".join([good[2], good[0]]),
            "completes nothing": good[1],
            "two at once": "\n".join([good[0], good[2]]),
            "unknown type": good[0].replace(":invoke", ":maybe"),
            "no number": good[0].replace(":index 0", ":index 0x"),
        }
        for what, text in bad.items():
            with self.subTest(what):
                self.assertTrue(edn.complaints(text))
        self.assertEqual(edn.complaints("\n".join(good)), [])


if __name__ == "__main__":
    unittest.main()
