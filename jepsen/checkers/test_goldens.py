"""Every hand-written history in goldens/ gets the verdict that it says, for the reason it says."""

import collections
import json
import pathlib
import unittest

import check
import notation

GOLDENS = pathlib.Path(__file__).resolve().parent / "goldens"
EACH = 20  # valid and invalid ones per invariant, at least


def violated(case):
    """The invariants that a case violates, C2 if the log shows it; I13 if the run is invalid."""
    result = check.judge(case.history(), case.dumps(), case.logs)
    found = collections.Counter(v.invariant for v in result.violations)
    found.update(v.checker for v in result.violations if v.checker == "C2")
    if result.invalid:
        found["I13"] = len(result.invalid)
    return found, result


class Goldens(unittest.TestCase):
    def check_file(self, path):
        counts = collections.Counter()
        for case in notation.read(path):
            counts[case.is_valid] += 1
            found, result = violated(case)
            if path.stem != "I13":
                found.pop("I13", None)
            texts = "; ".join(v.text for v in result.violations) or "; ".join(result.invalid)
            with self.subTest(invariant=path.stem, case=case.why):
                if case.is_valid:
                    self.assertEqual(dict(found), {}, texts)
                else:
                    self.assertIn(path.stem, found, f"not caught; found: {texts}")
        least = 10 if path.stem in ("C2", "FORMAT") else EACH
        self.assertGreaterEqual(counts[True], least, f"valid cases in {path.name}")
        self.assertGreaterEqual(counts[False], least, f"invalid cases in {path.name}")

    def test_all(self):
        paths = sorted(GOLDENS.glob("*.txt"))
        self.assertTrue(paths)
        for path in paths:
            self.check_file(path)

    def test_form(self):
        """All events that the notation makes are well-formed by themselves."""
        for path in GOLDENS.glob("*.txt"):
            for case in notation.read(path):
                json.dumps(case.events())


if __name__ == "__main__":
    unittest.main()
