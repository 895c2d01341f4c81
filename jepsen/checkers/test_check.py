"""The command: what it reads from a directory, what it writes, its exit status; and the report."""

import contextlib
import gzip
import io
import json
import pathlib
import re
import tempfile
import unittest

import check
import notation
import total
from test_mutations import RECORDED

BUSY = "A 0-10 commit a | A 20-30 commit b | B 40-50 fetch b"
IDLE = {"calm": True, "floors": {"unknown": 1}}
CALM = {"calm": True, "floors": {"ok_per_s_calm": 1}}


class InDirectory(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="roster-check-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def run_check(self, text, options=None, logs=None):
        events = notation.parse(text).events()
        (self.path / "history.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
        (self.path / "options.json").write_text(json.dumps(options or CALM))
        for node, lines in (logs or {}).items():
            (self.path / "nodes" / node).mkdir(parents=True)
            (self.path / "nodes" / node / "log").write_text(lines)
        return self.judge()

    def judge(self):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return check.main([self.path, "--no-porcupine"])

    def results(self):
        return json.loads((self.path / "results.json").read_text())


class Command(InDirectory):
    def test_valid(self):
        self.assertEqual(self.run_check(BUSY), check.VALID)
        self.assertEqual(self.results()["verdict"], "valid")

    def test_violation(self):
        self.assertEqual(self.run_check(BUSY + " | C 60-70 fetch a"), check.VIOLATION)
        self.assertEqual(self.results()["verdict"], "violation")
        self.assertIn("I1", self.results()["invariants"])

    def test_invalid(self):
        self.assertEqual(self.run_check(BUSY, IDLE), check.INVALID)
        self.assertTrue(self.results()["invalid"])

    def test_a_violation_counts_more_than_too_little_work(self):
        self.assertEqual(self.run_check(BUSY + " | C 60-70 fetch a", IDLE), check.VIOLATION)

    def test_no_history(self):
        self.assertEqual(self.judge(), check.INVALID)

    def test_logs_of_nodes(self):
        self.assertEqual(self.run_check(BUSY, logs={"n1": "x runtime error: y\n"}), check.VIOLATION)

    def test_a_history_that_ends_in_the_middle_of_a_line(self):
        self.run_check(BUSY)
        with open(self.path / "history.jsonl", "a", encoding="utf-8") as file:
            file.write('{"index":6,"ti')
        self.assertEqual(self.judge(), check.VALID)

    def test_a_dump_without_an_end(self):
        self.run_check(BUSY)
        (self.path / "logdump").mkdir()
        (self.path / "logdump/n1.jsonl").write_text('{"kind":"node","node":1}\n')
        self.assertEqual(self.judge(), check.INVALID)

    def test_again(self):
        """The same verdict on the same files."""
        self.run_check(BUSY + " | C 60-70 fetch a")
        before = self.results()
        self.judge()
        for one in (before, self.results()):
            one.pop("checkers")
        self.assertEqual(before["violations"], self.results()["violations"])


class Total(InDirectory):
    def test_adds_up(self):
        self.run_check(
            "A 0-10 commit a | * 1000-2000 nemesis kill n1 majority=yes | A 1500-1510 commit b | "
            "A 2100-2110 commit c | * 2200 phase final | B 2300-2310 fetch c",
            {"floors": {"ok_per_s_calm": 0}},
        )
        runs = list(total.find([self.path])) * 2
        text = "\n".join(total.report(runs))
        self.assertIn("2 runs, 0.00 hours: 2 valid", text)
        self.assertIn("2 faults", text)
        self.assertIn("6 acknowledged", text)
        self.assertIn("| kill | 2 | 2 | 3.37 | 3.37 |", text)

    def test_status(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(total.main([str(self.path)]), 2)
            self.run_check(BUSY)
            self.assertEqual(total.main([str(self.path)]), 0)
            self.run_check(BUSY + " | C 60-70 fetch a")
            self.assertEqual(total.main([str(self.path)]), 1)


class Report(InDirectory):
    def test_it_stands_alone(self):
        self.run_check(
            "* 0 observed leader n1 | * 100-200 nemesis kill n1 | J 0-10 join m1 @1 | "
            "A 20-30 commit b | A 220-230 commit c | B 240-250 fetch b | * 300 phase final"
        )
        page = (self.path / "report.html").read_text()
        self.assertIsNone(
            re.search(r"(?:src|href)=(?![\"']?#)|url\(|@import|<script|https?://", page)
        )
        for wanted in (
            "Violation: a promise was broken",
            "<svg",
            "commit of c",
            "kill",
            "election",
        ):
            self.assertIn(wanted, page)

    def test_text_is_escaped(self):
        events = [
            {
                "index": 0,
                "time": 1,
                "process": "nemesis",
                "type": "info",
                "f": "nemesis",
                "value": {"fault": "<b>", "phase": "begin", "targets": ["<i>"]},
            }
        ]
        (self.path / "history.jsonl").write_text(json.dumps(events[0]) + "\n")
        self.judge()
        page = (self.path / "report.html").read_text()
        self.assertNotIn("<i>", page.replace("<i></i>", "").replace("<i style", ""))

    def test_an_empty_history(self):
        (self.path / "history.jsonl").write_text("")
        self.assertEqual(self.judge(), check.INVALID)

    def test_a_recorded_one(self):
        with gzip.open(RECORDED, "rb") as file:
            (self.path / "history.jsonl").write_bytes(file.read())
        self.judge()
        self.assertIn("Generations", (self.path / "report.html").read_text())


if __name__ == "__main__":
    unittest.main()
